"""Expressions as pictures: blocks are boxes, wires carry types, and a recursion is a wire that leads back.

`scene_of` decides what is drawn: boxes, frames and wires. `lay_out` places everything, in pixels or in
characters. `to_svg` and `to_text` write the placed drawing; `to_mermaid` writes the scene and leaves its
layout to Mermaid; `to_page` wraps an SVG in a web page. A core form that `scene` does not know is drawn as a
plain box, or as a frame around its parts.
"""

from __future__ import annotations

from arrows.drawing.draw import draw, notebook_html as notebook_html, to_page as to_page
from arrows.drawing.layout import (
    CHARACTERS as CHARACTERS,
    PIXELS as PIXELS,
    Drawing as Drawing,
    lay_out as lay_out,
)
from arrows.drawing.mermaid import to_mermaid as to_mermaid
from arrows.drawing.scene import Scene as Scene, scene_of as scene_of
from arrows.drawing.svg import to_svg as to_svg
from arrows.drawing.text import to_ascii as to_ascii, to_text as to_text
from arrows.drawing.timeline import draw_timeline

__all__ = ["draw", "draw_timeline"]
