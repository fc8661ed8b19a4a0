"""Traces the error of a kernel back to the example that gave it its operands.

Most of what can be wrong with an example shows when it is read.  An index that is computed, or a sequence
that turns out to be empty, shows when a step runs, on rows of many examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

from arrows.engine.lowering import Composed
from arrows.engine.planning import ApplyOperation, Plan
from arrows.engine.scheduling import Merged
from arrows.ops import IndexOutOfRange
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.errors import input_message

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
    *,
    numbers: HostArray,
    examples: Sequence[object] | None,
    explain: Callable[[object, int, bool], None],
    run_alone: Callable[[int], None],
) -> NoReturn:
    """Raises the `InputError` of a refused step: block and example, and the path if the example is at hand.

    Args:
        plan: the model's plan.
        merged: its schedule.
        refused: what went wrong.
        numbers: what the examples are called in messages.
        examples: the examples themselves; None if only their wirings are there.
        explain: as `ExampleReader.explain`.
        run_alone: runs one of the examples by itself.
    """
    cause = refused.__cause__
    suspects = _suspects(merged, refused)
    place = suspects[0] if len(suspects) == 1 else None
    for suspect in suspects:
        if place is None:
            try:
                run_alone(suspect)
            except StepRefused as again:
                place, cause = suspect, again.__cause__
    number = None if place is None else int(numbers[place])
    if place is not None and number is not None and examples is not None:
        with suppress(ArrowValueError):  # what the reference's kernels raise says no place in the example
            explain(examples[place], number, True)
    operation = plan.operations[refused.operation]
    assert isinstance(operation, ApplyOperation)
    typed = operation.typed
    steps = typed.steps if isinstance(typed, Composed) else (typed,)
    label = " >> ".join(step.form.label for step in steps)
    raise InputError(input_message(number, "", str(cause), label, typed.form.site)) from cause


def _suspects(merged: Merged, refused: StepRefused) -> list[int]:
    """The examples whose rows were in the step; the one example if the kernel says which row it refused."""
    rows = merged.operations[refused.operation]
    examples, _ = merged.nodes(refused.operation)
    if refused.step is not None:
        start, stop = rows.bounds[refused.step], rows.bounds[refused.step + 1]
        row = getattr(refused.__cause__, "row", None)
        if row is not None and not rows.offsets:  # with sequences, the row may be an element's
            start, stop = start + row, start + row + 1
        examples = examples[start:stop]
    return sorted(set(examples.tolist()))
