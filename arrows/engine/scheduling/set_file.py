"""Prepared sets in a folder of columns, mapped into memory: made at the first call, mapped at the next ones.

The folder has the columns of `Wirings`, one after another for all examples, and "bounds": where each example
begins in each of them.  Value ids count from the example's own nodes, after those of the constants.  A batch
takes from each column what belongs to its examples alone, so a set may be larger than memory.

A folder serves a model that reads examples as the one did that made it, and the examples that it was made of.
Whatever does not fit is refused with its reason; nothing is written over it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import Plan
from arrows.engine.reading import (
    Column,
    Fingerprint,
    Outputs,
    Unhashable,
    Wirings,
    digest,
    index_type,
)
from arrows.engine.scheduling.example_sources import as_stream
from arrows.engine.scheduling.prepared_set import Prepared
from arrows.storage import ColumnWriter, map_columns, read_texts, require_replaceable
from arrows.typesys import ArrowTypeError, ArrowValueError, message, quoted
from arrows.version import __version__

_WRITER = f"prepare of arrows {__version__}"


def set_in_file(
    path: Path,
    data: str,
    wirings: Callable[[], Iterable[Wirings]],
    *,
    count: int | None,
    fingerprint: Callable[[], Fingerprint],
    plan: Plan,
    max_nodes: int,
) -> Prepared:
    """The set of a folder, which is made if it is not there.

    Args:
        path: the folder.
        data: which examples they are (`said_of`).
        wirings: reads the examples, chunk by chunk.
        count: how many there are; None: nobody knows.
        fingerprint: tells how the model reads examples now.
        plan: the model's plan.
        max_nodes: the most nodes of an example.

    Raises:
        ArrowTypeError: nothing shows how the model reads; or as `write_wirings`.
        ArrowValueError: the folder is damaged, or is something else, or of other examples, or of a model that
            reads otherwise.
        InputError: an example does not fit; there is no folder then.
        OSError: the folder cannot be read or written.
    """
    now = fingerprint()
    if not path.exists():
        now.require_told(f"cannot keep prepared examples in {path}")
        require_replaceable(path)
        with ColumnWriter(path) as writer:
            names = write_wirings(plan, wirings(), max_nodes, writer)
            now = fingerprint()  # as the model reads in the end: a vocabulary may have grown
            texts = {"writer": _WRITER, "data": data, "columns": json.dumps(names)}
            writer.finish({**texts, "fingerprint": json.dumps(asdict(now))})
    try:
        texts = read_texts(path)
        if (writer_of := texts.get("writer", "something else")) != _WRITER:
            reason: str | None = f"{writer_of} has written it, and this is {_WRITER}"
        elif (reason := now.difference(Fingerprint(**json.loads(texts["fingerprint"])))) is not None:
            reason = f"another model has made it, and {reason}"
        elif texts["data"] != data:
            reason = f"it was made of {texts['data']}, and these are {data}"
        else:
            mapped = map_wirings(map_columns(path), json.loads(texts["columns"]), len(plan.lowered.constants))
            if count not in (None, len(mapped)):
                reason = f"it has {len(mapped)} examples, and there are {count} now"
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"it is damaged, or something else: {error}"
    if reason is not None:
        hint = "remove it, and they are prepared anew; or name another path"
        raise ArrowValueError(message(f"cannot take prepared examples from {path}", reason=reason, hint=hint))
    prepared = Prepared(mapped, now, path)
    prepared.plans.add(plan)
    return prepared


def said_of(path: Path, examples: object, data: str | None) -> str:
    """Which examples a set has: by the name that the user gives them, or by their content.

    Raises:
        ArrowTypeError: there is no name, and the content cannot be told.
    """
    if data is not None:
        return f"examples named {quoted(data)}"
    in_memory = isinstance(examples, (list, tuple, np.ndarray)) or hasattr(examples, "columns")
    reason = "to look at their content would be to read them all"
    if in_memory:
        content = hashlib.sha256()
        try:
            for example in as_stream(examples, "prepare examples"):
                content.update(digest(example).encode("ascii"))
            return f"examples of the content sha256:{content.hexdigest()[:32]}"
        except Unhashable as refused:
            reason = f"one holds {refused}, whose content cannot be told"
    raise ArrowTypeError(
        message(
            f"cannot keep prepared examples in {path}",
            reason=f"nothing shows whether the file will be of the same examples: {reason}",
            hint="say what they are, and say it anew when they change: prepare(..., data='reviews of May')",
        )
    )


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
        ArrowTypeError: they hold Python objects.
        OSError: the file cannot be written.
    """
    names: list[str] = []
    ends: HostArray = np.zeros(0, np.int64)
    for place, wirings in enumerate(chunks):
        columns = dict(_named_columns(plan, wirings, most))
        if plan.shares:
            columns["hashes"] = wirings.own_hashes(place)
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
    constants = len(plan.lowered.constants)
    id_type = index_type((most + constants + 1) << plan.shift)
    first = np.full(len(wirings), constants)  # as if each example came after the constants
    outputs = wirings.outputs
    if outputs.labels or outputs.objects:
        reason = "a file holds arrays alone, and labels of metrics and what taps collect are Python objects"
        raise ArrowTypeError(message("cannot write a prepared set to a file", reason=reason))
    yield "site", wirings.site
    yield "depth", wirings.depth
    groups = {"sources": (wirings.sources,), "counts": (wirings.counts,), "raw": wirings.raw}
    for group, family in {**groups, **outputs._asdict()}.items():
        for number, column in enumerate(family):
            values = column.values
            if group in ("sources", "results", "metrics"):
                values = wirings.moved(column, first, plan).values
            if group != "raw":
                values = values.astype(id_type)
            yield f"{group}{number}", Column(values, column.offsets)


def map_wirings(columns: Mapping[str, HostArray], names: Sequence[str], constants: int) -> Wirings:
    """The wirings of a file's columns.

    Args:
        columns: the columns by name.
        names: those that wirings are made of, in the order of their bounds.
        constants: how many constants the model has.
    """
    bounds = columns["bounds"]
    groups: dict[str, list[Column]] = {}
    for place, name in enumerate(names):
        groups.setdefault(name.rstrip("0123456789"), []).append(Column(columns[name], bounds[:, place]))
    families = {name: tuple(groups.get(name, ())) for name in ("raw", *Outputs._fields)}
    return Wirings(
        **{name: groups[name][0] for name in ("site", "depth", "sources", "counts")},
        base=np.broadcast_to(np.int64(constants), len(bounds) - 1),
        raw=families.pop("raw"),
        outputs=Outputs(**families),
        hashes=groups["hashes"][0] if "hashes" in groups else None,
    )
