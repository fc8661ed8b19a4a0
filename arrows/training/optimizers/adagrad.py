"""Adagrad: learning rates that fall with the squares of the gradients so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arrows.ops.arrays import Array, ArrayModule
from arrows.training.learning_rates import Rate
from arrows.training.optimizers.optimizer import Optimizer
from arrows.training.optimizers.update_rule import StepCount, descend, require_hyperparameters


class Adagrad(Optimizer):
    """Adagrad: learning rates that fall with the squares of the gradients so far (see `AdaptiveSquares`).

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        epsilon: above 0, added to the square root of the sum of squares.
        initial_accumulator: the value from which the sum of squares starts.
        weight_decay: coupled L2 regularization: this times the parameter is added to the clipped gradient.
        clip_norm, rates, average, dense: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter is out of range.

    >>> Adagrad(0.05).rule.slots
    {'squares': 0.0}
    """

    def __init__(
        self,
        learning_rate: Rate,
        *,
        epsilon: float = 1e-10,
        initial_accumulator: float = 0.0,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
        rates: Mapping[str, Rate] | None = None,
        average: float | None = None,
        dense: bool = False,
    ) -> None:
        rule = AdaptiveSquares(learning_rate, epsilon, initial_accumulator, weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average, dense=dense)


@dataclass(frozen=True, slots=True)
class AdaptiveSquares:
    """Adagrad with the diagonal matrix: the rate of each element falls with the squares of its gradients.

    s <- s + gradient^2; parameter <- parameter - learning_rate * gradient / (sqrt(s) + epsilon) (Duchi,
    Hazan, Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", JMLR 12,
    2011, figure 1, with H = epsilon I + diag(s)^(1/2)).

    Raises:
        ArrowValueError: a rate, decay or initial accumulator below 0, or an epsilon of 0 or less.

    >>> AdaptiveSquares(0.05, initial_accumulator=0.1).slots
    {'squares': 0.1}
    """

    learning_rate: Rate
    epsilon: float = 1e-10
    initial_accumulator: float = 0.0
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        # An epsilon of 0 would divide 0 by 0 where no gradient has come yet.
        require_hyperparameters("Adagrad", self, amounts=("initial_accumulator", "weight_decay"))

    @property
    def slots(self) -> Mapping[str, float]:
        return {"squares": self.initial_accumulator}

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
        squares = state["squares"]
        xp.multiply(gradient, gradient, out=scratch)
        xp.add(squares, scratch, out=squares)
        descend(xp, parameter, gradient, squares, self.epsilon, rate, scratch)
