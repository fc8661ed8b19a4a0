"""What a schedule is made of, so that a run does not go on with another one unseen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from arrows.engine.reading.content_digest import digests
from arrows.engine.reading.object_content import Unhashable
from arrows.typesys.errors import ArrowValueError


def functions_in(schedule: Any) -> Iterator[str]:
    """The functions that a schedule is made of, each by its name and a hash of what it says and holds.

    A dataclass tells by its `repr` what it is, all but the functions in it.

    Raises:
        ArrowValueError: what one of them holds cannot be told.

    >>> [(name[:8], len(name)) for name in functions_in(lambda steps: 0.1)]
    [('<lambda>', 25)]
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
            f"a schedule cannot be told from others when a run goes on: {refused.path} {refused.reason}; "
            "make it a frozen dataclass of numbers"
        ) from None
