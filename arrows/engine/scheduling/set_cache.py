"""Prepared sets that are kept in a folder of columns: made at the first call, mapped at the next ones.

A folder serves a model that reads examples as the one did that made it, and the examples that it was made of.
Whatever does not fit is refused with its reason; nothing is written over it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from arrows.engine.planning import Plan
from arrows.engine.reading import Fingerprint, Unhashable, Wirings, digest
from arrows.engine.scheduling.prepared_set import Prepared
from arrows.engine.scheduling.set_file import MappedWirings, write_wirings
from arrows.storage import ColumnWriter, map_columns, read_texts, require_replaceable
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.errors import message
from arrows.typesys.quoting import quoted
from arrows.version import __version__

_KIND = "arrows prepared set, version 1"


@dataclass(frozen=True, slots=True)
class SetCache:
    """Where a prepared set is kept, and what it must be.

    Attributes:
        path: the file.
        data: what the user says that the examples are; None: their content counts.
        fingerprint: tells how the model reads examples now.
        plan: the model's plan.
        max_nodes: the most nodes of an example.
    """

    path: Path
    data: str | None
    fingerprint: Callable[[], Fingerprint]
    plan: Plan
    max_nodes: int

    def prepared(
        self,
        examples: Callable[[], Iterable[object]],
        read: Callable[[Iterable[object]], Iterator[Wirings]],
        *,
        listed: bool,
        count: int | None,
    ) -> Prepared:
        """The set of the file, which is made if it is not there.

        Args:
            examples: gives the examples, more than once if they are in memory.
            read: reads them.
            listed: whether they are in memory, so that looking at their content costs little.
            count: how many there are; None: nobody knows.

        Raises:
            ArrowTypeError: nothing shows which examples they are, or how the model reads; or as
                `write_wirings`.
            ArrowValueError: the file is damaged, or is something else, or of other examples, or of a model
                that reads otherwise.
            InputError: an example does not fit; there is no file then.
            OSError: the file cannot be read or written.
        """
        data = self._data(examples, listed)
        now = self.fingerprint()
        if not self.path.exists():
            now = self._write(data, read(examples()), now)
        return self._map(data, count, now)

    def _map(self, data: str, count: int | None, now: Fingerprint) -> Prepared:
        try:
            texts = read_texts(self.path)
        except (ArrowValueError, OSError) as error:
            raise self._refusal(f"it is damaged, or something else: {error}") from None
        if texts.get("kind") != _KIND:
            raise self._refusal("it is something else than a prepared set")
        version = texts.get("version", "")
        if version != __version__:
            raise self._refusal(f"arrows {version} has written it, and this is arrows {__version__}")
        self._require_same_model(texts, now)
        try:
            names = json.loads(texts["columns"])
            wirings = MappedWirings(map_columns(self.path), names, len(self.plan.lowered.constants))
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise self._refusal(f"it is damaged: {error}") from None
        if count is not None and count != len(wirings):
            raise self._refusal(f"it has {len(wirings):,} examples, and there are {count:,} now")
        if texts.get("data") != data:
            raise self._refusal(f"it was made of {_words(texts.get('data', ''))}, and these are others")
        prepared = Prepared(wirings, now)
        prepared.plans.add(self.plan)
        return prepared

    def _write(self, data: str, chunks: Iterator[Wirings], before: Fingerprint) -> Fingerprint:
        """Writes the file; returns how the model reads in the end: a vocabulary may have grown."""
        before.require_told(f"cannot keep prepared examples in {self.path}")
        require_replaceable(self.path)
        with ColumnWriter(self.path) as writer:
            names = write_wirings(self.plan, chunks, self.max_nodes, writer)
            after = self.fingerprint()
            texts = {"kind": _KIND, "version": __version__, "data": data, "columns": json.dumps(names)}
            writer.finish({**texts, "fingerprint": json.dumps(asdict(after))})
        return after

    def _data(self, examples: Callable[[], Iterable[object]], listed: bool) -> str:
        """Says which examples they are."""
        if self.data is not None:
            return f"named {self.data}"
        if not listed:
            raise self._unnamed("to look at their content would be to read them all")
        content = hashlib.sha256()
        try:
            for example in examples():
                content.update(digest("the example", example).encode("ascii"))
        except Unhashable as refused:
            raise self._unnamed(f"{refused.path} {refused.reason}") from refused
        return f"sha256:{content.hexdigest()}"

    def _unnamed(self, reason: str) -> ArrowTypeError:
        return ArrowTypeError(
            message(
                f"cannot keep prepared examples in {self.path}",
                reason=f"nothing shows whether the file will be of the same examples: {reason}",
                hint="say what the examples are, and say it anew when they change: "
                "prepare(..., data='reviews of May')",
            )
        )

    def _require_same_model(self, texts: dict[str, str], now: Fingerprint) -> None:
        try:
            written = Fingerprint.of(json.loads(texts["fingerprint"]))
        except (KeyError, TypeError, ValueError):
            raise self._refusal("it is damaged: it does not say how its examples were read") from None
        reason = now.difference(written)
        if reason is not None:
            raise self._refusal(f"another model has made it, and {reason}")

    def _refusal(self, reason: str) -> ArrowValueError:
        return ArrowValueError(
            message(
                f"cannot take prepared examples from {self.path}",
                reason=reason,
                hint="remove it, and they are prepared anew; or name another path",
            )
        )


def _words(data: str) -> str:
    """What the examples of a file are, in words."""
    name = data.removeprefix("named ")
    return "examples of other content" if name == data else f"data={quoted(name)}"
