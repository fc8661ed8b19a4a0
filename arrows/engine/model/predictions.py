"""Predictions of a stream of examples: in order, batch by batch, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from arrows.engine.reading import blocks
from arrows.engine.scheduling import (
    Batch,
    BatchInput,
    BatchReader,
    Examples,
    Prepared,
    as_stream,
    checked_count,
    placed,
)
from arrows.engine.values import rows_of
from arrows.typesys import ArrowValueError, InputError

Run: TypeAlias = Callable[[BatchInput], object]
"""Runs a batch that has been read; gives its result, or the error of an example whose values do not fit."""

ERRORS = ("stop", "return")


def predictions(
    reader: BatchReader, run: Run, name: str, examples: Examples, batch_size: object, errors: object
) -> Iterator[Any]:
    """Does the work of `Model.predict_stream`; checks its arguments at once.

    Args:
        reader: reads examples.
        run: runs what was read.
        name: what was called.
        examples, batch_size, errors: its arguments.
    """
    size = checked_count(f"{name}: batch_size", batch_size)
    if errors not in ERRORS:
        raise ArrowValueError(f"{name}: errors is {errors!r}, and should be 'stop' or 'return'")
    if isinstance(examples, Prepared):
        examples = examples[:]
    if isinstance(examples, Batch):
        rows = _of_prepared(reader, run, examples, size)
    else:
        rows = _of_stream(reader, run, as_stream(examples, "predict"), size, examples)
    return _stopped(rows, errors == "stop", examples)


def _of_prepared(reader: BatchReader, run: Run, batch: Batch, size: int) -> Iterator[Any]:
    for first in range(0, len(batch), size):
        part = batch.prepared[batch.indices[first : first + size]]
        yield from _rows(run, reader.read(part, "predict", None))


def _of_stream(
    reader: BatchReader, run: Run, stream: Iterator[Any], size: int, examples: object
) -> Iterator[Any]:
    """The rows of a stream of `examples`, which are as the user hands them in."""
    first = 0
    for batch in blocks(stream, size):
        fitting, refused = reader.read_fitting(batch, first)
        rows = iter(_rows(run, fitting))
        for number in range(first, first + len(batch)):
            error = refused.get(number)
            yield next(rows) if error is None else reader.reader.hinted(error, examples)
        first += len(batch)


def _rows(run: Run, batch: BatchInput) -> list[Any]:
    """The rows of a batch's examples; for one whose values do not fit, its error: each runs alone then."""
    count = len(batch.wired)
    result = run(batch) if count else None
    if not isinstance(result, InputError):
        return rows_of(result, count)
    if count == 1:
        return [result]
    return [row for place in range(count) for row in _rows(run, batch.select(np.array([place])))]


def _stopped(rows: Iterator[Any], stop: bool, examples: object) -> Iterator[Any]:
    """Yields rows and errors, which also say where in a file an example stands; or raises the first."""
    for row in rows:
        if isinstance(row, InputError):
            row = placed(row, examples)
            if stop:
                raise row
        yield row
