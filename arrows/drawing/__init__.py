"""Expressions as pictures: blocks are boxes, wires carry types, and a recursion is a wire that leads back.

`scene_of` decides what is drawn: boxes, frames and wires. `lay_out` places everything, in pixels or in
characters. `to_svg` and `to_text` write the placed drawing; `to_mermaid` writes the scene and leaves its
layout to Mermaid; `to_page` wraps an SVG in a web page. A form without a row in `views.FORM_VIEWS` is drawn
as a plain box.
"""

from __future__ import annotations

from arrows.drawing.dataflow import dataflow_svg as dataflow_svg
from arrows.drawing.dataflow import dataflow_text as dataflow_text
from arrows.drawing.draw import draw, draw_dataflow, draw_timeline
from arrows.drawing.layout import lay_out as lay_out
from arrows.drawing.mermaid import to_mermaid as to_mermaid
from arrows.drawing.notebook import notebook_html as notebook_html
from arrows.drawing.notebook import notebook_svg as notebook_svg
from arrows.drawing.page import to_page as to_page
from arrows.drawing.scene import Scene as Scene
from arrows.drawing.scene import scene_of as scene_of
from arrows.drawing.shapes import CHARACTERS as CHARACTERS
from arrows.drawing.shapes import PIXELS as PIXELS
from arrows.drawing.shapes import Drawing as Drawing
from arrows.drawing.svg import to_svg as to_svg
from arrows.drawing.text import to_text as to_text
from arrows.drawing.timeline import timeline_svg as timeline_svg
from arrows.drawing.timeline import timeline_text as timeline_text
from arrows.drawing.views import shorten as shorten

__all__ = ["draw", "draw_dataflow", "draw_timeline"]
