"""Wirings in a file that is mapped into memory: what a prepared set of any size is read from, batch by batch.

The file has the columns of `Wirings`, one after another for all examples, and "bounds": where each example
begins in each of them.  Value ids count from the example's own nodes, after those of the constants. "hash"
has the hashes of nodes, by which a batch finds equal ones; it is left out if no chunk has any. Labels
of metrics and tapped objects are JSON, in which a number of NumPy is its dtype and its bytes.  A batch takes
from each column what belongs to its examples alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, starmap
from pathlib import Path
from typing import Any

import numpy as np

from arrows.engine.planning import Plan
from arrows.engine.reading import (
    Chunk,
    Column,
    Outputs,
    Selection,
    Visits,
    Wirings,
    classify,
    index_type,
    lengths_of,
    unique_hashes,
)
from arrows.ops.arrays import HostArray
from arrows.storage import ColumnWriter
from arrows.typesys import ArrowTypeError
from arrows.typesys.errors import message

_WIDEST = 10_000  # bits of a whole number; Python writes up to 4,300 digits
_SCALAR = "\0NumPy"  # the key of a number of NumPy in JSON
_OBJECTS = 8  # the most levels of lists and dicts in a label


@dataclass(frozen=True, slots=True)
class SetColumns:
    """Which columns a file of wirings has; each has its own bounds, but for those of the nodes.

    Attributes:
        raw, results, levels, metrics, objects: how many columns there are of each.
        labels: which metrics have labels.
        taps: whether there are taps.
    """

    raw: int
    results: int
    levels: int
    metrics: int
    objects: int
    labels: tuple[int, ...]
    taps: bool

    @staticmethod
    def of(wirings: Wirings) -> SetColumns:
        """The layout of some wirings."""
        outputs = wirings.outputs
        return SetColumns(
            raw=len(wirings.raw),
            results=len(outputs.results),
            levels=len(outputs.levels),
            metrics=len(outputs.metrics),
            objects=0 if outputs.visits is None else len(outputs.visits.objects),
            labels=tuple(number for number, labels in enumerate(outputs.labels) if labels is not None),
            taps=outputs.visits is not None,
        )

    @property
    def bounded(self) -> list[str]:
        """The columns, in the order of their bounds; the nodes' come first."""
        names = ["site", "sources", "counts"]
        for name in ("raw", "results", "levels", "metrics"):
            names += [f"{name}{number}" for number in range(getattr(self, name))]
        names += [f"labels{number}" for number in self.labels]
        if self.taps:
            names += ["visits", *(f"objects{number}" for number in range(self.objects))]
        return names


def columns_of(wirings: Wirings) -> dict[str, Column]:
    """The columns of wirings by the names that they have in a file."""
    outputs = wirings.outputs
    columns = {"site": wirings.site, "sources": wirings.sources, "counts": wirings.counts}
    families = {"raw": wirings.raw, "results": outputs.results, "levels": outputs.levels}
    for name, family in {**families, "metrics": outputs.metrics}.items():
        columns |= {f"{name}{number}": column for number, column in enumerate(family)}
    for number, labels in enumerate(outputs.labels):
        if labels is not None:
            columns[f"labels{number}"] = _as_json(labels, "a label of a metric")
    if outputs.visits is not None:
        columns["visits"] = outputs.visits.sites
        for number, objects in enumerate(outputs.visits.objects):
            columns[f"objects{number}"] = _as_json(objects, "what a tap collects")
    return columns


def write_set(
    plan: Plan, chunks: Iterable[Chunk], most: int, path: Path, texts: Callable[[], Mapping[str, str]]
) -> None:
    """Writes wirings to a file as they come; memory holds one chunk.

    Args:
        plan: the plan of the model that reads them.
        chunks: the wirings, with the hashes of their nodes.
        most: the most nodes of an example.
        path: the file, which is written whole or not at all.
        texts: asked, once all chunks are there, what else to write.

    Raises:
        ArrowTypeError: a label or a tapped object that JSON does not hold.
        OSError: the file cannot be written.
    """
    constants = len(plan.lowered.constants)
    id_type = index_type((most + constants + 1) << plan.shift)
    with ColumnWriter(path) as writer:
        ends: HostArray | None = None
        count = nodes = 0
        hashed = False
        unhashed: list[tuple[int, int]] = []  # chunks for which hashes are to be made if another has some
        for wirings, hashes in chunks:
            columns = columns_of(wirings)
            layout = SetColumns.of(wirings)
            bounds = np.stack([columns[name].offsets for name in layout.bounded], axis=1).astype(np.int64)
            if ends is None:
                ends = np.zeros(bounds.shape[1], np.int64)
                writer.add("bounds", ends[None])
                for name in layout.bounded:
                    values = columns[name].values
                    ids = name == "sources" or name.startswith(("results", "metrics", "levels", "counts"))
                    writer.begin(name, id_type if ids else values.dtype, values.shape[1:])
                writer.begin("depth", wirings.depth.values.dtype)
            for name in layout.bounded:
                column = columns[name]
                if name == "sources" or name.startswith(("results", "metrics")):
                    column = _from_own_nodes(column, wirings.base, constants, plan.shift)
                writer.add(name, column.values)
            writer.add("depth", wirings.depth.values)
            writer.add("bounds", bounds[1:] - bounds[0] + ends)
            ends = ends + bounds[-1] - bounds[0]
            count += len(wirings)
            if hashes is None:
                unhashed.append((nodes, len(wirings.site.values)))
            hashed = hashed or hashes is not None
            if hashed:
                for made in starmap(unique_hashes, unhashed):
                    writer.add("hash", made.T)
                unhashed.clear()
            if hashes is not None:
                writer.add("hash", hashes.T)
            nodes += len(wirings.site.values)
        writer.finish({**texts(), "layout": json.dumps(asdict(layout)), "examples": str(count)})


def _from_own_nodes(ids: Column, base: HostArray, constants: int, shift: int) -> Column:
    """Value ids as they would be if their example were the first after the constants."""
    values = ids.values.astype(np.int64)
    distance = np.repeat((base - constants) << shift, lengths_of(ids.offsets))
    return Column(np.where(values < (constants << shift), values, values - distance), ids.offsets)


class MappedWirings:
    """The wirings of a file, whose columns are mapped.

    Args:
        columns: the columns of the file by name.
        layout: the text in the file that says which there are.
        constants: how many constants the model has.

    Raises:
        ValueError: they are no columns of wirings.
    """

    def __init__(self, columns: Mapping[str, HostArray], layout: str, constants: int) -> None:
        fields = json.loads(layout)
        self.layout = SetColumns(**{**fields, "labels": tuple(fields["labels"])})
        self.columns, self.constants = columns, constants
        self.bounds = columns["bounds"]
        names = self.layout.bounded
        if self.bounds.shape[1:] != (len(names),) or len(self.bounds) < 1:
            raise ValueError("its bounds are not those of its columns")
        for name, end in zip(names, self.bounds[-1].tolist(), strict=True):
            if len(columns[name]) != end:
                raise ValueError(f"its column {name!r} ends elsewhere than its bounds say")
        if any(len(columns[name]) != len(columns["site"]) for name in ("depth", "hash") if name in columns):
            raise ValueError("the columns of its nodes have different lengths")

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def node_offsets(self) -> HostArray:
        """Where the nodes of each example begin, and where the last one's end."""
        offsets: HostArray = self.bounds[:, 0]
        return offsets

    def select(self, indices: HostArray) -> Wirings:
        """The wirings of the examples ``indices``, in that order."""
        layout, columns = self.layout, self.columns
        starts, ends = self.bounds[indices], self.bounds[indices + 1]
        names = layout.bounded
        selections = [Selection(starts[:, place], ends[:, place]) for place in range(len(names))]
        chosen = {
            name: selection.of(columns[name]) for name, selection in zip(names, selections, strict=True)
        }
        nodes = selections[0]

        def family(name: str, count: int) -> tuple[Column, ...]:
            return tuple(chosen[f"{name}{number}"] for number in range(count))

        hashes = nodes.of(columns["hash"]) if "hash" in columns else None
        return Wirings(
            base=np.full(len(indices), self.constants, np.int64),
            site=chosen["site"],
            depth=nodes.of(columns["depth"]),
            sources=chosen["sources"],
            counts=chosen["counts"],
            raw=family("raw", layout.raw),
            outputs=Outputs(
                results=family("results", layout.results),
                levels=family("levels", layout.levels),
                metrics=family("metrics", layout.metrics),
                labels=tuple(
                    _from_json(chosen[f"labels{number}"]) if number in layout.labels else None
                    for number in range(layout.metrics)
                ),
                visits=Visits(chosen["visits"], tuple(map(_from_json, family("objects", layout.objects))))
                if layout.taps
                else None,
            ),
            same=hashes and classify(hashes.values.T, hashes.offsets),
        )


def _as_json(objects: Sequence[list[Any]], owner: str) -> Column:
    """For each example, its objects as JSON."""
    texts = []
    for listed in objects:
        texts.append(json.dumps([_plain(value, owner) for value in listed]).encode("ascii"))
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(list(map(len, texts)), out=offsets[1:])
    return Column(np.frombuffer(b"".join(texts), np.uint8), offsets)


def _from_json(column: Column) -> tuple[list[Any], ...]:
    content = column.values.tobytes()
    return tuple(
        json.loads(content[a:z], object_hook=_restored) for a, z in pairwise(column.offsets.tolist())
    )


def _restored(value: dict[str, Any]) -> Any:
    if _SCALAR not in value:
        return value
    dtype, content = value[_SCALAR]
    return np.frombuffer(bytes.fromhex(content), np.dtype(dtype))[0]


def _plain(value: object, owner: str, level: int = 0) -> Any:
    """A value as JSON holds it, of which `_restored` makes the same again; refuses what cannot be held."""
    if isinstance(value, int) and value.bit_length() > _WIDEST:
        raise ArrowTypeError(
            message(
                "cannot write a prepared set to a file",
                reason=f"{owner} is a number of {value.bit_length():,} bits, too long to be written",
            )
        )
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biufc" and type(value) is value.dtype.type:
        return {_SCALAR: [value.dtype.str, value.tobytes().hex()]}
    if type(value) is list and level < _OBJECTS:
        return [_plain(part, owner, level + 1) for part in value]
    if type(value) is dict and level < _OBJECTS and all(type(key) is str and key != _SCALAR for key in value):
        return {key: _plain(part, owner, level + 1) for key, part in value.items()}
    raise ArrowTypeError(
        message(
            "cannot write a prepared set to a file",
            reason=f"{owner} is a value of the type {type(value).__name__}, and a file holds texts, numbers, "
            "truth values, None, lists of these, and dicts of these by text",
            hint="give such a value, a number for example, or prepare without cache=",
        )
    )
