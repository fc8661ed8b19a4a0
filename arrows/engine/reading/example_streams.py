"""The lists that the generated code of a model fills while it reads examples, and the arrays made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from types import CodeType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arrows.engine.lowering import ConstantSite, ObjectTap
from arrows.engine.planning import Plan
from arrows.engine.reading.generated_code import TooManyNodes, bounded, drive, even, zipped
from arrows.engine.reading.index_arrays import index_type
from arrows.engine.reading.index_bounds import IndexSite, Misfit, indices_out_of_range
from arrows.engine.reading.structural_hash import node_hashes
from arrows.engine.reading.wiring import Column, Outputs, Visits, Wirings
from arrows.engine.reference import too_many_nodes
from arrows.engine.values import IteratorReplay, LeafError, convert, convert_many, iterators_in
from arrows.ops.arrays import HostArray
from arrows.typesys import InputError
from arrows.typesys import types as T
from arrows.typesys.errors import input_message

Explain: TypeAlias = Callable[[object, int, bool, IteratorReplay | None], None]
Chunk: TypeAlias = tuple[Wirings, HostArray | None]
"""The wirings of some examples, and the hashes of their nodes; None where these do not pay."""


@dataclass(frozen=True, slots=True)
class ReadNotes:
    """What is noted while examples are read, each of them once; by the examples' numbers in messages.

    Attributes:
        refused: the examples that do not fit; None: the first of them ends the reading.
        replays: the iterators of examples that have any, to say what is wrong when a batch runs.
    """

    refused: dict[int, InputError] | None = None
    replays: dict[int, IteratorReplay] = field(default_factory=dict)

    def refuse(self, number: int, error: InputError) -> None:
        """Notes an error, or raises it."""
        if self.refused is not None:
            self.refused[number] = error
            return
        try:
            raise error
        finally:
            del error  # its traceback leads here: a circle, which would keep the model alive


class ExampleStreams:
    """The lists that the generated code appends to, and the code bound to them."""

    def __init__(
        self, plan: Plan, code: CodeType, *, indices: list[IndexSite], max_nodes: int, explain: Explain
    ) -> None:
        self.plan, self.indices, self.max_nodes, self.explain = plan, indices, max_nodes, explain
        lowered = plan.lowered
        constant_sites = {
            site.constant: site.index for site in lowered.sites if isinstance(site, ConstantSite)
        }
        self.prefix_sites = [constant_sites[number] for number in range(len(lowered.constants))]
        self.site: list[int] = []
        self.key: list[int] = []
        self.sources: list[int] = []
        self.counts: list[int] = []
        self.raw: list[list[Any]] = [[] for _ in lowered.streams.reads]
        self.results: list[list[int]] = [[] for _ in lowered.streams.leaves]
        self.levels: list[list[int]] = [[] for _ in range(lowered.streams.levels)]
        self.metrics: list[list[int]] = [[] for _ in lowered.streams.metrics]
        self.labels: list[list[Any]] = [[] for _ in lowered.streams.metrics]
        self.visits: list[int] = []
        self.objects: list[list[Any]] = [
            [] for tap in lowered.streams.taps.streams if isinstance(tap, ObjectTap)
        ]
        # `_columns` takes them in this order.
        self.streams: list[list[Any]] = [
            self.site,
            self.sources,
            self.counts,
            *self.raw,
            *self.results,
            *self.levels,
            *self.metrics,
            *self.labels,
            self.visits,
            *self.objects,
        ]
        names: dict[str, Any] = dict(lowered.source.names)
        self.replay = replay = IteratorReplay()
        self.memos: list[dict[int, object] | IteratorReplay] = [replay]
        for name in [name for name in names if name.startswith("MEMO")]:
            names[name] = {}
            self.memos.append(names[name])
        names |= {
            "S": self.site,
            "K": self.key,
            "CNT_append": self.counts.append,
            "VISIT": self.visits.append,
        }
        for name, stream in (("S", self.site), ("K", self.key), ("SRC", self.sources)):
            names |= {f"{name}_append": stream.append, f"{name}_extend": stream.extend}
        for letter, streams in (
            ("RAW", self.raw),
            ("RES", self.results),
            ("LEN", self.levels),
            ("MET", self.metrics),
            ("LAB", self.labels),
            ("OBJ", self.objects),
        ):
            for number, stream in enumerate(streams):
                names[f"{letter}{number}"] = stream.append
        for number, leaf in enumerate(lowered.streams.reads):
            names[f"CONVERT{number}"] = partial(convert, tensor=leaf)
        names["ITEMS"] = bounded(max_nodes, replay)
        names["EVEN"] = even(max_nodes, replay)
        names["ZIPPED"] = zipped(max_nodes, replay)
        exec(code, names)
        self.main = names["main"]
        self._names = names

    def __del__(self) -> None:
        # The generated functions and their names hold one another: a cycle, which is cut here.
        if hasattr(self, "_names"):
            self._names.clear()

    def read(self, examples: Sequence[object], first: int, notes: ReadNotes) -> Chunk:
        """Reads and hashes a chunk of examples; in messages, they count from ``first``.

        The chunk is of the examples that fit.
        """
        self._clear()
        chunk = self._read(examples, first, notes)
        self._clear()
        return chunk

    def _clear(self) -> None:
        for stream in (*self.streams, self.key):
            stream.clear()
        for memo in self.memos:
            memo.clear()

    def _read(self, examples: Sequence[object], first: int, notes: ReadNotes) -> Chunk:
        main, most = self.main, self.max_nodes
        yields = self.plan.lowered.source.main_yields
        self.site.extend(self.prefix_sites)
        self.key.extend([-1] * len(self.prefix_sites))
        bounds = [tuple(map(len, self.streams))]
        for number, example in enumerate(examples, first):
            try:
                if yields:
                    drive(main(example), most)
                else:
                    main(example)
                if len(self.site) - bounds[-1][0] > most:
                    raise TooManyNodes
            except Exception as error:  # noqa: BLE001 (user code: all is reported with its example)
                reason = f"{type(error).__name__}: {error}"
                if isinstance(error, TooManyNodes):  # `explain` counts fewer nodes and may pass
                    reason = too_many_nodes(most)
                notes.refuse(number, self._refusal(example, number, self.replay.taken(), reason, error))
                for stream, end in zip((*self.streams, self.key), (*bounds[-1], bounds[-1][0]), strict=True):
                    del stream[end:]
            if self.replay:
                notes.replays[number] = self.replay.taken()
            for memo in self.memos:
                memo.clear()
            bounds.append(tuple(map(len, self.streams)))
        chunk = self._columns(np.array(bounds, np.int64).T, examples, first, notes)
        if not notes.refused:
            return chunk
        return _fitting(chunk, [first + place not in notes.refused for place in range(len(examples))])

    def _refusal(
        self,
        example: object,
        number: int,
        replay: IteratorReplay | None,
        reason: str,
        cause: Exception | None,
        *,
        values: bool = False,
    ) -> InputError:
        """The error of an example, which says where in it something is wrong if that can still be found."""
        try:
            self.explain(example, number, values, replay)
        except InputError as error:
            return error
        hint = "its iterators cannot be read again, to say where: with lists in their place it can be said"
        refusal = InputError(input_message(number, "", reason, hint=hint if iterators_in(example) else ""))
        refusal.__cause__ = cause
        return refusal

    def _columns(self, bounds: HostArray, examples: Sequence[object], first: int, notes: ReadNotes) -> Chunk:
        """The streams as arrays; ``bounds``: for each stream, where each example's part starts."""
        plan, streams = self.plan, self.plan.lowered.streams
        offsets = iter(bounds)  # in the order of `self.streams`
        nodes = next(offsets)
        start = int(nodes[0])
        # The nodes of the constants come first; the wirings leave them out.
        all_sites, all_keys = _array(self.site, np.int32), _array(self.key, np.int64)
        site = all_sites[start:]
        depth = (all_keys[start:] - plan.sites.base[site]).astype(np.int32)
        relative = nodes - start
        id_type = index_type(len(all_sites) << plan.shift)

        def ids(values: list[int]) -> Column:
            return Column(_array(values, id_type), next(offsets))

        sources = ids(self.sources)
        counts = ids(self.counts)
        raw = []
        for leaves, leaf in zip(self.raw, streams.reads, strict=True):
            ends = next(offsets)
            try:
                raw.append(Column(convert_many(leaves, leaf), ends))
            except LeafError:
                self._refuse_leaves(leaves, leaf, ends, examples, first, notes)
                raw.append(Column(convert_many(leaves, leaf), ends))
        values = [column.values for column in raw]
        for misfit in indices_out_of_range(
            plan, self.indices, all_sites, all_keys, sources.values, counts.values, values
        ):
            self._refuse_index(misfit, nodes, examples, first, notes)
        hashes = None
        if plan.shares:
            hashes = node_hashes(plan, all_sites, all_keys, sources.values, counts.values, values)
            hashes = None if hashes is None else hashes[:, start:]
        results = tuple(map(ids, self.results))
        levels = tuple(map(ids, self.levels))
        metrics = tuple(map(ids, self.metrics))
        labels = []
        for metric, stream in zip(streams.metrics, self.labels, strict=True):
            ends = next(offsets)
            labels.append(_by_example(stream, ends) if metric.labelled else None)
        visits = ids(self.visits)
        objects = tuple(_by_example(stream, next(offsets)) for stream in self.objects)
        wirings = Wirings(
            base=nodes[:-1],
            site=Column(site, relative),
            depth=Column(depth, relative),
            sources=sources,
            counts=counts,
            raw=tuple(raw),
            outputs=Outputs(
                results=results,
                levels=levels,
                metrics=metrics,
                labels=tuple(labels),
                visits=Visits(visits, objects) if streams.taps.streams else None,
            ),
        )
        return wirings, hashes

    def _refuse_index(
        self, misfit: Misfit, nodes: HostArray, examples: Sequence[object], first: int, notes: ReadNotes
    ) -> None:
        """Refuses an example for an index out of range, unless it is refused already.

        ``nodes`` says where each example's nodes start.
        """
        place = int(np.searchsorted(nodes, misfit.node, side="right")) - 1
        number = first + place
        if notes.refused and number in notes.refused:
            return
        replay = notes.replays.get(number)
        error = misfit.error
        notes.refuse(number, self._refusal(examples[place], number, replay, str(error), error, values=True))

    def _refuse_leaves(
        self,
        leaves: list[Any],
        leaf: T.Tensor,
        ends: HostArray,
        examples: Sequence[object],
        first: int,
        notes: ReadNotes,
    ) -> None:
        """Refuses the examples with leaves that do not fit, and puts zeros in place of these."""
        for place, (start, stop) in enumerate(pairwise(ends.tolist())):
            try:
                convert_many(leaves[start:stop], leaf)
            except LeafError as error:
                number = first + place
                if not notes.refused or number not in notes.refused:
                    replay = notes.replays.get(number)
                    notes.refuse(number, self._refusal(examples[place], number, replay, str(error), error))
                leaves[start:stop] = [np.zeros(leaf.shape, leaf.dtype)] * (stop - start)


def _fitting(chunk: Chunk, fits: list[bool]) -> Chunk:
    """The examples of a chunk that fit."""
    wirings, hashes = chunk
    if hashes is not None:
        hashes = hashes[:, np.repeat(fits, np.diff(wirings.node_offsets))]
    return wirings.select(np.flatnonzero(fits)), hashes


def _array(numbers: list[int], dtype: npt.DTypeLike) -> HostArray:
    """An array of integers, in half the time of `np.array`, which looks at each first."""
    return np.fromiter(numbers, dtype, len(numbers))


def _by_example(stream: list[Any], ends: HostArray) -> tuple[list[Any], ...]:
    """A stream cut where each example ends."""
    return tuple(stream[start:stop] for start, stop in pairwise(ends.tolist()))
