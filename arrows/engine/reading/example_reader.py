"""Runs the written lowering code: examples in, wirings out, on a stack of our own."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from types import CodeType
from typing import Any, NoReturn, TypeAlias

import numpy as np

from arrows.engine.lowering import ConstantSite, KeyLine, Lowered, ObjectTap
from arrows.engine.planning import Plan
from arrows.engine.reading.fingerprint import described
from arrows.engine.reading.index_arrays import index_type
from arrows.engine.reading.index_bounds import first_out_of_range, index_ports
from arrows.engine.reading.process_pool import map_chunks
from arrows.engine.reading.structural_hash import classify, node_hashes, unique_hashes
from arrows.engine.reading.wiring import Column, Outputs, Visits, Wirings
from arrows.engine.reference import most_levels, too_many_nodes
from arrows.engine.values import IteratorReplay, LeafError, convert, convert_many
from arrows.typesys.errors import InputError, input_message
from arrows.typesys.runtime import cached_property

_CYCLE_CHECK = 1 << 16
# So many examples are turned into arrays at once: it bounds the Python lists that lowering fills.
_CHUNK = 1024


class TooManyNodes(Exception):
    """An example made more nodes or calls than ``max_nodes``, or met itself."""


def drive(main: Generator[Any, Any, Any], most: int) -> Any:
    """Runs a generator of the written code and the calls that it yields, on a stack of our own.

    Args:
        main: the generator to run.
        most: how many calls one example may make; they may nest `most_levels(most)` deep, for a call costs
            memory.

    Raises:
        TooManyNodes: more calls than ``most``, deeper ones than that, or the same call on the same object
            inside itself.
    """
    stack: list[Any] = []
    push, pop = stack.append, stack.pop
    send = main.send
    value: Any = None
    levels = most_levels(most)
    # The next check is due at the first call at which anything could be wrong.
    calls, check, deepest = 0, min(_CYCLE_CHECK, levels + 1), _CYCLE_CHECK
    while True:
        try:
            callee = send(value)
        except StopIteration as stop:
            if not stack:
                return stop.value
            value = stop.value
            send = pop()
        else:
            push(send)
            send = callee.send
            value = None
            calls += 1
            if calls >= check:
                if calls > most or len(stack) > levels:
                    raise TooManyNodes
                check = calls + min(_CYCLE_CHECK, levels + 1 - len(stack), most + 1 - calls)
                if len(stack) >= deepest:
                    deepest = 2 * len(stack)
                    _refuse_cycle(stack)


def _refuse_cycle(stack: list[Any]) -> None:
    """The same function at work on the same object twice can never end: users' functions are pure."""
    seen = set()
    for send in stack:
        frame = send.__self__.gi_frame
        what = (frame.f_code, id(frame.f_locals["x"]))
        if what in seen:
            raise TooManyNodes
        seen.add(what)


class ExampleReader:
    """Lowers examples with the code written for one model.

    Args:
        plan: the model's plan, with what `arrows.engine.lowering.lower` wrote.
        max_nodes: the most nodes, and the most calls of recursive blocks, of one example.
        explain: called as ``explain(example, number, values)`` to raise the `InputError` that says what was
            wrong; ``values`` means that it shows only once values are computed.

    Threads may lower at the same time, and a user's function may lower with the same model meanwhile: each
    has streams of its own. Where lowering fails or is interrupted, or is under way in another thread when the
    process is forked, its streams are never used again.
    """

    def __init__(self, plan: Plan, max_nodes: int, explain: Callable[[Any, int, bool], None]) -> None:
        self.plan = plan
        self.lowered = plan.lowered
        self.max_nodes = max_nodes
        self.explain = explain
        self.bases = plan.sites.base
        self.ports = index_ports(plan)
        self.source = _source(plan)
        self.code = compile(self.source, "<arrows lowering>", "exec")
        self._idle: list[_Streams] = []

    @cached_property
    def description(self) -> str:
        """A hash of how the block reads, without what its functions say."""
        return described(self)

    def read_all(self, examples: Sequence[Any], processes: int = 1) -> Wirings:
        """Lowers ``examples``, in so many processes.

        Raises:
            InputError: an example is not what the block expects; it says which, where and why.
        """
        try:
            streams = self._idle.pop()
        except IndexError:
            streams = _Streams(self.lowered, self.code, self.max_nodes)
        parts = map_chunks(
            lambda chunk: streams.lower(self, examples[chunk], chunk.start), len(examples), _CHUNK, processes
        )
        self._idle.append(streams)
        wirings = Wirings.joined([part for part, _ in parts])
        if all(words is None for _, words in parts):
            return wirings
        hashes, nodes = [], 0
        for part, words in parts:
            count = len(part.site.values)
            hashes.append(words if words is not None else unique_hashes(nodes, count))
            nodes += count
        return replace(wirings, same=classify(np.concatenate(hashes, axis=1), wirings.site.offsets))


_Part: TypeAlias = "tuple[Wirings, np.ndarray | None]"  # a chunk of examples, and the hashes of its nodes


class _Streams:
    """The lists that the written code appends to, and the code bound to them."""

    def __init__(self, lowered: Lowered, code: CodeType, max_nodes: int) -> None:
        self.constants = len(lowered.constants)
        constant_sites = {
            site.constant: site.index for site in lowered.sites if isinstance(site, ConstantSite)
        }
        self.prefix_sites = [constant_sites[number] for number in range(self.constants)]
        self.prefix_keys = [-1] * self.constants
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
        names: dict[str, Any] = dict(lowered.source.names)
        again = IteratorReplay()
        self.memos: list[dict[int, Any] | IteratorReplay] = [again]
        for name in [name for name in names if name.startswith("MEMO")]:
            names[name] = {}
            self.memos.append(names[name])
        names |= {
            "S": self.site,
            "S_append": self.site.append,
            "S_extend": self.site.extend,
            "K": self.key,
            "K_append": self.key.append,
            "K_extend": self.key.extend,
            "SRC_append": self.sources.append,
            "SRC_extend": self.sources.extend,
            "CNT_append": self.counts.append,
            "VISIT": self.visits.append,
        }
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
        for number, of in enumerate(lowered.streams.reads):
            names[f"CONVERT{number}"] = _converter(of)
        names["ITEMS"] = _bounded(max_nodes, again)
        names["ZIPPED"] = _zipped(max_nodes, again)
        exec(code, names)
        self.main = names["main"]
        self._names = names

    def __del__(self) -> None:
        # The written functions and the names that they know hold one another.
        if hasattr(self, "_names"):
            self._names.clear()

    def lower(self, owner: ExampleReader, examples: Sequence[Any], first: int) -> _Part:
        """Lowers ``examples``, and hashes their nodes; the streams are emptied before and afterwards."""
        self._clear()
        lowered = self._lower(owner, examples, first)
        self._clear()
        return lowered

    def _clear(self) -> None:
        for stream in (self.site, self.key, self.sources, self.counts, self.visits):
            stream.clear()
        for streams in (self.raw, self.results, self.levels, self.metrics, self.labels, self.objects):
            for some in streams:
                some.clear()
        for memo in self.memos:
            memo.clear()

    def _lower(self, owner: ExampleReader, examples: Sequence[Any], first: int) -> _Part:
        main, most = self.main, owner.max_nodes
        yields = owner.lowered.source.main_yields
        self.site.extend(self.prefix_sites)
        self.key.extend(self.prefix_keys)
        streams: list[list[Any]] = [
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
        bounds = [tuple(map(len, streams))]
        for number, example in enumerate(examples):
            try:
                if yields:
                    drive(main(example), most)
                else:
                    main(example)
                if len(self.site) - bounds[-1][0] > most:
                    raise TooManyNodes
            except Exception as error:
                owner.explain(example, first + number, False)
                reason = f"{type(error).__name__}: {error}"
                if isinstance(error, TooManyNodes):  # nodes that are split here are one to the slow walk
                    reason = too_many_nodes(most)
                raise InputError(input_message(first + number, "", reason)) from error
            for memo in self.memos:
                memo.clear()
            bounds.append(tuple(map(len, streams)))
        return self._columns(owner, np.array(bounds, np.int64).T, examples, first)

    def _columns(
        self, owner: ExampleReader, bounds: np.ndarray, examples: Sequence[Any], first: int
    ) -> _Part:
        lowered = owner.lowered
        offsets = iter(bounds)
        nodes = next(offsets)
        start = int(nodes[0])
        # The nodes of the constants come first; the wirings leave them out.
        all_sites, all_keys = _array(self.site, np.int32), _array(self.key, np.int64)
        site = all_sites[start:]
        depth = (all_keys[start:] - owner.bases[site]).astype(np.int32)
        relative = nodes - start

        number = index_type(len(all_sites) << owner.plan.shift)

        def ids(values: list[int]) -> Column:
            return Column(_array(values, number), next(offsets))

        sources = ids(self.sources)
        counts = ids(self.counts)
        raw = []
        for read, of in zip(self.raw, lowered.streams.reads, strict=True):
            ends = next(offsets)
            try:
                raw.append(Column(convert_many(read, of), ends))
            except LeafError as error:
                _explain_leaf(owner, error, ends, examples, first)
        values = [column.values for column in raw]
        _check_indices(owner, all_sites, sources.values, counts.values, values, nodes, examples, first)
        hashes = None
        if owner.plan.shares:
            hashes = node_hashes(owner.plan, all_sites, all_keys, sources.values, counts.values, values)
        results = tuple(map(ids, self.results))
        levels = tuple(map(ids, self.levels))
        metrics = tuple(map(ids, self.metrics))
        labels = []
        for stream, found in zip(lowered.streams.metrics, self.labels, strict=True):
            ends = next(offsets)
            labels.append(_by_example(found, ends) if stream.labelled else None)
        visits = ids(self.visits)
        objects = tuple(_by_example(found, next(offsets)) for found in self.objects)
        return Wirings(
            nodes[:-1],
            Column(site, relative),
            Column(depth, relative),
            sources,
            counts,
            tuple(raw),
            Outputs(
                results,
                levels,
                metrics,
                tuple(labels),
                Visits(visits, objects) if lowered.streams.taps.streams else None,
            ),
        ), None if hashes is None else hashes[:, start:]


def _check_indices(
    owner: ExampleReader,
    site: np.ndarray,
    sources: np.ndarray,
    counts: np.ndarray,
    raw: list[np.ndarray],
    nodes: np.ndarray,
    examples: Sequence[Any],
    first: int,
) -> None:
    """Integers that are read and used as an index must be one; ``nodes``: where each example's start."""
    found = first_out_of_range(owner.plan, owner.ports, site, sources, counts, raw)
    if found is not None:
        node, index, limit = found
        number = int(np.searchsorted(nodes, node, side="right")) - 1
        owner.explain(examples[number], first + number, True)
        reason = f"the index {index} is out of range for {limit} rows"
        raise InputError(input_message(first + number, "", reason))


def _explain_leaf(
    owner: ExampleReader, error: LeafError, offsets: np.ndarray, examples: Sequence[Any], first: int
) -> NoReturn:
    """Says which example has the leaf that could not be taken."""
    place = 0 if error.index is None else error.index
    number = int(np.searchsorted(offsets, place, side="right")) - 1
    owner.explain(examples[number], first + number, False)
    reason = f"{error} (it could not be read a second time, to say where it is: an iterator?)"
    raise InputError(input_message(first + number, "", reason)) from error


def _array(numbers: list[int], dtype: Any) -> np.ndarray:
    """An array of integers, in half the time of `np.array`, which looks at each first."""
    return np.fromiter(numbers, dtype, len(numbers))


def _by_example(stream: list[Any], ends: np.ndarray) -> tuple[list[Any], ...]:
    """A stream cut where each example ends."""
    return tuple(stream[a:b] for a, b in pairwise(ends.tolist()))


def _bounded(most: int, again: IteratorReplay) -> Callable[[Any], Any]:
    """Goes over a user's container: an iterator may have no end, and a `range` more elements than memory."""

    def items(container: Any) -> Any:
        if not hasattr(container, "__len__"):
            return counted(container)
        if len(container) > most:
            raise TooManyNodes
        return container

    def counted(container: Any) -> Iterator[Any]:
        for number, item in enumerate(again(container)):
            if number >= most:
                raise TooManyNodes
            yield item

    return items


def _zipped(most: int, again: IteratorReplay) -> Callable[..., list[tuple[Any, ...]]]:
    """Rows of columns, as many as the shortest has."""

    def rows(*columns: Any) -> list[tuple[Any, ...]]:
        found = list(islice(zip(*map(again, columns)), most + 1))  # noqa: B905 (it ends with the shortest)
        if len(found) > most:
            raise TooManyNodes
        return found

    return rows


def _converter(of: Any) -> Callable[[Any], Any]:
    return lambda x: convert(x, of)


def _source(plan: Plan) -> str:
    """The module's source with the shift, the constants' ids and the depth keys put in."""
    lines: list[str] = []
    for line in plan.lowered.source.lines:
        if isinstance(line, KeyLine):
            lines.extend(
                _key_lines(line, int(plan.sites.base[line.site]), bool(plan.sites.static[line.site]))
            )
        else:
            lines.append(line)
    source = "\n".join(lines).replace("@W", str(plan.shift))
    return re.sub(r"@C(\d+)@", lambda found: str(int(found[1]) << plan.shift), source)


def _key_lines(line: KeyLine, base: int, static: bool) -> list[str]:
    """A node's key is its component's base, or one more than the largest key that feeds it, whichever is
    larger.

    Components are numbered in topological order, so keys of earlier components are smaller than ``base``.
    """
    name, pad = line.name, line.indent
    if static or not (line.rows or line.lists):
        return [f"{pad}{name} = {base}"]
    out = [f"{pad}{name} = {base - 1}"]
    for row in dict.fromkeys(line.rows):
        out += [f"{pad}t = K[{row} >> @W]", f"{pad}if t > {name}: {name} = t"]
    for rows in line.lists:
        out += [f"{pad}for j in {rows}:", f"{pad}    t = K[j >> @W]", f"{pad}    if t > {name}: {name} = t"]
    out.append(f"{pad}{name} += 1")
    return out
