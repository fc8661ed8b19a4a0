"""An optimizer's update as element-wise equations: recorded once, it runs wherever the parameters are.

The recording is the engine's own, so that every function of `arrows.ops` that works element by element may
stand in a rule. What does not is refused: an update runs on blocks of rows, on those rows alone that a
row-sparse gradient lists, and number by number in kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from arrows.ops import INVARIANT, ROW, Equation, RowSparse, Tracer, TraceRecorder, Var
from arrows.ops.arrays import HOST, Array, ArrayModule
from arrows.ops.innermost import in_own_context
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys import types as T

if TYPE_CHECKING:
    from arrows.training.optimizers.optimizer import Optimizer

Gradient: TypeAlias = Array | RowSparse

StepCount: TypeAlias = int | Array
"""How many steps have changed a parameter: one number, or one for each row, float64 `[rows]`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Update:
    """A recorded update.

    Attributes:
        rate, step, scale, gradient: what it reads; the first three have no rows.
        targets: what it changes: the parameter, then the arrays of its state.
        results: the new value of each target.
        constants: the numbers that stand in the rule.
        of_step: equations of the rate and the number of steps alone, the same for all elements.
        equations: those of each element.
        places: where the result of each of these goes: to the memory of the target of this number, to scratch
            memory at -1, -2, ..., or, None, to a new array.
        numbers: what `equations` read of `rate` and `of_step`.
        scratches: how many arrays of scratch memory it needs.
    """

    rate: Var
    step: Var
    scale: Var
    gradient: Var
    targets: tuple[Var, ...]
    results: tuple[Var, ...]
    constants: Mapping[Var, float]
    of_step: tuple[Equation, ...]
    equations: tuple[Equation, ...]
    places: tuple[int | None, ...]
    numbers: tuple[Var, ...]
    scratches: int

    def numbers_of(self, xp: ArrayModule, rate: float, step: float | Array) -> list[Any]:
        """The values of `numbers`, by row where `step` is an array."""
        values: dict[Var, Any] = {**self.constants, self.rate: float(rate), self.step: step}
        for equation in self.of_step:
            operands = [values[var] for var in equation.operands]
            on_host = all(isinstance(operand, float) for operand in operands)
            value = _kernel(equation, HOST if on_host else xp)(*operands)
            values[equation.result] = float(value) if on_host else value
        return [values[var] for var in self.numbers]

    def run(
        self,
        xp: ArrayModule,
        targets: Sequence[Array],
        gradient: Array,
        scale: Array | None,
        numbers: Sequence[Any],
        scratch: Sequence[Array],
    ) -> None:
        """Changes the targets, or some rows of them, in place.

        Args:
            xp: the array module.
            targets: as in the class, arrays of one shape.
            gradient: of that shape; it stays as it is.
            scale: the factor of gradient clipping.
            numbers: what `numbers_of` gives.
            scratch: so many arrays of that shape as `scratches` says.
        """
        lines, results = _bound(self, cast("Hashable", xp))
        values = [gradient, *targets, scale, *numbers, *self.constants.values()]
        memory = [*targets, *scratch]
        for kernel, operands, place in lines:
            read = [values[n] for n in operands]
            values.append(kernel(*read) if place is None else kernel(*read, out=memory[place]))
        moves = [(old, values[n]) for old, n in zip(targets, results, strict=True) if values[n] is not old]
        if len(moves) > 1:  # of two that change places each is read before
            moves = [(old, new.copy()) for old, new in moves]
        for old, new in moves:
            old[...] = new


@lru_cache(maxsize=64)
def _bound(
    update: Update, xp: Any
) -> tuple[list[tuple[Callable[..., Any], list[int], int | None]], list[int]]:
    """What computes each equation, the numbers of the values that it reads, its place; and of the results."""
    first = [update.gradient, *update.targets, update.scale, *update.numbers, *update.constants]
    number = {var: n for n, var in enumerate([*first, *(each.result for each in update.equations)])}
    lines = [
        (_kernel(equation, xp), [number[var] for var in equation.operands], place)
        for equation, place in zip(update.equations, update.places, strict=True)
    ]
    return lines, [number[var] for var in update.results]


def _kernel(equation: Equation, xp: ArrayModule) -> Callable[..., Any]:
    return equation.primitive.kernel(xp, **dict(equation.attributes))


@in_own_context
def record(optimizer: Optimizer, dtype: str, *, scaled: bool) -> Update:
    """Records an optimizer's update of parameters of an element type.

    Args:
        optimizer: whose update it is.
        dtype: the element type.
        scaled: whether gradients are clipped.

    Raises:
        ArrowTypeError: the update returns no tensor.
        ArrowValueError: it does not work element by element.
    """
    # Of one axis: what looks at more than one number, such as a maximum, is then an equation of its own.
    recorder, number = TraceRecorder(), T.Tensor((1,), dtype)
    rate, step, scale = (recorder.input(number, INVARIANT) for _ in range(3))
    parameter, gradient, *arrays = (recorder.input(number, ROW) for _ in range(2 + len(optimizer.slots)))
    state: dict[str, Any] = dict(zip(optimizer.slots, arrays, strict=True))
    call = f"{type(optimizer).__name__}.update"
    with recorder:
        direction: Any = gradient * scale if scaled else gradient
        if optimizer.weight_decay and not optimizer.decoupled:
            direction = direction + parameter * optimizer.weight_decay
        new = [optimizer.update(parameter, direction, state, rate=rate, step=step)]
        new += [state[slot] for slot in optimizer.slots]
    for what, value in zip(("parameter", *optimizer.slots), new, strict=True):
        if not isinstance(value, Tracer):
            raise ArrowTypeError(
                f"{call} must return the parameter's new value, and put that of each slot into state: "
                f"{what} is of the type {type(value).__name__}"
            )
        if value.type.dtype != dtype or value.rows != ROW:
            raise ArrowValueError(
                f"{call}: the new {what} is of {value.type.dtype}, and should be of {dtype}"
            )
    trace = recorder.finish(tuple(value.var for value in new), number)
    for equation in trace.equations:
        if not equation.primitive.elementwise:
            raise ArrowValueError(
                f"{call} must work element by element, since it runs on some rows of a parameter at a time; "
                f"{equation.primitive.name} does not"
            )
    if any(value.type != number for value in new):
        raise ArrowValueError(f"{call} must give one number for each of the parameter's")
    constants = {var: array.item() for array, var in trace.constants}
    of_step = tuple(equation for equation in trace.equations if equation.result.rows == INVARIANT)
    equations = tuple(equation for equation in trace.equations if equation.result.rows == ROW)
    known = {rate.var, step.var, *(equation.result for equation in of_step)}
    read = dict.fromkeys(var for equation in equations for var in equation.operands if var in known)
    targets = (parameter.var, *(array.var for array in arrays))
    places = _places(equations, targets, trace.results)
    return Update(
        rate=rate.var,
        step=step.var,
        scale=scale.var,
        gradient=gradient.var,
        targets=targets,
        results=trace.results,
        constants=constants,
        of_step=of_step,
        equations=equations,
        places=places,
        numbers=tuple(read),
        scratches=-min((place for place in places if place is not None and place < 0), default=0),
    )


def _places(
    equations: Sequence[Equation], targets: Sequence[Var], results: Sequence[Var]
) -> tuple[int | None, ...]:
    """Where each result goes: over a target whose old value nothing reads any more, or to scratch memory."""
    last = {var: number for number, equation in enumerate(equations) for var in equation.operands}
    last |= dict.fromkeys(results, len(equations))
    owners = dict(
        enumerate(targets)
    )  # what lies in the targets' memory, and, at -1, -2, ..., in scratch memory
    places: list[int | None] = []
    for number, equation in enumerate(equations):
        free = [place for place, owner in owners.items() if last.get(owner, -1) <= number]
        own = [n for n, var in enumerate(results) if var == equation.result]
        over = [n for n, var in enumerate(targets) if var in equation.operands]  # in place, if it ends here
        if equation.result.type != targets[0].type:
            places.append(None)  # a comparison
            continue
        choice = [
            n for n in (*own, *over, *range(-1, -2 - len(equations), -1)) if n in free or n not in owners
        ]
        places.append(choice[0])
        owners[choice[0]] = equation.result
    return tuple(places)
