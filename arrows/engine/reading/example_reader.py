"""Reads examples: runs the code generated for a model, and turns the lists that it fills into wirings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import CodeType
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from arrows.engine.lowering import ConstantSite, ObjectTap
from arrows.engine.planning import Plan
from arrows.engine.reading.fingerprint import described
from arrows.engine.reading.generated_code import TooManyNodes, bounded, completed_source, drive, even, zipped
from arrows.engine.reading.index_arrays import index_type
from arrows.engine.reading.index_bounds import IndexPort, first_out_of_range, index_ports
from arrows.engine.reading.process_pool import map_chunks
from arrows.engine.reading.structural_hash import classify, node_hashes, unique_hashes
from arrows.engine.reading.wiring import Column, Outputs, Visits, Wirings
from arrows.engine.reference import too_many_nodes
from arrows.engine.values import IteratorReplay, LeafError, convert, convert_many
from arrows.ops.arrays import HostArray
from arrows.typesys import InputError
from arrows.typesys.errors import input_message
from arrows.typesys.runtime import cached_property

Explain: TypeAlias = Callable[[object, int, bool], None]
Chunk: TypeAlias = tuple[Wirings, HostArray | None]
"""The wirings of some examples, and the hashes of their nodes; None where these do not pay."""

# The most examples that become arrays at once; bounds the Python lists that the generated code fills.
_CHUNK = 1024


class ExampleReader:
    """Reads examples with the code that was generated for one model.

    Args:
        plan: the model's plan, with the code that lowering wrote.
        max_nodes: the most nodes, and the most calls of recursive blocks, of one example.
        explain: called as ``explain(example, number, values)`` to raise the `InputError` that says what is
            wrong; ``values`` means that it shows only once values are computed.

    Threads may read at the same time, and a user's function may call the same model meanwhile: each has
    streams of its own. Streams are never used again if reading failed or was interrupted, or was under way in
    another thread when the process was forked.
    """

    def __init__(self, plan: Plan, max_nodes: int, explain: Explain) -> None:
        self.plan = plan
        self.max_nodes = max_nodes
        self.explain = explain
        self.ports = index_ports(plan)
        self.source = completed_source(plan)
        self.code = compile(self.source, "<arrows lowering>", "exec")
        self._idle: list[ExampleStreams] = []

    @cached_property
    def description(self) -> str:
        """A hash of how the block reads, without its functions' code and content."""
        return described(self.plan, self.ports, self.source)

    def read_all(self, examples: Sequence[object], processes: int = 1, *, first: int = 0) -> Wirings:
        """Reads examples, in so many processes; in messages, they count from ``first``.

        Raises:
            InputError: an example is not what the block expects; it says which, where and why.
        """
        try:
            streams = self._idle.pop()
        except IndexError:
            streams = ExampleStreams(
                self.plan, self.code, ports=self.ports, max_nodes=self.max_nodes, explain=self.explain
            )
        try:
            chunks = map_chunks(
                lambda chunk: streams.read(examples[chunk], first + chunk.start),
                len(examples),
                _CHUNK,
                processes,
            )
        except InputError as error:
            if not self._is_one_example(examples):
                raise
            text = (
                f"{error}\n  hint  the list itself is an example, and a batch is a list of these: [example]"
            )
            raise InputError(text) from error.__cause__
        self._idle.append(streams)
        wirings = Wirings.joined([part for part, _ in chunks])
        if all(hashes is None for _, hashes in chunks):
            return wirings
        all_hashes, nodes = [], 0
        for part, hashes in chunks:
            count = len(part.site.values)
            all_hashes.append(hashes if hashes is not None else unique_hashes(nodes, count))
            nodes += count
        return replace(wirings, same=classify(np.concatenate(all_hashes, axis=1), wirings.site.offsets))

    def _is_one_example(self, examples: Sequence[object]) -> bool:
        """Whether the batch itself would be an example, and already its first item is none."""
        if not _is_small(examples):
            return False
        try:
            self.explain(examples[0], 0, False)
        except InputError:
            pass
        else:
            return False
        try:
            self.explain(examples, 0, False)
        except InputError:
            return False
        return True


class ExampleStreams:
    """The lists that the generated code appends to, and the code bound to them."""

    def __init__(
        self, plan: Plan, code: CodeType, *, ports: list[IndexPort], max_nodes: int, explain: Explain
    ) -> None:
        self.plan, self.ports, self.max_nodes, self.explain = plan, ports, max_nodes, explain
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
        replay = IteratorReplay()
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

    def read(self, examples: Sequence[object], first: int) -> Chunk:
        """Reads and hashes a chunk of examples; in messages, they count from ``first``."""
        self._clear()
        chunk = self._read(examples, first)
        self._clear()
        return chunk

    def _clear(self) -> None:
        for stream in (*self.streams, self.key):
            stream.clear()
        for memo in self.memos:
            memo.clear()

    def _read(self, examples: Sequence[object], first: int) -> Chunk:
        main, most = self.main, self.max_nodes
        yields = self.plan.lowered.source.main_yields
        self.site.extend(self.prefix_sites)
        self.key.extend([-1] * len(self.prefix_sites))
        bounds = [tuple(map(len, self.streams))]
        for number, example in enumerate(examples):
            try:
                if yields:
                    drive(main(example), most)
                else:
                    main(example)
                if len(self.site) - bounds[-1][0] > most:
                    raise TooManyNodes
            except Exception as error:
                self.explain(example, first + number, False)
                reason = f"{type(error).__name__}: {error}"
                if isinstance(error, TooManyNodes):  # `explain` counts fewer nodes and may pass
                    reason = too_many_nodes(most)
                raise InputError(input_message(first + number, "", reason)) from error
            for memo in self.memos:
                memo.clear()
            bounds.append(tuple(map(len, self.streams)))
        return self._columns(np.array(bounds, np.int64).T, examples, first)

    def _columns(self, bounds: HostArray, examples: Sequence[object], first: int) -> Chunk:
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
            except LeafError as error:
                self._explain_leaf(error, ends, examples, first)
        values = [column.values for column in raw]
        misfit = first_out_of_range(plan, self.ports, all_sites, sources.values, counts.values, values)
        if misfit is not None:
            self._explain_index(misfit, nodes, examples, first)
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

    def _explain_index(
        self, misfit: tuple[int, int, int], nodes: HostArray, examples: Sequence[object], first: int
    ) -> NoReturn:
        """Raises the error for an index out of range; ``nodes`` says where each example's nodes start."""
        node, index, limit = misfit
        number = int(np.searchsorted(nodes, node, side="right")) - 1
        self.explain(examples[number], first + number, True)
        reason = f"the index {index} is out of range for {limit} rows"
        raise InputError(input_message(first + number, "", reason))

    def _explain_leaf(
        self, error: LeafError, offsets: HostArray, examples: Sequence[object], first: int
    ) -> NoReturn:
        """Raises the error for a leaf that cannot be converted."""
        place = 0 if error.index is None else error.index
        number = int(np.searchsorted(offsets, place, side="right")) - 1
        self.explain(examples[number], first + number, False)
        reason = f"{error} (it could not be read a second time, to say where it is: an iterator?)"
        raise InputError(input_message(first + number, "", reason)) from error


def _is_small(examples: Sequence[object]) -> bool:
    """Whether a batch holds little, of the kinds that people write: to look at it closely takes no time."""
    todo: list[Any] = [examples]
    for _ in range(10 * _CHUNK):
        if not todo:
            return True
        x = todo.pop()
        if isinstance(x, (list, tuple, dict)):
            if len(x) > _CHUNK:
                return False
            todo.extend(x.values() if isinstance(x, dict) else x)
        elif isinstance(x, np.ndarray):
            if x.size > _CHUNK:
                return False
        elif not (x is None or isinstance(x, (int, float, str, np.generic))):
            return False
    return False


def _array(numbers: list[int], dtype: npt.DTypeLike) -> HostArray:
    """An array of integers, in half the time of `np.array`, which looks at each first."""
    return np.fromiter(numbers, dtype, len(numbers))


def _by_example(stream: list[Any], ends: HostArray) -> tuple[list[Any], ...]:
    """A stream cut where each example ends."""
    return tuple(stream[start:stop] for start, stop in pairwise(ends.tolist()))
