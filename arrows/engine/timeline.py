"""The schedule of a batch as data: which operation runs in which step, on how many rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arrows.engine.scheduling.merge import merge

if TYPE_CHECKING:
    from arrows.engine.model import Model


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


def timeline(model: Model, examples: Any) -> Timeline:
    """The schedule of a batch, without running it.

    Args:
        model: from `arrows.compile`.
        examples: Python objects, or a batch of a prepared set.

    Raises:
        InputError: an example does not fit.

    Example:
        >>> import arrows as ar
        >>> from arrows.engine.timeline import timeline
        >>> add = ar.Function(lambda total, x: total + x, name="add")
        >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Fold(add, ar.Zeros([])))
        >>> timeline(model, [[1, 2, 3], [4], [5, 6]]).steps
        ((0, 3), (0, 2), (0, 1))
    """
    merged = merge(model.plan, model.prepare(examples)[:].wired)
    places: dict[int, int] = {}
    steps = []
    for o, step in merged.steps:
        bounds = merged.operations[o].bounds
        steps.append((places.setdefault(o, len(places)), int(bounds[step + 1] - bounds[step])))
    names = tuple(model.plan.operations[o].name for o in places)
    return Timeline(model.schedule, merged.examples, names, tuple(steps))
