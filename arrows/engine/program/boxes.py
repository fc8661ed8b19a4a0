"""Boxes of parameters: a range of every axis."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

from arrows.engine.program.instructions import Region, attribute
from arrows.ops import Equation

Subscript = tuple[slice | EllipsisType, ...]


def subscript(region: Region) -> Subscript:
    """The subscript that shows a region, as an array where the parameter is a scalar too."""
    return (*(slice(start, stop) for start, stop in region), ...)


def whole(shape: tuple[int, ...]) -> Region:
    """The region that is all of a parameter."""
    return tuple((0, size) for size in shape)


def moved(box: Region, whole: Region) -> Region:
    """A box of what another box shows, as one of what that is a box of."""
    return tuple((first + start, first + stop) for (start, stop), (first, _) in zip(box, whole, strict=True))


def box_of_slice(equation: Equation) -> Region | None:
    """The box of its operand that an equation gives; None where it is no slice, or one with steps."""
    if equation.primitive.name != "index":
        return None
    key: Any = attribute(equation, "key")
    if any(isinstance(item, int) or item[2] != 1 for item in key):
        return None
    shape = equation.operands[0].type.shape
    return (*((start, stop) for start, stop, _ in key), *whole(shape[len(key) :]))


def overlap(left: Region, right: Region) -> bool:
    """Whether two regions of one parameter have an element in common.

    >>> overlap(((0, 2), (0, 9)), ((1, 3), (8, 9))), overlap(((0, 2), (0, 9)), ((2, 3), (0, 9)))
    (True, False)
    """
    return all(a < y and b < z for (a, z), (b, y) in zip(left, right, strict=True))
