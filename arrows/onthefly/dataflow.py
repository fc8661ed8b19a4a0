"""The observed dataflow of a program, for drawings: its call sites, and which of them feed which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arrows.engine.planning import Plan
from arrows.onthefly.call_sites import CallSite


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCall:
    """A call site.

    Attributes:
        label: the name of what is called; "values" where data enter.
        line: the line of the call, such as ``model.py:41``; empty where data enter.
        output: the type of its result.
        stratum: the stratum in which it runs under the schedule "strata".
    """

    label: str
    line: str
    output: str
    stratum: int


@dataclass(frozen=True, slots=True)
class Dataflow:
    """The call sites of a program, in the order of their first calls, and which of them feed which.

    Printed, it is a drawing; in a notebook, a picture: those of `arrows.drawing.draw_dataflow`.

    Attributes:
        calls: the call sites.
        wires: pairs of places in `calls`: the result of the first goes into the second.

    Example:
        >>> import arrows as ar
        >>> net, double = ar.OnTheFly(), ar.Function(lambda x: x * 2, name="double")
        >>> with net.batch() as g:
        ...     x = double(double(3)).numpy()
        >>> [(call.label, call.output) for call in net.dataflow.calls], net.dataflow.wires
        ([('values', 'int32'), ('double', 'int32'), ('double', 'int32')], ((0, 1), (1, 2)))
    """

    calls: tuple[ObservedCall, ...]
    wires: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        from arrows import drawing  # a room beside this one: only a reader asks for it

        return drawing.draw_dataflow(self).rstrip("\n")

    def _repr_svg_(self) -> str:
        from arrows import drawing

        return drawing.draw_dataflow(self, "svg")


def dataflow(plan: Plan, calls: Iterable[CallSite]) -> Dataflow:
    """The call sites of a plan that was made by strata.

    Args:
        plan: the plan of all call sites.
        calls: the call sites, for their lines.
    """
    lines = {call.number: str(call.line) for call in calls}
    strata = (plan.sites.base >> 32).tolist()
    place_of: dict[int, int] = {}
    observed: list[ObservedCall] = []
    sites = plan.lowered.sites
    for site in sites:
        if site.kind == "element":  # its rows are results of its operation
            place_of[site.index] = place_of[site.parent]
        elif site.kind in ("apply", "read"):
            place_of[site.index] = len(observed)
            observed.append(
                ObservedCall(
                    label=site.typed.form.label if site.kind == "apply" else "values",
                    line=lines.get(site.index, ""),
                    output=str(site.typed.output),
                    stratum=strata[site.index],
                )
            )
    wires = {
        (place_of[source], place_of[site.index])
        for site in sites
        for port in site.ports
        for source, _ in plan.lowered.reaching[port.place]
        if source in place_of
    }
    return Dataflow(tuple(observed), tuple(sorted(wires, key=lambda wire: (wire[1], wire[0]))))
