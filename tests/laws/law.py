"""What a law is: two ways to write one thing, for any blocks that stand for its variables.

A law holds for blocks without effects (no `Metric`, no `Tap`), which is all that is drawn for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import arrows as ar
from tests.generation import parts
from tests.generation.between import lstm
from tests.generation.build import WIDTH, Build, Data, Piece, words

Variable = Callable[[Build], Any]
"""Draws what stands for a variable: a `Piece` (a block from `Input` with its data), or a block."""


@dataclass(frozen=True)
class Law:
    """An equation between blocks.

    Attributes:
        name: the equation, as it would be said.
        over: what its variables stand for.
        sides: both sides, of the variables.
        where: what must hold besides, in words; empty where it always holds.
        data: objects to run it on, in place of those of the variables.
    """

    name: str
    over: tuple[Variable, ...]
    sides: Callable[..., tuple[Any, Any]]
    where: str
    data: Data | None

    def draw(self, build: Build) -> tuple[Any, Any, Data]:
        """Both sides, with random blocks for the variables, and the objects that they read.

        One variable from `Input` reads the whole object; each of several reads its item of a tuple.
        """
        drawn = [variable(build) for variable in self.over]
        pieces = [x for x in drawn if isinstance(x, Piece)]
        places = itertools.count()
        blocks = [
            x if not isinstance(x, Piece) else ar.GetItem(next(places)) >> x.block if pieces[1:] else x.block
            for x in drawn
        ]
        data = pieces[0].data if len(pieces) == 1 else st.tuples(*[p.data for p in pieces])
        return *self.sides(*blocks), data if self.data is None else self.data


TABLE: list[Law] = []


def law(name: str, *over: Variable, where: str = "", data: Data | None = None) -> Callable[..., None]:
    """Adds a law to the table; it decorates the function from its variables to its two sides."""
    return lambda sides: TABLE.append(Law(name, over, sides, where, data))


def reader(build: Build) -> Piece:
    """From `Input` to a vector."""
    return build.vector(build.one_of(1, 0, 2))


def sequence(build: Build) -> Piece:
    """From `Input` to a sequence of vectors."""
    element = build.vector(build.one_of(1, 0))
    return Piece(ar.Map(element.block), st.lists(element.data, max_size=4))


def some(build: Build) -> Piece:
    """From `Input` to a sequence of vectors that is not empty."""
    element = build.vector(build.one_of(1, 0))
    return Piece(ar.Map(element.block), st.lists(element.data, min_size=1, max_size=4))


def integers(build: Build) -> Piece:
    """From `Input` to a sequence of integers."""
    dtype = build.one_of("int32", "int64", "uint8")
    return Piece(ar.Map(ar.Scalar(dtype)), st.lists(words, max_size=5))


def change(build: Build) -> Any:
    """From a vector to a vector."""
    return build.change()


def join(build: Build) -> Any:
    """From two vectors to a vector."""
    return build.join(2)


def score(build: Build) -> Any:
    """From a vector to a float."""
    return build.score()


def cell(build: Build) -> Any:
    """An `LSTMCell`: from `(x, (h, c))` to `(h, c)`."""
    return lstm(build)


def gru(build: Build) -> Any:
    """A `GRUCell`: from `(x, h)` to `h`."""
    return build.layer("gru", lambda: ar.GRUCell(WIDTH))


def start(build: Build) -> Any:
    """A vector, whatever the input."""
    return build.one_of(ar.Zeros([WIDTH]), ar.Constant([0.5, -0.25, 1.0]))


def boolean(build: Build) -> Any:
    """A key: a function of a Python object."""
    return build.one_of(
        parts.watched(lambda x: len(repr(x)) % 2 == 0),
        parts.watched(lambda x: True),
        parts.watched(lambda x: False),
    )
