"""A block, a schedule or a program on the fly as a picture, in the format that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from arrows.combinators import AnyBlock
from arrows.drawing.dataflow import CallGraph, dataflow_svg, dataflow_text
from arrows.drawing.layout import lay_out
from arrows.drawing.mermaid import to_mermaid
from arrows.drawing.page import to_page
from arrows.drawing.scene import scene_of
from arrows.drawing.shapes import CHARACTERS
from arrows.drawing.svg import to_svg
from arrows.drawing.text import to_text
from arrows.drawing.timeline import Schedule, timeline_svg, timeline_text
from arrows.inference import Typed, title, typed_tree
from arrows.typesys import ArrowValueError

X = TypeVar("X")


def draw(block: AnyBlock | Typed, format: Literal["text", "svg", "mermaid", "html"] = "text") -> str:
    """Draws a block: boxes, and wires between them.

    Args:
        block: a block; or what `ar.infer` gives for it, whose wires carry types.
        format: "text", "svg", "mermaid", or "html" for a page of its own.

    Raises:
        ArrowValueError: there is no such format.

    Example:
        >>> import arrows as ar
        >>> print(draw(ar.Scalar(), "mermaid").splitlines()[0])
        flowchart TD
    """
    scene = scene_of(block)
    if format == "text":
        return to_text(lay_out(scene, CHARACTERS))
    if format == "mermaid":
        return to_mermaid(scene)
    drawing, name = lay_out(scene), title(block.form if isinstance(block, Typed) else block)
    svg = to_svg(drawing, name)
    if format == "svg":
        return svg
    if format == "html":
        return to_page(name, svg, drawing.width, typed_tree(block) if isinstance(block, Typed) else "")
    raise ArrowValueError(f"a block is drawn as text, svg, mermaid or html, not as {format!r}")


def draw_timeline(timeline: Schedule, format: Literal["text", "svg"] = "text") -> str:
    """Draws a batch's schedule: steps across, operations down, rows as height.

    Args:
        timeline: of `model.timeline(examples)`, or a batch's `g.timeline(x)` on the fly.
        format: "text" or "svg".

    Raises:
        ArrowValueError: there is no such format.

    Example:
        >>> import arrows as ar
        >>> model = ar.compile(ar.Map(ar.Vector(2) >> ar.FC(3)) >> ar.Sum())
        >>> print(draw_timeline(model.timeline([[[1, 2]], []])).splitlines()[0])
        strata: 2 examples, 2 steps, 3 rows
    """
    return _drawn(timeline, format, timeline_text, timeline_svg)


def draw_dataflow(dataflow: CallGraph, format: Literal["text", "svg"] = "text") -> str:
    """Draws the call sites of a program on the fly, and which of them feed which.

    Args:
        dataflow: of a network, `net.dataflow`.
        format: "text" or "svg".

    Raises:
        ArrowValueError: there is no such format.

    Example:
        >>> import arrows as ar
        >>> draw_dataflow(ar.OnTheFly().dataflow, "svg").startswith("<svg ")
        True
    """
    return _drawn(dataflow, format, dataflow_text, dataflow_svg)


def _drawn(x: X, format: str, text: Callable[[X], str], svg: Callable[[X], str]) -> str:
    if format not in ("text", "svg"):
        raise ArrowValueError(f"it is drawn as text or svg, not as {format!r}")
    return text(x) if format == "text" else svg(x)
