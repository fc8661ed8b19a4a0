"""The arena: arrays kept between batches, so that a size seen before is not allocated again."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from arrows.engine.device.device import Device

# A new array gets this much room to spare: the next batch is a little larger as often as not.
_SPARE = 1.25


class Buffer(NamedTuple):
    """An array of an arena: what `Arena.array` takes."""

    name: Hashable
    shape: tuple[int, ...]
    dtype: str


class BufferRows(NamedTuple):
    """Some rows of an array of an arena.

    Attributes:
        buffer: the array.
        first, stop: the first of the rows, and the one after the last.
        shape: what they are seen as; None: as they are.
    """

    buffer: Buffer
    first: int
    stop: int
    shape: tuple[int, ...] | None = None


class Arena:
    """Named arrays on one device that grow and never shrink.

    An array asked for by the same name is the same memory: what was there is overwritten by its next user.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._arrays: dict[tuple[Hashable, Any], Any] = {}

    def array(self, name: Hashable, shape: tuple[int, ...], dtype: Any) -> Any:
        """Returns an array of unspecified content.

        Args:
            name: who wants it; element types are kept apart.
            shape: its shape.
            dtype: its element type, a name or a type object; one name, one of the two.
        """
        size = math.prod(shape)
        kept = self._arrays.get((name, dtype))
        if kept is None or kept.shape[0] < size:
            kept = self._grow((name, dtype), size)
        return kept[:size].reshape(shape)

    def rows(self, rows: BufferRows) -> Any:
        """Returns some rows of an array; those of one array are together, once it has been reserved."""
        array = self.array(*rows.buffer)[rows.first : rows.stop]
        return array if rows.shape is None else array.reshape(rows.shape)

    def reserve(self, buffers: Iterable[Buffer]) -> None:
        """Takes memory for arrays: until others of their names are larger, each call gives the same."""
        for key, size in self._missing(buffers).items():
            self._grow(key, size)

    def _missing(self, buffers: Iterable[Buffer]) -> dict[tuple[Hashable, Any], int]:
        """The sizes of what is not large enough."""
        sizes: dict[tuple[Hashable, Any], int] = {}
        for name, shape, dtype in buffers:
            key, size = (name, dtype), math.prod(shape)
            kept = self._arrays.get(key)
            if (kept is None or kept.shape[0] < size) and sizes.get(key, 0) <= size:
                sizes[key] = size
        return sizes

    def _grow(self, key: tuple[Hashable, Any], size: int) -> Any:
        kept = self._arrays.get(key)
        spare = _with_spare(size, 0 if kept is None else kept.shape[0])
        self._arrays[key] = self.device.empty((spare,), key[1])
        return self._arrays[key]

    def ones(self, count: int, dtype: str) -> Any:
        """Returns so many ones of an element type, which nobody may change."""
        key = ("ones", dtype)
        kept = self._arrays.get(key)
        if kept is None or kept.shape[0] < count:
            kept = self._arrays[key] = self.device.empty((_with_spare(count, count),), dtype)
            kept[...] = 1
        return kept[:count]

    @property
    def bytes(self) -> int:
        """How much memory the arena holds."""
        return int(
            sum(array.shape[0] * np.dtype(dtype).itemsize for (_, dtype), array in self._arrays.items())
        )

    def bytes_with(self, buffers: Iterable[Buffer]) -> int:
        """How much memory the arena would hold with these arrays."""
        total = self.bytes
        for key, size in self._missing(buffers).items():
            kept = self._arrays.get(key)
            held = 0 if kept is None else kept.shape[0]
            total += (_with_spare(size, held) - held) * np.dtype(key[1]).itemsize
        return total

    def clear(self) -> None:
        """Lets go of everything."""
        self._arrays.clear()


def _with_spare(size: int, held: int) -> int:
    """How much is asked for: the first batch may be the only one, or the largest; more will follow a second
    that is larger."""
    return int(size * _SPARE) + 1 if held else max(size, 1)
