"""Mutations of any random expression: one of its own blocks is exchanged.

Each operator says which blocks it can break, by their form alone, and what it puts there instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import arrows as ar
from arrows.combinators import Apply, Choice, Fan, Pipe, Read, Reference, parts_first
from tests.mutations.mutation import LONGER


@dataclass(frozen=True)
class Exchange:
    """One way to break an expression.

    Attributes:
        name: what is changed.
        why: why the result has no type.
        fits: whether a block can be broken in this way.
        broken: what stands there then.
        within: productions in which such blocks are common; any if empty.
    """

    name: str
    why: str
    fits: Callable[[Any], bool]
    broken: Callable[[Any], Any]
    within: tuple[str, ...] = ()


def closed(block: Any) -> bool:
    """Whether its type does not depend on where it stands in a recursion."""
    return not any(isinstance(part, Reference) for part in parts_first(block))


def steps(block: Any, first: Callable[[Any], bool], second: Callable[[Any], bool]) -> int | None:
    """The place of the first two neighbours of a chain that are of some form; None if there are none."""
    if type(block) is not Pipe:
        return None
    places = range(len(block.parts) - 1)
    return next((i for i in places if first(block.parts[i]) and second(block.parts[i + 1])), None)


def with_step(block: Any, place: int, step: Any) -> Any:
    """The chain with another step at a place."""
    return Pipe(*block.parts[:place], step, *block.parts[place + 1 :])


def is_function(block: Any) -> bool:
    return isinstance(block, Apply)


def is_read(block: Any) -> bool:
    return isinstance(block, Read)


def is_fan(block: Any) -> bool:
    return isinstance(block, Fan)


def takes_a_pair(block: Any) -> bool:
    return isinstance(block, (ar.LSTMCell, ar.GRUCell, ar.TreeLSTM, ar.layers.Loss))


def is_choice(block: Any) -> bool:
    return (
        isinstance(block, Choice)
        and len(block.cases) > 1
        and all(map(closed, block.cases))
        and not any(isinstance(case, ar.Constant) for case in block.cases)
    )


def one_case_longer(block: Any) -> Any:
    cases = [*block.cases[:-1], Pipe(block.cases[-1], LONGER)]
    return ar.OneOf(block.key or block.key_block, list(zip(block.keys, cases, strict=True)))


def chain_with(first: Any, second: Any, change: Callable[[Any, int], Any]) -> Any:
    """The two parts of an operator on chains in which two such steps stand side by side."""
    return (
        lambda block: steps(block, first, second) is not None,
        lambda block: change(block, steps(block, first, second)),  # type: ignore[arg-type]
    )


EXCHANGES = [
    Exchange(
        "a tensor is read once more",
        "what a function gives is no Python object",
        is_function,
        lambda block: Pipe(block, ar.Vector(3)),
    ),
    Exchange(
        "a tensor is transformed as an object",
        "what is read is a tensor",
        is_read,
        lambda block: Pipe(block, ar.InputTransform(len)),
    ),
    Exchange(
        "a tensor is gone over",
        "a tensor has no elements",
        is_read,
        lambda block: Pipe(block, ar.Map(ar.Identity())),
    ),
    Exchange(
        "an item of a tensor is taken",
        "a tensor has no items",
        is_read,
        lambda block: Pipe(block, ar.GetItem(0)),
    ),
    Exchange(
        "one case gives another type",
        "a vector with one element more is another type, and what is no vector cannot have one more",
        is_choice,
        one_case_longer,
        within=("choice", "prepared_choice"),
    ),
    Exchange(
        "a reader is dropped",
        "a function takes tensors, and what is not read is an object",
        *chain_with(is_read, is_function, lambda block, i: with_step(block, i, ar.InputTransform(len))),
    ),
    Exchange(
        "an index is read as a float",
        "a table is indexed by integers",
        *chain_with(
            is_read,
            lambda block: isinstance(block, ar.Embedding),
            lambda block, i: with_step(block, i, ar.Scalar("float32")),
        ),
    ),
    Exchange(
        "an item is taken beyond the end",
        "a tuple of n has no item n",
        is_fan,
        lambda block: Pipe(block, ar.GetItem(len(block.parts))),
    ),
    Exchange(
        "one thing is given for a pair",
        "a cell takes an element and a state, a loss two values to compare",
        *chain_with(
            is_fan,
            takes_a_pair,
            lambda block, i: with_step(block, i, ar.AllOf(block.parts[i].parts[0])),
        ),
        within=("gated", "tree_lstm"),
    ),
    Exchange(
        "three things are given for a pair",
        "a cell takes an element and a state, a loss two values to compare",
        *chain_with(
            is_fan,
            takes_a_pair,
            lambda block, i: with_step(block, i, ar.AllOf(*block.parts[i].parts, ar.Void())),
        ),
        within=("gated", "tree_lstm"),
    ),
    Exchange(
        "a sequence is folded without end",
        "an endless sequence has no last state",
        lambda block: (
            type(block) in (ar.Fold, ar.RNN, ar.Scan) and not getattr(block, "start_from_input", False)
        ),
        lambda block: Pipe(ar.Broadcast(), block),
    ),
]
