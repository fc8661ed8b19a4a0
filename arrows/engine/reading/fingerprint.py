"""Fingerprints how a model reads examples, to decide whether it may use a set that another prepared."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from arrows.combinators import function_name
from arrows.engine.planning import Plan
from arrows.engine.reading.content_digest import Unhashable, digest
from arrows.engine.reading.index_bounds import IndexPort
from arrows.typesys import ArrowTypeError, SourceLine, message


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How a model reads examples, at one time.

    Attributes:
        block: a hash of how the block reads.
        functions: for each function and table that the block reads with, what it is called in messages and a
            hash of its code and of all that it holds.
        stated: what the user says instead of that, `compile(fingerprint=)`.
        python: the version of Python; the code of functions differs between versions.
        refusal: which function has content that cannot be hashed, and why; no function is hashed then.
    """

    block: str
    functions: tuple[tuple[str, str], ...] = ()
    stated: str | None = None
    refusal: str | None = None
    python: str = f"Python {sys.version_info.major}.{sys.version_info.minor}"

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Fingerprint:
        """The inverse of `dataclasses.asdict`, after JSON; raises KeyError, TypeError or ValueError."""
        return cls(**{**fields, "functions": tuple((name, digest) for name, digest in fields["functions"])})

    def require_told(self, attempt: str) -> None:
        """Refuses to keep a set for models that could not tell whether they read alike.

        Raises:
            ArrowTypeError: the content of a function cannot be hashed.
        """
        if self.refusal is not None:
            raise ArrowTypeError(
                message(
                    attempt,
                    reason="a later model could not tell whether it reads examples as they were read: "
                    f"{self.refusal}",
                    hint="say what your functions' data is, and say it anew when it changes: "
                    "ar.compile(block, fingerprint='vocabulary of May')",
                )
            )

    def difference(self, other: Fingerprint) -> str | None:
        """Why two models do not read examples alike; None if they do."""
        if self.block != other.block:
            return "its block reads examples otherwise"
        if (self.stated is None) != (other.stated is None):
            return "only one of the two models was compiled with fingerprint="
        if self.stated != other.stated:
            return f"it was compiled with fingerprint={other.stated!r}, this one with {self.stated!r}"
        for refusal in (self.refusal, other.refusal):
            if refusal is not None:
                return (
                    f"nothing shows whether they read alike: {refusal}; say what your functions' data is, in "
                    "both models: ar.compile(block, fingerprint='vocabulary of May')"
                )
        if self.stated is None and self.python != other.python:
            return (
                f"functions that {other.python} has compiled cannot be compared with those of {self.python}: "
                "give both models fingerprint="
            )
        pairs = zip(self.functions, other.functions, strict=True)  # of one block, so they are as many
        changed = [name for (name, own_hash), (_, other_hash) in pairs if own_hash != other_hash]
        if changed:
            return (
                f"what it reads examples with holds other data, or did so then: {', '.join(changed)}; if it "
                "only remembers results, give both models fingerprint="
            )
        return None


def fingerprint(block: str, names: Mapping[str, object], stated: str | None) -> Fingerprint:
    """How a model reads examples now.

    ``names`` are the functions and tables that its generated code reads with; if the user states nothing of
    what they hold, it is looked at.
    """
    if stated is not None:
        return Fingerprint(block, stated=stated)
    called = [(_called(name, value), value) for name, value in names.items() if not name.startswith("MEMO")]
    try:
        return Fingerprint(block, tuple((name, digest(name, value)) for name, value in called))
    except Unhashable as refused:
        return Fingerprint(block, refusal=f"{refused.path} {refused.reason}")


def described(plan: Plan, indices: Sequence[IndexPort], source: str) -> str:
    """A hash of how a block reads, without what its functions say; ``source``: the generated code."""
    said = [
        plan.schedule,
        plan.shares,
        plan.has_dropout,
        [str(read) for read in plan.lowered.streams.reads],
        plan.sites.operation.tolist(),
        [
            (type(operation).__name__, *(getattr(operation, name, None) for name in _READ_BY))
            for operation in plan.operations
        ],
        [(slab.constants, slab.outputs) for slab in plan.slabs],
        [str(site) for site in indices],
        source,
    ]
    return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()


_READ_BY = ("slabs", "ports", "stream", "parent", "domain")  # which rows an operation reads


def _called(name: str, value: object) -> str:
    """Returns what a function or a table is called in messages."""
    if not callable(value):
        return "the cases of a choice" if name.startswith("CASES") else "the key of an item"
    code = getattr(value, "__code__", None)
    place = f" ({SourceLine(code.co_filename, code.co_firstlineno)})" if isinstance(code, CodeType) else ""
    return f"{function_name(value)}{place}"
