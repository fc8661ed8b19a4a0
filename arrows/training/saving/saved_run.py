"""What a checkpoint holds besides its arrays: numbers and texts, written as JSON and checked when read.

The type and range of every value in a file is checked before any is used, whoever wrote the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard

from arrows.engine.scheduling import batch_size_of
from arrows.safetensors_file import is_whole
from arrows.training.progress import Progress
from arrows.training.saving.unnamed_layers import Sites, sites_of
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.quoting import escaped

VERSION = 1


@dataclass(frozen=True, slots=True)
class SavedRun:
    """The state of a run without its arrays.

    Attributes:
        optimizer: the optimizer's class and hyperparameters but its learning rates, as text.
        began: the learning rate that it was made with, as text.
        learning_rate: the optimizer's; None for a schedule.
        steps: how many steps the optimizer has taken.
        model_step: the model's count of steps, on which dropout masks depend; None if it does not count.
        model_seed: the model's seed, likewise.
        progress: how far the run has come.
        metadata: the user's texts.
        unnamed: the line of code that made each layer without a name.
        counts: parameter name -> how many steps changed it, where that is one number for all rows.
        since: parameter name -> the step that its average belongs to, where that is one number for all rows.
    """

    optimizer: str
    began: str
    learning_rate: float | None
    steps: int
    model_step: int | None
    model_seed: int | None
    progress: Progress
    metadata: Mapping[str, str] = field(default_factory=dict)
    unnamed: Sites = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    since: Mapping[str, int] = field(default_factory=dict)

    def as_text(self) -> str:
        """JSON, for the file."""
        names = (name for name in SavedRun.__slots__ if name != "progress")
        values = {name: getattr(self, name) for name in names}
        return json.dumps({"version": VERSION, **values, "progress": self.progress.as_dict()})

    @classmethod
    def of(cls, text: str) -> SavedRun:
        """Reads what `as_text` wrote; refuses another version, and a value that is not valid."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            raise ArrowValueError("is damaged: its numbers are not JSON") from None
        if isinstance(values, dict) and is_whole(values.get("version")) and values["version"] != VERSION:
            raise ArrowValueError("was written by another version of arrows")
        _check("", values, _RUN)
        _check("progress", values["progress"], _PROGRESS)
        for number, epoch in enumerate(values["progress"]["history"]):
            _check(f"progress.history[{number}]", epoch, _EPOCH)
        for number, evaluation in enumerate(values["progress"]["evaluations"]):
            _check(f"progress.evaluations[{number}]", evaluation, _EVALUATION)
        for table in ("counts", "since"):
            name = next((name for name, n in values[table].items() if n > values["steps"]), None)
            if name is not None:
                raise ArrowValueError(f"is damaged: {table} of {_shown(name)} is more than all steps")
        progress = Progress.of(values.pop("progress"))
        if progress.position > progress.examples:
            raise ArrowValueError("is damaged: progress.position is more than the number of examples")
        unnamed = sites_of(values.pop("unnamed")) or {}
        del values["version"]
        return cls(**values, unnamed=unnamed, progress=progress)


Test: TypeAlias = Callable[[object], bool]


def _whole(least: int = 0) -> Test:
    return lambda value: is_whole(value, least)


def _type(kind: type) -> Test:
    return lambda value: isinstance(value, kind)


def _seed(value: object) -> bool:
    """NumPy takes seeds of any length, so they may be longer than 64 bits."""
    return _model_seed(value) and value >= 0


def _model_seed(value: object) -> TypeGuard[int]:
    return type(value) is int and value.bit_length() <= 4096


def _number(value: object) -> TypeGuard[float]:
    """A number of any kind; a loss may be NaN."""
    return type(value) is float or is_whole(value, -(2**63))


def _measure(value: object) -> bool:
    return _number(value) and 0 <= value < math.inf


def _is_batch_size(value: object, level: int = 0) -> bool:
    if not isinstance(value, dict):
        return is_whole(value, 1)
    if level == 2 or not all(_is_batch_size(part, level + 1) for part in value.values()):
        return False
    try:
        batch_size_of(value)
    except (ArrowTypeError, ArrowValueError):
        return False
    return True


def _was_batch_size(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and _is_batch_size(value[0]) and is_whole(value[1])


def _table(test: Test) -> Test:
    return lambda value: isinstance(value, dict) and all(map(test, value.values()))


def _or_none(test: Test) -> Test:
    return lambda value: value is None or test(value)


_RUN: dict[str, Test] = {
    "version": _whole(1),
    "optimizer": _type(str),
    "began": _type(str),
    "learning_rate": _or_none(_measure),
    "steps": _whole(),
    "model_step": _or_none(_whole()),
    "model_seed": _or_none(_model_seed),
    "progress": _type(dict),
    "metadata": _table(_type(str)),
    "unnamed": lambda value: sites_of(value) is not None,
    "counts": _table(_whole()),
    "since": _table(_whole()),
}
_PROGRESS: dict[str, Test] = {
    "seed": _seed,
    "batch_size": _is_batch_size,
    "examples": _whole(),
    "epoch": _whole(1),
    "position": _whole(),
    "total": _number,
    "seconds": _measure,
    "history": _type(list),
    "evaluations": _type(list),
    "accumulate": _whole(1),
    "content": _type(str),
    "epochs": _whole(),
    "rates": _type(str),
    "before": lambda value: isinstance(value, list) and all(map(_was_batch_size, value)),
}
_EVALUATION: dict[str, Test] = {
    "epoch": _whole(1),
    "step": _whole(),
    "figures": _table(_number),
    "best": _type(bool),
}
_EPOCH: dict[str, Test] = {
    "number": _whole(1),
    "loss": _number,
    "seconds": _measure,
    "examples_per_second": _measure,
    "figures": _table(_number),
    "best": _type(bool),
    "steps": _whole(),
}


def _check(place: str, values: object, tests: Mapping[str, Test]) -> None:
    """Refuses a table that does not have exactly these entries, each of which passes its test."""
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
        raise ArrowValueError(f"is damaged: it has an unknown entry {_shown(before + other)}")


def _shown(value: object) -> str:
    """A value of a file in a few words, for messages."""
    if isinstance(value, (dict, list)):
        return f"a {'table' if isinstance(value, dict) else 'list'} of {len(value)}"
    return escaped(repr(value) if isinstance(value, str) else str(value)[:60], 60)
