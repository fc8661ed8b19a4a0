"""Expressions as pictures: blocks are boxes, wires carry types, and a recursion is a wire that leads back.

`blocks` decides what is drawn of a block, and `pieces` puts boxes together, from the inside out. A core form
that `blocks` does not know is drawn as a plain box, or as a frame around its parts.
"""

from __future__ import annotations

from arrows.drawing.draw import draw, notebook_html as notebook_html
from arrows.drawing.timeline import draw_timeline

__all__ = ["draw", "draw_timeline"]
