"""Fingerprints how a model reads examples, to decide whether it may use a set that another prepared."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType

from arrows.combinators import function_name
from arrows.engine.planning import Plan
from arrows.engine.reading.content_digest import Unhashable, digest
from arrows.engine.reading.index_bounds import IndexPort
from arrows.typesys import ArrowTypeError, SourceLine, message

_SAY = "say what your functions' data is: ar.compile(block, fingerprint='vocabulary of May')"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How a model reads examples, at one time.

    Attributes:
        block: a hash of how the block reads.
        functions: for each function and table that the block reads with, what it is called in messages and a
            hash of its code and of all that it holds.
        stated: what the user says instead of that, `compile(fingerprint=)`.
        refusal: which function has content that cannot be hashed, and why; no function is hashed then.
        python: the version of Python; the code of functions differs between versions.
    """

    block: str
    functions: Sequence[tuple[str, str]] = ()
    stated: str | None = None
    refusal: str | None = None
    python: str = f"Python {sys.version_info.major}.{sys.version_info.minor}"

    def require_told(self, attempt: str) -> None:
        """Refuses to keep a set for models that could not tell whether they read alike.

        Raises:
            ArrowTypeError: the content of a function cannot be hashed.
        """
        if self.refusal is not None:
            reason = f"no later model could tell whether it reads examples alike: {self.refusal}"
            raise ArrowTypeError(message(attempt, reason=reason, hint=f"{_SAY}; and anew when it changes"))

    def difference(self, other: Fingerprint) -> str | None:
        """Why two models do not read examples alike; None if they do."""
        if self.block != other.block:
            return "its block reads examples otherwise"
        if self.stated != other.stated:
            return f"it was compiled with fingerprint={other.stated!r}, this one with {self.stated!r}"
        refusal = self.refusal or other.refusal
        if refusal is not None:
            return f"nothing shows whether they read alike: {refusal}; in both models, {_SAY}"
        pairs = zip(self.functions, other.functions, strict=True)  # of one block, so they are as many
        changed = [name for (name, own_hash), (_, other_hash) in pairs if own_hash != other_hash]
        if changed:
            return (
                f"what it reads examples with holds other data, or did so then: {', '.join(changed)}; if it "
                "only remembers results, or another Python compiled it, give both models fingerprint="
            )
        return None


def fingerprint(block: str, names: Mapping[str, object], stated: str | None) -> Fingerprint:
    """How a model reads examples now.

    ``names`` are the functions and tables that its generated code reads with; if the user states nothing of
    what they hold, it is looked at.
    """
    hashes = []
    for name, value in names.items() if stated is None else ():
        if not name.startswith("MEMO"):
            called = _called(name, value)
            try:
                hashes.append((called, digest(value)))
            except Unhashable as refused:
                return Fingerprint(block, refusal=f"{called} holds {refused}, whose content cannot be told")
    return Fingerprint(block, hashes, stated)


def described(plan: Plan, indices: Sequence[IndexPort], source: str) -> str:
    """A hash of how a block reads, without what its functions say; ``source``: the generated code."""
    sites = [(site.kind, [(port.leaf, port.domain) for port in site.ports]) for site in plan.lowered.sites]
    reads = list(map(str, plan.lowered.streams.reads))
    said = sites, reads, plan.sites.operation.tolist(), plan.sites.pair.tolist(), plan.shift, indices, source
    return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()


def _called(name: str, value: object) -> str:
    """Returns what a function or a table is called in messages."""
    if not callable(value):
        return "the cases of a choice" if name.startswith("CASES") else "the key of an item"
    code = getattr(value, "__code__", None)
    place = f" ({SourceLine(code.co_filename, code.co_firstlineno)})" if isinstance(code, CodeType) else ""
    return f"{function_name(value)}{place}"
