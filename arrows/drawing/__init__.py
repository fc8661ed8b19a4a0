"""Expressions as pictures: blocks are boxes, wires carry types, and a recursion is a wire that leads back.

`scene_of` decides what is drawn: boxes, frames and wires. `lay_out` places everything, in pixels or in
characters. `to_svg` and `to_text` write the placed drawing; `to_mermaid` writes the scene and leaves its
layout to Mermaid; `to_page` wraps an SVG in a web page. A form without a row in `views.FORM_VIEWS` is drawn
as a plain box.
"""

from __future__ import annotations

from arrows.drawing.dataflow import dataflow_svg, dataflow_text
from arrows.drawing.layout import lay_out
from arrows.drawing.mermaid import to_mermaid
from arrows.drawing.notebook import notebook_html, notebook_svg
from arrows.drawing.page import to_page
from arrows.drawing.scene import Scene, scene_of
from arrows.drawing.shapes import CHARACTERS, PIXELS, Drawing
from arrows.drawing.svg import to_svg
from arrows.drawing.text import to_text
from arrows.drawing.timeline import timeline_svg, timeline_text
from arrows.drawing.views import shorten

__all__ = [
    "CHARACTERS",
    "PIXELS",
    "Drawing",
    "Scene",
    "dataflow_svg",
    "dataflow_text",
    "lay_out",
    "notebook_html",
    "notebook_svg",
    "scene_of",
    "shorten",
    "timeline_svg",
    "timeline_text",
    "to_mermaid",
    "to_page",
    "to_svg",
    "to_text",
]
