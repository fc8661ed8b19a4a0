"""Learning-rate schedules, under the names that Thinc and PyTorch use.

A schedule is a function from the number of steps taken so far, 0 at first, to the learning rate of the next
step. Every argument that takes a rate also takes a schedule, including the values of `rates`; any function of
that kind is a schedule too. The schedules here are frozen dataclasses, whose `repr` says what they are when a
resumed run has another one. The classes have names in lower case because they are used like functions.

>>> from arrows.training import Adam, schedules
>>> optimizer = Adam(schedules.warmup_linear(0.001, 100, 1000), rates={"embed/*": 0.0001})
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from arrows.training.arguments import require_above, require_range
from arrows.training.learning_rates import Rate, rate_at, require_rate
from arrows.typesys.did_you_mean import likely_name, missing_name

if not TYPE_CHECKING:  # a type checker would accept any misspelt name

    def __getattr__(name: str) -> NoReturn:
        def likely() -> str:
            return FOREIGN.get(name) or likely_name(name, __all__) or f"one of {', '.join(__all__)}"

        raise missing_name("arrows.training.schedules", name, likely, sys._getframe(1))


@dataclass(frozen=True, slots=True)
class constant:
    """Always the same rate.

    Raises:
        ArrowValueError: a rate below 0.

    >>> constant(0.1)(7)
    0.1
    """

    rate: float

    def __post_init__(self) -> None:
        require_rate("constant: rate", self.rate)

    def __call__(self, steps: int) -> float:
        return self.rate


@dataclass(frozen=True, slots=True)
class constant_then:
    """One rate for a number of steps, then another rate, or a schedule that counts from 0 there.

    Raises:
        ArrowValueError: a rate or number of steps below 0.

    >>> [constant_then(0.5, 2, decaying(0.1, 1.0))(steps) for steps in range(4)]
    [0.5, 0.5, 0.1, 0.05]
    """

    rate: float
    steps: int
    then: Rate

    def __post_init__(self) -> None:
        require_rate("constant_then: rate", self.rate)
        require_rate("constant_then: then", self.then)
        require_range("constant_then", "steps", self.steps, 0)

    def __call__(self, steps: int) -> float:
        return self.rate if steps < self.steps else rate_at(self.then, steps - self.steps)


@dataclass(frozen=True, slots=True)
class decaying:
    """base_rate / (1 + decay * steps), which falls so slowly that the sum of all rates diverges (Robbins,
    Monro, "A Stochastic Approximation Method", Annals of Mathematical Statistics 22, 1951, section 2).

    Raises:
        ArrowValueError: a rate or decay below 0.

    >>> decaying(0.1, 0.5)(2)
    0.05
    """

    base_rate: float
    decay: float

    def __post_init__(self) -> None:
        require_rate("decaying: base_rate", self.base_rate)
        require_range("decaying", "decay", self.decay, 0.0)

    def __call__(self, steps: int) -> float:
        return self.base_rate / (1.0 + self.decay * steps)


@dataclass(frozen=True, slots=True)
class compounding:
    """start * compound^steps until that reaches stop, then stop.

    Raises:
        ArrowValueError: a rate below 0, a compound of 0 or less, or one that leads away from stop.

    >>> [compounding(1.0, 0.2, 0.5)(steps) for steps in range(4)]
    [1.0, 0.5, 0.25, 0.2]
    """

    start: float
    stop: float
    compound: float

    def __post_init__(self) -> None:
        require_rate("compounding: start", self.start)
        require_rate("compounding: stop", self.stop)
        if self.stop >= self.start:
            require_range("compounding", "compound", self.compound, 1.0)
        else:
            require_above("compounding", "compound", self.compound)
            require_range("compounding", "compound", self.compound, 0.0, 1.0)

    def __call__(self, steps: int) -> float:
        try:
            rate = self.start * self.compound**steps
        except OverflowError:
            return self.stop
        return min(rate, self.stop) if self.stop >= self.start else max(rate, self.stop)


@dataclass(frozen=True, slots=True)
class warmup_linear:
    """Rises linearly from 0 to initial_rate over warmup_steps, then falls linearly to 0 at total_steps.

    Raises:
        ArrowValueError: a rate or number of steps below 0, or a warm-up that is not shorter than the whole.

    >>> [warmup_linear(1.0, 2, 6)(steps) for steps in range(8)]
    [0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """

    initial_rate: float
    warmup_steps: int
    total_steps: int

    def __post_init__(self) -> None:
        require_rate("warmup_linear: initial_rate", self.initial_rate)
        require_range("warmup_linear", "warmup_steps", self.warmup_steps, 0)
        require_above("warmup_linear", "total_steps", self.total_steps, self.warmup_steps)

    def __call__(self, steps: int) -> float:
        if steps < self.warmup_steps:
            return self.initial_rate * (steps / self.warmup_steps)
        left = self.total_steps - steps
        return self.initial_rate * max(0.0, left / (self.total_steps - self.warmup_steps))


@dataclass(frozen=True, slots=True)
class slanted_triangular:
    """A short rise to max_rate over the first cut_frac of num_steps, and a long fall to max_rate / ratio
    (Howard, Ruder, "Universal Language Model Fine-tuning for Text Classification", ACL 2018, equation 3).

    Raises:
        ArrowValueError: a rate below 0, fewer than 1 step, a cut outside (0, 1), or a ratio below 1.

    >>> [slanted_triangular(1.0, 10, cut_frac=0.2, ratio=4)(steps) for steps in (0, 1, 2, 6, 10)]
    [0.25, 0.625, 1.0, 0.625, 0.25]
    """

    max_rate: float
    num_steps: int
    cut_frac: float = 0.1
    ratio: float = 32

    def __post_init__(self) -> None:
        require_rate("slanted_triangular: max_rate", self.max_rate)
        require_range("slanted_triangular", "num_steps", self.num_steps, 1)
        require_above("slanted_triangular", "cut_frac", self.cut_frac)
        require_range("slanted_triangular", "cut_frac", self.cut_frac, 0.0, 1.0)
        require_range("slanted_triangular", "ratio", self.ratio, 1.0)

    def __call__(self, steps: int) -> float:
        cut = int(self.num_steps * self.cut_frac)
        height = steps / cut if steps < cut else 1.0 - (steps - cut) / (self.num_steps - cut)
        return self.max_rate * (1.0 + max(0.0, height) * (self.ratio - 1.0)) / self.ratio


@dataclass(frozen=True, slots=True)
class cyclic_triangular:
    """Rises from min_rate to max_rate over period steps, falls again over as many, and repeats (Smith,
    "Cyclical Learning Rates for Training Neural Networks", WACV 2017, section 3.2).

    Raises:
        ArrowValueError: a rate below 0, a greatest rate below the least, or a period of fewer than 1 step.

    >>> [cyclic_triangular(0.0, 1.0, 2)(steps) for steps in range(6)]
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.5]
    """

    min_rate: float
    max_rate: float
    period: int

    def __post_init__(self) -> None:
        require_rate("cyclic_triangular: min_rate", self.min_rate)
        require_range("cyclic_triangular", "max_rate", self.max_rate, self.min_rate)
        require_range("cyclic_triangular", "period", self.period, 1)

    def __call__(self, steps: int) -> float:
        place = steps % (2 * self.period)
        height = 1.0 - abs(place / self.period - 1.0)
        return self.min_rate + (self.max_rate - self.min_rate) * height


@dataclass(frozen=True, slots=True)
class cosine:
    """Half a wave of the cosine from initial_rate to final_rate over total_steps, then final_rate
    (Loshchilov, Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017, equation 5).

    With `restarts`, it begins anew after total_steps, and each wave is so many times as long as the one
    before.

    Args:
        initial_rate: of the first step of each wave.
        total_steps: of the first wave.
        final_rate: at its end.
        restarts: how much longer each wave is than the one before, the paper's T_mult; None: there is one.

    Raises:
        ArrowValueError: a rate below 0, fewer than 1 step, or waves that become shorter.

    >>> [round(cosine(1.0, 4)(steps), 3) for steps in range(6)]
    [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    >>> [round(cosine(1.0, 2, restarts=2)(steps), 3) for steps in range(6)]
    [1.0, 0.5, 1.0, 0.854, 0.5, 0.146]
    """

    initial_rate: float
    total_steps: int
    final_rate: float = 0.0
    restarts: float | None = None

    def __post_init__(self) -> None:
        require_rate("cosine: initial_rate", self.initial_rate)
        require_rate("cosine: final_rate", self.final_rate)
        require_range("cosine", "total_steps", self.total_steps, 1)
        if self.restarts is not None:
            require_range("cosine", "restarts", self.restarts, 1)

    def __call__(self, steps: int) -> float:
        length, place = float(self.total_steps), float(steps)
        if self.restarts == 1:
            place %= length
        elif self.restarts is not None:
            while place >= length:
                place, length = place - length, length * self.restarts
        return _wave(self.final_rate, self.initial_rate, place / length)


@dataclass(frozen=True, slots=True)
class warmup_cosine:
    """Rises linearly from 0 to initial_rate over warmup_steps, then falls as half a wave of the cosine to
    final_rate at total_steps.

    Raises:
        ArrowValueError: a rate or number of steps below 0, or a warm-up that is not shorter than the whole.

    >>> [round(warmup_cosine(1.0, 2, 6)(steps), 3) for steps in range(8)]
    [0.0, 0.5, 1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """

    initial_rate: float
    warmup_steps: int
    total_steps: int
    final_rate: float = 0.0

    def __post_init__(self) -> None:
        require_rate("warmup_cosine: initial_rate", self.initial_rate)
        require_rate("warmup_cosine: final_rate", self.final_rate)
        require_range("warmup_cosine", "warmup_steps", self.warmup_steps, 0)
        require_above("warmup_cosine", "total_steps", self.total_steps, self.warmup_steps)

    def __call__(self, steps: int) -> float:
        if steps < self.warmup_steps:
            return self.initial_rate * (steps / self.warmup_steps)
        share = (steps - self.warmup_steps) / (self.total_steps - self.warmup_steps)
        return _wave(self.final_rate, self.initial_rate, share)


@dataclass(frozen=True, slots=True)
class step_decay:
    """initial_rate, multiplied by factor after every so many steps.

    Args:
        initial_rate: of the first steps.
        factor: above 0 and at most 1.
        every: steps from one fall to the next; or the steps of all falls, as a tuple.

    Raises:
        ArrowValueError: a rate below 0, a factor out of its range, fewer than 1 step.

    Source: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", CVPR 2016, section 3.4, for
    one.

    >>> [step_decay(1.0, 0.5, 2)(steps) for steps in range(6)]
    [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    >>> [step_decay(1.0, 0.5, (1, 4))(steps) for steps in range(6)]
    [1.0, 0.5, 0.5, 0.5, 0.25, 0.25]
    """

    initial_rate: float
    factor: float
    every: int | tuple[int, ...]

    def __post_init__(self) -> None:
        require_rate("step_decay: initial_rate", self.initial_rate)
        require_above("step_decay", "factor", self.factor)
        require_range("step_decay", "factor", self.factor, 0.0, math.nextafter(1.0, 2.0))
        if isinstance(self.every, (tuple, list)):
            object.__setattr__(self, "every", tuple(self.every))
        for steps in self.every if isinstance(self.every, tuple) else (self.every,):
            require_range("step_decay", "every", steps, 1)

    def __call__(self, steps: int) -> float:
        if isinstance(self.every, tuple):
            falls = sum(steps >= fall for fall in self.every)
        else:
            falls = int(steps // self.every)
        return float(self.initial_rate * self.factor**falls)


@dataclass(frozen=True, slots=True)
class one_cycle:
    """One cycle of a slow rise to max_rate and a fall back, and then a fall far below that (Smith, Topin,
    "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", 2019, section 4).

    All three are linear, as in the paper.

    Args:
        max_rate: at the top; `find_learning_rate` helps to find it.
        total_steps: of the whole.
        rise: the share of the steps in which the rate rises; it falls back in as many.
        divide: max_rate / divide is where the cycle begins and ends.
        final_divide: the rate falls to this share of the rate at the cycle's end in the steps that are left.

    Raises:
        ArrowValueError: a rate below 0, fewer than 1 step, a share outside (0, 0.5], or a divisor below 1.

    >>> [round(one_cycle(1.0, 10, rise=0.4, divide=5)(steps), 3) for steps in range(11)]
    [0.2, 0.4, 0.6, 0.8, 1.0, 0.8, 0.6, 0.4, 0.2, 0.101, 0.002]
    """

    max_rate: float
    total_steps: int
    rise: float = 0.45
    divide: float = 25.0
    final_divide: float = 100.0

    def __post_init__(self) -> None:
        require_rate("one_cycle: max_rate", self.max_rate)
        require_range("one_cycle", "total_steps", self.total_steps, 1)
        require_above("one_cycle", "rise", self.rise)
        require_range("one_cycle", "rise", self.rise, 0.0, math.nextafter(0.5, 1.0))
        require_range("one_cycle", "divide", self.divide, 1.0)
        require_range("one_cycle", "final_divide", self.final_divide, 1.0)

    def __call__(self, steps: int) -> float:
        low, top = self.max_rate / self.divide, self.rise * self.total_steps
        if steps <= 2 * top:
            return _between(low, self.max_rate, 1.0 - abs(steps / top - 1.0))
        if steps >= self.total_steps:  # also where the cycle takes all steps, and none are left
            return low / self.final_divide
        left = (self.total_steps - steps) / (self.total_steps - 2 * top)
        return _between(low / self.final_divide, low, left)


def _wave(low: float, high: float, share: float) -> float:
    """From high to low, as the cosine falls over a share of half its wave."""
    return _between(low, high, (1.0 + math.cos(math.pi * min(share, 1.0))) / 2)


def _between(low: float, high: float, share: float) -> float:
    return low + (high - low) * share


__all__ = [
    "compounding",
    "constant",
    "constant_then",
    "cosine",
    "cyclic_triangular",
    "decaying",
    "one_cycle",
    "slanted_triangular",
    "step_decay",
    "warmup_cosine",
    "warmup_linear",
]
FOREIGN = {
    "CosineAnnealingLR": "cosine",
    "CosineAnnealingWarmRestarts": "cosine, with restarts=",
    "CosineDecay": "cosine, or warmup_cosine",
    "CosineDecayRestarts": "cosine, with restarts=",
    "CyclicLR": "cyclic_triangular",
    "ExponentialDecay": "compounding",
    "ExponentialLR": "compounding",
    "InverseTimeDecay": "decaying",
    "LinearLR": "warmup_linear",
    "MultiStepLR": "step_decay, with a tuple of steps",
    "OneCycleLR": "one_cycle",
    "PiecewiseConstantDecay": "constant_then, or step_decay",
    "ReduceLROnPlateau": "train(callbacks=[Plateau(figure)])",
    "StepLR": "step_decay",
    "cosine_annealing": "cosine",
    "exponential": "compounding",
    "linear": "warmup_linear",
    "onecycle": "one_cycle",
    "step": "step_decay",
    "warmup": "warmup_linear, or warmup_cosine",
}
"""Names of schedules elsewhere, by what is written here instead."""
