"""The schedule of a batch as data: which operation runs in which step, on how many rows."""

from __future__ import annotations

from dataclasses import dataclass

from arrows.engine.planning import Plan
from arrows.engine.scheduling.merge import Merged


@dataclass(frozen=True, slots=True)
class Timeline:
    """A batch's schedule.

    Attributes:
        schedule: its name, such as `strata`.
        examples: how many examples are in the batch.
        operations: the names of the operations, in the order in which they first run.
        steps: for each step, the operation (by its place in `operations`) and the number of rows.
    """

    schedule: str
    examples: int
    operations: tuple[str, ...]
    steps: tuple[tuple[int, int], ...]

    @property
    def rows(self) -> int:
        """How many rows run in all."""
        return sum(rows for _, rows in self.steps)


def timeline(plan: Plan, merged: Merged) -> Timeline:
    """The timeline of a merged batch; `Model.timeline` makes that of a batch of examples."""
    places: dict[int, int] = {}
    steps = []
    for o, step in merged.steps:
        bounds = merged.operations[o].bounds
        steps.append((places.setdefault(o, len(places)), int(bounds[step + 1] - bounds[step])))
    names = tuple(plan.operations[o].name for o in places)
    return Timeline(plan.schedule, merged.examples, names, tuple(steps))
