"""Hypothesis strategies: random well-typed blocks together with data that fits them.

`cases()` draws a block, a batch of examples, what its loss is and which inputs are named. Its productions,
by family, stand in `tests/generation`. Values stay within a few units, so that float32 keeps 1e-4.

Whatever is drawn from a list begins with the simplest thing, because that is where hypothesis shrinks to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import arrows as ar
from tests.generation import (
    elements,
    graphs,
    leaves,
    meetings,
    recursion,
    reductions,
    repeats,
    results,
    sequences,
    tables,
    wiring,
)
from tests.generation.build import HARDLY, INNER, LEAVES, Build, Draw, Piece

FAMILIES = (leaves, wiring, sequences, elements, graphs, reductions, recursion, repeats, meetings, tables)
PRODUCTIONS = (*LEAVES, *INNER)
RESULTS = tuple(results.RESULTS)


@dataclass
class Case:
    """A block and a batch that fits it.

    Attributes:
        block: from `Input`; its result is no `Input` and not endless.
        examples: Python objects.
        loss: what to differentiate: None (the result is a float scalar), a metric's name, or names and
            weights; `""` where there is nothing to differentiate.
        inputs: names of the inputs whose gradients may be asked for.
    """

    block: Any
    examples: list[Any]
    loss: Any
    inputs: tuple[str, ...]


@st.composite
def cases(
    draw: Draw,
    depth: int = 3,
    max_examples: int = 4,
    production: str | None = None,
    result: str | None = None,
    effects: bool = True,
    noise: bool = True,
    dropout: float = HARDLY,
) -> Case:
    """A random block with a batch of 0 to `max_examples` examples.

    Args:
        draw: given by hypothesis.
        depth: how deep productions may nest.
        max_examples: the size of the largest batch.
        production: the one that stands outermost, and is scored; drawn if not given.
        result: the kind of result, one of `RESULTS`; drawn if not given.
        effects: whether metrics and the like may be drawn.
        noise: whether functions may draw random numbers.
        dropout: the rate of dropout, which the reference doesn't do.
    """
    build = Build(draw, effects=effects, noise=noise, first=production, dropout=dropout)
    kinds = ["scalar", *(["void"] if effects else []), *RESULTS] if production is None else ["scalar"]
    kind = result or build.one_of(*kinds)
    if kind in ("scalar", "void"):
        piece = build.scalar(depth)
        if kind == "void":
            build.metrics.add("loss")
            piece = Piece(piece.block >> ar.Metric("loss"), piece.data)
    else:
        piece = results.RESULTS[kind](build, depth)
    if kind not in ("scalar", "void") and effects and not build.metrics and draw(st.booleans()):
        piece = with_loss(build, piece, depth)
    if build.metrics:
        names = sorted(build.metrics)
        loss: Any = draw(st.sampled_from([*names, {name: 0.5 + i for i, name in enumerate(names)}]))
    else:
        loss = None if kind == "scalar" else ""
    size = draw(st.sampled_from([*range(1, max_examples + 1), 0]))
    examples = draw(st.lists(piece.data, min_size=size, max_size=size))
    return Case(piece.block, examples, loss, tuple(sorted(build.named)))


def with_loss(build: Build, piece: Piece, depth: int) -> Piece:
    """The same result, with a loss beside it."""
    other = build.scalar(depth)
    build.metrics.add("loss")
    loss = ar.GetItem(1) >> other.block >> ar.Metric("loss")
    return Piece(ar.GetItem(0) >> piece.block & loss, st.tuples(piece.data, other.data))
