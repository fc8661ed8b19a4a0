"""Update rules with fading memories of the gradients' squares: Adam, AdamW, RMSprop, Adadelta.

On a row-sparse gradient they are lazy: memories fade, and rows move and decay, only in the steps that touch
them, and Adam corrects its bias by how often a row was touched. So each row goes as if it had an optimizer
of its own, which sleeps between its gradients; papers and dense gradients let memories fade in every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arrows.training.learning_rates import Rate, require_rate
from arrows.training.parameters import Array
from arrows.training.update_rules import Namespace, require_above, require_range


@dataclass(frozen=True, slots=True)
class Moments:
    """Adam, and with a `decoupled_decay` AdamW.

    m <- beta1 * m + (1 - beta1) * gradient; v <- beta2 * v + (1 - beta2) * gradient^2; parameter <-
    parameter - learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon), where t counts
    the steps that have changed the parameter, or the row (Kingma, Ba, "Adam: A Method for Stochastic
    Optimization", ICLR 2015, algorithm 1). Before that, with decoupled decay, parameter <- parameter * (1 -
    learning_rate * decoupled_decay) (Loshchilov, Hutter, "Decoupled Weight Decay Regularization", ICLR
    2019, algorithm 2, with their lambda = learning_rate * decoupled_decay, as most programs have it).

    Raises:
        ArrowValueError: a rate or decay below 0, a beta outside [0, 1), or an epsilon of 0 or less.

    >>> Moments(0.001).slots
    {'mean': 0.0, 'squares': 0.0}
    """

    learning_rate: Rate
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    decoupled_decay: float = 0.0

    def __post_init__(self) -> None:
        require_rate("Adam: learning_rate", self.learning_rate)
        require_range("Adam", "beta1", self.beta1, 0.0, 1.0)
        require_range("Adam", "beta2", self.beta2, 0.0, 1.0)
        require_range("Adam", "weight_decay", self.weight_decay, 0.0)
        require_range("Adam", "decoupled_decay", self.decoupled_decay, 0.0)
        require_above("Adam", "epsilon", self.epsilon)

    @property
    def slots(self) -> Mapping[str, float]:
        return {"mean": 0.0, "squares": 0.0}

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
        mean, squares = state["mean"], state["squares"]
        xp.multiply(gradient, 1.0 - self.beta1, out=scratch)
        xp.multiply(mean, self.beta1, out=mean)
        xp.add(mean, scratch, out=mean)
        _fade_in_squares(xp, squares, gradient, self.beta2, scratch)
        if self.decoupled_decay:
            xp.multiply(parameter, 1.0 - rate * self.decoupled_decay, out=parameter)
        # Counts of rows are float64, which 1 - 0.999^1 needs.
        first, second = 1.0 - self.beta1**step, 1.0 - self.beta2**step
        if not isinstance(step, int):
            first, second = first.astype(scratch.dtype), second.astype(scratch.dtype)
        xp.divide(squares, second, out=scratch)
        xp.sqrt(scratch, out=scratch)
        xp.add(scratch, self.epsilon, out=scratch)
        xp.divide(mean, scratch, out=scratch)
        xp.multiply(scratch, rate / first, out=scratch)
        xp.subtract(parameter, scratch, out=parameter)


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
        require_rate("RMSprop: learning_rate", self.learning_rate)
        require_range("RMSprop", "rho", self.rho, 0.0, 1.0)
        require_range("RMSprop", "weight_decay", self.weight_decay, 0.0)
        require_above("RMSprop", "epsilon", self.epsilon)

    @property
    def slots(self) -> Mapping[str, float]:
        return {"squares": 0.0}

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
        _fade_in_squares(xp, squares, gradient, self.rho, scratch)
        xp.sqrt(squares, out=scratch)
        xp.add(scratch, self.epsilon, out=scratch)
        xp.divide(gradient, scratch, out=scratch)
        xp.multiply(scratch, rate, out=scratch)
        xp.subtract(parameter, scratch, out=parameter)


@dataclass(frozen=True, slots=True)
class FadingDeltas:
    """Adadelta: steps in the unit of the parameter, from the sizes of past gradients and past steps.

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
        require_rate("Adadelta: learning_rate", self.learning_rate)
        require_range("Adadelta", "rho", self.rho, 0.0, 1.0)
        require_range("Adadelta", "weight_decay", self.weight_decay, 0.0)
        require_above("Adadelta", "epsilon", self.epsilon)

    @property
    def slots(self) -> Mapping[str, float]:
        return {"squares": 0.0, "deltas": 0.0}

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
        squares, deltas = state["squares"], state["deltas"]
        _fade_in_squares(xp, squares, gradient, self.rho, scratch)
        delta = xp.empty(deltas.shape, deltas.dtype)  # `scratch` is wanted for something else
        xp.add(deltas, self.epsilon, out=delta)
        xp.add(squares, self.epsilon, out=scratch)
        xp.divide(delta, scratch, out=delta)
        xp.sqrt(delta, out=delta)
        xp.multiply(delta, gradient, out=delta)
        _fade_in_squares(xp, deltas, delta, self.rho, scratch)
        xp.multiply(delta, rate, out=scratch)
        xp.subtract(parameter, scratch, out=parameter)


def _fade_in_squares(xp: Namespace, memory: Array, values: Array, rho: float, scratch: Array) -> None:
    """memory <- rho * memory + (1 - rho) * values^2."""
    xp.multiply(values, values, out=scratch)
    xp.multiply(scratch, 1.0 - rho, out=scratch)
    xp.multiply(memory, rho, out=memory)
    xp.add(memory, scratch, out=memory)
