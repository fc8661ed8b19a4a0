"""Wirings in a file that is mapped into memory: what a prepared set of any size is read from, batch by batch.

The file has the columns of `Wirings`, one after another for all examples, and "bounds": where each example
begins in each of them.  Value ids count from the example's own nodes, after those of the constants. "hash"
has the hashes of nodes, by which a batch finds equal ones. Labels of metrics and tapped objects are JSON.  A
batch takes from each column what belongs to its examples alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from arrows.engine.planning import Plan
from arrows.engine.reading import (
    Column,
    Outputs,
    Selection,
    Wirings,
    index_type,
    lengths_of,
)
from arrows.engine.values import describe
from arrows.ops.arrays import HostArray
from arrows.storage import ColumnWriter
from arrows.typesys import ArrowTypeError
from arrows.typesys.errors import message

_OBJECTS = ("labels", "objects")  # the groups of columns that hold Python objects


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
        ArrowTypeError: a label or a tapped object that JSON does not hold.
        OSError: the file cannot be written.
    """
    names: list[str] = []
    ends: HostArray = np.zeros(0, np.int64)
    for place, wirings in enumerate(chunks):
        columns = dict(_named_columns(plan, wirings, most))
        if plan.shares:
            columns["hash"] = wirings.own_hashes(place)
        bounds = np.stack([column.offsets for column in columns.values()], axis=1).astype(np.int64)
        if not names:
            names, ends = list(columns), np.zeros(len(columns), np.int64)
            writer.add("bounds", ends[None])
        for name, column in columns.items():
            writer.add(name, column.values)
        writer.add("bounds", bounds[1:] - bounds[0] + ends)
        ends = ends + bounds[-1] - bounds[0]
    return names


def _named_columns(plan: Plan, wirings: Wirings, most: int) -> Iterator[tuple[str, Column]]:
    """The columns of wirings as they stand in a file, where an example has ``most`` nodes at most."""
    constants, shift = len(plan.lowered.constants), plan.shift
    id_type = index_type((most + constants + 1) << shift)
    yield "site", wirings.site
    yield "depth", wirings.depth
    groups = {"sources": (wirings.sources,), "counts": (wirings.counts,), "raw": wirings.raw}
    for group, family in {**groups, **wirings.outputs._asdict()}.items():
        for number, column in enumerate(family):
            values = column.values
            if group in _OBJECTS:
                column = _as_json(column)
            elif group in ("sources", "results", "metrics"):  # as if their example came after the constants
                distance = np.repeat((wirings.base - constants) << shift, lengths_of(column.offsets))
                values = np.where(values < (constants << shift), values, values - distance)
                column = Column(values.astype(id_type), column.offsets)
            elif group != "raw":
                column = Column(values.astype(id_type), column.offsets)
            yield f"{group}{number}", column


class MappedWirings:
    """The wirings of a file, whose columns are mapped.

    Args:
        columns: the columns of the file by name.
        names: those that wirings are made of, in the order of their bounds.
        constants: how many constants the model has.

    Raises:
        ValueError: they are no columns of wirings.
    """

    def __init__(self, columns: Mapping[str, HostArray], names: Sequence[str], constants: int) -> None:
        self.columns = {name: columns[name] for name in names}
        self.bounds, self.constants = columns["bounds"], constants
        if self.bounds.shape[1:] != (len(names),) or len(self.bounds) < 1:
            raise ValueError("its bounds are not those of its columns")
        for (name, column), end in zip(self.columns.items(), self.bounds[-1].tolist(), strict=True):
            if len(column) != end:
                raise ValueError(f"its column {name!r} ends elsewhere than its bounds say")

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def node_offsets(self) -> HostArray:
        """Where the nodes of each example begin, and where the last one's end."""
        offsets: HostArray = self.bounds[:, 0]
        return offsets

    def select(self, indices: HostArray) -> Wirings:
        """The wirings of the examples ``indices``, in that order."""
        starts, ends = self.bounds[indices], self.bounds[indices + 1]
        groups: dict[str, list[Column]] = {}
        for place, (name, values) in enumerate(self.columns.items()):
            column, group = Selection(starts[:, place], ends[:, place]).of(values), name.rstrip("0123456789")
            groups.setdefault(group, []).append(_from_json(column) if group in _OBJECTS else column)
        site, depth, sources, counts = (groups[name][0] for name in ("site", "depth", "sources", "counts"))
        return Wirings(
            base=np.full(len(indices), self.constants, np.int64),
            site=site,
            depth=depth,
            sources=sources,
            counts=counts,
            raw=tuple(groups.get("raw", ())),
            outputs=Outputs(*(tuple(groups.get(name, ())) for name in Outputs._fields)),
            hashes=groups["hash"][0] if "hash" in groups else None,
        )


def _as_json(column: Column) -> Column:
    """For each example, its objects as JSON; refuses those that would come back as others."""
    texts = []
    for values in column.lists():
        plain = [value.item() if isinstance(value, np.generic) else value for value in values]
        for value in plain:
            try:
                whole = repr(json.loads(json.dumps(value))) == repr(value)
            except (TypeError, ValueError, RecursionError):
                whole = False
            if not whole:
                raise ArrowTypeError(
                    message(
                        "cannot write a prepared set to a file",
                        reason=f"a label of a metric, or what a tap collects, is {describe(value)}, and a "
                        "file holds what JSON does: texts, numbers, truth values, None, lists, dicts by text",
                        hint="give such a value, a number for example, or prepare without cache=",
                    )
                )
        texts.append(json.dumps(plain).encode("ascii"))
    offsets = np.concatenate([[0], np.cumsum(list(map(len, texts)), dtype=np.int64)])
    return Column(np.frombuffer(b"".join(texts), np.uint8), offsets)


def _from_json(column: Column) -> Column:
    lists = [json.loads(bytes(values)) for values in column.lists()]
    offsets = np.concatenate([[0], np.cumsum(list(map(len, lists)), dtype=np.int64)])
    values = [value for each in lists for value in each]
    return Column(np.fromiter(values, object, len(values)), offsets)
