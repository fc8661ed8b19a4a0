"""A picture of a program that is batched on the fly: boxes are call sites, wires say which feeds which.

Strata follow one another downwards. A stratum of several call sites is drawn in a frame: the sites compute
the same and run together, or they feed one another in a cycle, which a wire leading back shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from arrows.drawing.layout import CHARACTERS, lay_out
from arrows.drawing.scene import Box, Scene, clean, shorten
from arrows.drawing.svg import to_svg
from arrows.drawing.text import to_text
from arrows.typesys import ArrowValueError

if TYPE_CHECKING:
    from arrows.onthefly.dataflow import Dataflow, ObservedCall

CALLS = 200  # at most so many call sites are drawn: the first that were observed


def draw_dataflow(dataflow: Dataflow, format: Literal["text", "svg"] = "text") -> str:
    """Draws the call sites of a program on the fly, and which of them feed which.

    Args:
        dataflow: of a network, `net.dataflow`.
        format: "text" or "svg".

    Raises:
        ArrowValueError: there is no such format.

    Example:
        >>> import arrows as ar
        >>> net = ar.OnTheFly()
        >>> with net.batch() as g:
        ...     float(ar.Function(lambda x: x * 2, name="double")(1.5))
        3.0
        >>> print(draw_dataflow(net.dataflow), end="")
         ┌─────────┐
         │ values  │
         └─────────┘
           float32
              │
              ▼
        ┌───────...─┐
        │ double ...│
        └───────...─┘
           float32
    """
    scene = flow_scene(dataflow)
    if format == "text":
        return to_text(lay_out(scene, CHARACTERS))
    if format == "svg":
        return to_svg(lay_out(scene), "call sites and what they feed")
    raise ArrowValueError(f"it is drawn as text or svg, not as {format!r}")


def flow_scene(flow: Dataflow) -> Scene:
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
        box = _box(calls[members[0]])
        if repeats or len(members) > 1:
            title = f"stratum {stratum}" + (", step by step" if repeats else "")
            box = Box(title, "block", scene=_stratum(calls, wires, members, repeats))
        box_of.update(dict.fromkeys(members, scene.add(box, sources)))
    left = len(flow.calls) - len(calls)
    if left or not calls:
        scene.add(Box(f"... {left:,} more" if left else "nothing has been computed yet", "more"))
    return scene


def _box(call: ObservedCall, knot: object = None) -> Box:
    """Builds the box of a call. With a knot, the call's result goes back to the entrance of the frame."""
    text = shorten(call.label) + (f"  {clean(call.line)}" if call.line else "")
    hint = f"{clean(call.label)}, stratum {call.stratum}"
    return Box(text, "layer" if call.line else "data", clean(call.output), hint, knot=knot)


def _stratum(
    calls: tuple[ObservedCall, ...], wires: list[tuple[int, int]], members: list[int], repeats: bool
) -> Scene:
    """Builds the inside of a frame. A wire to the same or an earlier call goes back to the entrance."""
    scene = Scene(knot=("stratum", calls[members[0]].stratum) if repeats else None)
    entrance = scene.add(Box())
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
    if ends:
        scene.add(Box(), ends)
    return scene
