"""The numbers and texts of a run's state: what is written, and what is believed of what is read.

Each value of a file is checked for its kind and range before any is used, whoever wrote the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from arrows.training.arguments import escaped, is_whole
from arrows.training.progress import Progress
from arrows.training.saving.unnamed_layers import is_table
from arrows.typesys.errors import ArrowValueError

VERSION = 1


@dataclass(frozen=True, slots=True)
class SavedRun:
    """What a run's state holds besides its arrays.

    Attributes:
        optimizer: its description.
        began: its description as it was made, before anyone changed its learning rate; that of `optimizer` in
            files that were written before there was this one.
        learning_rate: None for a schedule.
        steps: of the optimizer.
        model_step: what dropout depends on besides the seed; None in a model that has none.
        model_seed: likewise.
        progress: the place in the run.
        metadata: the user's texts.
        unnamed: where layers without names were made.
        counts: parameter name -> steps that changed it, of those that have one number.
        since: parameter name -> the step that the average is of, of those that have one number.
    """

    optimizer: str
    began: str
    learning_rate: float | None
    steps: int
    model_step: int | None
    model_seed: int | None
    progress: Progress
    metadata: Mapping[str, str] = field(default_factory=dict)
    unnamed: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    since: Mapping[str, int] = field(default_factory=dict)

    def as_text(self) -> str:
        """JSON, for the file."""
        names = (name for name in SavedRun.__slots__ if name != "progress")
        values = {name: getattr(self, name) for name in names}
        return json.dumps({"version": VERSION, **values, "progress": self.progress.as_dict()})

    @classmethod
    def of(cls, text: str) -> SavedRun:
        """What `as_text` made a text of.

        Raises:
            ArrowValueError: it is of another version, or something in it is not what it should be; the
                message says what.

        >>> SavedRun.of('{"version": 1, "steps": -3}')
        Traceback (most recent call last):
        ...
        arrows.typesys.errors.ArrowValueError: is damaged: 'optimizer' is missing
        """
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            raise ArrowValueError("is damaged: its numbers are not JSON") from None
        if isinstance(values, dict) and is_whole(values.get("version")) and values["version"] != VERSION:
            raise ArrowValueError("was written by another version of arrows")
        if isinstance(values, dict) and "optimizer" in values:
            # Files of the time before these two were written.
            values = {"began": values["optimizer"], "unnamed": {}, **values}
        _check("", values, _RUN)
        _check("progress", values["progress"], _PROGRESS)
        for number, epoch in enumerate(values["progress"]["history"]):
            _check(f"progress.history[{number}]", epoch, _EPOCH)
        for table in ("counts", "since"):
            name = next((name for name, n in values[table].items() if n > values["steps"]), None)
            if name is not None:
                raise ArrowValueError(f"is damaged: {table} of {_shown(name)} is more than all steps")
        progress = Progress.of(values.pop("progress"))
        if progress.position > progress.examples:
            raise ArrowValueError("is damaged: progress.position is more than all examples")
        del values["version"]
        return cls(**values, progress=progress)


Test = Callable[[Any], bool]


def _whole(least: int = 0) -> Test:
    return lambda value: is_whole(value, least)


def _seed(value: Any) -> bool:
    """NumPy takes seeds of any length."""
    return type(value) is int and value >= 0 and value.bit_length() <= 4096


def _number(value: Any) -> bool:
    """A number of any kind; a loss may be NaN."""
    return type(value) is float or is_whole(value, -(2**63))


def _measure(value: Any) -> bool:
    return _number(value) and 0 <= value < math.inf


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _table(test: Test) -> Test:
    return lambda value: isinstance(value, dict) and all(map(test, value.values()))


def _or_none(test: Test) -> Test:
    return lambda value: value is None or test(value)


_RUN: dict[str, Test] = {
    "version": _whole(1),
    "optimizer": _text,
    "began": _text,
    "learning_rate": _or_none(_measure),
    "steps": _whole(),
    "model_step": _or_none(_whole()),
    "model_seed": _or_none(lambda value: type(value) is int and abs(value).bit_length() <= 4096),
    "progress": lambda value: isinstance(value, dict),
    "metadata": _table(_text),
    "unnamed": is_table,
    "counts": _table(_whole()),
    "since": _table(_whole()),
}
_PROGRESS: dict[str, Test] = {
    "seed": _seed,
    "batch_size": _whole(1),
    "examples": _whole(),
    "epoch": _whole(1),
    "position": _whole(),
    "total": _number,
    "seconds": _measure,
    "history": _list,
}
_EPOCH: dict[str, Test] = {
    "number": _whole(1),
    "loss": _number,
    "seconds": _measure,
    "examples_per_second": _measure,
    "figures": _table(_number),
    "unit": _text,
    "best": _truth,
}


def _check(place: str, values: Any, tests: Mapping[str, Test]) -> None:
    if not isinstance(values, dict):
        raise ArrowValueError(f"is damaged: {place or 'it'} is {_shown(values)}")
    before = place and f"{place}."
    for name, test in tests.items():
        if name not in values:
            raise ArrowValueError(f"is damaged: {before + name!r} is missing")
        if not test(values[name]):
            raise ArrowValueError(f"is damaged: {before}{name} is {_shown(values[name])}")
    other = next((name for name in values if name not in tests), None)
    if other is not None:
        raise ArrowValueError(f"is damaged: it has {_shown(before + other)}, which nobody knows")


def _shown(value: Any) -> str:
    """A value of a file in a few words."""
    if isinstance(value, (dict, list)):
        return f"a {'table' if isinstance(value, dict) else 'list'} of {len(value)}"
    return escaped(repr(value) if isinstance(value, str) else str(value)[:60], 60)
