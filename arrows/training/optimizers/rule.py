"""An optimizer's rule as element-wise equations: recorded once, it runs wherever the parameters are.

The recording is the engine's own, so that every function of `arrows.ops` that works element by element may
stand in a rule. What does not is refused: a rule runs on blocks of rows, on those rows alone that a
row-sparse gradient lists, and number by number in kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from arrows.arrays import HOST, Array, ArrayModule
from arrows.ops import INVARIANT, ROW, Equation, RowSparse, Tracer, TraceRecorder, Var, in_own_context
from arrows.typesys import ArrowTypeError, ArrowValueError, types as T

if TYPE_CHECKING:
    from arrows.training.optimizers.optimizer import Optimizer

Gradient: TypeAlias = Array | RowSparse

StepCount: TypeAlias = int | Array
"""How many steps have changed a parameter: one number, or one for each row, float64 `[rows]`."""


ArrayStep: TypeAlias = Callable[[Array, Array | None, list[Array], list[Any], list[Array]], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Rule:
    """A recorded update.

    Attributes:
        rate, step, scale, gradient: what it reads; the first three have no rows.
        targets: what it changes: the parameter, then the arrays of its state.
        results: the new value of each target.
        constants: the numbers that stand in the rule.
        of_step: equations of the rate and the number of steps alone, the same for all elements.
        equations: those of each element.
        numbers: what `equations` read of `rate` and `of_step`.
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
    numbers: tuple[Var, ...]

    def numbers_of(self, xp: ArrayModule, rate: float, step: float | Array) -> list[Any]:
        """The values of `numbers`, by row where `step` is an array."""
        values: dict[Var, Any] = {**self.constants, self.rate: float(rate), self.step: step}
        for equation in self.of_step:
            operands = [values[var] for var in equation.operands]
            on_host = all(isinstance(operand, float) for operand in operands)
            value = _kernel(equation, HOST if on_host else xp)(*operands)
            values[equation.result] = float(value) if on_host else value
        return [self.scalar(xp, values[var]) for var in self.numbers]

    def scalar(self, xp: ArrayModule, value: Any) -> Any:
        """A number as arrays of a module read it fastest: NumPy takes half the time for one without axes."""
        return np.asarray(value, self.gradient.type.dtype) if xp is np and isinstance(value, float) else value


@in_own_context
def record(optimizer: Optimizer, dtype: str, *, scaled: bool) -> Rule:
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
        decay: Any = optimizer.weight_decay
        if decay and not optimizer.decoupled:
            direction = direction + parameter * decay
        new = [optimizer.update(parameter, direction, state, rate=rate, step=step)]
        new += [state[slot] for slot in optimizer.slots]
    for what, value in zip(("parameter", *optimizer.slots), new, strict=True):
        if not isinstance(value, Tracer):
            raise ArrowTypeError(
                f"{call} must return the parameter's new value, and put that of each slot into state: "
                f"{what} is of the type {type(value).__name__}"
            )
        if value.type.dtype != dtype or value.rows != ROW:
            raise ArrowValueError(f"{call}: the new {what} is {value.type.dtype}, and should be {dtype}")
    trace = recorder.finish(tuple(value.var for value in new), number)
    for equation in trace.equations:
        if not equation.primitive.elementwise:
            raise ArrowValueError(
                f"{call} must work element by element, since it runs on some rows of a parameter at a time; "
                f"{equation.primitive.name} does not"
            )
    if any(value.type != number for value in new):
        raise ArrowValueError(f"{call} must give one number for each of the parameter's")
    of_step = tuple(equation for equation in trace.equations if equation.result.rows == INVARIANT)
    equations = tuple(equation for equation in trace.equations if equation.result.rows == ROW)
    known = {rate.var, step.var, *(equation.result for equation in of_step)}
    return Rule(
        rate=rate.var,
        step=step.var,
        scale=scale.var,
        gradient=gradient.var,
        targets=(parameter.var, *(array.var for array in arrays)),
        results=trace.results,
        constants={var: array.item() for array, var in trace.constants},
        of_step=of_step,
        equations=equations,
        numbers=tuple(dict.fromkeys(v for equation in equations for v in equation.operands if v in known)),
    )


def on_arrays(rule: Rule, xp: ArrayModule) -> tuple[ArrayStep, int]:
    """A rule over arrays of a module, and how many arrays of scratch memory it takes.

    The function takes the gradient, the factor of clipping, the targets, the numbers that `Rule.numbers_of`
    gives, and scratch memory. It changes the targets in place, and allocates nothing but truth values: a
    result goes to a target whose old value nothing reads any more, else to scratch memory.
    """
    constants = [rule.scalar(xp, number) for number in rule.constants.values()]
    last = {var: n for n, equation in enumerate(rule.equations) for var in equation.operands}
    last |= dict.fromkeys(rule.results, len(rule.equations))
    owners = dict(enumerate(rule.targets))  # what lies in the memory of each target, and in scratch memory
    truths = [each.result for each in rule.equations if each.result.type != rule.gradient.type]
    known = [rule.gradient, rule.scale, *rule.numbers, *rule.constants, *truths]
    places = {var: n for n, var in enumerate((*known, *rule.targets))}
    program: list[tuple[Callable[..., Any], list[int], int]] = []
    for n, equation in enumerate(rule.equations):
        result, operands = equation.result, [places[var] for var in equation.operands]
        if result not in places:
            own = (k for k, new in enumerate(rule.results) if new == result)
            over = (k for k, var in enumerate(rule.targets) if var in equation.operands)
            free = chain(own, over, count(len(rule.targets)))
            place = next(k for k in free if k not in owners or last.get(owners[k], -1) <= n)
            owners[place] = result
            places[result] = len(known) + place
        program.append((_kernel(equation, xp), operands, places[result]))
    moves = [(len(known) + k, places[var]) for k, var in enumerate(rule.results)]
    moves = [(old, new) for old, new in moves if new != old]

    def step(
        gradient: Array, scale: Array | None, targets: list[Array], numbers: list[Any], scratch: list[Array]
    ) -> None:
        values = [gradient, scale, *numbers, *constants, *[None] * len(truths), *targets, *scratch]
        for kernel, operands, place in program:
            values[place] = kernel(*[values[n] for n in operands], out=values[place])
        new: list[Any] = [values[n] for _, n in moves]
        if len(moves) > 1:  # of two that change places each is read before
            new = [value.copy() for value in new]
        for (old, _), value in zip(moves, new, strict=True):
            values[old][...] = value

    return step, len(owners) - len(rule.targets)


def _kernel(equation: Equation, xp: ArrayModule) -> Callable[..., Any]:
    return equation.primitive.kernel(xp, **dict(equation.attributes))
