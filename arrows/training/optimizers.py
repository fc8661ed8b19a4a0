"""The optimizers by their names."""

from __future__ import annotations

from collections.abc import Mapping

from arrows.training.optimizer import Optimizer
from arrows.training.rates import Rate
from arrows.training.rules import AdaptiveSquares, Momentum


class SGD(Optimizer):
    """Stochastic gradient descent, with Polyak's momentum if `momentum` is above 0 (see `Momentum`).

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        momentum: share of the last step that is kept, in [0, 1).
        weight_decay: coupled L2: this times the parameter is added to its gradient, after clipping.
        clip_norm, rates, average: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter out of its range.

    >>> SGD(0.1, momentum=0.9, clip_norm=5.0)
    SGD(Momentum(learning_rate=0.1, momentum=0.9, weight_decay=0.0), clip_norm=5.0)
    """

    def __init__(
        self,
        learning_rate: Rate,
        *,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
        rates: Mapping[str, Rate] | None = None,
        average: float | None = None,
    ) -> None:
        rule = Momentum(learning_rate, momentum, weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average)


class Adagrad(Optimizer):
    """Adagrad: rates that fall with the squares of the gradients seen so far (see `AdaptiveSquares`).

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        epsilon: above 0, added to the root of the sum of squares.
        initial_accumulator: what the sum of squares starts from.
        weight_decay: coupled L2: this times the parameter is added to its gradient, after clipping.
        clip_norm, rates, average: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter out of its range.

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
    ) -> None:
        rule = AdaptiveSquares(learning_rate, epsilon, initial_accumulator, weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average)
