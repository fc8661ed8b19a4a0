"""Learning rates: numbers or schedules, for all parameters or by patterns of parameter names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase

from arrows.training.arguments import require_number
from arrows.typesys import ArrowValueError

# The number of steps taken so far (0 before the first) -> the rate of the next step.
Schedule = Callable[[int], float]
Rate = float | Schedule


class Rates:
    """Separate learning rates for the parameters whose names match a pattern.

    Args:
        by_pattern: pattern -> rate. `fnmatch` reads the patterns (`*`, `?`, `[abc]`), case-sensitively. Where
            several patterns match a name, the first one counts. The number 0 freezes a parameter.

    Raises:
        ArrowTypeError: a rate is neither number nor schedule.
        ArrowValueError: a rate below 0.

    >>> Rates({"embed/*": 0.1}).by_name(["embed/weight", "fc/weight"])
    {'embed/weight': 0.1}
    """

    def __init__(self, by_pattern: Mapping[str, Rate] | None = None) -> None:
        self.by_pattern = dict(by_pattern or {})
        for pattern, rate in self.by_pattern.items():
            require_rate(f"rates[{pattern!r}]", rate)
        self._matches: dict[tuple[str, ...], dict[str, Rate]] = {}  # patterns are matched once a model

    def by_name(self, names: Iterable[str]) -> Mapping[str, Rate]:
        """The separate rates of those of the named parameters that have one.

        Raises:
            ArrowValueError: a pattern matches none of the names; the message lists them all.

        >>> Rates({"embd/*": 0.1}).by_name(["embed/weight"])
        Traceback (most recent call last):
        ...
        arrows.typesys.errors.ArrowValueError: rates: no parameter matches 'embd/*'; there are embed/weight
        """
        if not self.by_pattern:
            return {}
        key = tuple(names)
        if key not in self._matches:
            rates: dict[str, Rate] = {}
            for pattern, rate in self.by_pattern.items():
                matches = [name for name in key if fnmatchcase(name, pattern)]
                if not matches:
                    listed = ", ".join(key) or "none"
                    raise ArrowValueError(f"rates: no parameter matches {pattern!r}; there are {listed}")
                for name in matches:
                    rates.setdefault(name, rate)  # the first pattern that matches counts
            self._matches[key] = rates
        return self._matches[key]


def rate_at(rate: Rate, steps: int) -> float:
    """The learning rate of the step that follows `steps` steps.

    Raises:
        ArrowTypeError: a schedule gives no number.
        ArrowValueError: it gives a number below 0, or one that is not finite.

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
    """Whether a parameter's separate rate is the number 0; a schedule that reaches 0 does not freeze.

    >>> is_frozen(0), is_frozen(None), is_frozen(lambda steps: 0.0)
    (True, False, False)
    """
    return rate is not None and not callable(rate) and rate == 0


def require_rate(what: str, rate: Rate) -> None:
    """Refuses a rate that is neither a number nor a schedule, and a number that is negative or not finite.

    >>> require_rate("Adam: learning_rate", -1.0)
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: Adam: learning_rate is -1.0, and should be at least 0
    """
    if not callable(rate) or isinstance(rate, type):
        require_number(what, rate, also=" or a schedule")
    if not callable(rate) and not 0 <= rate < float("inf"):
        raise ArrowValueError(f"{what} is {rate}, and should be at least 0")
