"""Learning-rate schedules, under the names that Thinc uses.

A schedule is a function from the number of steps taken so far, 0 at first, to the learning rate of the next
step. Every argument that takes a rate also takes a schedule, including the values of `rates`. The schedules
here are frozen dataclasses whose `repr` identifies them, so a resumed run can check that it has the same one.
Any function can be a schedule too; of a function, a resumed run compares the code and the values that it
refers to. The classes have names in lower case because they are used like functions.

>>> from arrows.training import Adam, schedules
>>> optimizer = Adam(schedules.warmup_linear(0.001, 100, 1000), rates={"embed/*": 0.0001})
"""

from __future__ import annotations

from dataclasses import dataclass

from arrows.training.arguments import require_above, require_range
from arrows.training.learning_rates import Rate, rate_at, require_rate


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
