"""The optimizers by their names."""

from __future__ import annotations

from collections.abc import Mapping

from arrows.training.adaptive import FadingDeltas, FadingSquares, Moments
from arrows.training.learning_rates import Rate
from arrows.training.optimizer import Optimizer
from arrows.training.update_rules import AdaptiveSquares, Momentum


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


class Adam(Optimizer):
    """Adam: steps of about the learning rate, whatever the gradient's scale (see `Moments`).

    On a row-sparse gradient it is lazy: see `arrows.training.adaptive`.

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        beta1, beta2: shares of the memories of gradients and of their squares that are kept, in [0, 1).
        epsilon: above 0, added to the root of the squares.
        weight_decay: coupled L2: this times the parameter is added to its gradient, after clipping.
        clip_norm, rates, average: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter out of its range.

    >>> Adam(rates={"embed/*": 0.01}, average=0.999).learning_rate
    0.001
    """

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        *,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
        rates: Mapping[str, Rate] | None = None,
        average: float | None = None,
    ) -> None:
        rule = Moments(learning_rate, beta1, beta2, epsilon, weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average)


class AdamW(Optimizer):
    """Adam with decoupled weight decay (see `Moments`).

    On a row-sparse gradient it is lazy: see `arrows.training.adaptive`. A row decays only when touched.

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        beta1, beta2: shares of the memories of gradients and of their squares that are kept, in [0, 1).
        epsilon: above 0, added to the root of the squares.
        weight_decay: decoupled: this times the learning rate is the share of itself that a parameter loses
            in a step; it goes into no gradient and no memory.
        clip_norm, rates, average: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter out of its range.

    >>> AdamW(0.001, weight_decay=0.1).rule.decoupled_decay
    0.1
    """

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        *,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0.01,
        clip_norm: float | None = None,
        rates: Mapping[str, Rate] | None = None,
        average: float | None = None,
    ) -> None:
        rule = Moments(learning_rate, beta1, beta2, epsilon, decoupled_decay=weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average)


class RMSprop(Optimizer):
    """RMSprop: gradients over the root of their recent mean square (see `FadingSquares`).

    On a row-sparse gradient it is lazy: see `arrows.training.adaptive`.

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        rho: share of the memory that is kept, in [0, 1).
        epsilon: above 0, added to the root.
        weight_decay: coupled L2: this times the parameter is added to its gradient, after clipping.
        clip_norm, rates, average: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter out of its range.

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
    ) -> None:
        rule = FadingSquares(learning_rate, rho, epsilon, weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average)


class Adadelta(Optimizer):
    """Adadelta: no learning rate to choose (see `FadingDeltas`).

    On a row-sparse gradient it is lazy: see `arrows.training.adaptive`.

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        rho: share of the memory that is kept, in [0, 1).
        epsilon: above 0; the size of the first steps is about its root.
        weight_decay: coupled L2: this times the parameter is added to its gradient, after clipping.
        clip_norm, rates, average: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter out of its range.

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
    ) -> None:
        rule = FadingDeltas(learning_rate, rho, epsilon, weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average)
