"""Values tapped on the way: the streams of the wiring that hold them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arrows.typesys import types as T

Array = Any
Show = Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Outlet:
    """The streams that values of one type go into: one for each tensor leaf, one for each level of nesting.

    Attributes:
        type: the values' type.
        leaf, leaves: the number of the first leaf's stream, and how many there are.
        level, levels: the same of the levels of nesting.
    """

    type: T.Type
    leaf: int
    leaves: int
    level: int
    levels: int


@dataclass(frozen=True, slots=True)
class TapStream:
    """What is collected under one name.

    Attributes:
        name: the name.
        outlet: where tensors go; None if Python objects are collected.
        objects: the number of the stream of Python objects; -1 if tensors are collected.
    """

    name: str
    outlet: Outlet | None
    objects: int = -1


def holds_objects(of: T.Type) -> bool:
    """Whether a tap collects values of this type as Python objects: there is an `Input` inside.

    >>> holds_objects(T.Tuple((T.Input(), T.Input()))), holds_objects(T.Tensor(()))
    (True, False)
    """
    todo = [of]
    while todo:
        one = todo.pop()
        if isinstance(one, T.Input):
            return True
        todo.extend(one.children)
    return False


def levels(of: T.Type) -> int:
    """How many levels of nesting there are in a type.

    >>> levels(T.Tuple((T.Sequence(T.Sequence(T.Tensor(()))), T.Sequence(T.Void()))))
    3
    """
    found, todo = 0, [of]
    while todo:
        one = todo.pop()
        found += isinstance(one, T.Sequence)
        todo.extend(one.children)
    return found


@dataclass(frozen=True, eq=False, slots=True)
class Taps:
    """The taps of a model.

    Attributes:
        streams: one for each name.
        sites: for each place where a tap stands, its stream, and what shows its values.
    """

    streams: tuple[TapStream, ...]
    sites: tuple[tuple[int, Show | None], ...]
