"""How the results of a call are nested, and the lazy tensors that stand for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from arrows.engine.values import make_tuple
from arrows.ops import Trace
from arrows.typesys import types as T

Pattern: TypeAlias = "int | TuplePattern | ElementsPattern"
"""How results are nested: the number of an output, a tuple, or a sequence."""

Leaf: TypeAlias = Callable[[int, T.Tensor], Any]
"""Makes the lazy tensor of an output: ``leaf(id, type)``."""


@dataclass(frozen=True, slots=True)
class TuplePattern:
    """A result that is a tuple, with keys where it has any."""

    items: tuple[Pattern, ...]
    labels: Any


@dataclass(frozen=True, slots=True)
class ElementsPattern:
    """A result that is a sequence.

    Attributes:
        domain: the sequence among the operands that it is as long as.
        element: the pattern of one element; its numbers are outputs of the element's own node.
    """

    domain: int
    element: Pattern


def pattern_of(trace: Trace) -> Pattern:
    """How the results of a trace are nested."""
    counts: dict[int, int] = {}
    leaves = iter(trace.results)

    def build(type: T.Type) -> tuple[Pattern, int]:
        """The pattern, and the number of the sequence whose rows its outputs are; -1 if they are none."""
        if isinstance(type, T.Tensor):
            rows = max(next(leaves).rows, -1)
            counts[rows] = counts.get(rows, 0) + 1
            return counts[rows] - 1, rows
        if isinstance(type, T.Tuple):
            parts = [build(item) for item in type.items]
            items = tuple(part for part, _ in parts)
            return TuplePattern(items, type.labels), parts[0][1] if parts else -1
        assert isinstance(type, T.Sequence)
        element, rows = build(type.element)
        return ElementsPattern(rows, element), -1

    return build(trace.output)[0]


def build(
    pattern: Pattern,
    first: int,
    types: Sequence[T.Tensor],
    rows: Mapping[int, tuple[Sequence[int], Sequence[T.Tensor]]],
    leaf: Leaf,
) -> Any:
    """The results of a call.

    Args:
        pattern: how they are nested.
        first: the id of the first output of the call's node.
        types: the types of the node's outputs.
        rows: for each sequence whose elements get rows, the ids of the first outputs of these rows' nodes,
            and the types of those nodes' outputs.
        leaf: makes a lazy tensor.
    """
    if isinstance(pattern, int):
        return leaf(first + pattern, types[pattern])
    if isinstance(pattern, TuplePattern):
        return make_tuple([build(part, first, types, rows, leaf) for part in pattern.items], pattern.labels)
    firsts, element_types = rows[pattern.domain]
    return [build(pattern.element, start, element_types, rows, leaf) for start in firsts]
