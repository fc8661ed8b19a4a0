"""Adds up the gradients of all ranks: dense ones in one flat buffer, row-sparse ones row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from arrows.engine.device import Device
from arrows.ops import RowSparse
from arrows.ops.arrays import Array, HostArray
from arrows.training.optimizers.update import Gradient
from arrows.training.parallel.communicator import Communicator


@dataclass(slots=True, eq=False)
class FlatGradients:
    """Adds up the gradients of all ranks.

    Attributes:
        communicator: connects the ranks.
        buffers: by element type, the flat buffers of the last step, which the next one uses again.
    """

    communicator: Communicator
    buffers: dict[str, HostArray] = field(default_factory=dict)

    def sum(
        self, device: Device, gradients: Mapping[str, Gradient], numbers: HostArray, share: float
    ) -> tuple[dict[str, Gradient], HostArray]:
        """The sums over all ranks, of gradients and of some numbers beside them.

        Dense gradients and numbers travel in one all-reduce, or in one for each element type.  While it is
        under way, the rows of row-sparse gradients are gathered.

        Args:
            device: where the gradients are.
            gradients: of this rank, by parameter name; the same names and kinds on all ranks.
            numbers: of this rank, float64; they are rounded to the element type of the gradients.
            share: what the gradients of this rank are multiplied by.

        Returns:
            Gradients on the device, dense ones in memory that the next call writes to; and the numbers.
        """
        dense = {name: g for name, g in sorted(gradients.items()) if not isinstance(g, RowSparse)}
        types = sorted({str(gradient.dtype) for gradient in dense.values()}) or ["float64"]
        waits, places = [], {}
        for dtype in types:
            own = {name: gradient for name, gradient in dense.items() if gradient.dtype == dtype}
            size = sum(int(gradient.size) for gradient in own.values())
            tail = numbers if dtype == types[-1] else numbers[:0]
            buffer = self._buffer(dtype, size + len(tail))
            stop = 0
            for name, gradient in own.items():
                start, stop = stop, stop + int(gradient.size)
                places[name] = dtype, slice(start, stop)
                part = buffer[start:stop].reshape(gradient.shape)
                np.multiply(device.to_numpy(gradient), buffer.dtype.type(share), out=part)
            buffer[size:] = tail
            waits.append(self.communicator.start_sum(buffer))
        sums: dict[str, Gradient] = {
            name: self._rows(device, gradient, share)
            for name, gradient in sorted(gradients.items())
            if isinstance(gradient, RowSparse)
        }
        for wait in waits:
            wait()
        for name, (dtype, place) in places.items():
            part = self.buffers[dtype][place].reshape(dense[name].shape)
            sums[name] = part if device.name == "cpu" else device.to_device(part)
        total = self.buffers[types[-1]]
        return {name: sums[name] for name in gradients}, total[len(total) - len(numbers) :].astype(np.float64)

    def _buffer(self, dtype: str, size: int) -> HostArray:
        if dtype not in self.buffers or len(self.buffers[dtype]) != size:
            self.buffers[dtype] = np.empty(size, dtype)
        return self.buffers[dtype]

    def _rows(self, device: Device, gradient: RowSparse, share: float) -> RowSparse:
        """The rows of all ranks, each row of a rank once: the optimizer adds up those of several ranks."""
        host = RowSparse(device.to_numpy(gradient.rows), device.to_numpy(gradient.values), gradient.shape)
        own = host.coalesce(np)
        rows, values = np.asarray(own.rows, np.int64), np.asarray(own.values)
        values = values * values.dtype.type(share)
        counts = self.communicator.gather_numbers(np.array([len(rows)]))[:, 0].tolist()
        return RowSparse(
            _sent(device, self.communicator.gather(rows, counts)),
            _sent(device, self.communicator.gather(values, counts)),
            gradient.shape,
        )


def _sent(device: Device, array: HostArray) -> Array:
    return array if device.name == "cpu" else device.to_device(array)
