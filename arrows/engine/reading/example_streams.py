"""The lists that the generated code of a model fills while it reads examples, and the arrays made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from types import CodeType
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from arrows.engine.lowering import ConstantSite, ObjectTap
from arrows.engine.planning import Plan
from arrows.engine.reading.generated_code import TooManyNodes, bounded, drive, even, zipped
from arrows.engine.reading.index_arrays import index_type
from arrows.engine.reading.index_bounds import IndexPort, first_out_of_range
from arrows.engine.reading.structural_hash import node_hashes
from arrows.engine.reading.wiring import Column, Outputs, Visits, Wirings
from arrows.engine.reference import too_many_nodes
from arrows.engine.values import IteratorReplay, LeafError, convert, convert_many
from arrows.ops.arrays import HostArray
from arrows.typesys import InputError
from arrows.typesys.errors import input_message

Explain: TypeAlias = Callable[[object, int, bool], None]
Chunk: TypeAlias = tuple[Wirings, HostArray | None]
"""The wirings of some examples, and the hashes of their nodes; None where these do not pay."""


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


def _array(numbers: list[int], dtype: npt.DTypeLike) -> HostArray:
    """An array of integers, in half the time of `np.array`, which looks at each first."""
    return np.fromiter(numbers, dtype, len(numbers))


def _by_example(stream: list[Any], ends: HostArray) -> tuple[list[Any], ...]:
    """A stream cut where each example ends."""
    return tuple(stream[start:stop] for start, stop in pairwise(ends.tolist()))
