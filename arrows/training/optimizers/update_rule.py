"""The update rule: how one parameter changes, given its gradient; and arithmetic that the rules share.

A rule holds hyperparameters only, neither state nor a model. Every rule here works element by element, so the
optimizer runs the same few lines over blocks of rows that stay in the cache, and over only those rows that a
row-sparse gradient touches.

On a row-sparse gradient the rules are lazy: running averages fade, and rows move and decay, only in the steps
that touch them; Adam corrects its bias by the number of steps that have touched the row. So each row behaves
as if it had an optimizer of its own that sleeps between its gradients. In the papers, and for dense gradients
here, running averages fade in every step; `Optimizer(dense=True)` has all gradients count as dense.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from arrows.ops.arrays import Array, ArrayModule
from arrows.training.arguments import require_above, require_range
from arrows.training.learning_rates import Rate, require_rate

StepCount: TypeAlias = int | Array
"""How many steps have changed each row: one number, or, where rows differ, float64 `[rows, 1, ...]`."""


class Rule(Protocol):
    """What the optimizer asks of an update rule; a frozen dataclass with these members is one.

    `slots` names the arrays that the rule keeps for each parameter, each of the parameter's shape, with the
    value that they start from.

    >>> class Descent:  # the smallest rule
    ...     learning_rate, weight_decay, slots = 0.1, 0.0, {}
    ...
    ...     def update(self, xp, parameter, gradient, state, scratch, *, rate, step):
    ...         parameter -= rate * gradient
    >>> from arrows.training import Optimizer
    >>> Optimizer(Descent()).steps
    0
    """

    @property
    def learning_rate(self) -> Rate: ...

    @property
    def weight_decay(self) -> float: ...

    @property
    def slots(self) -> Mapping[str, float]: ...

    def update(
        self,
        xp: ArrayModule,
        parameter: Array,
        gradient: Array,
        state: Mapping[str, Array],
        scratch: Array,
        *,
        rate: float,
        step: StepCount,
    ) -> None:
        """Changes `parameter` and the arrays of `state` in place.

        Args:
            xp: the array module.
            parameter: some rows of a parameter.
            gradient: the gradient of these rows, clipped, with the weight decay added; must not be changed.
            state: the same rows of each slot.
            scratch: an array like `gradient`, of unspecified content.
            rate: the learning rate of this step.
            step: how many steps have changed these rows, this one included: an int, or, where the number
                differs from row to row, an array, float64 `[rows, 1, ...]`.
        """


def require_hyperparameters(
    owner: str,
    rule: Rule,
    *,
    shares: tuple[str, ...] = (),
    amounts: tuple[str, ...] = ("weight_decay",),
    divisors: tuple[str, ...] = ("epsilon",),
) -> None:
    """Refuses hyperparameters out of range: shares are in [0, 1), amounts at least 0, divisors above 0.

    The learning rate is checked as well. `owner` is the optimizer that the message names.
    """
    require_rate(f"{owner}: learning_rate", rule.learning_rate)
    for name in shares:
        require_range(owner, name, getattr(rule, name), 0.0, 1.0)
    for name in amounts:
        require_range(owner, name, getattr(rule, name), 0.0)
    for name in divisors:
        require_above(owner, name, getattr(rule, name))


def descend(
    xp: ArrayModule,
    parameter: Array,
    direction: Array,
    squares: Array,
    epsilon: float,
    rate: float | Array,
    scratch: Array,
) -> None:
    """parameter <- parameter - rate * direction / (sqrt(squares) + epsilon); `scratch` may be `squares`."""
    xp.sqrt(squares, out=scratch)
    xp.add(scratch, epsilon, out=scratch)
    xp.divide(direction, scratch, out=scratch)
    xp.multiply(scratch, rate, out=scratch)
    xp.subtract(parameter, scratch, out=parameter)


def fade_in(
    xp: ArrayModule, average: Array, values: Array, keep: float, scratch: Array, *, squared: bool
) -> None:
    """average <- keep * average + (1 - keep) * values, or, if `squared`, with the squares of the values."""
    if squared:
        values = xp.multiply(values, values, out=scratch)
    xp.multiply(values, 1.0 - keep, out=scratch)
    xp.multiply(average, keep, out=average)
    xp.add(average, scratch, out=average)
