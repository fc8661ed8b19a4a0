"""Learning rates: numbers, or functions of the number of steps so far that give the rate of the next step.

The functions here make such schedules, under the names that Thinc and PyTorch use. Any function of a number
of steps is one: `lambda steps: 0.01 / (1 + steps / 1000)`. Every argument that takes a rate also takes a
schedule, including the values of `rates`.

>>> from arrows.training import Adam, schedules
>>> optimizer = Adam(schedules.warmup_cosine(0.001, 100, 1000), rates={"embed/*": lambda steps: 0.9**steps})
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, ParamSpec, TypeVar

from arrows.engine.planning import GrowingParams
from arrows.training.arguments import require_above, require_number, require_range
from arrows.typesys import ArrowValueError

__all__ = ["cosine", "one_cycle", "step_decay", "warmup_cosine", "warmup_linear"]

P = ParamSpec("P")

# The number of steps taken so far (0 before the first) -> the rate of the next step.
Schedule = Callable[[int], float]
Rate = float | Schedule
V = TypeVar("V")


def _told(make: Callable[P, Schedule]) -> Callable[P, Schedule]:
    """Names the schedules that a function makes by its call: `<function cosine(0.1, 100) at 0x7f...>`.

    No argument may be below 0.
    """

    @functools.wraps(make)
    def named(*arguments: P.args, **keywords: P.kwargs) -> Schedule:
        for name, value in inspect.signature(make).bind(*arguments, **keywords).arguments.items():
            for number in value if isinstance(value, (tuple, list)) else (value,):
                require_range(make.__name__, name, number, 0.0)
        schedule = make(*arguments, **keywords)
        words = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in keywords.items())]
        schedule.__qualname__ = schedule.__name__ = f"{make.__name__}({', '.join(words)})"
        return schedule

    named.makes_schedules = True  # type: ignore[attr-defined]
    return named


@_told
def cosine(initial_rate: float, total_steps: int, final_rate: float = 0.0) -> Schedule:
    """Half a wave of the cosine from initial_rate to final_rate over total_steps, then final_rate.

    It is final_rate + (initial_rate - final_rate) * (1 + cos(pi * steps / total_steps)) / 2 (Loshchilov,
    Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017, equation 5).

    Raises:
        ArrowValueError: a rate below 0, or fewer than 1 step.

    >>> [round(cosine(1.0, 4)(steps), 3) for steps in range(6)]
    [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """
    return _warm("cosine", initial_rate, 0, total_steps, final_rate, _wave)


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
def warmup_linear(initial_rate: float, warmup_steps: int, total_steps: int) -> Schedule:
    """Rises linearly from 0 to initial_rate over warmup_steps, then falls linearly to 0 at total_steps.

    Raises:
        ArrowValueError: a rate or number of steps below 0, or a warm-up that is not shorter than the whole.

    >>> [warmup_linear(1.0, 2, 6)(steps) for steps in range(8)]
    [0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """
    return _warm("warmup_linear", initial_rate, warmup_steps, total_steps, 0.0, lambda share: 1.0 - share)


@_told
def step_decay(initial_rate: float, factor: float, every: int | Sequence[int]) -> Schedule:
    """initial_rate, multiplied by factor after every so many steps (He, Zhang, Ren, Sun, "Deep Residual
    Learning for Image Recognition", CVPR 2016, section 3.4, for one).

    Args:
        initial_rate: of the first steps.
        factor: at most 1.
        every: steps from one fall to the next; or the steps of all falls.

    Raises:
        ArrowValueError: a rate below 0, a factor out of its range, fewer than 1 step.

    >>> [step_decay(1.0, 0.5, 2)(steps) for steps in range(6)]
    [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    >>> [step_decay(1.0, 0.5, (1, 4))(steps) for steps in range(6)]
    [1.0, 0.5, 0.5, 0.5, 0.25, 0.25]
    """
    require_range("step_decay", "factor", factor, 0.0, math.nextafter(1.0, 2.0))
    if not isinstance(every, int):
        return lambda steps: initial_rate * factor ** sum(steps >= fall for fall in every)
    require_range("step_decay", "every", every, 1)
    return lambda steps: initial_rate * factor ** (steps // every)


@_told
def one_cycle(
    max_rate: float,
    total_steps: int,
    pct_start: float = 0.45,
    div_factor: float = 25.0,
    final_div_factor: float = 100.0,
) -> Schedule:
    """One cycle of a slow rise to max_rate and a fall back, and then a fall far below that, all linear
    (Smith, Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates",
    2019, section 4).

    Args:
        max_rate: at the top.
        total_steps: of the whole.
        pct_start: the share of the steps in which the rate rises; it falls back in as many.
        div_factor: max_rate / div_factor is where the cycle begins and ends.
        final_div_factor: in the steps that are left the rate falls to the last one, divided by this.

    Raises:
        ArrowValueError: a rate below 0, fewer than 1 step, a share outside (0, 0.5], or a divisor below 1.

    >>> [round(one_cycle(1.0, 10, pct_start=0.4, div_factor=5)(step), 3) for step in range(11)]
    [0.2, 0.4, 0.6, 0.8, 1.0, 0.8, 0.6, 0.4, 0.2, 0.101, 0.002]
    """
    require_range("one_cycle", "total_steps", total_steps, 1)
    require_above("one_cycle", "pct_start", pct_start)
    require_range("one_cycle", "pct_start", pct_start, 0.0, math.nextafter(0.5, 1.0))
    require_range("one_cycle", "div_factor", div_factor, 1.0)
    require_range("one_cycle", "final_div_factor", final_div_factor, 1.0)
    low, top = max_rate / div_factor, pct_start * total_steps

    def rate(steps: int) -> float:
        if steps <= 2 * top:
            return _between(low, max_rate, 1.0 - abs(steps / top - 1.0))
        # Where the cycle takes all steps, none are left.
        left = (total_steps - steps) / (total_steps - 2 * top) if steps < total_steps else 0.0
        return _between(low / final_div_factor, low, left)

    return rate


def _warm(
    name: str, top: float, warmup_steps: int, total_steps: int, last: float, fall: Callable[[float], float]
) -> Schedule:
    """Rises from 0 to `top`, and falls to `last` as `fall` does from 1 to 0 while its argument rises to 1."""
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


# ----------------------------------------------------------------------------------------------- by name


def by_name(what: str, by_pattern: Mapping[str, V], names: Iterable[str]) -> dict[str, V]:
    """Parameter name -> its separate value, if it has one; refuses a pattern that matches no name.

    Patterns are those of `fnmatch` (`*`, `?`, `[abc]`), case-sensitive. If several match a name, the first
    counts.

    >>> by_name("rates", {"embed/*": 0.1}, ["embed/weight", "fc/weight"])
    {'embed/weight': 0.1}
    """
    values: dict[str, V] = {}
    for pattern, value in by_pattern.items():
        matches = [name for name in names if fnmatchcase(name, pattern)]
        if not matches:
            late = "; a layer on the fly has its parameters from its first call on, so call it before"
            raise ArrowValueError(
                f"{what}: no parameter matches {pattern!r}; there are {', '.join(names) or 'none'}"
                f"{late if isinstance(names, GrowingParams) else ''}"
            )
        for name in matches:
            values.setdefault(name, value)
    return values


def rate_at(rate: Rate, steps: int) -> float:
    """The learning rate of the step after `steps` steps; refuses a schedule's result that is not a rate."""
    if not callable(rate):
        return rate
    value = rate(steps)
    require_range(f"the schedule {rate_text(rate)}", f"its rate after {steps} steps", value, 0.0)
    return value


def rate_text(rate: object) -> str:
    """A learning rate in words that are the same in every process; a function stands there by its name.

    >>> rate_text(1), rate_text(rate_at)
    ('1.0', '<function rate_at>')
    """
    if not callable(rate):
        return repr(float(rate))  # type: ignore[arg-type]
    name: str = getattr(rate, "__qualname__", "")
    # A schedule of ours is named by its call; the `repr` of others may have an address.
    return name if name.endswith(")") else re.sub(r" at 0x[0-9a-fA-F]+", "", repr(rate))


def require_rate(what: str, rate: Any) -> None:
    """Refuses a rate that is neither a number nor a schedule, and a number that is negative or not finite."""
    if not callable(rate) or isinstance(rate, type) or hasattr(rate, "makes_schedules"):
        require_number(what, rate, also=" or a schedule such as schedules.cosine(0.01, 1000)")
    if not callable(rate) and not 0 <= rate < float("inf"):
        raise ArrowValueError(f"{what} is {rate}, and should be at least 0")
