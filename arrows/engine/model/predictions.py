"""Predictions of a stream of examples: in order, batch by batch, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, TypeAlias

from arrows.engine.scheduling import Batch, Examples, Prepared, as_stream, place_of
from arrows.engine.values import rows_of
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError

Run: TypeAlias = Callable[[Any, int], object]
"""Runs a batch, whose examples count from a number in messages and for their random numbers."""

ERRORS = ("stop", "return")


def predictions(run: Run, examples: Examples, batch_size: object, errors: object) -> Iterator[Any]:
    """Does the work of `Model.predict`; checks its arguments at once."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, Integral):
        raise ArrowTypeError(f"predict: batch_size must be a whole number, not {batch_size!r}")
    if batch_size < 1:
        raise ArrowValueError(f"predict: batch_size is {batch_size}, and should be 1 or more")
    if errors not in ERRORS:
        raise ArrowValueError(f"predict: errors is {errors!r}, and should be 'stop' or 'return'")
    size = int(batch_size)
    if isinstance(examples, (Prepared, Batch)):
        return _of_prepared(run, examples if isinstance(examples, Batch) else examples[:], size, errors)
    return _of_stream(run, examples, as_stream(examples, "predict"), size, errors)


def _of_prepared(run: Run, batch: Batch, size: int, errors: object) -> Iterator[Any]:
    for first in range(0, len(batch.indices), size):
        part = batch.prepared[batch.indices[first : first + size]]
        yield from _unless_stopped(_rows(run, part, 0), errors, None, 0)


def _of_stream(
    run: Run, examples: Examples, stream: Iterator[Any], size: int, errors: object
) -> Iterator[Any]:
    first = 0
    for batch in _batches(stream, size):
        yield from _unless_stopped(_rows(run, batch, first), errors, examples, first)
        first += len(batch)


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


def _rows(run: Run, batch: Any, first: int) -> list[Any]:
    """The rows of a batch's examples; for one that does not fit, its error.

    Where one does not fit, the others run in smaller batches.
    """
    count = len(batch.indices) if isinstance(batch, Batch) else len(batch)
    try:
        return rows_of(run(batch, first), count)
    except InputError as error:
        if count == 1:
            return [error]
    half = count // 2
    if isinstance(batch, Batch):
        parts: Sequence[Any] = [batch.prepared[batch.indices[:half]], batch.prepared[batch.indices[half:]]]
    else:
        parts = [batch[:half], batch[half:]]
    return _rows(run, parts[0], first) + _rows(run, parts[1], first + half)


def _unless_stopped(rows: list[Any], errors: object, examples: object, first: int) -> Iterator[Any]:
    """Yields rows; raises or yields errors, which then also say where in a file the example stands."""
    for number, row in enumerate(rows, start=first):
        if isinstance(row, InputError):
            place = place_of(examples, number)
            if place:
                cause = row.__cause__
                row = InputError(row.details.placed(place))
                row.__cause__ = cause
            if errors == "stop":
                raise row
        yield row
