"""The algorithms: what each keeps of a parameter, and its update as the paper has it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from arrows import ops
from arrows.training.optimizers.optimizer import Optimizer
from arrows.training.schedules import Rate


@dataclass(eq=False)
class SGD(Optimizer):
    """Stochastic gradient descent, with Polyak's momentum if `momentum` is above 0.

    v <- momentum * v - learning_rate * gradient; parameter <- parameter + v (Sutskever, Martens, Dahl,
    Hinton, "On the importance of initialization and momentum in deep learning", ICML 2013, equations 1 and
    2).

    Args:
        momentum: the share of the last step that this one continues, in [0, 1).
        learning_rate, weight_decay, clip_norm, rates, average, dense: see `Optimizer`.

    >>> SGD(0.1, momentum=0.9, clip_norm=5.0).slots
    {'velocity': 0.0}
    """

    _: KW_ONLY
    momentum: float = 0.0

    @property
    def slots(self) -> Mapping[str, float]:
        return {"velocity": 0.0} if self.momentum else {}

    def update(self, parameter: Any, gradient: Any, state: dict[str, Any], *, rate: Any, step: Any) -> Any:
        if not self.momentum:
            return parameter - rate * gradient
        velocity = state["velocity"] = self.momentum * state["velocity"] - rate * gradient
        return parameter + velocity


@dataclass(eq=False)
class Adagrad(Optimizer):
    """Adagrad with the diagonal matrix: the rate of each element falls with the squares of its gradients.

    s <- s + gradient^2; parameter <- parameter - learning_rate * gradient / (sqrt(s) + epsilon) (Duchi,
    Hazan, Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", JMLR 12,
    2011, figure 1, with H = epsilon I + diag(s)^(1/2)).

    Args:
        epsilon: above 0, added to the square root of the sum of squares.
        initial_accumulator_value: the value from which the sum of squares starts.
        learning_rate, weight_decay, clip_norm, rates, average, dense: see `Optimizer`.

    >>> Adagrad(0.05, initial_accumulator_value=0.1).slots
    {'squares': 0.1}
    """

    _: KW_ONLY
    epsilon: float = 1e-10
    initial_accumulator_value: float = 0.0

    @property
    def slots(self) -> Mapping[str, float]:
        return {"squares": self.initial_accumulator_value}

    def update(self, parameter: Any, gradient: Any, state: dict[str, Any], *, rate: Any, step: Any) -> Any:
        squares = state["squares"] = state["squares"] + gradient * gradient
        return parameter - rate * (gradient / (ops.sqrt(squares) + self.epsilon))


@dataclass(eq=False)
class Adam(Optimizer):
    """Adam: steps of about the learning rate, whatever the scale of the gradient.

    m <- beta_1 * m + (1 - beta_1) * gradient; v <- beta_2 * v + (1 - beta_2) * gradient^2; parameter <-
    parameter - learning_rate * (m / (1 - beta_1^t)) / (sqrt(v / (1 - beta_2^t)) + epsilon), where t counts
    the steps that have changed the parameter or the row (Kingma, Ba, "Adam: A Method for Stochastic
    Optimization", ICLR 2015, algorithm 1).

    Args:
        beta_1, beta_2: decay of the running averages of the gradient and of its square, in [0, 1).
        epsilon: above 0, added to the square root.
        learning_rate, weight_decay, clip_norm, rates, average, dense: see `Optimizer`.

    >>> Adam(rates={"embed/*": 0.01}, average=0.999).learning_rate
    0.001
    """

    learning_rate: Rate = 0.001
    _: KW_ONLY
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8

    @property
    def slots(self) -> Mapping[str, float]:
        return {"mean": 0.0, "squares": 0.0}

    def update(self, parameter: Any, gradient: Any, state: dict[str, Any], *, rate: Any, step: Any) -> Any:
        mean = state["mean"] = self.beta_1 * state["mean"] + (1 - self.beta_1) * gradient
        squares = state["squares"] = self.beta_2 * state["squares"] + (1 - self.beta_2) * (
            gradient * gradient
        )
        root = ops.sqrt(squares / _total_weight(self.beta_2, step))
        return parameter - rate / _total_weight(self.beta_1, step) * (mean / (root + self.epsilon))


@dataclass(eq=False)
class AdamW(Adam):
    """Adam with decoupled weight decay: neither the gradient nor a running average contains it.

    Each step first sets parameter <- parameter * (1 - learning_rate * weight_decay) (Loshchilov, Hutter,
    "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2; their lambda is learning_rate *
    weight_decay, as in PyTorch).

    Args:
        weight_decay: the share, times the learning rate, that a parameter loses of itself in each step; or
            shares by patterns, as of `Optimizer`.
        learning_rate, clip_norm, rates, average, dense: see `Optimizer`; the others are those of `Adam`.

    >>> AdamW(0.001, weight_decay=0.1).weight_decay
    0.1
    """

    _: KW_ONLY
    weight_decay: float | Mapping[str, float] = 0.01

    decoupled: ClassVar[bool] = True

    def update(self, parameter: Any, gradient: Any, state: dict[str, Any], *, rate: Any, step: Any) -> Any:
        decayed = parameter * (1 - rate * self.weight_decay)
        return super().update(decayed, gradient, state, rate=rate, step=step)


@dataclass(eq=False)
class RMSprop(Optimizer):
    """RMSprop: gradients divided by the root of their recent mean square.

    s <- rho * s + (1 - rho) * gradient^2; parameter <- parameter - learning_rate * gradient / (sqrt(s) +
    epsilon) (Tieleman, Hinton, "Lecture 6.5: rmsprop", COURSERA: Neural Networks for Machine Learning,
    2012, slide 29, where rho is 0.9 and there is no epsilon).

    Args:
        rho: decay of the running average of squares, in [0, 1).
        epsilon: above 0, added to the square root.
        learning_rate, weight_decay, clip_norm, rates, average, dense: see `Optimizer`.

    >>> RMSprop(0.01).slots
    {'squares': 0.0}
    """

    learning_rate: Rate = 0.001
    _: KW_ONLY
    rho: float = 0.9
    epsilon: float = 1e-8

    @property
    def slots(self) -> Mapping[str, float]:
        return {"squares": 0.0}

    def update(self, parameter: Any, gradient: Any, state: dict[str, Any], *, rate: Any, step: Any) -> Any:
        squares = state["squares"] = self.rho * state["squares"] + (1 - self.rho) * (gradient * gradient)
        return parameter - rate * (gradient / (ops.sqrt(squares) + self.epsilon))


def _total_weight(beta: float, step: Any) -> Any:
    """1 - beta^step, the total weight of a running average that began at 0.

    By `expm1`, since 1 - 0.999^1 loses digits in float32.
    """
    return -ops.expm1(step * math.log(beta)) if beta else 1.0
