"""SGD: stochastic gradient descent, with or without momentum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arrows.ops.arrays import Array, ArrayModule
from arrows.training.learning_rates import Rate
from arrows.training.optimizers.optimizer import Optimizer
from arrows.training.optimizers.update_rule import StepCount, require_hyperparameters


class SGD(Optimizer):
    """Stochastic gradient descent, with Polyak's momentum if `momentum` is above 0 (see `Momentum`).

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        momentum: the share of the last step that this one continues, in [0, 1).
        weight_decay: coupled L2 regularization: this times the parameter is added to the clipped gradient.
        clip_norm, rates, average, dense: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter is out of range.

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
        dense: bool = False,
    ) -> None:
        rule = Momentum(learning_rate, momentum, weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average, dense=dense)


@dataclass(frozen=True, slots=True)
class Momentum:
    """Gradient descent, with Polyak's momentum if `momentum` is above 0.

    v <- momentum * v - learning_rate * gradient; parameter <- parameter + v (Sutskever, Martens, Dahl,
    Hinton, "On the importance of initialization and momentum in deep learning", ICML 2013, equations 1 and
    2).

    Raises:
        ArrowValueError: a rate or decay below 0, or momentum outside [0, 1).

    >>> Momentum(0.1, momentum=0.9).slots
    {'velocity': 0.0}
    """

    learning_rate: Rate
    momentum: float = 0.0
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        require_hyperparameters("SGD", self, shares=("momentum",), divisors=())

    @property
    def slots(self) -> Mapping[str, float]:
        return {"velocity": 0.0} if self.momentum else {}

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
        xp.multiply(gradient, rate, out=scratch)
        if self.momentum:
            velocity = state["velocity"]
            xp.multiply(velocity, self.momentum, out=velocity)
            xp.subtract(velocity, scratch, out=velocity)
            xp.add(parameter, velocity, out=parameter)
        else:
            xp.subtract(parameter, scratch, out=parameter)
