"""Mutations of any random expression: one of its own blocks is exchanged.

Each operator says which blocks it can break, by their form alone, and what it puts there instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import arrows as ar
from arrows.combinators import Apply, Choice, Fan, Pipe, Read, Reference, parts_first
from arrows.layers.losses import Loss
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
    within: tuple[str, ...]


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
    return isinstance(block, Read) and block.function is None


def is_fan(block: Any) -> bool:
    return isinstance(block, Fan)


def takes_a_pair(block: Any) -> bool:
    return isinstance(block, (ar.LSTMCell, ar.GRUCell, ar.TreeLSTM, Loss))


def is_choice(block: Any) -> bool:
    return (
        isinstance(block, Choice)
        and len(block.cases) > 1
        and all(map(closed, block.cases))
        and not any(isinstance(case, ar.Constant) for case in block.cases)
    )


PAIRS = "a cell takes an element and a state, a loss two values to compare"


def is_table(block: Any) -> bool:
    return isinstance(block, ar.Embedding)


def goes_over(block: Any) -> bool:
    return type(block) in (ar.Fold, ar.RNN, ar.Scan) and not getattr(block, "initial_state_from_input", False)


def has(first: Callable[[Any], bool], second: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a block is a chain in which two such steps stand side by side."""
    return lambda block: steps(block, first, second) is not None


EXCHANGES: list[Exchange] = []


def exchange(
    name: str, why: str, fits: Callable[[Any], bool], *within: str
) -> Callable[[Callable[[Any], Any]], None]:
    """Adds a way to the table; it decorates the function from a block to what stands there then."""
    return lambda broken: EXCHANGES.append(Exchange(name, why, fits, broken, within))


@exchange("a tensor is read once more", "what a function gives is no Python object", is_function)
def _(block):
    return Pipe(block, ar.Vector(3))


@exchange("a tensor is transformed as an object", "what is read is a tensor", is_read)
def _(block):
    return Pipe(block, ar.InputTransform(len))


@exchange("a tensor is gone over", "a tensor has no elements", is_read)
def _(block):
    return Pipe(block, ar.Map(ar.Identity()))


@exchange("an item of a tensor is taken", "a tensor has no items", is_read)
def _(block):
    return Pipe(block, ar.GetItem(0))


@exchange("one case gives another type", "LONGER gives another type", is_choice, "choice", "prepared_choice")
def _(block):
    cases = [*block.cases[:-1], Pipe(block.cases[-1], LONGER)]
    return ar.OneOf(block.key or block.key_block, list(zip(block.keys, cases, strict=True)))


@exchange("a reader is dropped", "a function takes tensors, not objects", has(is_read, is_function))
def _(block):
    return with_step(block, steps(block, is_read, is_function), ar.InputTransform(len))


@exchange("an index is read as a float", "a table is indexed by integers", has(is_read, is_table))
def _(block):
    return with_step(block, steps(block, is_read, is_table), ar.Scalar("float32"))


@exchange("an item is taken beyond the end", "a tuple of n has no item n", is_fan)
def _(block):
    return Pipe(block, ar.GetItem(len(block.parts)))


@exchange("one thing is given for a pair", PAIRS, has(is_fan, takes_a_pair), "gated", "tree_lstm")
def _(block):
    place = steps(block, is_fan, takes_a_pair)
    return with_step(block, place, ar.AllOf(block.parts[place].parts[0]))


@exchange("three things are given for a pair", PAIRS, has(is_fan, takes_a_pair), "gated", "tree_lstm")
def _(block):
    place = steps(block, is_fan, takes_a_pair)
    return with_step(block, place, ar.AllOf(*block.parts[place].parts, ar.Void()))


@exchange("a sequence is folded without end", "an endless sequence has no last state", goes_over)
def _(block):
    return Pipe(ar.Broadcast(), block)
