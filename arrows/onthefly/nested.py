"""Nested tuples, lists and dicts: taken apart into leaves, and made anew with other leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from arrows.engine.values import make_tuple
from arrows.ops import TensorLike, Trace
from arrows.typesys import types as T


def rebuild(x: Any, leaf: Callable[[Any], Any]) -> Any:
    """Nested tuples, lists and dicts with other leaves: ``leaf(x)`` in place of what is none of them.

    >>> rebuild((1, [2, {"x": 3}]), lambda x: 10 * x)
    (10, [20, {'x': 30}])
    """
    if isinstance(x, tuple):
        return make_tuple([rebuild(item, leaf) for item in x], getattr(x, "labels", None))
    if isinstance(x, list):
        return [rebuild(item, leaf) for item in x]
    if isinstance(x, dict):
        return {key: rebuild(item, leaf) for key, item in x.items()}
    return leaf(x)


def holds_tensors(x: object) -> bool:
    """Whether there are tensors in nested tuples and lists; an example may be deep, or circular."""
    todo: list[Any] = [x]
    seen: set[int] = set()
    while todo:
        x = todo.pop()
        if isinstance(x, TensorLike):
            return True
        if isinstance(x, (tuple, list)) and id(x) not in seen:
            seen.add(id(x))
            todo.extend(x)
    return False


@dataclass(frozen=True, slots=True)
class Elements:
    """The part of a call's result that is a sequence.

    Attributes:
        domain: the sequence among the operands that it is as long as.
        element: the pattern of one element; its numbers are outputs of the element's own node.
    """

    domain: int
    element: Pattern


Pattern: TypeAlias = "int | tuple[Any, ...] | Elements"
"""How the results of a call are nested: the number of an output, a tuple of patterns, or a sequence."""


PAIR: Pattern = (0, 1)
"""The pattern of two tensors, which is most frequent but for one tensor."""


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
            return make_tuple([part for part, _ in parts], type.labels), parts[0][1] if parts else -1
        assert isinstance(type, T.Sequence)
        element, rows = build(type.element)
        return Elements(rows, element), -1

    pattern = build(trace.output)[0]
    return PAIR if pattern.__class__ is tuple and pattern == PAIR else pattern
