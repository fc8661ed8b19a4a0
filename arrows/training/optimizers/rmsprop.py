"""RMSprop: gradients divided by the root of their recent mean square."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arrows.ops.arrays import Array, ArrayModule
from arrows.training.learning_rates import Rate
from arrows.training.optimizers.optimizer import Optimizer
from arrows.training.optimizers.update_rule import StepCount, descend, fade_in, require_hyperparameters


class RMSprop(Optimizer):
    """RMSprop: gradients divided by the root of their recent mean square (see `FadingSquares`).

    On a row-sparse gradient it is lazy: see `arrows.training.optimizers.update_rule`.

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        rho: decay of the running average of squares, in [0, 1).
        epsilon: above 0, added to the square root.
        weight_decay: coupled L2 regularization: this times the parameter is added to the clipped gradient.
        clip_norm, rates, average, dense: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter is out of range.

    >>> RMSprop(0.01).rule.slots
    {'squares': 0.0}
    """

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        *,
        rho: float = 0.9,
        epsilon: float = 1e-8,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
        rates: Mapping[str, Rate] | None = None,
        average: float | None = None,
        dense: bool = False,
    ) -> None:
        rule = FadingSquares(learning_rate, rho, epsilon, weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average, dense=dense)


@dataclass(frozen=True, slots=True)
class FadingSquares:
    """RMSprop.

    s <- rho * s + (1 - rho) * gradient^2; parameter <- parameter - learning_rate * gradient / (sqrt(s) +
    epsilon) (Tieleman, Hinton, "Lecture 6.5: rmsprop", COURSERA: Neural Networks for Machine Learning,
    2012, slide 29, where rho is 0.9 and there is no epsilon).

    Raises:
        ArrowValueError: a rate or decay below 0, rho outside [0, 1), or an epsilon of 0 or less.

    >>> FadingSquares(0.001).slots
    {'squares': 0.0}
    """

    learning_rate: Rate
    rho: float = 0.9
    epsilon: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        require_hyperparameters("RMSprop", self, shares=("rho",))

    @property
    def slots(self) -> Mapping[str, float]:
        return {"squares": 0.0}

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
        fade_in(xp, state["squares"], gradient, self.rho, scratch, squared=True)
        descend(xp, parameter, gradient, state["squares"], self.epsilon, rate, scratch)
