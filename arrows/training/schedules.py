"""Learning-rate schedules: functions of the number of steps so far that give the rate of the next step.

The functions here make them, under the names that Thinc and PyTorch use. Every argument that takes a rate
also takes a schedule, including the values of `rates`; any function of a number of steps is one.

>>> from arrows.training import Adam, schedules
>>> optimizer = Adam(schedules.warmup_cosine(0.001, 100, 1000), rates={"embed/*": lambda steps: 0.9**steps})
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, ParamSpec

from arrows.training.arguments import require_above, require_range
from arrows.training.learning_rates import Schedule, require_rate
from arrows.typesys.did_you_mean import likely_name, missing_name

P = ParamSpec("P")

if not TYPE_CHECKING:  # a type checker would accept any misspelt name

    def __getattr__(name: str) -> NoReturn:
        def likely() -> str:
            return FOREIGN.get(name) or likely_name(name, __all__) or f"one of {', '.join(__all__)}"

        raise missing_name("arrows.training.schedules", name, likely, sys._getframe(1))


def _told(make: Callable[P, Schedule]) -> Callable[P, Schedule]:
    """Names the schedules that a function makes by its call: `<function cosine(0.1, 100) at 0x7f...>`."""

    @functools.wraps(make)
    def named(*arguments: P.args, **keywords: P.kwargs) -> Schedule:
        schedule = make(*arguments, **keywords)
        words = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in keywords.items())]
        schedule.__qualname__ = schedule.__name__ = f"{make.__name__}({', '.join(words)})"
        return schedule

    named.makes_schedules = True  # type: ignore[attr-defined]
    return named


@_told
def decaying(base_rate: float, decay: float) -> Schedule:
    """base_rate / (1 + decay * steps), which falls so slowly that the sum of all rates diverges (Robbins,
    Monro, "A Stochastic Approximation Method", Annals of Mathematical Statistics 22, 1951, section 2).

    Raises:
        ArrowValueError: a rate or decay below 0.

    >>> decaying(0.1, 0.5)(2)
    0.05
    """
    require_rate("decaying: base_rate", base_rate)
    require_range("decaying", "decay", decay, 0.0)
    return lambda steps: base_rate / (1.0 + decay * steps)


@_told
def compounding(start: float, stop: float, compound: float) -> Schedule:
    """start * compound^steps until that reaches stop, then stop.

    Raises:
        ArrowValueError: a rate below 0, a compound of 0 or less, or one that leads away from stop.

    >>> [compounding(1.0, 0.2, 0.5)(steps) for steps in range(4)]
    [1.0, 0.5, 0.25, 0.2]
    """
    require_rate("compounding: start", start)
    require_rate("compounding: stop", stop)
    require_above("compounding", "compound", compound)
    require_range("compounding", "compound", compound, *((1.0,) if stop >= start else (0.0, 1.0)))
    if compound == 1 or not start:
        return lambda steps: start
    last = math.log(stop / start) / math.log(compound) if stop else math.inf  # so many steps it takes
    return lambda steps: stop if steps >= last else start * compound**steps


@_told
def step_decay(initial_rate: float, factor: float, every: int | tuple[int, ...]) -> Schedule:
    """initial_rate, multiplied by factor after every so many steps (He, Zhang, Ren, Sun, "Deep Residual
    Learning for Image Recognition", CVPR 2016, section 3.4, for one).

    Args:
        initial_rate: of the first steps.
        factor: above 0 and at most 1.
        every: steps from one fall to the next; or the steps of all falls.

    Raises:
        ArrowValueError: a rate below 0, a factor out of its range, fewer than 1 step.

    >>> [step_decay(1.0, 0.5, 2)(steps) for steps in range(6)]
    [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    >>> [step_decay(1.0, 0.5, (1, 4))(steps) for steps in range(6)]
    [1.0, 0.5, 0.5, 0.5, 0.25, 0.25]
    """
    require_rate("step_decay: initial_rate", initial_rate)
    require_above("step_decay", "factor", factor)
    require_range("step_decay", "factor", factor, 0.0, math.nextafter(1.0, 2.0))
    falls = tuple(every) if isinstance(every, (tuple, list)) else (every,)
    for steps in falls:
        require_range("step_decay", "every", steps, 1)
    if falls == (every,):
        return lambda steps: initial_rate * factor ** (steps // falls[0])
    return lambda steps: initial_rate * factor ** sum(steps >= fall for fall in falls)


@_told
def warmup_linear(initial_rate: float, warmup_steps: int, total_steps: int) -> Schedule:
    """Rises linearly from 0 to initial_rate over warmup_steps, then falls linearly to 0 at total_steps.

    Raises:
        ArrowValueError: a rate or number of steps below 0, or a warm-up that is not shorter than the whole.

    >>> [warmup_linear(1.0, 2, 6)(steps) for steps in range(8)]
    [0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """
    return _warm("warmup_linear", initial_rate, warmup_steps, total_steps, 0.0, lambda share: 1.0 - share)


@_told
def warmup_cosine(
    initial_rate: float, warmup_steps: int, total_steps: int, final_rate: float = 0.0
) -> Schedule:
    """Rises linearly from 0 to initial_rate over warmup_steps, then falls as half a wave of the cosine to
    final_rate at total_steps.

    After the warm-up it is final_rate + (initial_rate - final_rate) * (1 + cos(pi * share)) / 2, where
    share = (steps - warmup_steps) / (total_steps - warmup_steps) (Loshchilov, Hutter, "SGDR: Stochastic
    Gradient Descent with Warm Restarts", ICLR 2017, equation 5; the warm-up is that of Goyal et al.,
    "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", 2017, section 2.2).

    Raises:
        ArrowValueError: a rate or number of steps below 0, or a warm-up that is not shorter than the whole.

    >>> [round(warmup_cosine(1.0, 2, 6)(steps), 3) for steps in range(8)]
    [0.0, 0.5, 1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """
    return _warm("warmup_cosine", initial_rate, warmup_steps, total_steps, final_rate, _wave)


@_told
def cosine(
    initial_rate: float, total_steps: int, final_rate: float = 0.0, restarts: float | None = None
) -> Schedule:
    """Half a wave of the cosine from initial_rate to final_rate over total_steps, then final_rate.

    It is final_rate + (initial_rate - final_rate) * (1 + cos(pi * steps / total_steps)) / 2 (Loshchilov,
    Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017, equation 5). With `restarts`,
    it begins anew after total_steps, and each wave is so many times as long as the one before.

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
    require_range("cosine", "total_steps", total_steps, 1)
    if restarts is None:
        return _warm("cosine", initial_rate, 0, total_steps, final_rate, _wave)
    require_range("cosine", "restarts", restarts, 1)
    wave = _warm("cosine", initial_rate, 0, total_steps, final_rate, _wave)
    growth = restarts

    def restarting(steps: float) -> float:
        length = 1.0  # of the wave, in the first one's
        if growth == 1:
            steps %= total_steps
        while growth > 1 and steps >= length * total_steps:
            steps, length = steps - length * total_steps, length * growth
        return wave(steps / length)  # type: ignore[arg-type]

    return restarting


@_told
def cyclic_triangular(min_rate: float, max_rate: float, period: int) -> Schedule:
    """Rises from min_rate to max_rate over period steps, falls again over as many, and repeats (Smith,
    "Cyclical Learning Rates for Training Neural Networks", WACV 2017, section 3.2).

    Raises:
        ArrowValueError: a rate below 0, a greatest rate below the least, or a period of fewer than 1 step.

    >>> [cyclic_triangular(0.0, 1.0, 2)(steps) for steps in range(6)]
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.5]
    """
    require_rate("cyclic_triangular: min_rate", min_rate)
    require_range("cyclic_triangular", "max_rate", max_rate, min_rate)
    require_range("cyclic_triangular", "period", period, 1)

    def rate(steps: int) -> float:
        return _between(min_rate, max_rate, 1.0 - abs(steps % (2 * period) / period - 1.0))

    return rate


@_told
def one_cycle(
    max_rate: float, total_steps: int, rise: float = 0.45, divide: float = 25.0, final_divide: float = 100.0
) -> Schedule:
    """One cycle of a slow rise to max_rate and a fall back, and then a fall far below that, all linear
    (Smith, Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates",
    2019, section 4).

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
    require_rate("one_cycle: max_rate", max_rate)
    require_range("one_cycle", "total_steps", total_steps, 1)
    require_above("one_cycle", "rise", rise)
    require_range("one_cycle", "rise", rise, 0.0, math.nextafter(0.5, 1.0))
    require_range("one_cycle", "divide", divide, 1.0)
    require_range("one_cycle", "final_divide", final_divide, 1.0)
    low, top = max_rate / divide, rise * total_steps

    def rate(steps: int) -> float:
        if steps <= 2 * top:
            return _between(low, max_rate, 1.0 - abs(steps / top - 1.0))
        # Where the cycle takes all steps, none are left.
        left = (total_steps - steps) / (total_steps - 2 * top) if steps < total_steps else 0.0
        return _between(low / final_divide, low, left)

    return rate


def _warm(
    name: str, top: float, warmup_steps: int, total_steps: int, last: float, fall: Callable[[float], float]
) -> Schedule:
    """Rises from 0 to `top`, and falls to `last` as `fall` does from 1 to 0 while its argument rises to 1."""
    require_rate(f"{name}: initial_rate", top)
    require_rate(f"{name}: final_rate", last)
    require_range(name, "warmup_steps", warmup_steps, 0)
    require_above(name, "total_steps", total_steps, warmup_steps)

    def rate(steps: int) -> float:
        if steps < warmup_steps:
            return top * (steps / warmup_steps)
        return _between(last, top, fall(min((steps - warmup_steps) / (total_steps - warmup_steps), 1.0)))

    return rate


def _wave(share: float) -> float:
    return (1.0 + math.cos(math.pi * share)) / 2


def _between(low: float, high: float, share: float) -> float:
    return low + (high - low) * share


__all__ = [
    "compounding",
    "cosine",
    "cyclic_triangular",
    "decaying",
    "one_cycle",
    "step_decay",
    "warmup_cosine",
    "warmup_linear",
]
FOREIGN = {
    "CosineAnnealingLR": "cosine",
    "CosineAnnealingWarmRestarts": "cosine, with restarts=",
    "CosineDecay": "cosine, or warmup_cosine",
    "CyclicLR": "cyclic_triangular",
    "ExponentialLR": "compounding",
    "InverseTimeDecay": "decaying",
    "LinearLR": "warmup_linear",
    "MultiStepLR": "step_decay, with a tuple of steps",
    "OneCycleLR": "one_cycle",
    "ReduceLROnPlateau": "train(callbacks=[Plateau(figure)])",
    "StepLR": "step_decay",
    "constant": "a number in its place",
    "warmup": "warmup_linear, or warmup_cosine",
}
"""Names of schedules elsewhere, by what is written here instead."""
