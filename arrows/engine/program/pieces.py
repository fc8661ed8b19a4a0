"""What the gradient of a parameter is put together from: pieces, each written straight into its range.

A cell at a leaf multiplies some rows of its matrix, at a pair others.  Their gradients are matrices of a part
of the parameter's size; padded with zeros and added up they would cost a pass over the whole parameter each.
So sums, joins and padded slices at the end of a parameter's backward program are taken apart into ranges of
the one array that the gradient is kept in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

from arrows.ops import Equation, Var

Region = tuple[tuple[int, int], ...]
Subscript = tuple[slice | EllipsisType, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a parameter's gradient.

    Attributes:
        region: for each axis of the parameter, where the piece starts and stops.
        var: its value; pieces that overlap add up.
    """

    region: Region
    var: Var


def pieces(var: Var, made_by: Mapping[Var, Equation], zeros: Collection[Var] = ()) -> tuple[Piece, ...]:
    """Takes a gradient apart.

    Args:
        var: the gradient, of the parameter's own shape.
        made_by: the equations of the backward program, by result.
        zeros: variables known to be zeros.
    """
    found: list[Piece] = []
    work = [(var, (0,) * len(var.type.shape))]
    while work:
        one, start = work.pop()
        made = made_by.get(one)
        name = None if made is None else made.primitive.name
        if one in zeros:
            continue
        if made is not None and name == "add" and all(v.type == one.type for v in made.operands):
            work.extend((operand, start) for operand in reversed(made.operands))
        elif made is not None and name == "concat":
            axis: Any = dict(made.attributes)["axis"]
            at = list(start)
            for operand in made.operands:
                work.append((operand, tuple(at)))
                at[axis] += operand.type.shape[axis]
        elif made is not None and name == "pad_slice" and _plain(made):
            key: Any = dict(made.attributes)["key"]
            inner = [item[0] for item in key] + [0] * (len(start) - len(key))
            work.append((made.operands[0], tuple(s + i for s, i in zip(start, inner, strict=True))))
        else:
            found.append(Piece(tuple((s, s + n) for s, n in zip(start, one.type.shape, strict=True)), one))
    return tuple(found)


def _plain(padded: Equation) -> bool:
    """Whether a padded slice is a range on every axis."""
    key: Any = dict(padded.attributes)["key"]
    return all(isinstance(item, tuple) and item[2] == 1 for item in key)


def subscript(region: Region) -> Subscript:
    """The subscript that shows a region, as an array where the parameter is a scalar too."""
    return (*(slice(start, stop) for start, stop in region), ...)


def whole(shape: tuple[int, ...]) -> Region:
    """The region that is all of a parameter."""
    return tuple((0, size) for size in shape)


def uncovered(shape: tuple[int, ...], regions: Collection[Region]) -> list[Region]:
    """Regions that together with the given ones cover a parameter, and meet neither them nor each other.

    >>> uncovered((2, 5), [((0, 1), (0, 5)), ((1, 2), (1, 3))])
    [((1, 2), (0, 1)), ((1, 2), (3, 5))]
    >>> uncovered((), []), uncovered((), [()])
    ([()], [])
    """
    left = [whole(shape)]
    for region in regions:
        left = [rest for box in left for rest in _outside(box, region)]
    return left


def _outside(box: Region, region: Region) -> list[Region]:
    """A box without what it shares with a region, as boxes."""
    if not overlap(box, region):
        return [box]
    boxes = []
    for axis, ((start, stop), (first, last)) in enumerate(zip(box, region, strict=True)):
        for a, z in ((start, min(first, stop)), (max(last, start), stop)):
            if a < z:
                boxes.append((*box[:axis], (a, z), *box[axis + 1 :]))
        box = (*box[:axis], (max(start, first), min(stop, last)), *box[axis + 1 :])
    return boxes


def overlap(one: Region, other: Region) -> bool:
    """Whether two regions of one parameter have an element in common.

    >>> overlap(((0, 2), (0, 9)), ((1, 3), (8, 9))), overlap(((0, 2), (0, 9)), ((2, 3), (0, 9)))
    (True, False)
    """
    return all(a < y and b < z for (a, z), (b, y) in zip(one, other, strict=True))
