"""What an optimizer counts on the host, so that steps which changed no array can be undone there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arrows.training.optimizers.update_rule import StepCount


@dataclass(frozen=True, slots=True)
class Counters:
    """What an optimizer counts on the host.

    Attributes:
        steps: how many steps have been taken.
        counts, since: of each parameter; None where an array has them by row.
    """

    steps: int
    counts: Mapping[str, int | None]
    since: Mapping[str, int | None]


def whole_numbers(table: Mapping[str, StepCount]) -> dict[str, int | None]:
    """The counts that the host keeps."""
    return {name: count if isinstance(count, int) else None for name, count in table.items()}


def set_back(table: dict[str, StepCount], before: Mapping[str, int | None]) -> list[str]:
    """Sets counts back; returns the names that were not there, which are gone.

    Counts by row stay: the device has not changed them.  A count that became one by row meanwhile is a number
    again.
    """
    new = [name for name in table if name not in before]
    for name in new:
        del table[name]
    table.update({name: count for name, count in before.items() if count is not None})
    return new
