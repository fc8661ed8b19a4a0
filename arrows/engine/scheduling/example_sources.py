"""Where examples come from: any iterable, what can be indexed, tables of other libraries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arrows.typesys import ArrowTypeError, message

_ROWS = 1024  # of a table that become Python objects at once
_OF_TABLES = ("collect", "compute", "shape", "num_rows")
_ROWS_OF_TABLE = (
    "its rows as a list of dicts; tables of pandas, Polars and PyArrow are taken as they are, once "
    "table.collect() or table.compute() has computed them"
)


def as_examples(examples: Any, purpose: str) -> Sequence[Any]:
    """A batch as a sequence of examples; arguments and errors are those of `as_stream`.

    >>> as_examples(iter("ab"), "run a model")
    ['a', 'b']
    """
    return examples if isinstance(examples, (list, tuple)) else list(as_stream(examples, purpose))


def as_stream(examples: Any, purpose: str) -> Iterator[Any]:
    """Examples one after another, from any iterable, a table, or what can be indexed from 0.

    Args:
        examples: the examples; what has a length and items, and no iterator of its own, such as a PyTorch
            `Dataset`, is asked for each item by its number. A table gives its rows (`table_rows`).
        purpose: what is to be done with them, for messages.

    Raises:
        ArrowTypeError: it is neither, or looks like a single example or another table of columns.

    >>> next(as_stream(range(3), "run a model"))
    0
    """
    rows = table_rows(examples)
    if rows is not None:
        return rows
    listed, asked = hasattr(examples, "__iter__"), hasattr(examples, "__getitem__")
    single = isinstance(examples, (str, bytes, bytearray, Mapping)) or getattr(examples, "shape", None) == ()
    single = single or not (listed or asked)
    if single or (not listed and hasattr(examples, "keys")):  # a mapping that is no `Mapping`
        raise _no_batch(purpose, type(examples).__name__, "a single example makes a batch of one: [example]")
    if hasattr(examples, "columns") and any(hasattr(examples, name) for name in _OF_TABLES):
        raise _no_batch(purpose, f"{type(examples).__name__}, which is a table of columns", _ROWS_OF_TABLE)
    if not listed and hasattr(examples, "__len__"):
        return (examples[number] for number in range(len(examples)))
    return iter(examples)


def table_rows(table: Any) -> Iterator[Any] | None:
    """The rows of a table as dicts, and the elements of an array of PyArrow; None if it is neither.

    Some rows at a time become Python objects, so that a table may be a file that is mapped into memory.

    Args:
        table: a frame of pandas or Polars; of PyArrow a table, a record batch, a reader of these, a data set
            of its own kind, or an array.

    Raises:
        ArrowTypeError: two columns have one name.

    >>> table_rows([1, 2]) is None
    True
    """
    if callable(getattr(table, "iter_rows", None)) and hasattr(table, "columns"):  # Polars
        rows: Iterator[Any] = table.iter_rows(named=True)
        return rows
    # A table of Dask looks like one of pandas, but its rows are still to be computed.
    if hasattr(table, "iloc") and hasattr(table, "columns") and not hasattr(table, "__dask_graph__"):
        _require_unique(table.columns.tolist())
        parts: Iterator[Any] = (table.iloc[n : n + _ROWS] for n in range(0, len(table), _ROWS))
        return (row for part in parts for row in part.to_dict("records"))
    if hasattr(table, "schema") and callable(getattr(table.schema, "get_all_field_indices", None)):  # PyArrow
        _require_unique(table.schema.names)
    if hasattr(table, "read_next_batch"):  # PyArrow's RecordBatchReader
        return _batch_rows(table)
    if callable(getattr(table, "to_batches", None)) and hasattr(table, "schema"):
        return _batch_rows(table.to_batches())
    if callable(getattr(table, "to_pylist", None)) and hasattr(table, "slice"):
        return _batch_rows([table])
    return None


def _require_unique(names: list[Any]) -> None:
    """Refuses columns of which two have one name: a row as a dict would lack one of them."""
    if len(set(names)) < len(names):
        double = next(name for place, name in enumerate(names) if name in names[:place])
        raise ArrowTypeError(
            message("cannot read the rows of a table", reason=f"two columns have the name {double!r}")
        )


def _batch_rows(batches: Any) -> Iterator[Any]:
    for batch in batches:
        for first in range(0, len(batch), _ROWS):
            yield from batch.slice(first, _ROWS).to_pylist()


def _no_batch(purpose: str, value: str, hint: str) -> ArrowTypeError:
    return ArrowTypeError(
        message(f"cannot {purpose}", reason=f"expected a list of examples, got {value}", hint=hint)
    )
