"""Adam and AdamW, which differ in how weights decay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arrows.ops.arrays import Array, ArrayModule
from arrows.training.learning_rates import Rate
from arrows.training.optimizers.optimizer import Optimizer
from arrows.training.optimizers.update_rule import StepCount, descend, fade_in, require_hyperparameters


class Adam(Optimizer):
    """Adam: steps of about the learning rate, whatever the scale of the gradient (see `Moments`).

    On a row-sparse gradient it is lazy: see `arrows.training.optimizers.update_rule`.

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        beta1, beta2: decay of the running averages of the gradient and of its square, in [0, 1).
        epsilon: above 0, added to the square root.
        weight_decay: coupled L2 regularization: this times the parameter is added to the clipped gradient.
        clip_norm, rates, average, dense: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter is out of range.

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
        dense: bool = False,
    ) -> None:
        rule = Moments(learning_rate, beta1, beta2, epsilon, weight_decay=weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average, dense=dense)


class AdamW(Optimizer):
    """Adam with decoupled weight decay (see `Moments`).

    On a row-sparse gradient it is lazy: a row moves and decays only in the steps that touch it; see
    `arrows.training.optimizers.update_rule`.

    Args:
        learning_rate: at least 0, or a schedule (`Optimizer`).
        beta1, beta2: decay of the running averages of the gradient and of its square, in [0, 1).
        epsilon: above 0, added to the square root.
        weight_decay: decoupled: in each step a parameter loses this times the learning rate as a share of
            itself; neither the gradient nor a running average contains it.
        clip_norm, rates, average, dense: see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter is out of range.

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
        dense: bool = False,
    ) -> None:
        rule = Moments(learning_rate, beta1, beta2, epsilon, decoupled_decay=weight_decay)
        super().__init__(rule, clip_norm=clip_norm, rates=rates, average=average, dense=dense)


@dataclass(frozen=True, slots=True)
class Moments:
    """Adam, and with a `decoupled_decay` AdamW.

    m <- beta1 * m + (1 - beta1) * gradient; v <- beta2 * v + (1 - beta2) * gradient^2; parameter <-
    parameter - learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon), where t counts
    the steps that have changed the parameter or the row (Kingma, Ba, "Adam: A Method for Stochastic
    Optimization", ICLR 2015, algorithm 1). With a decoupled decay, each step first sets parameter <-
    parameter * (1 - learning_rate * decoupled_decay) (Loshchilov, Hutter, "Decoupled Weight Decay
    Regularization", ICLR 2019, algorithm 2; their lambda is learning_rate * decoupled_decay, as in PyTorch).

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
        require_hyperparameters(
            "Adam", self, shares=("beta1", "beta2"), amounts=("weight_decay", "decoupled_decay")
        )

    @property
    def slots(self) -> Mapping[str, float]:
        return {"mean": 0.0, "squares": 0.0}

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
        mean, squares = state["mean"], state["squares"]
        fade_in(xp, mean, gradient, self.beta1, scratch, squared=False)
        fade_in(xp, squares, gradient, self.beta2, scratch, squared=True)
        if self.decoupled_decay:
            xp.multiply(parameter, 1.0 - rate * self.decoupled_decay, out=parameter)
        xp.divide(squares, _bias_correction(self.beta2, step, scratch), out=scratch)
        corrected_rate = rate / _bias_correction(self.beta1, step, scratch)
        descend(xp, parameter, mean, scratch, self.epsilon, corrected_rate, scratch)


def _bias_correction(beta: float, step: StepCount, like: Array) -> float | Array:
    """1 - beta^step, the total weight of a running average that began at 0."""
    if isinstance(step, int):
        return 1.0 - beta**step
    return (1.0 - beta**step).astype(like.dtype)  # in float32, 1 - 0.999^1 would lose digits
