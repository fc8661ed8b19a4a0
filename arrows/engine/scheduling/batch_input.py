"""Takes what a caller hands to a model as a batch: plain examples, which it reads, and prepared ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.reading import (
    ExampleReader,
    Fingerprint,
    Outputs,
    Wirings,
    fingerprint,
    lengths_of,
    read_by_executor,
    read_by_processes,
)
from arrows.engine.scheduling.batching import AtOnce, batch_stops, checked_count
from arrows.engine.scheduling.example_sources import as_examples, as_stream
from arrows.engine.scheduling.prepared_set import Batch, Prepared, WiredBatch
from arrows.engine.scheduling.set_file import said_of, set_in_file
from arrows.typesys import ArrowValueError, InputError, message

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
            yield first, self.wired.part(first, stop - first)

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
