"""What one random block has in common all over: its layers, its metrics, its named inputs.

A *production* is a function from a `Build` and a depth to a `Piece`: a block from `Input` to a vector of
`WIDTH` floats, the common currency, and the strategy of the objects that it reads. The two are drawn hand in
hand, so nothing is ever filtered out for being ill-typed. A piece is closed: no reference to a recursion
around it stands inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from tests.generation import parts

WIDTH = parts.WIDTH
WORDS = parts.WORDS

Draw = Callable[[st.SearchStrategy[Any]], Any]
Data = parts.Data

numbers = st.one_of(
    st.integers(-2, 2), st.floats(-2, 2, width=16), st.booleans(), st.floats(-2, 2, width=32).map(np.float32)
)
vectors = st.one_of(
    st.lists(numbers, min_size=WIDTH, max_size=WIDTH),
    st.tuples(*[st.floats(-2, 2, width=16)] * WIDTH).map(lambda xs: np.array(xs, "float32")),
)
HARDLY = 1e-12
"""A rate of dropout at which nothing is ever zeroed, and the rest grows by less than any tolerance."""

words = st.integers(0, WORDS - 1)
anything = st.sampled_from([None, 0, "text"])


@dataclass(frozen=True)
class Piece:
    """A block from `Input`, and the objects that it reads."""

    block: Any
    data: Data


Production = Callable[["Build", int], Piece]

LEAVES: dict[str, Production] = {}
"""Productions that draw no others."""

INNER: dict[str, Production] = {}

EFFECTS: set[str] = set()
"""Names of the productions that do something besides giving a result."""


def leaf(production: Production) -> Production:
    """Adds a production that draws no others."""
    LEAVES[production.__name__] = production
    return production


def production(function: Production) -> Production:
    """Adds a production."""
    INNER[function.__name__] = function
    return function


def with_effects(function: Production) -> Production:
    """Adds a production that does something besides giving a result."""
    EFFECTS.add(function.__name__)
    return production(function)


@dataclass
class Build:
    """One block in the making.

    Attributes:
        draw: given by hypothesis.
        effects: whether metrics and the like may be drawn.
        noise: whether functions may draw random numbers; another way to write an expression draws others.
        layers: the layers that stand in the block already, by use.
        metrics: names of the metrics drawn.
        named: names of the inputs drawn.
        first: the production that the first vector must be.
        planted: a piece that is to stand somewhere inside, until it does.
        dropout: its rate.
    """

    draw: Draw
    effects: bool = True
    noise: bool = True
    layers: dict[Any, list[Any]] = field(default_factory=dict)
    metrics: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    first: str | None = None
    planted: Piece | None = None
    dropout: float = HARDLY

    def one_of(self, *choices: Any) -> Any:
        """One of several things; it shrinks to the first."""
        return self.draw(st.sampled_from(choices))

    def layer(self, key: Any, make: Callable[[], Any]) -> Any:
        """A layer for this use: a new one, or one that stands elsewhere already and is shared."""
        known = self.layers.setdefault(key, [])
        number = self.one_of(*range(len(known) + 1))
        if number == len(known):
            known.append(make())
        return known[number]

    def name(self, kind: str) -> str | None:
        """A name for an input, whose gradient may then be asked for; or none."""
        name: str | None = self.one_of(None, f"{kind}_u", f"{kind}_v")
        if name is not None:
            self.named.add(name)
        return name

    def vector(self, depth: int) -> Piece:
        """A block from `Input` to a vector of `WIDTH` floats."""
        name, self.first = self.first, None
        if name is None and self.planted is not None and (depth <= 0 or self.one_of(False, True)):
            piece, self.planted = self.planted, None
            return piece
        if name is None:
            names = [*LEAVES, *INNER] if depth > 0 else list(LEAVES)
            name = self.one_of(*(n for n in names if self.effects or n not in EFFECTS))
        return (LEAVES | INNER)[name](self, depth - 1)

    def scalar(self, depth: int) -> Piece:
        """A block from `Input` to a float."""
        piece = self.vector(depth)
        return Piece(piece.block >> self.score(), piece.data)

    def change(self) -> Any:
        """A block from a vector to a vector."""
        from tests.generation import between

        return between.change(self)

    def join(self, count: int) -> Any:
        """A block from `count` vectors to a vector."""
        from tests.generation import between

        return between.join(self, count)

    def score(self) -> Any:
        """A block from a vector to a float scalar."""
        return ar.Function(self.one_of(ar.ops.sum, parts.squares, ar.ops.logsumexp, parts.entropy))
