"""What a mutation is: a well-typed block, and the same block with one thing changed that makes it ill-typed.

That it is ill-typed follows from how it is made, by the argument in `why`; the checker is not asked. The
block then stands somewhere in a random well-typed expression, and an expression with an ill-typed part is
ill-typed.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import arrows as ar
from arrows import ops
from arrows.combinators import parts_first
from tests.generation import parts
from tests.generation.build import WIDTH, Build, Piece, anything

PLANTED = "planted"

Pair = tuple[Any, Callable[[], Any]]
"""A well-typed block from `Input`, and what makes the ill-typed one: its making may be refused already."""


@dataclass(frozen=True)
class Mutation:
    """One way to break an expression.

    Attributes:
        name: what is changed.
        kind: what sort of thing that is: a size, a dtype, a key, ...
        why: why the result has no type.
        says: what the error must say, in each of these patterns: the block and the reason.
        make: from random blocks, the block and the broken one.
    """

    name: str
    kind: str
    why: str
    says: tuple[str, ...]
    make: Callable[[Build], Pair]

    def told(self, text: str) -> list[str]:
        """The patterns that a text lacks."""
        return [pattern for pattern in self.says if not re.search(pattern, text, re.DOTALL)]


TABLE: list[Mutation] = []


def mutation(kind: str, why: str, *says: str) -> Callable[[Callable[..., Pair]], None]:
    """Adds a mutation to the table. The names of its parameters say what is drawn for them (`DRAWN`)."""

    def add(make: Callable[..., Pair]) -> None:
        drawn = [DRAWN[name] for name in inspect.signature(make).parameters]
        TABLE.append(
            Mutation(make.__name__, kind, why, says, lambda build: make(*(draw(build) for draw in drawn)))
        )

    return add


def longer(x: Any) -> Any:
    """One element more."""
    return ops.concat([x, x[:1]])


LONGER = ar.Function(longer, name="longer")
"""From a vector to one that has one element more, and so to another type, whatever it is given."""

SIZES = rf"float32\[{WIDTH}\]", rf"float32\[{WIDTH + 1}\]"
"""What an error about `LONGER` shows: both sides."""


def reader(build: Build) -> Any:
    """A block from `Input` to a vector of `WIDTH` floats."""
    return build.vector(build.one_of(0, 1)).block


def sequence(build: Build) -> Any:
    """A block from `Input` to a sequence of such vectors."""
    return ar.Map(reader(build))


DRAWN: dict[str, Callable[[Build], Any]] = {
    "build": lambda build: build,
    "join": lambda build: build.join(2),
    **dict.fromkeys("fgh", reader),
    **dict.fromkeys("st", sequence),
}
"""What the parameters of a mutation stand for."""


def total(a: Any, b: Any) -> Any:
    """A function of two vectors of one length."""
    return a * 1.0 + b


def key(x: Any) -> bool:
    """The key of a choice."""
    return bool(x)


KEY = parts.watched(key)


def planted(block: Any, alone: bool) -> Any:
    """One step of any chain, whatever it is.

    Args:
        block: the block.
        alone: whether nothing reads its result, so that no error can be about what follows.
    """
    return ar.Pipe(block, *([ar.Zeros([WIDTH])] if alone else []), name=PLANTED)


def expression(build: Build, block: Any, depth: int) -> Any:
    """A random well-typed expression in which a planted block stands, where a vector is wanted."""
    build.planted = Piece(block, anything)
    around = build.vector(depth).block
    build.planted = None
    # Where no vector is wanted inside, it stands beside.
    return around if any(x is block for x in parts_first(around)) else ar.AllOf(around, block)


def replaced(block: Any, old: Any, new: Any) -> Any:
    """The block with one of its blocks exchanged for another."""
    if block is old:
        return new
    restore, arguments = block.__reduce_ex__(4)
    rows, root, knots = copy.deepcopy(arguments)
    rows[next(place for place, part in enumerate(parts_first(block)) if part is old)] = new
    return restore(rows, root, knots)
