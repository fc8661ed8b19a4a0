"""Takes what a caller hands to a model as a batch: plain examples, which it reads, and prepared ones.

Examples come from any iterable, from what can be indexed, and from tables of other libraries.  So many of
them, or as many as have so many nodes, run at a time.

A prepared set may lie in a folder: made at the first call, mapped into memory at the next ones. The folder
has the columns of `Wirings`, one after another for all examples, and "bounds": where each example begins in
each of them.  Value ids count from the example's own nodes, after those of the constants.  A batch takes from
each column what belongs to its examples alone, so a set may be larger than memory.

A folder serves a model that reads examples as the one did that made it, and the examples that it was made of.
Whatever does not fit is refused with its reason; nothing is written over it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import Plan
from arrows.engine.reading import (
    Column,
    ExampleReader,
    Fingerprint,
    Outputs,
    Unhashable,
    Wirings,
    digest,
    fingerprint,
    index_type,
    lengths_of,
    read_by_executor,
    read_by_processes,
)
from arrows.engine.scheduling.node_table import Batch, Prepared, WiredBatch
from arrows.storage import ColumnWriter, map_columns, read_texts, require_replaceable
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError, message, quoted
from arrows.version import __version__

if TYPE_CHECKING:
    from concurrent.futures import Executor


@dataclass(frozen=True, slots=True)
class ByNodes:
    """Batches of as many nodes as fit: for ``train(batch_size=ByNodes(20_000))``.

    A node is one visit of an operation, or a value that is read (`Prepared.nodes`), so the time and memory of
    a batch hardly depend on how large its examples are. PyTorch users know it as `max_tokens`.  The loss of a
    batch is the mean over its examples, however many there are.

    Args:
        nodes: the most in a batch; a larger example is a batch of its own.

    Raises:
        ArrowTypeError, ArrowValueError: that is no positive whole number.

    >>> ByNodes(20_000)
    ByNodes(nodes=20000)
    """

    nodes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", checked_count("ByNodes: nodes", self.nodes))


AtOnce: TypeAlias = int | ByNodes | None
"""How much of a batch runs at a time: so many examples, as many as have so many nodes, or all."""


def batch_stops(size: int | ByNodes, nodes: HostArray, batches: int = 1) -> HostArray:
    """Where batches end, or pools of so many batches, of examples that have so many nodes, in this order.

    >>> sizes = np.array([4, 4, 4, 20, 1])
    >>> batch_stops(ByNodes(10), sizes).tolist(), batch_stops(2, sizes).tolist()
    ([2, 3, 4, 5], [2, 4, 5])
    """
    if not isinstance(size, ByNodes):
        count = len(nodes)
        step = min(size * batches, max(count, 1))
        return np.minimum(np.arange(step, count + step, step, dtype=np.intp), count)
    ends = np.cumsum(nodes)
    stops: list[int] = []
    start = 0
    while start < len(nodes):
        before = int(ends[start - 1]) if start else 0
        start = max(int(np.searchsorted(ends, before + size.nodes * batches, side="right")), start + 1)
        stops.append(start)
    return np.array(stops, np.intp)


def checked_count(argument: str, value: object, also: str = "") -> int:
    """A number of things, of which there is at least one; ``also`` says in messages what else is taken.

    Raises:
        ArrowTypeError, ArrowValueError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ArrowTypeError(f"{argument} must be a whole number{also}, not {value!r}")
    if value < 1:
        raise ArrowValueError(f"{argument} is {value}, and should be 1 or more")
    return int(value)


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


_WRITER = f"prepare of arrows {__version__}"


def set_in_file(
    path: Path,
    data: str,
    wirings: Callable[[], Iterable[Wirings]],
    *,
    count: int | None,
    fingerprint: Callable[[], Fingerprint],
    plan: Plan,
    max_nodes: int,
) -> Prepared:
    """The set of a folder, which is made if it is not there.

    Args:
        path: the folder.
        data: which examples they are (`said_of`).
        wirings: reads the examples, chunk by chunk.
        count: how many there are; None: nobody knows.
        fingerprint: tells how the model reads examples now.
        plan: the model's plan.
        max_nodes: the most nodes of an example.

    Raises:
        ArrowTypeError: nothing shows how the model reads; or as `write_wirings`.
        ArrowValueError: the folder is damaged, or is something else, or of other examples, or of a model that
            reads otherwise.
        InputError: an example does not fit; there is no folder then.
        OSError: the folder cannot be read or written.
    """
    now = fingerprint()
    if not path.exists():
        now.require_told(f"cannot keep prepared examples in {path}")
        require_replaceable(path)
        with ColumnWriter(path) as writer:
            names = write_wirings(plan, wirings(), max_nodes, writer)
            now = fingerprint()  # as the model reads in the end: a vocabulary may have grown
            texts = {"writer": _WRITER, "data": data, "columns": json.dumps(names)}
            writer.finish({**texts, "fingerprint": json.dumps(asdict(now))})
    try:
        texts = read_texts(path)
        if (writer_of := texts.get("writer", "something else")) != _WRITER:
            reason: str | None = f"{writer_of} has written it, and this is {_WRITER}"
        elif (reason := now.difference(Fingerprint(**json.loads(texts["fingerprint"])))) is not None:
            reason = f"another model has made it, and {reason}"
        elif texts["data"] != data:
            reason = f"it was made of {texts['data']}, and these are {data}"
        else:
            columns = map_columns(path)
            bounds, base = columns["bounds"], np.int64(len(plan.lowered.constants))
            names = json.loads(texts["columns"])
            mapped = Wirings.of(
                np.broadcast_to(base, len(bounds) - 1),
                {name: Column(columns[name], bounds[:, place]) for place, name in enumerate(names)},
            )
            if count not in (None, len(mapped)):
                reason = f"it has {len(mapped)} examples, and there are {count} now"
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"it is damaged, or something else: {error}"
    if reason is not None:
        hint = "remove it, and they are prepared anew; or name another path"
        raise ArrowValueError(message(f"cannot take prepared examples from {path}", reason=reason, hint=hint))
    prepared = Prepared(mapped, now, path)
    prepared.plans.add(plan)
    return prepared


def said_of(path: Path, examples: object, data: str | None) -> str:
    """Which examples a set has: by the name that the user gives them, or by their content.

    Raises:
        ArrowTypeError: there is no name, and the content cannot be told.
    """
    if data is not None:
        return f"examples named {quoted(data)}"
    in_memory = isinstance(examples, (list, tuple, np.ndarray)) or hasattr(examples, "columns")
    reason = "to look at their content would be to read them all"
    if in_memory:
        content = hashlib.sha256()
        try:
            for example in as_stream(examples, "prepare examples"):
                content.update(digest(example).encode("ascii"))
            return f"examples of the content sha256:{content.hexdigest()[:32]}"
        except Unhashable as refused:
            reason = f"one holds {refused}, whose content cannot be told"
    raise ArrowTypeError(
        message(
            f"cannot keep prepared examples in {path}",
            reason=f"nothing shows whether the file will be of the same examples: {reason}",
            hint="say what they are, and say it anew when they change: prepare(..., data='reviews of May')",
        )
    )


def write_wirings(plan: Plan, chunks: Iterable[Wirings], most: int, writer: ColumnWriter) -> list[str]:
    """Writes wirings to a file as they come; memory holds one chunk.

    Args:
        plan: the plan of the model that reads them.
        chunks: the wirings.
        most: the most nodes of an example.
        writer: writes the file.

    Returns:
        The names of the columns.

    Raises:
        ArrowTypeError: they hold Python objects.
        OSError: the file cannot be written.
    """
    names: list[str] = []
    ends: HostArray = np.zeros(0, np.int64)
    for place, wirings in enumerate(chunks):
        if plan.shares:
            wirings = replace(wirings, hashes=wirings.own_hashes(place))
        columns = dict(_in_file(plan, wirings, most))
        bounds = np.stack([column.offsets for column in columns.values()], axis=1).astype(np.int64)
        if not names:
            names, ends = list(columns), np.zeros(len(columns), np.int64)
            writer.add("bounds", ends[None])
        for name, column in columns.items():
            writer.add(name, column.values)
        writer.add("bounds", bounds[1:] - bounds[0] + ends)
        ends = ends + bounds[-1] - bounds[0]
    return names


def _in_file(plan: Plan, wirings: Wirings, most: int) -> Iterator[tuple[str, Column]]:
    """The columns of wirings as they stand in a file, where an example has ``most`` nodes at most."""
    constants = len(plan.lowered.constants)
    id_type = index_type((most + constants + 1) << plan.shift)
    first = np.full(len(wirings), constants)  # as if each example came after the constants
    if wirings.outputs.labels or wirings.outputs.objects:
        reason = "a file holds arrays alone, and labels of metrics and what taps collect are Python objects"
        raise ArrowTypeError(message("cannot write a prepared set to a file", reason=reason))
    for name, column in wirings.columns().items():
        values = column.values
        if name.startswith(("sources", "results", "metrics")):
            values = wirings.moved(column, first, plan).values
        if not name.startswith(("site", "depth", "raw", "hashes")):
            values = values.astype(id_type)
        yield name, Column(values, column.offsets)


class IndexedExamples(Protocol):
    """Examples that are read by their number, such as a PyTorch `Dataset`."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Any: ...


Examples: TypeAlias = Iterable[Any] | IndexedExamples | Prepared | Batch
"""A batch, as users hand it in."""


@dataclass(frozen=True, eq=False, slots=True)
class BatchInput:
    """A batch that has been read.

    Attributes:
        wired: the examples as wirings.
        objects: the examples themselves; None if only their wirings are there.
        numbers: what each example is called in messages: its place in the prepared set, else in the batch.
        ids: the integer that each example's dropout masks depend on; by default its number.
    """

    wired: WiredBatch
    objects: Sequence[Any] | None
    numbers: HostArray
    ids: HostArray

    def select(self, places: HostArray) -> BatchInput:
        """The examples at some places of the batch."""
        objects = None if self.objects is None else [self.objects[place] for place in places.tolist()]
        return replace(
            self,
            wired=self.wired.select(places),
            objects=objects,
            numbers=self.numbers[places],
            ids=self.ids[places],
        )

    def parts(self, most: AtOnce) -> Iterator[tuple[int, WiredBatch]]:
        """Yields what runs at once, at most so much, with the number of its first example."""
        stops: list[int] = []
        if most is not None:
            nodes = lengths_of(self.wired.wirings.site.offsets)[self.wired.indices]
            stops = batch_stops(most, nodes).tolist()
        if len(stops) <= 1:
            yield 0, self.wired
            return
        for first, stop in pairwise([0, *stops]):
            yield first, self.wired.select(slice(first, stop))

    def outputs(self, parts: Sequence[Outputs]) -> Outputs:
        """The outputs of the batch, from those of its parts."""
        if len(parts) == 1:
            return parts[0]
        return self.wired.wirings.outputs.select(self.wired.indices)


@contextmanager
def naming_places(examples: object) -> Iterator[None]:
    """A context in which errors name the place of an example in its file, if the examples know it.

    Those that a reader of `arrows.data` has made do, and so do sets that were prepared from them.
    """
    try:
        yield
    except InputError as error:
        raise placed(error, examples) from error.__cause__


def placed(error: InputError, examples: object) -> InputError:
    """An error that also says where in a file the example stands, if the examples know it."""
    place = place_of(examples, error.details.example)
    if not place:
        return error
    named = InputError(error.details.placed(place))
    named.__cause__ = error.__cause__
    return named


def place_of(examples: Any, number: int | None) -> str:
    """Where an example stands in a file; an empty text if nobody knows."""
    while isinstance(examples, Batch):
        examples = examples.prepared
    places: Any = getattr(examples, "places", None)
    known = isinstance(places, Sequence) and number is not None and number < len(places)
    return str(places[number]) if known else ""


def as_ids(ids: object, count: int) -> HostArray:
    """The caller's ids of a batch's examples.

    Raises:
        ArrowValueError: they are no integers, or more or fewer than examples.
    """
    numbers = np.asarray(ids)
    if numbers.shape != (count,) or (count and numbers.dtype.kind not in "iu"):
        raise ArrowValueError(f"ids must be {count} integers, one an example, not {ids!r:.60}")
    return numbers.astype(np.int64, copy=False)


class BatchReader:
    """Reads the batches of a model; ``stated`` is the user's `compile(fingerprint=)`, or None."""

    def __init__(self, reader: ExampleReader, stated: str | None) -> None:
        self.reader, self.stated = reader, stated

    def read(self, examples: Examples, purpose: str, ids: object) -> BatchInput:
        """Reads a batch; messages name its ``purpose``."""
        if isinstance(examples, Prepared):
            examples = examples[:]
        objects = None
        if isinstance(examples, Batch):
            self._check(examples.prepared)
            wired, numbers = examples.wired, examples.indices
        else:
            objects = as_examples(examples, purpose)
            with self.reader.hinting(examples):
                wired = WiredBatch.all(self.reader.read_all(objects))
            numbers = wired.indices
        ids = numbers if ids is None else as_ids(ids, len(wired))
        return BatchInput(wired, objects, numbers, ids)

    def read_fitting(self, examples: Sequence[Any], first: int) -> tuple[BatchInput, dict[int, InputError]]:
        """Reads those examples of a part of a stream that fit, and says by number why the others do not.

        The examples count from ``first``.
        """
        refused: dict[int, InputError] = {}
        wired = WiredBatch.all(self.reader.read_all(examples, first, refused))
        numbers = np.array([n for n in range(first, first + len(examples)) if n not in refused], np.intp)
        objects = [examples[number - first] for number in numbers.tolist()]
        return BatchInput(wired, objects, numbers, numbers), refused

    def prepare(
        self,
        examples: Examples,
        processes: int,
        executor: Executor | None,
        cache: Path | None,
        data: str | None,
    ) -> Prepared:
        """As `Model.prepare`."""
        processes, purpose = checked_count("prepare: processes", processes), "prepare examples"
        if executor is not None and (processes != 1 or not hasattr(executor, "submit")):
            got = f"{executor!r} and processes={processes}"
            raise ArrowTypeError(f"prepare takes a concurrent.futures.Executor or processes; it got {got}")
        read: Callable[[Iterable[object]], Iterator[Wirings]] = (
            partial(read_by_processes, self.reader, processes=processes)
            if executor is None
            else partial(read_by_executor, executor, self.reader)
        )
        if isinstance(examples, (Prepared, Batch)):
            if cache is not None:
                raise ArrowValueError("prepare: cache is for examples, and these are prepared already")
            whole = examples.prepared if isinstance(examples, Batch) else examples
            self._check(whole)
            if isinstance(examples, Prepared):
                return examples
            return Prepared.numbered(
                self.reader.plan, whole.wirings.select(examples.indices), whole.fingerprint
            )
        with naming_places(examples), self.reader.hinting(examples):
            if cache is None:
                wirings = Wirings.joined(list(read(as_examples(examples, purpose))))
                prepared = Prepared.numbered(self.reader.plan, wirings, self.fingerprint())
            else:
                prepared = set_in_file(
                    cache,
                    said_of(cache, examples, data),
                    lambda: read(as_stream(examples, purpose)),
                    count=len(examples) if isinstance(examples, Sized) else None,
                    fingerprint=self.fingerprint,
                    plan=self.reader.plan,
                    max_nodes=self.reader.max_nodes,
                )
        prepared.places = getattr(examples, "places", None)
        return prepared

    def fingerprint(self) -> Fingerprint:
        """Returns the fingerprint of how the model reads examples now."""
        return fingerprint(self.reader.description, self.reader.plan.lowered.names, self.stated)

    def _check(self, prepared: Prepared) -> None:
        """Accepts a set that this model has made or used; any other must match how the model reads now."""
        plan = self.reader.plan
        if plan in prepared.plans:
            return
        reason = self.fingerprint().difference(prepared.fingerprint)
        if reason is not None:
            raise ArrowValueError(
                message(
                    "cannot use these examples",
                    reason=f"they were prepared by another model, and {reason}",
                    hint="prepare them with this model: model.prepare(examples)",
                )
            )
        prepared.plans.add(plan)
