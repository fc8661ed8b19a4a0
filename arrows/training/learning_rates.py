"""Learning rates: numbers or schedules, for all parameters or by patterns of parameter names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from arrows.engine.planning import GrowingParams
from arrows.training.arguments import require_number
from arrows.typesys import ArrowValueError

# The number of steps taken so far (0 before the first) -> the rate of the next step.
Schedule = Callable[[int], float]
Rate = float | Schedule


class Rates:
    """Separate learning rates for the parameters whose names match a pattern.

    Patterns are those of `fnmatch` (`*`, `?`, `[abc]`), case-sensitive. If several match a name, the first
    counts. The number 0 freezes a parameter.

    >>> Rates({"embed/*": 0.1}).by_name(["embed/weight", "fc/weight"])
    {'embed/weight': 0.1}
    """

    def __init__(self, by_pattern: Mapping[str, Rate] | None = None) -> None:
        self.by_pattern = dict(by_pattern or {})
        for pattern, rate in self.by_pattern.items():
            require_rate(f"rates[{pattern!r}]", rate)
        self._matches: dict[tuple[str, ...], dict[str, Rate]] = {}  # by the names of a model

    def by_name(self, names: Iterable[str]) -> Mapping[str, Rate]:
        """Parameter name -> its separate rate, if it has one; refuses a pattern that matches no name."""
        if not self.by_pattern:
            return {}
        key = tuple(names)
        if key not in self._matches:
            rates: dict[str, Rate] = {}
            for pattern, rate in self.by_pattern.items():
                matches = [name for name in key if fnmatchcase(name, pattern)]
                if not matches:
                    listed = ", ".join(key) or "none"
                    late = "; a layer on the fly has its parameters from its first call on, so call it before"
                    raise ArrowValueError(
                        f"rates: no parameter matches {pattern!r}; there are {listed}"
                        f"{late if isinstance(names, GrowingParams) else ''}"
                    )
                for name in matches:
                    rates.setdefault(name, rate)  # the first pattern that matches counts
            self._matches[key] = rates
        return self._matches[key]


def rate_at(rate: Rate, steps: int) -> float:
    """The learning rate of the step after `steps` steps; refuses a schedule's result that is not a rate."""
    if not callable(rate):
        return rate
    value = rate(steps)
    require_number(f"the rate that the schedule {rate_text(rate)} gives after {steps} steps", value)
    if not 0 <= value < float("inf"):
        raise ArrowValueError(
            f"the schedule {rate_text(rate)} gives {value} after {steps} steps, and should give at least 0"
        )
    return value


def rate_text(rate: object) -> str:
    """A learning rate in words that are the same in every process; a function stands there by its name.

    >>> rate_text(1), rate_text(rate_at)
    ('1.0', '<function rate_at>')
    """
    if not callable(rate):
        return repr(float(rate))  # type: ignore[arg-type]
    name: str = getattr(rate, "__qualname__", "")
    # A schedule of ours is named by its call.
    return name if name.endswith(")") else without_addresses(repr(rate))


def without_addresses(text: str) -> str:
    """Removes memory addresses, as the `repr` of many objects contains them, from a text."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def is_frozen(rate: Rate | None) -> bool:
    """Whether a parameter's separate rate is the number 0; a schedule that reaches 0 does not freeze."""
    return rate is not None and not callable(rate) and rate == 0


def require_rate(what: str, rate: Any) -> None:
    """Refuses a rate that is neither a number nor a schedule, and a number that is negative or not finite."""
    if not callable(rate) or isinstance(rate, type) or hasattr(rate, "makes_schedules"):
        example = (
            ""
            if not callable(rate) and not isinstance(rate, str)
            else " such as schedules.cosine(0.01, 1000)"
        )
        require_number(what, rate, also=f" or a schedule{example}")
    if not callable(rate) and not 0 <= rate < float("inf"):
        raise ArrowValueError(f"{what} is {rate}, and should be at least 0")
