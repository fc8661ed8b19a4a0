"""What a model says of how it reads examples: by it a prepared set of another model, made here or in another
process, is told from those that this model would make."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

from arrows.combinators import function_name
from arrows.engine.planning import (
    ApplyOperation,
    ConstantOperation,
    ElementOperation,
    Operation,
    ReadOperation,
)
from arrows.engine.reading.content_digest import digests
from arrows.engine.reading.object_content import Unhashable
from arrows.typesys.errors import SourceLine

if TYPE_CHECKING:
    from arrows.engine.reading.example_reader import ExampleReader


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How a model reads examples, at one time.

    Attributes:
        block: a hash of how the block reads.
        functions: for each function and table that the block reads with, what it is called in messages and a
            hash of its code and of all that it holds.
        stated: what the user says instead of that, `compile(fingerprint=)`.
        python: the version of Python, whose code of functions other versions cannot compare.
        refusal: what cannot be told of the functions, and why; there are no hashes of them then.
    """

    block: str
    functions: tuple[tuple[str, str], ...] = ()
    stated: str | None = None
    refusal: str | None = None
    python: str = f"Python {sys.version_info.major}.{sys.version_info.minor}"

    def unlike(self, other: Fingerprint) -> str | None:
        """Why two models do not read examples alike; None if they do."""
        if self.block != other.block:
            return "its block reads examples otherwise"
        if (self.stated is None) != (other.stated is None):
            return "only one of the two models was compiled with fingerprint="
        if self.stated != other.stated:
            return f"it was compiled with fingerprint={other.stated!r}, this one with {self.stated!r}"
        for refusal in (self.refusal, other.refusal):
            if refusal is not None:
                return f"nothing shows whether they read alike: {refusal}"
        if self.stated is None and self.python != other.python:
            return (
                f"functions that {other.python} has compiled cannot be compared with those of {self.python}: "
                "give both models fingerprint="
            )
        pairs = zip(self.functions, other.functions, strict=True)  # of one block
        changed = [name for (name, mine), (_, its) in pairs if mine != its]
        if changed:
            return f"what it reads examples with holds other data, or did so then: {', '.join(changed)}"
        return None


def fingerprint(reader: ExampleReader, stated: str | None) -> Fingerprint:
    """How a model reads examples now.

    Args:
        reader: lowers for the model.
        stated: what the user says of what functions hold; None: it is looked at.
    """
    if stated is not None:
        return Fingerprint(reader.description, stated=stated)
    names = reader.lowered.source.names
    roots = [(_called(name, value), value) for name, value in names.items() if not name.startswith("MEMO")]
    try:
        hashes = digests(roots)
    except Unhashable as refused:
        reason = f"{refused.path} {refused.reason}"
        return Fingerprint(reader.description, refusal=reason)
    return Fingerprint(
        reader.description, tuple((name, found) for (name, _), found in zip(roots, hashes, strict=True))
    )


def described(reader: ExampleReader) -> str:
    """A hash of how a block reads, without what its functions say."""
    plan = reader.plan
    operations = [_described(operation) for operation in plan.operations]
    said = [
        plan.schedule,
        plan.shares,
        plan.has_chance,
        [str(read) for read in plan.lowered.streams.reads],
        plan.sites.operation.tolist(),
        operations,
        [(slab.constants, slab.outputs) for slab in plan.slabs],
        [(port.site, port.place, port.limit) for port in reader.ports],
        reader.source,
    ]
    return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()


def _described(operation: Operation) -> tuple[object, ...]:
    """What says which rows an operation reads and writes."""
    match operation:
        case ApplyOperation(ports=ports):
            details: tuple[object, ...] = tuple((port.leaf, port.slab, port.domain) for port in ports)
        case ReadOperation(stream=number) | ConstantOperation(constant=number):
            details = (number,)
        case ElementOperation(parent=parent, domain=domain):
            details = parent, domain
        case _:
            details = ()
    return type(operation).__name__, operation.slabs, details


def _called(name: str, value: Any) -> str:
    """A function or a table in messages."""
    if not callable(value):
        return "the cases of a choice" if name.startswith("CASES") else "the key of an item"
    code = getattr(value, "__code__", None)
    place = f" ({SourceLine(code.co_filename, code.co_firstlineno)})" if isinstance(code, CodeType) else ""
    return f"{function_name(value)}{place}"
