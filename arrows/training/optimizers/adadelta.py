"""Adadelta: steps as large as recent steps, without a learning rate to choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arrows.ops.arrays import Array, ArrayModule
from arrows.training.learning_rates import Rate
from arrows.training.optimizers.optimizer import Optimizer
from arrows.training.optimizers.update_rule import StepCount, fade_in, require_hyperparameters


class Adadelta(Optimizer):
    """Adadelta: no learning rate to choose (see `FadingDeltas`).

    On a row-sparse gradient it is lazy: see `arrows.training.optimizers.update_rule`.

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        rho: decay of the running averages of squares, in [0, 1).
        epsilon: above 0; the first steps are about as large as its square root.
        weight_decay: coupled L2 regularization: this times the parameter is added to the clipped gradient.
        clip_norm, rates, average, dense: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter is out of range.

    >>> Adadelta().learning_rate
    1.0
    """

    def __init__(
        self,
        learning_rate: Rate = 1.0,
        *,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
        rates: Mapping[str, Rate] | None = None,
        average: float | None = None,
        dense: bool = False,
    ) -> None:
        rule = FadingDeltas(learning_rate, rho, epsilon, weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average, dense=dense)


@dataclass(frozen=True, slots=True)
class FadingDeltas:
    """Adadelta: steps in the unit of the parameter, scaled by past steps over past gradients.

    s <- rho * s + (1 - rho) * gradient^2; delta = sqrt(d + epsilon) / sqrt(s + epsilon) * gradient; d <-
    rho * d + (1 - rho) * delta^2; parameter <- parameter - learning_rate * delta (Zeiler, "ADADELTA: An
    Adaptive Learning Rate Method", arXiv:1212.5701, 2012, algorithm 1, where the learning rate is 1).

    Raises:
        ArrowValueError: a rate or decay below 0, rho outside [0, 1), or an epsilon of 0 or less.

    >>> FadingDeltas().slots
    {'squares': 0.0, 'deltas': 0.0}
    """

    learning_rate: Rate = 1.0
    rho: float = 0.95
    epsilon: float = 1e-6
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        require_hyperparameters("Adadelta", self, shares=("rho",))

    @property
    def slots(self) -> Mapping[str, float]:
        return {"squares": 0.0, "deltas": 0.0}

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
        squares, deltas = state["squares"], state["deltas"]
        fade_in(xp, squares, gradient, self.rho, scratch, squared=True)
        delta = xp.empty(deltas.shape, deltas.dtype)  # `scratch` holds `squares + epsilon` at the same time
        xp.add(deltas, self.epsilon, out=delta)
        xp.add(squares, self.epsilon, out=scratch)
        xp.divide(delta, scratch, out=delta)
        xp.sqrt(delta, out=delta)
        xp.multiply(delta, gradient, out=delta)
        fade_in(xp, deltas, delta, self.rho, scratch, squared=True)
        xp.multiply(delta, rate, out=scratch)
        xp.subtract(parameter, scratch, out=parameter)
