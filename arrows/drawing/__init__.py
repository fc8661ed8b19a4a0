"""Expressions as pictures: boxes for blocks, types on the wires, a recursion as a way back.

A scene says what is drawn, a layout finds a place for everything; `svg`, `mermaid` and `text` write it
down.
"""

from __future__ import annotations

from arrows.drawing.layout import lay_out
from arrows.drawing.mermaid import to_mermaid
from arrows.drawing.notebook import notebook_html, notebook_svg
from arrows.drawing.page import to_page
from arrows.drawing.scene import scene_of
from arrows.drawing.shapes import CHARACTERS, PIXELS, Drawing
from arrows.drawing.svg import to_svg
from arrows.drawing.text import to_text
from arrows.drawing.timeline import timeline_svg, timeline_text

__all__ = [
    "CHARACTERS",
    "PIXELS",
    "Drawing",
    "lay_out",
    "notebook_html",
    "notebook_svg",
    "scene_of",
    "timeline_svg",
    "timeline_text",
    "to_mermaid",
    "to_page",
    "to_svg",
    "to_text",
]
