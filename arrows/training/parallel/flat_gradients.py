"""Adds up the gradients of all ranks: dense ones in one flat buffer, row-sparse ones row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from arrows.engine.device import Device
from arrows.ops import RowSparse
from arrows.ops.arrays import Array, ArrayModule, HostArray
from arrows.training.optimizers.update import Gradient
from arrows.training.parallel.communicator import Communicator
from arrows.training.parameters import as_float


@dataclass(frozen=True, eq=False, slots=True)
class Sums:
    """What all ranks together have.

    Attributes:
        gradients: by parameter name, on the device; dense ones in memory that the next sum writes to.
        loss: a scalar of the device.
        wishes: how many ranks have each.
    """

    gradients: dict[str, Gradient]
    loss: Array
    wishes: HostArray


class Link(Protocol):
    """How gradients travel from rank to rank.

    Attributes:
        xp: the array module of what travels.
        stays: whether it stays on the device.
    """

    @property
    def xp(self) -> ArrayModule: ...
    @property
    def stays(self) -> bool: ...

    def empty(self, size: int, dtype: str) -> Array:
        """A new buffer."""

    def brought(self, array: Array) -> Array:
        """An array of the device as one that travels."""

    def returned(self, array: Array) -> Array:
        """An array that has travelled as one of the device."""

    def tail(self, loss: Array, share: float, wishes: HostArray) -> Array:
        """What travels behind the gradients, `[n]`."""

    def untail(self, tail: Array, dtype: np.dtype[Any], wishes: HostArray) -> tuple[Array, HostArray]:
        """The loss, and how many ranks have each wish, from the sum of the tails."""

    def start_sum(self, buffer: Array) -> Callable[[], object]:
        """See `Communicator.start_sum`."""

    def counts(self, rows: int) -> list[int]:
        """How many rows each rank has."""

    def gather(self, array: Array, counts: Sequence[int]) -> Array:
        """See `Communicator.gather`."""


@dataclass(frozen=True, eq=False, slots=True)
class HostLink:
    """MPI: what travels lies in the host's memory.

    Attributes:
        communicator: connects the ranks.
        device: where gradients are.
    """

    communicator: Communicator
    device: Device

    xp = np
    stays = False

    def empty(self, size: int, dtype: str) -> HostArray:
        return np.empty(size, dtype)

    def brought(self, array: Array) -> HostArray:
        return self.device.to_numpy(array)

    def returned(self, array: Array) -> Array:
        return array if self.device.name == "cpu" else self.device.to_device(np.asarray(array))

    def tail(self, loss: Array, share: float, wishes: HostArray) -> HostArray:
        return np.array([as_float(self.device, loss) * share, *wishes])

    def untail(self, tail: Array, dtype: np.dtype[Any], wishes: HostArray) -> tuple[Array, HostArray]:
        total = np.asarray(tail, np.float64)
        return self.device.to_device(np.array(total[0], dtype)), total[1:]

    def start_sum(self, buffer: Array) -> Callable[[], object]:
        return self.communicator.start_sum(np.asarray(buffer))

    def counts(self, rows: int) -> list[int]:
        counts: list[int] = self.communicator.gather_numbers(np.array([rows]))[:, 0].tolist()
        return counts

    def gather(self, array: Array, counts: Sequence[int]) -> HostArray:
        return self.communicator.gather(np.asarray(array), counts)


@dataclass(slots=True, eq=False)
class FlatGradients:
    """Adds up the gradients of all ranks.

    Attributes:
        link: how they travel.
        buffers: by element type, the flat buffers of the last step, which the next one uses again.
    """

    link: Link
    buffers: dict[str, Array] = field(default_factory=dict)

    def sum(self, gradients: Mapping[str, Gradient], loss: Array, wishes: HostArray, share: float) -> Sums:
        """The sums over all ranks.

        Dense gradients and the loss travel in one all-reduce, or in one for each element type.  While it is
        under way, the rows of row-sparse gradients are gathered.

        Args:
            gradients: of this rank, by parameter name; the same names and kinds on all ranks.
            loss: of this rank.
            wishes: of this rank, 1 or 0.
            share: what gradients and loss of this rank are multiplied by.
        """
        link = self.link
        dense = {name: g for name, g in sorted(gradients.items()) if not isinstance(g, RowSparse)}
        types = sorted({str(gradient.dtype) for gradient in dense.values()}) or ["float64"]
        tail = link.tail(loss, share, wishes)
        waits, places = [], {}
        for dtype in types:
            own = {name: gradient for name, gradient in dense.items() if gradient.dtype == dtype}
            size = sum(int(gradient.size) for gradient in own.values())
            buffer = self._buffer(dtype, size + (int(tail.size) if dtype == types[-1] else 0))
            stop = 0
            for name, gradient in own.items():
                start, stop = stop, stop + int(gradient.size)
                places[name] = dtype, slice(start, stop)
                part = buffer[start:stop].reshape(gradient.shape)
                link.xp.multiply(link.brought(gradient), np.dtype(dtype).type(share), out=part)
            if dtype == types[-1]:
                buffer[size:] = tail
            waits.append(link.start_sum(buffer))
        sums: dict[str, Gradient] = {
            name: self._rows(gradient, share)
            for name, gradient in sorted(gradients.items())
            if isinstance(gradient, RowSparse)
        }
        for wait in waits:
            wait()
        for name, (dtype, place) in places.items():
            sums[name] = link.returned(self.buffers[dtype][place].reshape(dense[name].shape))
        total = self.buffers[types[-1]]
        whole, granted = link.untail(total[int(total.size) - int(tail.size) :], loss.dtype, wishes)
        return Sums({name: sums[name] for name in gradients}, whole, granted)

    def _buffer(self, dtype: str, size: int) -> Array:
        if dtype not in self.buffers or self.buffers[dtype].size != size:
            self.buffers[dtype] = self.link.empty(size, dtype)
        return self.buffers[dtype]

    def _rows(self, gradient: RowSparse, share: float) -> RowSparse:
        """The rows of all ranks: the optimizer adds up those that several have."""
        link = self.link
        own = RowSparse(link.brought(gradient.rows), link.brought(gradient.values), gradient.shape)
        if not link.stays:  # to look for repeated rows would wait for a GPU
            own = own.coalesce(link.xp)
        values = own.values * own.values.dtype.type(share)
        rows = own.rows if own.rows.dtype == np.int64 else own.rows.astype("int64")  # a GPU has 32 bits
        counts = link.counts(rows.shape[0])
        return RowSparse(
            link.returned(link.gather(rows, counts)),
            link.returned(link.gather(values, counts)),
            gradient.shape,
        )
