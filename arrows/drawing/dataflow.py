"""A picture of a program that is batched on the fly: boxes are call sites, wires say which feeds which.

Strata follow one another downwards. A stratum of several call sites is drawn in a frame: the sites compute
the same and run together, or they feed one another in a cycle, which a wire leading back shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from arrows.drawing.layout import lay_out
from arrows.drawing.scene import Box, FrameBox, FramePort, ReferenceBox, Scene
from arrows.drawing.shapes import CHARACTERS, BoxStyle
from arrows.drawing.svg import to_svg
from arrows.drawing.text import to_text
from arrows.drawing.views import TypeText, clean, shorten

CALLS = 200  # at most so many call sites are drawn: the first that were observed


class DrawnCall(Protocol):
    """A call site: see `arrows.onthefly.dataflow.ObservedCall`."""

    @property
    def label(self) -> str: ...
    @property
    def line(self) -> str: ...
    @property
    def output(self) -> str: ...
    @property
    def stratum(self) -> int: ...


class CallGraph(Protocol):
    """The call sites to draw: see `arrows.onthefly.dataflow.Dataflow`."""

    @property
    def calls(self) -> Sequence[DrawnCall]: ...
    @property
    def wires(self) -> Sequence[tuple[int, int]]: ...


def dataflow_text(flow: CallGraph, *, ascii_only: bool = False) -> str:
    """Draws the call sites of a program on the fly as text.

    Args:
        flow: a network's `dataflow`.
        ascii_only: use ASCII characters alone, for terminals that lack others.

    Example:
        >>> import arrows as ar
        >>> net = ar.OnTheFly()
        >>> with net.batch() as g:
        ...     float(ar.Function(lambda x: x * 2, name="double")(1.5))
        3.0
        >>> print(dataflow_text(net.dataflow, ascii_only=True), end="")
         +---------+
         | values  |
         +---------+
           float32
              |
              v
        +-------...-+
        | double ...|
        +-------...-+
           float32
    """
    return to_text(lay_out(flow_scene(flow), CHARACTERS), ascii_only=ascii_only)


def dataflow_svg(flow: CallGraph) -> str:
    """Draws the call sites of a program on the fly as an SVG document.

    Example:
        >>> import arrows as ar
        >>> dataflow_svg(ar.OnTheFly().dataflow).startswith("<svg ")
        True
    """
    return to_svg(lay_out(flow_scene(flow)), "call sites and what they feed")


def flow_scene(flow: CallGraph) -> Scene:
    """Builds the scene of a program: strata downwards, with a frame around each stratum of several calls."""
    calls = flow.calls[:CALLS]
    wires = [(a, b) for a, b in flow.wires if a < len(calls) and b < len(calls)]
    strata: dict[int, list[int]] = {}
    for place, call in enumerate(calls):
        strata.setdefault(call.stratum, []).append(place)
    scene = Scene()
    box_of: dict[int, int] = {}
    for stratum in sorted(strata):
        members = strata[stratum]
        sources = sorted({box_of[a] for a, b in wires if b in members and a not in members})
        repeats = any(a in members and b in members for a, b in wires)
        box = (
            _frame(calls, wires, members, repeats) if repeats or len(members) > 1 else _box(calls[members[0]])
        )
        place = scene.add(box, sources)
        box_of.update(dict.fromkeys(members, place))
    left = len(flow.calls) - len(calls)
    if left or not calls:
        scene.add(Box(f"... {left:,} more" if left else "nothing has been computed yet", BoxStyle.MORE))
    return scene


def _box(call: DrawnCall, knot: object = None) -> Box:
    """Builds the box of a call. With a knot, the call's result goes back to the entrance of the frame."""
    text = shorten(call.label) + (f"  {clean(call.line)}" if call.line else "")
    style = BoxStyle.LAYER if call.line else BoxStyle.DATA
    output = TypeText(shorten(call.output), clean(call.output))
    hint = f"{clean(call.label)}, stratum {call.stratum}"
    if knot is not None:
        return ReferenceBox(text, style=style, output=output, hint=hint, knot=knot)
    return Box(text, style, output, hint)


def _frame(
    calls: Sequence[DrawnCall], wires: Sequence[tuple[int, int]], members: Sequence[int], repeats: bool
) -> FrameBox:
    """Builds the frame of a stratum. A wire to the same or an earlier call goes back to the entrance."""
    stratum = calls[members[0]].stratum
    title = f"stratum {stratum}" + (", step by step" if repeats else "")
    scene = Scene(knot=("stratum", stratum) if repeats else None, title=title)
    entrance = scene.add(FramePort())
    box_of: dict[int, int] = {}
    for member in members:
        sources = [a for a, b in wires if b == member]
        entries = [entrance] if any(a not in members or a >= member for a in sources) or not sources else []
        goes_back = any(a == member and b in members and b <= a for a, b in wires)
        inner = [box_of[a] for a in sources if a in box_of]
        box_of[member] = scene.add(_box(calls[member], scene.knot if goes_back else None), [*entries, *inner])
    read_inside = {a for a, b in wires if b in members}
    read_outside = {a for a, b in wires if b not in members}
    ends = [box_of[member] for member in members if member in read_outside or member not in read_inside]
    scene.add(FramePort(), ends)
    return FrameBox(title, scene=scene)
