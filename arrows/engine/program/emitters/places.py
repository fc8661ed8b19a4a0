"""Places in a row: expressions in C that say which number is read, along with what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any


@dataclass(frozen=True, slots=True)
class RowPlace:
    """A place in a row: an expression plus a constant.

    Attributes:
        moving: an expression from 0 on, or empty.
        offset: what is added.
        length: how many values ``moving`` takes.
    """

    moving: str
    offset: int
    length: int

    def __str__(self) -> str:
        if not self.moving:
            return str(self.offset)
        return f"{self.moving} + {self.offset}" if self.offset else self.moving

    def moved(self, by: int) -> RowPlace:
        """The place so much further on."""
        return RowPlace(self.moving, self.offset + by, self.length)


def column(expression: str, size: int) -> RowPlace:
    """A place in a row of so many numbers."""
    return RowPlace("", 0, 1) if size <= 1 else RowPlace(f"({expression})", 0, size)


def place(row: str, size: int, at: RowPlace) -> str:
    """Where a number lies, of rows that lie together."""
    return f"{row} * {size} + {at}" if size > 1 else row


def quotient(at: RowPlace, size: int, count: int) -> RowPlace:
    """The place divided by a number."""
    if size == 1:
        return at
    if not at.moving:
        return RowPlace("", at.offset // size, 1)
    return column(f"({at}) / {size}", count)


def remainder(at: RowPlace, size: int) -> RowPlace:
    """The rest of the place divided by a number."""
    if size == 1:
        return RowPlace("", 0, 1)
    if not at.moving:
        return RowPlace("", at.offset % size, 1)
    return column(f"({at}) % {size}", size)


def split(at: RowPlace, shape: Sequence[int]) -> list[RowPlace]:
    """The place along each axis."""
    if len(shape) == 1:
        return [at]
    items, size = [], prod(shape)
    for axis, count in enumerate(shape):
        size //= max(count, 1)
        outer = quotient(at, size, prod(shape[: axis + 1]))
        items.append(outer if axis == 0 else remainder(outer, count))
    return items


def join(items: Sequence[RowPlace], shape: Sequence[int]) -> RowPlace:
    """The place in a row, from the place along each axis."""
    if len(shape) == 1:
        return items[0]
    offset, parts, size = 0, [], prod(shape)
    total = size
    for item, count in zip(items, shape, strict=True):
        size //= max(count, 1)
        offset += item.offset * size
        if item.moving:
            parts.append(f"{item.moving} * {size}" if size > 1 else item.moving)
    if not parts:
        return RowPlace("", offset, 1)
    return RowPlace(f"({' + '.join(parts)})", offset, max(total - offset, 1))


def spread(at: RowPlace, shape: Sequence[int], operand: Sequence[int]) -> RowPlace:
    """The place of an operand that is spread over a shape of as many axes."""
    if tuple(shape) == tuple(operand):
        return at
    if prod(operand) == 1:
        return RowPlace("", 0, 1)
    items = [
        RowPlace("", 0, 1) if own == 1 else item for item, own in zip(split(at, shape), operand, strict=True)
    ]
    return join(items, operand)


def sliced(at: RowPlace, shape: Sequence[int], key: Sequence[Any], operand: Sequence[int]) -> RowPlace:
    """The place of an operand that a slice reads."""
    items, axes = [], iter(split(at, shape))
    for axis, size in enumerate(operand):
        entry = key[axis] if axis < len(key) else (0, size, 1)
        if isinstance(entry, int):
            items.append(RowPlace("", entry, 1))
            continue
        item, places = next(axes), range(*slice(*entry).indices(size))
        first = places[0] if places else 0
        if places.step == 1:
            items.append(item.moved(first))
        elif not item.moving:
            items.append(RowPlace("", first + places.step * item.offset, 1))
        else:
            items.append(column(f"{first} + {places.step} * ({item})", size))
    return join(items, operand)
