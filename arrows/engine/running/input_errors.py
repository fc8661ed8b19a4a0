"""From a kernel that refused its operands to the examples that gave them.

Most of what can be wrong with an example shows when it is lowered.  An index that is computed, or a sequence
that turns out to be empty, shows when the step runs, with rows of many examples side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from arrows.engine.lowering import Composed
from arrows.engine.planning import ApplyOperation, Plan
from arrows.engine.scheduling.merge import Merged
from arrows.ops import IndexOutOfRange
from arrows.typesys.errors import ArrowValueError, InputError, input_message

KERNEL_ERRORS = (IndexOutOfRange, ArrowValueError)


class StepRefused(Exception):
    """A kernel refused its operands; the cause says why.

    Attributes:
        operation: the number of the operation.
        step: the number of its step; None for what it computes once a batch.
    """

    def __init__(self, operation: int, step: int | None) -> None:
        super().__init__(operation, step)
        self.operation, self.step = operation, step


def raise_input_error(
    plan: Plan,
    merged: Merged,
    refused: StepRefused,
    numbers: np.ndarray,
    examples: Sequence[Any] | None,
    explain: Callable[[Any, int, bool], None],
    alone: Callable[[int], None],
) -> NoReturn:
    """Raises the `InputError` of a refused step: block and example, and the path if the example is at hand.

    Args:
        plan: the model's plan.
        merged: its schedule.
        refused: what went wrong.
        numbers: what the examples are called in messages.
        examples: the examples themselves; None if only their wirings are there.
        explain: as `ExampleReader.explain`.
        alone: runs one of the examples by itself.
    """
    cause = refused.__cause__
    suspects = _suspects(merged, refused)
    guilty = suspects[0] if len(suspects) == 1 else None
    for suspect in suspects:
        if guilty is None:
            try:
                alone(suspect)
            except StepRefused as again:
                guilty, cause = suspect, again.__cause__
    if guilty is not None and examples is not None:
        with suppress(ArrowValueError):  # what the reference's kernels raise has no place
            explain(examples[guilty], int(numbers[guilty]), True)
    number = None if guilty is None else int(numbers[guilty])
    operation = plan.operations[refused.operation]
    assert isinstance(operation, ApplyOperation)
    typed = operation.typed
    steps = typed.steps if isinstance(typed, Composed) else (typed,)
    label = " >> ".join(step.form.label for step in steps)
    raise InputError(input_message(number, "", str(cause), label, typed.form.site)) from cause


def _suspects(merged: Merged, refused: StepRefused) -> list[int]:
    """The examples whose rows were in the step; the one example if the row is known."""
    found = merged.operations[refused.operation]
    examples, _ = merged.nodes(refused.operation)
    if refused.step is not None:
        a, z = found.bounds[refused.step], found.bounds[refused.step + 1]
        row = getattr(refused.__cause__, "row", None)
        if row is not None and not found.offsets:
            a, z = a + row, a + row + 1
        examples = examples[a:z]
    return sorted(set(examples.tolist()))
