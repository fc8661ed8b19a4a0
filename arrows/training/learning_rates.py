"""Learning rates: numbers or schedules, for all parameters or by patterns of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase

from arrows.training.arguments import require_number
from arrows.typesys.errors import ArrowValueError

# The number of steps made so far (0 before the first) -> the rate of the next.
Schedule = Callable[[int], float]
Rate = float | Schedule


class Rates:
    """Rates of their own for the parameters whose names match a pattern.

    Args:
        given: pattern -> rate, as `fnmatch` reads patterns (`*`, `?`, `[abc]`), upper and lower case apart.
            Of several patterns that match a name the first one counts. The number 0 freezes.

    Raises:
        ArrowTypeError: a rate is neither number nor schedule.
        ArrowValueError: a rate below 0.

    >>> Rates({"embed/*": 0.1}).by_name(["embed/weight", "fc/weight"])
    {'embed/weight': 0.1}
    """

    def __init__(self, given: Mapping[str, Rate] | None = None) -> None:
        self.given = dict(given or {})
        for pattern, rate in self.given.items():
            require_rate(f"rates[{pattern!r}]", rate)
        self._found: dict[tuple[str, ...], dict[str, Rate]] = {}

    def by_name(self, names: Iterable[str]) -> Mapping[str, Rate]:
        """The parameters that have rates of their own.

        Raises:
            ArrowValueError: a pattern matches none of the names; the message has them all.

        >>> Rates({"embd/*": 0.1}).by_name(["embed/weight"])
        Traceback (most recent call last):
        ...
        arrows.typesys.errors.ArrowValueError: rates: no parameter matches 'embd/*'; there are embed/weight
        """
        if not self.given:
            return {}
        key = tuple(names)
        if key not in self._found:
            for pattern in self.given:
                if not any(fnmatchcase(name, pattern) for name in key):
                    there = ", ".join(key) or "none"
                    raise ArrowValueError(f"rates: no parameter matches {pattern!r}; there are {there}")
            self._found[key] = {
                name: next(self.given[pattern] for pattern in self.given if fnmatchcase(name, pattern))
                for name in key
                if any(fnmatchcase(name, pattern) for pattern in self.given)
            }
        return self._found[key]


def rate_at(rate: Rate, steps: int) -> float:
    """The rate of the step after `steps` steps.

    Raises:
        ArrowTypeError: a schedule gives no number.
        ArrowValueError: it gives one below 0, or none that is finite.

    >>> rate_at(0.1, 7), rate_at(lambda steps: 1 / (1 + steps), 3)
    (0.1, 0.25)
    """
    if not callable(rate):
        return rate
    value = rate(steps)
    require_number(f"what the schedule {rate} gives after {steps} steps", value)
    if not 0 <= value < float("inf"):
        raise ArrowValueError(
            f"the schedule {rate} gives {value} after {steps} steps, and should give at least 0"
        )
    return value


def is_frozen(rate: Rate | None) -> bool:
    """Whether a parameter's own rate is the number 0; a schedule that comes to 0 does not freeze.

    >>> is_frozen(0), is_frozen(None), is_frozen(lambda steps: 0.0)
    (True, False, False)
    """
    return rate is not None and not callable(rate) and rate == 0


def require_rate(what: str, rate: Rate) -> None:
    """Refuses a rate that is neither number nor schedule, or a number below 0, or none that is finite.

    >>> require_rate("Adam: learning_rate", -1.0)
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: Adam: learning_rate is -1.0, and should be at least 0
    """
    if not callable(rate) or isinstance(rate, type):
        require_number(what, rate, also=" or a schedule")
    if not callable(rate) and not 0 <= rate < float("inf"):
        raise ArrowValueError(f"{what} is {rate}, and should be at least 0")
