"""Update rules: what an optimizer does to one parameter, given its gradient.

A rule is hyperparameters only, without state or model.

Every rule here works element by element. That is what lets the optimizer run a rule over blocks of rows that
stay in cache, and over the touched rows of a row-sparse gradient alone, with the same few lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from arrows.training.arguments import require_number
from arrows.training.learning_rates import Rate, require_rate
from arrows.training.parameters import Array
from arrows.typesys.errors import ArrowValueError

Namespace = Any  # the module of the arrays: NumPy, CuPy or the fake device's


class Rule(Protocol):
    """What the optimizer asks of an update rule; a frozen dataclass with these members is one.

    `slots` names the arrays, each of the parameter's shape, that the rule keeps for each parameter, with the
    value they start from.

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
        xp: Namespace,
        parameter: Array,
        gradient: Array,
        state: Mapping[str, Array],
        scratch: Array,
        *,
        rate: float,
        step: Any,
    ) -> None:
        """Changes `parameter` and the arrays of `state` in place.

        Args:
            xp: the array module.
            parameter: some rows of a parameter.
            gradient: of these rows, clipped, weight decay added; not to be changed.
            state: the same rows of each slot.
            scratch: an array like `gradient`, of unspecified content.
            rate: the learning rate of this step.
            step: how many steps have changed these rows, this one included: an int, or where it differs from
                row to row an array, float64 `[rows, 1, ...]`.
        """


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
        require_rate("SGD: learning_rate", self.learning_rate)
        require_range("SGD", "momentum", self.momentum, 0.0, 1.0)
        require_range("SGD", "weight_decay", self.weight_decay, 0.0)

    @property
    def slots(self) -> Mapping[str, float]:
        return {"velocity": 0.0} if self.momentum else {}

    def update(
        self,
        xp: Namespace,
        parameter: Array,
        gradient: Array,
        state: Mapping[str, Array],
        scratch: Array,
        *,
        rate: float,
        step: Any,
    ) -> None:
        xp.multiply(gradient, rate, out=scratch)
        if self.momentum:
            velocity = state["velocity"]
            xp.multiply(velocity, self.momentum, out=velocity)
            xp.subtract(velocity, scratch, out=velocity)
            xp.add(parameter, velocity, out=parameter)
        else:
            xp.subtract(parameter, scratch, out=parameter)


@dataclass(frozen=True, slots=True)
class AdaptiveSquares:
    """Adagrad with the diagonal matrix: each element's rate falls with the squares of its gradients so far.

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
        require_rate("Adagrad: learning_rate", self.learning_rate)
        require_range("Adagrad", "initial_accumulator", self.initial_accumulator, 0.0)
        require_range("Adagrad", "weight_decay", self.weight_decay, 0.0)
        require_above("Adagrad", "epsilon", self.epsilon)  # 0 / 0 where no gradient has come yet

    @property
    def slots(self) -> Mapping[str, float]:
        return {"squares": self.initial_accumulator}

    def update(
        self,
        xp: Namespace,
        parameter: Array,
        gradient: Array,
        state: Mapping[str, Array],
        scratch: Array,
        *,
        rate: float,
        step: Any,
    ) -> None:
        squares = state["squares"]
        xp.multiply(gradient, gradient, out=scratch)
        xp.add(squares, scratch, out=squares)
        xp.sqrt(squares, out=scratch)
        xp.add(scratch, self.epsilon, out=scratch)
        xp.divide(gradient, scratch, out=scratch)
        xp.multiply(scratch, rate, out=scratch)
        xp.subtract(parameter, scratch, out=parameter)


def require_range(owner: str, name: str, value: float, least: float, below: float = float("inf")) -> None:
    """Refuses a hyperparameter outside [least, below), NaN included.

    >>> require_range("SGD", "momentum", 1.5, 0.0, 1.0)
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: SGD: momentum is 1.5, and should be at least 0 and below 1
    """
    require_number(f"{owner}: {name}", value)
    if not least <= value < below:
        bound = "" if below == float("inf") else f" and below {below:g}"
        raise ArrowValueError(f"{owner}: {name} is {value}, and should be at least {least:g}{bound}")


def require_above(owner: str, name: str, value: float, bound: float = 0.0) -> None:
    """Refuses a hyperparameter that is not above `bound`, NaN included.

    >>> require_above("Adam", "epsilon", 0.0)
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: Adam: epsilon is 0.0, and should be above 0
    """
    require_number(f"{owner}: {name}", value)
    if not value > bound:
        raise ArrowValueError(f"{owner}: {name} is {value}, and should be above {bound:g}")
