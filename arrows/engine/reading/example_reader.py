"""Reads examples: completes and runs the code that lowering wrote for a model, on a stack of our own.

The code fills lists (`ExampleStreams`), of which the arrays of wirings are made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise
from types import CodeType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arrows.arrays import HostArray
from arrows.engine.lowering import KeyLine
from arrows.engine.planning import Plan
from arrows.engine.reading.hashes import described, node_hashes
from arrows.engine.reading.wiring import (
    Column,
    IndexPort,
    Outputs,
    Wirings,
    index_ports,
    index_type,
    indices_out_of_range,
)
from arrows.engine.reference import Explainer, most_levels, too_many
from arrows.engine.values import (
    REREADABLE,
    IteratorReplay,
    LeafError,
    convert,
    convert_many,
    describe_error,
    iterators_in,
)
from arrows.ops import IndexOutOfRange
from arrows.typesys import InputError, cached_property, input_message

_CYCLE_CHECK = 1 << 16  # calls of recursive blocks between two looks for one inside itself


class TooManyNodes(Exception):
    """An example made more nodes or calls than ``max_nodes``."""


def completed_source(plan: Plan) -> str:
    """The source of the module that reads examples, with shifts, ids of constants and depth keys put in."""
    lines: list[str] = []
    for line in plan.lowered.lines:
        if isinstance(line, KeyLine):
            lines.extend(
                _key_lines(line, int(plan.sites.base[line.site]), bool(plan.sites.static[line.site]))
            )
        else:
            lines.append(line)
    source = "\n".join(lines).replace("@W", str(plan.shift))
    return re.sub(r"@C(\d+)@", lambda constant: str(int(constant[1]) << plan.shift), source)


def _key_lines(line: KeyLine, base: int, static: bool) -> list[str]:
    """The lines that compute the key of a node: one more than the largest key of its inputs.

    It is at least its component's base. Components are numbered in topological order, so keys of earlier
    components are smaller than ``base``.
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


def drive(main: Generator[Any, Any, Any], most: int) -> Any:
    """Runs a generator of the generated code and the calls that it yields, on a stack of our own.

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
    # Checks are rare: the next one is at the first call that could break a limit.
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
    """Refuses a call inside the same call on the same object: functions are pure, so it would never end.

    Without it, an object that contains itself is refused after seconds, when the most nodes are made.
    """
    seen = set()
    for send in stack:
        frame = send.__self__.gi_frame
        call = (frame.f_code, id(frame.f_locals["x"]))
        if call in seen:
            raise TooManyNodes
        seen.add(call)


class Containers:
    """The elements of a user's containers, ``most`` at most: an iterator may have no end, and a `range` more
    items than memory.

    Args:
        most: how many elements one container may have.
        replay: reads the iterators.
    """

    def __init__(self, most: int, replay: IteratorReplay) -> None:
        self.most, self.replay = most, replay

    def items(self, container: Any) -> Iterable[Any]:
        """The elements of a container."""
        if hasattr(container, "__len__") and len(container) > self.most:
            raise TooManyNodes
        return container if isinstance(container, REREADABLE) else self._counted(container)

    def _counted(self, container: Any) -> Iterator[Any]:
        for number, item in enumerate(self.replay(container)):
            if number >= self.most:
                raise TooManyNodes
            yield item

    def even(self, *columns: Any) -> Sequence[Sequence[Any]]:
        """The columns, which must have one length, or a ValueError."""
        if all(type(column) is list for column in columns):
            if len(set(map(len, columns))) > 1:
                raise ValueError("sequences of different lengths")
            return columns
        rows = self._rows(zip(*map(self.replay, columns), strict=True))
        return list(zip(*rows, strict=True)) or [()] * len(columns)

    def zipped(self, *columns: object) -> list[tuple[Any, ...]]:
        """The rows of columns, as many as the shortest has."""
        return self._rows(zip(*map(self.replay, columns)))  # noqa: B905 (it ends with the shortest)

    def _rows(self, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        first = list(islice(rows, self.most + 1))  # a column may be endless
        if len(first) > self.most:
            raise TooManyNodes
        return first


Refused: TypeAlias = dict[int, InputError] | None
"""The errors of examples that do not fit, by their numbers in messages; None: the first ends the reading."""


class ExampleStreams:
    """The lists that the generated code appends to, and the code bound to them.

    Attributes:
        streams: the lists, by the names that they have in the code.
    """

    def __init__(
        self, plan: Plan, code: CodeType, *, indices: list[IndexPort], max_nodes: int, explain: Explainer
    ) -> None:
        self.plan, self.indices, self.max_nodes, self.explain = plan, indices, max_nodes, explain
        lowered, streams = plan.lowered, plan.lowered.streams
        constant_sites = {
            number: site.index
            for site in lowered.sites
            if site.kind == "constant"
            for _, number in site.constants
        }
        self.prefix_sites = [constant_sites[number] for number in range(len(lowered.constants))]
        families = {
            "RAW": range(len(streams.reads)),
            "RES": range(len(streams.leaves)),
            "LEN": range(streams.levels),
            "MET": range(len(streams.metrics)),
            "LAB": [number for number, metric in enumerate(streams.metrics) if metric.labelled],
            "OBJ": [tap.values for tap in streams.taps if isinstance(tap.values, int)],
        }
        numbered = [f"{family}{number}" for family, numbers in families.items() for number in numbers]
        visits = ["VISIT"] if streams.taps else []
        self.streams: dict[str, list[Any]] = {
            name: [] for name in ("S", "K", "SRC", "CNT", *numbered, *visits)
        }
        names: dict[str, Any] = dict(lowered.names)
        replay = IteratorReplay()
        self.memos: list[dict[int, object] | IteratorReplay] = [replay]
        for name in [name for name in names if name.startswith("MEMO")]:
            names[name] = {}
            self.memos.append(names[name])
        for name, stream in self.streams.items():
            names |= {f"{name}_append": stream.append, f"{name}_extend": stream.extend}
            names[name] = stream if name in ("S", "K") else stream.append
        for number, leaf in enumerate(streams.reads):
            names[f"CONVERT{number}"] = partial(convert, tensor=leaf)
        containers = Containers(max_nodes, replay)
        names |= {"ITEMS": containers.items, "EVEN": containers.even, "ZIPPED": containers.zipped}
        exec(code, names)
        self.main = names["main"]
        self._names = names

    def __del__(self) -> None:
        # The generated functions and their names hold one another: a cycle, which is cut here.
        if hasattr(self, "_names"):
            self._names.clear()

    def read(self, examples: Sequence[object], first: int, refused: Refused) -> Wirings:
        """Reads and hashes a chunk of examples; in messages, they count from ``first``.

        The wirings are of the examples that fit.
        """
        self._clear()
        wirings = self._read(examples, first, refused)
        self._clear()
        return wirings

    def _clear(self) -> None:
        for stream in self.streams.values():
            stream.clear()
        for memo in self.memos:
            memo.clear()

    def _read(self, examples: Sequence[object], first: int, refused: Refused) -> Wirings:
        def refuse(place: int, cause: Exception) -> None:
            number = first + place
            if refused is None:
                raise self._refusal(examples[place], number, cause)
            if number not in refused:
                refused[number] = self._refusal(examples[place], number, cause)

        main, most = self.main, self.max_nodes
        yields = self.plan.lowered.main_yields
        streams = list(self.streams.values())
        nodes = self.streams["S"]
        nodes.extend(self.prefix_sites)
        self.streams["K"].extend([-1] * len(self.prefix_sites))
        bounds = [tuple(map(len, streams))]
        for place, example in enumerate(examples):
            failed: Exception | None = None
            try:
                if yields:
                    drive(main(example), most)
                else:
                    main(example)
                if len(nodes) - bounds[-1][0] > most:
                    raise TooManyNodes
            except Exception as error:  # noqa: BLE001 (user code: all is reported with its example)
                failed = error
            if failed is not None:  # outside of the handler: what is raised now is all that a traceback shows
                try:
                    refuse(place, failed)
                finally:
                    failed = None  # its traceback leads here: a circle, which would keep the model alive
                for stream, end in zip(streams, bounds[-1], strict=True):
                    del stream[end:]
            for memo in self.memos:
                memo.clear()
            bounds.append(tuple(map(len, streams)))
        wirings = self._columns(np.array(bounds, np.int64).T, refuse)
        if not refused:
            return wirings
        fits = [first + place not in refused for place in range(len(examples))]
        return wirings.select(np.flatnonzero(fits))

    def _refusal(self, example: object, number: int, cause: Exception) -> InputError:
        """The error of an example, which says where in it something is wrong if that can still be found."""
        try:
            self.explain(example, number)
        except InputError as error:
            return error
        if isinstance(cause, TooManyNodes):  # `explain` counts fewer nodes and may pass
            reason = too_many(self.max_nodes)
        else:
            reason = str(cause) if isinstance(cause, LeafError) else describe_error(cause)
        hint = "its iterators cannot be read again, to say where: with lists in their place it can be said"
        refusal = InputError(input_message(number, "", reason, hint=hint if iterators_in(example) else ""))
        refusal.__cause__ = cause
        return refusal

    def _columns(self, bounds: HostArray, refuse: Callable[[int, Exception], None]) -> Wirings:
        """The streams as arrays.

        Args:
            bounds: for each stream, where each example's part starts.
            refuse: called with the place of an example, and its error.
        """
        plan = self.plan
        offsets = dict(zip(self.streams, bounds, strict=True))
        nodes = offsets["S"]
        start = int(nodes[0])
        own = nodes - start
        # The nodes of the constants come first; the wirings leave them out.
        all_sites, all_keys = _array(self.streams["S"], np.int32), _array(self.streams["K"], np.int64)
        site = all_sites[start:]
        depth = (all_keys[start:] - plan.sites.base[site]).astype(np.int32)
        id_type = index_type(len(all_sites) << plan.shift)

        def columns(family: str, dtype: npt.DTypeLike = id_type) -> tuple[Column, ...]:
            """Those of the streams of a family, such as ``RES0`` and ``RES1``."""
            names = [name for name in self.streams if name.rstrip("0123456789") == family]
            return tuple(Column(_array(self.streams[name], dtype), offsets[name]) for name in names)

        (sources,), (counts,) = columns("SRC"), columns("CNT")
        raw = []
        for number, leaf in enumerate(plan.lowered.streams.reads):
            leaves, ends = self.streams[f"RAW{number}"], offsets[f"RAW{number}"]
            try:
                converted = convert_many(leaves, leaf)
            except LeafError:
                for place, (start, stop) in enumerate(pairwise(ends.tolist())):
                    try:
                        convert_many(leaves[start:stop], leaf)
                    except LeafError as error:
                        refuse(place, error)
                        leaves[start:stop] = [np.zeros(leaf.shape, leaf.dtype)] * (stop - start)
                converted = convert_many(leaves, leaf)
            raw.append(Column(converted, ends))
        values = [column.values for column in raw]
        for node, misfit in indices_out_of_range(
            plan, self.indices, all_sites, sources.values, counts.values, values
        ):
            refuse(int(np.searchsorted(nodes, node, side="right")) - 1, misfit)
        hashes = None
        if plan.shares:
            hashes = node_hashes(plan, all_sites, all_keys, sources.values, counts.values, values)
        return Wirings(
            base=nodes[:-1],
            site=Column(site, own),
            depth=Column(depth, own),
            sources=sources,
            counts=counts,
            raw=tuple(raw),
            outputs=Outputs(
                results=columns("RES"),
                levels=columns("LEN"),
                metrics=columns("MET"),
                labels=columns("LAB", object),
                visits=columns("VISIT"),
                objects=columns("OBJ", object),
            ),
            hashes=None if hashes is None else Column(hashes[start:], own),
        )


def _array(values: list[Any], dtype: npt.DTypeLike) -> HostArray:
    """An array of numbers, in half the time of `np.array`, which looks at each first; or of objects."""
    return np.fromiter(values, dtype, len(values))


# The examples that become arrays at once; bounds the Python lists that the generated code fills.
CHUNK = 1024


class ExampleReader:
    """Reads examples with the code that was generated for one model.

    Args:
        plan: the model's plan, with the code that lowering wrote.
        max_nodes: the most nodes, and the most calls of recursive blocks, of one example.
        explain: raises the `InputError` that says what is wrong with an example.

    Threads may read at the same time, and a user's function may call the same model meanwhile: each has
    streams of its own. Streams are never used again if reading failed or was interrupted, or was under way in
    another thread when the process was forked.
    """

    def __init__(self, plan: Plan, max_nodes: int, explain: Explainer) -> None:
        self.plan = plan
        self.max_nodes = max_nodes
        self.explain = explain
        self.indices = index_ports(plan)
        self.source = completed_source(plan)
        self.code = compile(self.source, "<arrows lowering>", "exec")
        self._idle: list[ExampleStreams] = []

    @cached_property
    def description(self) -> str:
        """A hash of how the block reads, without its functions' code and content."""
        return described(self.plan, self.indices, self.source)

    def read_all(self, examples: Iterable[object], first: int = 0, refused: Refused = None) -> Wirings:
        """Reads examples; arguments and errors are those of `read_chunk`.

        Of examples that are collected because they do not fit, there are no wirings.
        """
        return Wirings.joined(list(self.read_chunks(examples, first, refused)))

    def read_chunks(
        self, examples: Iterable[object], first: int = 0, refused: Refused = None
    ) -> Iterator[Wirings]:
        """As `read_all`, chunk by chunk; memory holds one."""
        for block in blocks(examples, CHUNK):
            yield self.read_chunk(block, first, refused)
            first += len(block)

    def read_chunk(self, examples: Sequence[object], first: int, refused: Refused = None) -> Wirings:
        """Reads some examples of a set.

        Args:
            examples: the examples.
            first: what the first example is called in messages.
            refused: takes the errors of examples that do not fit, by their numbers in messages; None: the
                first of them ends the reading.

        Raises:
            InputError: an example is not what the block expects, and ``refused`` is None; it says which,
                where and why.
        """
        try:
            streams = self._idle.pop()
        except IndexError:
            streams = ExampleStreams(
                self.plan, self.code, indices=self.indices, max_nodes=self.max_nodes, explain=self.explain
            )
        wirings = streams.read(examples, first, refused)
        self._idle.append(streams)
        return wirings

    @contextmanager
    def hinting(self, examples: object) -> Iterator[None]:
        """A context in which errors are `hinted`, of examples as the user hands them in."""
        try:
            yield
        except InputError as error:
            raise self.hinted(error, examples) from error.__cause__

    def hinted(self, error: InputError, examples: object) -> InputError:
        """An error of the first example that says so if the list is an example, or its first item a batch.

        Other errors, and those of examples that are in no list, stay as they are.
        """
        fits = isinstance(error.__cause__, IndexOutOfRange)  # all that is wrong is a number
        if error.details.example != 0 or fits or not isinstance(examples, (list, tuple, np.ndarray)):
            return error
        first = examples[0] if len(examples) else None
        if self._fit(examples):
            hint = "the list itself is an example, and a batch is a list of these: [example]"
        elif not error.details.hint and isinstance(first, (list, tuple)) and self._fit(*first):
            hint = "its first item is an example: model(batch), not model([batch])"
        else:
            return error
        hinted = InputError(error.details.hinting(hint))
        hinted.__cause__ = error.__cause__
        return hinted

    def _fit(self, *examples: Any) -> bool:
        """Whether there are objects, and all are small examples."""
        if not examples or iterators_in(examples):  # these are still to be read
            return False
        explain = replace(self.explain, max_nodes=CHUNK)
        try:
            for example in examples:
                explain(example, 0)
        except InputError:
            return False
        return True


def blocks(examples: Iterable[object], size: int) -> Iterator[list[object]]:
    """Lists of so many examples, and of the rest; of no examples there is one empty list.

    Those before an error of the iterable come before it is raised.

    >>> list(blocks(range(7), 3)), list(blocks([], 2))
    ([[0, 1, 2], [3, 4, 5], [6]], [[]])
    """
    rest, first = iter(examples), True
    while True:
        block: list[object] = []
        try:
            block.extend(islice(rest, size))  # keeps what comes before an error
        except Exception:
            if block:
                yield block
            raise
        if not (block or first):
            return
        yield block
        first = False
