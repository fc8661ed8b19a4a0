"""Predictions of a stream of examples: in order, batch by batch, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from arrows.engine.scheduling import Batch, BatchInput, BatchReader, Examples, Prepared, as_stream, place_of
from arrows.engine.values import rows_of
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError

Run: TypeAlias = Callable[[BatchInput], object]
"""Runs a batch that has been read; gives its result, or the error of an example whose values do not fit."""

ERRORS = ("stop", "return")


@dataclass(frozen=True, slots=True)
class Predictor:
    """Predicts, with a model's means: each example is read once.

    Attributes:
        batches: reads examples.
        run: runs what was read.
    """

    batches: BatchReader
    run: Run

    def stream(self, name: str, examples: Examples, batch_size: object, errors: object) -> Iterator[Any]:
        """Does the work of `Model.predict_stream`; checks its arguments at once.

        ``name`` is what was called.
        """
        if isinstance(batch_size, bool) or not isinstance(batch_size, Integral):
            raise ArrowTypeError(f"{name}: batch_size must be a whole number, not {batch_size!r}")
        if batch_size < 1:
            raise ArrowValueError(f"{name}: batch_size is {batch_size}, and should be 1 or more")
        if errors not in ERRORS:
            raise ArrowValueError(f"{name}: errors is {errors!r}, and should be 'stop' or 'return'")
        if isinstance(examples, Prepared):
            examples = examples[:]
        if isinstance(examples, Batch):
            rows = self._of_prepared(examples, int(batch_size))
        else:
            rows = self._of_stream(as_stream(examples, "predict"), int(batch_size), examples)
        return _placed(rows, errors == "stop", examples)

    def _of_prepared(self, batch: Batch, size: int) -> Iterator[Any]:
        for first in range(0, len(batch), size):
            part = batch.prepared[batch.indices[first : first + size]]
            yield from self._rows(self.batches.read(part, "predict", None))

    def _of_stream(self, stream: Iterator[Any], size: int, examples: object) -> Iterator[Any]:
        """The rows of a stream of `examples`, which are as the user hands them in."""
        first = 0
        for batch in _batches(stream, size):
            fitting, refused = self.batches.read_fitting(batch, first)
            rows = iter(self._rows(fitting))
            for number in range(first, first + len(batch)):
                error = refused.get(number)
                yield next(rows) if error is None else self.batches.reader.hinted(error, examples)
            first += len(batch)

    def _rows(self, batch: BatchInput) -> list[Any]:
        """The rows of a batch's examples; for one whose values do not fit, its error.

        Where one does not fit, the others run in smaller batches.
        """
        count = len(batch.wired)
        if not count:
            return []
        result = self.run(batch)
        if not isinstance(result, InputError):
            return rows_of(result, count)
        bad = batch.numbers == result.details.example
        if count == 1:
            bad[0] = True
        rows: list[Any] = [result] * count
        rest = np.flatnonzero(~bad)
        for part in np.array_split(rest, 2):
            for place, row in zip(part.tolist(), self._rows(batch.select(part)), strict=True):
                rows[place] = row
        return rows


def _batches(stream: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Lists of so many examples; those before an error of the stream come before it is raised."""
    batch: list[Any] = []
    try:
        for example in stream:
            batch.append(example)
            if len(batch) == size:
                yield batch
                batch = []
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _placed(rows: Iterator[Any], stop: bool, examples: object) -> Iterator[Any]:
    """Yields rows; raises or yields errors, which then also say where in a file the example stands."""
    for row in rows:
        if isinstance(row, InputError):
            place = place_of(examples, row.details.example)
            if place:
                cause = row.__cause__
                row = InputError(row.details.placed(place))
                row.__cause__ = cause
            if stop:
                raise row
        yield row
