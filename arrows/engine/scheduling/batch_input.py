"""Takes what a caller hands to a model as a batch: plain examples, which it reads, and prepared ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from arrows.engine.reading import (
    Chunk,
    ExampleReader,
    Fingerprint,
    Outputs,
    ReaderRecipe,
    checked_executor,
    checked_processes,
    fingerprint,
    joined_chunks,
    lengths_of,
    read_by_executor,
)
from arrows.engine.scheduling.batching import AtOnce, ByNodes
from arrows.engine.scheduling.merge import Merged
from arrows.engine.scheduling.prepared_set import Batch, Prepared, WiredBatch
from arrows.engine.scheduling.set_cache import SetCache
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from concurrent.futures import Executor


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

    def parts(self, most: AtOnce) -> Iterator[tuple[int, WiredBatch]]:
        """Yields what runs at once, at most so much, with the number of its first example."""
        count = len(self.wired)
        if isinstance(most, ByNodes):
            stops = most.stops(lengths_of(self.wired.wirings.node_offsets)[self.wired.indices]).tolist()
        else:
            size = max(count, 1) if most is None else most
            stops = [*range(size, count, size), count]
        if len(stops) <= 1:
            yield 0, self.wired
            return
        for first, stop in pairwise([0, *stops]):
            yield first, self.wired.part(first, stop - first)

    def outputs(self, merged: Sequence[Merged]) -> Outputs:
        """Returns the outputs of the batch, which ran in ``parts`` parts."""
        if len(merged) == 1:
            return merged[0].outputs
        return self.wired.wirings.outputs.select(self.wired.indices)


_ROWS_OF_TABLES: dict[str, tuple[str, ...]] = {
    "to_dicts": (),  # Polars
    "to_pylist": (),  # PyArrow
    "to_dict": ("records",),  # pandas
}


@contextmanager
def naming_places(examples: object) -> Iterator[None]:
    """A context in which errors name the place of an example in its file, if the examples know it.

    Those that a reader of `arrows.data` has made do, and so do sets that were prepared from them.
    """
    try:
        yield
    except InputError as error:
        number = error.details.example
        place = place_of(examples, number)
        if not place:
            raise
        raise InputError(error.details.placed(place)) from error.__cause__


def places_of(examples: object) -> Sequence[str] | None:
    """Where examples stand in a file, if they know it."""
    places = getattr(examples, "places", None)
    return places if isinstance(places, Sequence) else None


def place_of(examples: object, number: int | None) -> str:
    """Where an example stands in a file; an empty text if nobody knows."""
    while isinstance(examples, Batch):
        examples = examples.prepared
    places = places_of(examples)
    return places[number] if places is not None and number is not None and number < len(places) else ""


def as_ids(ids: object, count: int) -> HostArray:
    """The caller's ids of a batch's examples.

    Raises:
        ArrowTypeError: they are no integers.
        ArrowValueError: there are more or fewer than examples.
    """
    numbers = np.asarray(ids)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
        raise ArrowTypeError(
            message("cannot tell examples apart", reason=f"expected one integer an example, got {ids!r}")
        )
    if len(numbers) != count:
        raise ArrowValueError(f"{len(numbers)} ids for {count} examples")
    return numbers


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
            `Dataset`, is asked for each item by its number. A table of pandas, Polars or PyArrow gives its
            rows as dicts.
        purpose: what is to be done with them, for messages.

    Raises:
        ArrowTypeError: it is neither, or looks like a single example or another table of columns.

    >>> next(as_stream(range(3), "run a model"))
    0
    """
    listed, asked = hasattr(examples, "__iter__"), hasattr(examples, "__getitem__")
    single = isinstance(examples, (str, bytes, bytearray, Mapping, type)) or not (listed or asked)
    if single or (not listed and hasattr(examples, "keys")):  # a mapping that is no `Mapping`
        raise _no_batch(purpose, _short_type(examples), "a single example makes a batch of one: [example]")
    if getattr(examples, "shape", None) == ():
        raise _no_batch(purpose, "an array without axes", "a single example makes a batch of one: [example]")
    if hasattr(examples, "columns") and (hasattr(examples, "shape") or hasattr(examples, "num_rows")):
        for method, arguments in _ROWS_OF_TABLES.items():
            if callable(getattr(examples, method, None)):
                return iter(getattr(examples, method)(*arguments))
        raise _no_batch(
            purpose,
            f"{_short_type(examples)}, which is a table of columns",
            "its rows as a list of dicts; tables of pandas, Polars and PyArrow are taken as they are",
        )
    if not listed and hasattr(examples, "__len__"):
        return (examples[number] for number in range(len(examples)))
    return iter(examples)


def _no_batch(purpose: str, value: str, hint: str) -> ArrowTypeError:
    return ArrowTypeError(
        message(f"cannot {purpose}", reason=f"expected a list of examples, got {value}", hint=hint)
    )


def _short_type(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """How examples are to be prepared, as the arguments of `Model.prepare` say.

    Attributes:
        recipe: what the workers of an executor make a reader of.
        processes: how many read.
        executor: whose workers read, if it is given.
        cache: the file for the set; None: memory.
        data: what the user says that the examples are.

    Raises:
        ArrowTypeError, ArrowValueError: arguments that cannot be.
    """

    recipe: ReaderRecipe
    processes: int = 1
    executor: Executor | None = None
    cache: Path | None = None
    data: str | None = None

    def __post_init__(self) -> None:
        checked_processes(self.processes)
        if self.executor is not None:
            checked_executor(self.executor)
            if self.processes != 1:
                raise ArrowValueError("prepare: either processes or executor says who reads, not both")
        if self.data is not None and not isinstance(self.data, str):
            raise ArrowTypeError(f"prepare: data must be a text, which names the examples, not {self.data!r}")
        if self.data is not None and self.cache is None:
            raise ArrowValueError("prepare: data names the examples of a cache, and there is no cache=")


class BatchReader:
    """Reads the batches of a model; ``stated`` is the user's `compile(fingerprint=)`, or None."""

    def __init__(self, reader: ExampleReader, stated: str | None) -> None:
        self.reader, self.stated = reader, stated

    def read(self, examples: Examples, purpose: str, ids: object, first: int = 0) -> BatchInput:
        """Reads a batch; messages name its ``purpose``, and plain examples count from ``first``."""
        if isinstance(examples, Prepared):
            examples = examples[:]
        objects = None
        if isinstance(examples, Batch):
            self._check(examples.prepared)
            wired, numbers = examples.wired, examples.indices
        else:
            objects = as_examples(examples, purpose)
            wired = WiredBatch.all(self.reader.read_all(objects, first=first))
            numbers = wired.indices + first if first else wired.indices
        return BatchInput(wired, objects, numbers, numbers if ids is None else as_ids(ids, len(wired)))

    def prepare(self, examples: Examples, wanted: Preparation) -> Prepared:
        """As `Model.prepare`."""
        purpose = "prepare examples"
        if isinstance(examples, (Prepared, Batch)):
            if wanted.cache is not None:
                raise ArrowValueError("prepare: cache is for examples, and these are prepared already")
            if isinstance(examples, Prepared):
                self._check(examples)
                return examples
            self._check(examples.prepared)
            wirings = examples.prepared.wirings.select(examples.indices)
            return Prepared.numbered(self.reader.plan, wirings, examples.prepared.fingerprint)
        if wanted.cache is not None:
            in_memory = isinstance(examples, (list, tuple, np.ndarray)) or hasattr(examples, "columns")
            source = as_examples(examples, purpose) if in_memory else as_stream(examples, purpose)
            cache = SetCache(
                path=wanted.cache,
                data=wanted.data,
                fingerprint=self.fingerprint(),
                plan=self.reader.plan,
                max_nodes=self.reader.max_nodes,
            )
            count = len(examples) if isinstance(examples, Sized) else None
            with naming_places(examples):
                prepared = cache.prepared(
                    source, partial(self._chunks, wanted), listed=in_memory, count=count
                )
        else:
            listed = as_examples(examples, purpose)
            with naming_places(examples):
                if wanted.executor is None:
                    wirings = self.reader.read_all(listed, wanted.processes)
                else:
                    wirings = joined_chunks(list(self._chunks(wanted, listed)))
            prepared = Prepared.numbered(self.reader.plan, wirings, self.fingerprint())
        prepared.places = places_of(examples)
        return prepared

    def _chunks(self, wanted: Preparation, examples: Iterable[object]) -> Iterator[Chunk]:
        if wanted.executor is None:
            return self.reader.read_stream(examples, wanted.processes)
        return read_by_executor(wanted.executor, self.reader, wanted.recipe, examples)

    def fingerprint(self) -> Fingerprint:
        """Returns the fingerprint of how the model reads examples now."""
        return fingerprint(self.reader.description, self.reader.plan.lowered.source.names, self.stated)

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
