"""Places in a row: expressions in C that say which number is read, along with what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
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

    def moved(self, by: int) -> Column:
        """The place so much further on."""
        return Column(self.moving, self.offset + by, self.length)


def column(expression: str, size: int) -> Column:
    """A place in a row of so many numbers."""
    return Column("", 0, 1) if size <= 1 else Column(f"({expression})", 0, size)


def place(row: str, size: int, at: Column) -> str:
    """Where a number lies, of rows that lie together."""
    return f"{row} * {size} + {at}" if size > 1 else row


def quotient(at: Column, size: int, count: int) -> Column:
    """The place divided by a number."""
    if size == 1:
        return at
    if not at.moving:
        return Column("", at.offset // size, 1)
    return column(f"({at}) / {size}", count)


def remainder(at: Column, size: int) -> Column:
    """The rest of the place divided by a number."""
    if size == 1:
        return Column("", 0, 1)
    if not at.moving:
        return Column("", at.offset % size, 1)
    return column(f"({at}) % {size}", size)


def split(at: Column, shape: Sequence[int]) -> list[Column]:
    """The place along each axis."""
    if len(shape) == 1:
        return [at]
    items, size = [], prod(shape)
    for axis, count in enumerate(shape):
        size //= max(count, 1)
        outer = quotient(at, size, prod(shape[: axis + 1]))
        items.append(outer if axis == 0 else remainder(outer, count))
    return items


def join(items: Sequence[Column], shape: Sequence[int]) -> Column:
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
        return Column("", offset, 1)
    return Column(f"({' + '.join(parts)})", offset, max(total - offset, 1))


def spread(at: Column, shape: Sequence[int], operand: Sequence[int]) -> Column:
    """The place of an operand that is spread over a shape of as many axes."""
    if tuple(shape) == tuple(operand):
        return at
    if prod(operand) == 1:
        return Column("", 0, 1)
    items = [
        Column("", 0, 1) if own == 1 else item for item, own in zip(split(at, shape), operand, strict=True)
    ]
    return join(items, operand)


def sliced(at: Column, shape: Sequence[int], key: Sequence[Any], operand: Sequence[int]) -> Column:
    """The place of an operand that a slice reads."""
    items, axes = [], iter(split(at, shape))
    for axis, size in enumerate(operand):
        entry = key[axis] if axis < len(key) else (0, size, 1)
        if isinstance(entry, int):
            items.append(Column("", entry, 1))
            continue
        item, places = next(axes), range(*slice(*entry).indices(size))
        first = places[0] if places else 0
        if places.step == 1:
            items.append(item.moved(first))
        elif not item.moving:
            items.append(Column("", first + places.step * item.offset, 1))
        else:
            items.append(column(f"{first} + {places.step} * ({item})", size))
    return join(items, operand)
