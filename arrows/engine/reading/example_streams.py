"""The lists that the generated code of a model fills while it reads examples, and the arrays made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from types import CodeType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arrows.arrays import HostArray
from arrows.engine.planning import Plan
from arrows.engine.reading.generated_code import Containers, TooManyNodes, drive
from arrows.engine.reading.index_arrays import index_type
from arrows.engine.reading.index_bounds import IndexPort, indices_out_of_range
from arrows.engine.reading.structural_hash import node_hashes
from arrows.engine.reading.wiring import Column, Outputs, Wirings
from arrows.engine.reference import Explainer, too_many
from arrows.engine.values import (
    IteratorReplay,
    LeafError,
    convert,
    convert_many,
    describe_error,
    iterators_in,
)
from arrows.typesys import InputError, input_message

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
            site=Column(site, nodes - start),
            depth=Column(depth, nodes - start),
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
            hashes=None if hashes is None else Column(hashes[start:], nodes - start),
        )


def _array(values: list[Any], dtype: npt.DTypeLike) -> HostArray:
    """An array of numbers, in half the time of `np.array`, which looks at each first; or of objects."""
    return np.fromiter(values, dtype, len(values))
