"""The text that identifies an optimizer, so that a resumed run notices if it has been given another one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace

from arrows.engine.reading import Unhashable, digests
from arrows.training.learning_rates import Rate
from arrows.training.optimizers.update_rule import Rule
from arrows.typesys import ArrowValueError


@dataclass(frozen=True, slots=True)
class Settings:
    """All that distinguishes two optimizers, apart from the state that they build up.

    Attributes:
        optimizer: the name of the optimizer's class.
        rule: its update rule.
        clip_norm: see `Optimizer`.
        rates: pattern -> learning rate.
        average: the decay of the averages; None without.
        dense: whether row-sparse gradients count as dense ones.
    """

    optimizer: str
    rule: Rule
    clip_norm: float | None
    rates: Mapping[str, Rate]
    average: float | None
    dense: bool

    def text(self, learning_rate: Rate) -> str:
        """The `repr` of the optimizer with this learning rate."""
        rule: object = self.rule
        extras = f", rates={self.rates}" if self.rates else ""
        if learning_rate is not self.rule.learning_rate:
            if is_dataclass(rule) and not isinstance(rule, type):
                rule = replace(rule, learning_rate=learning_rate)
            else:
                extras += f", learning_rate={learning_rate}"
        if self.average is not None:
            extras += f", average={self.average}"
        if self.dense:
            extras += ", dense=True"
        return f"{self.optimizer}({rule}, clip_norm={self.clip_norm}{extras})"

    def description(self, learning_rate: Rate) -> str:
        """A text that is the same in every process; it has a hash of each function's code and content.

        Raises:
            ArrowValueError: the content of a schedule cannot be identified.
        """
        schedules = [rate for rate in (learning_rate, *self.rates.values()) if callable(rate)]
        names = [name for schedule in schedules for name in functions_in(schedule)]
        rate = learning_rate if callable(learning_rate) else float(learning_rate)
        return without_addresses(self.text(rate)) + (f" with {', '.join(names)}" if names else "")


def without_addresses(text: str) -> str:
    """Removes memory addresses, as the `repr` of many objects contains them, from a text."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def functions_in(schedule: object) -> Iterator[str]:
    """The functions that a schedule consists of, each with its name and a hash of its code and content.

    For a dataclass these are the functions in its fields; its `repr` identifies the rest.

    Raises:
        ArrowValueError: the content of one of them cannot be identified.
    """
    if is_dataclass(schedule) and not isinstance(schedule, type):
        for field in fields(schedule):
            value = getattr(schedule, field.name)
            if callable(value):
                yield from functions_in(value)
        return
    name = getattr(schedule, "__name__", type(schedule).__name__)
    try:
        yield f"{name} {digests([('schedule', schedule)])[0][:16]}"
    except Unhashable as refused:
        raise ArrowValueError(
            f"a resumed run could not recognize this schedule: {refused.path} {refused.reason}; "
            "make it a frozen dataclass of numbers"
        ) from None
