"""A step of an optimizer in kernels: one launch for all dense parameters, and two for each table's rows.

The host waits for nothing, and sends tables of addresses only where arrays have moved since the last step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from arrows.engine.device import Device, KernelSource
from arrows.ops import RowSparse
from arrows.ops.arrays import Array
from arrows.training.optimizers.kernel_sources import (
    ADD_SUMS,
    CHUNK,
    GROUPS,
    LANES,
    ROW_SETS,
    SCALE,
    SQUARES,
    SUMS,
    count_source,
    dense_source,
    merge_source,
    rank_source,
    rows_source,
    write_source,
)
from arrows.training.optimizers.rule_code import RuleCode

# So many rows are sorted by rank, each by a thread that compares it with all others: no library's sort, for
# which CuPy waits. More take too long that way.
_RANKED = 1 << 14

_INDEX_TYPES = {"int32": "int", "int64": "long long"}
_FLOATS = {np.dtype("float32"), np.dtype("float64")}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRows:
    """The rows of a gradient in rising order, each row's values added up where it stands first.

    Attributes:
        gradient: as it was.
        rows: integers [m], in which a row may stand more than once; only the first counts.
        values: [m, ...]; zero where a row stands again.
    """

    gradient: RowSparse
    rows: Array
    values: Array


class Recorded(Protocol):
    """What a step does to one parameter.

    Attributes:
        state: the arrays of its state.
        count: how many steps have changed it, or each of its rows.
    """

    @property
    def state(self) -> Mapping[str, Array]: ...
    @property
    def count(self) -> Any: ...


class OptimizerKernels:
    """Updates parameters on one device that has kernels."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._tables: dict[tuple[int, ...], Array] = {}
        self._used: dict[tuple[int, ...], Array] = {}

    def takes(self, *arrays: Array) -> bool:
        """Whether kernels can read and write these arrays: whole rows of floats."""
        return all(array.dtype in _FLOATS and array.flags.c_contiguous for array in arrays)

    def begin(self) -> None:
        """Forgets the tables that the step before did not use; a new step begins."""
        self._tables, self._used = self._used, {}

    def merge(self, gradient: RowSparse) -> MergedRows:
        """Adds up the values of equal rows, without asking how many different ones there are."""
        if gradient.distinct:  # the host has known them
            return MergedRows(gradient=gradient, rows=gradient.rows, values=gradient.values)
        device, xp = self._device, self._device.xp
        count, values = gradient.rows.shape[0], gradient.values
        if count > _RANKED:
            order = xp.argsort(gradient.rows)
            rows = xp.take(gradient.rows, order, axis=0)
        else:
            order, rows = device.empty((count,), "int64"), device.empty((count,), gradient.rows.dtype)
            self._launch(rank_source(_index(rows)), [count, gradient.rows, order, rows])
        sums = device.empty(values.shape, values.dtype)
        if values.size:
            width = values.size // count
            source = merge_source(values.dtype.name, width, _index(rows), _index(order))
            self._launch(source, [count, order, rows, values, sums])
        return MergedRows(gradient=gradient, rows=rows, values=sums)

    def clip_scale(self, dense: Sequence[Array], rows: Sequence[Array], clip_norm: float) -> Array:
        """min(1, clip_norm / norm) of all gradients together, a float64 of the device.

        Args:
            dense: gradients that are the same arrays in each step, as a rule.
            rows: values of row-sparse ones, of which there are others in each step.
            clip_norm: above 0.
        """
        device, threads = self._device, LANES * GROUPS
        row_sets: list[list[Array | int]] = [
            [values.size, values, int(values.dtype.name == "float64")] for values in rows
        ]
        launched = [
            row_sets[:ROW_SETS],
            *(row_sets[n : n + ROW_SETS] for n in range(ROW_SETS, len(rows), ROW_SETS)),
        ]
        count = threads * len(launched)
        sums = device.empty((count + SUMS + 1,), "float64")
        first = device.address(sums)
        second = first + 8 * count
        table = self._table([[array, int(array.dtype.name == "float64")] for array in dense])
        for number, sets in enumerate(launched):
            words: list[Array | int] = [threads, *table, first + 8 * threads * number]
            self._launch(SQUARES, [*words, *(word for row_set in sets for word in row_set)])
            table = [0, 0, 0]  # the dense ones are counted once
        self._launch(ADD_SUMS, [SUMS, first, second, count])
        self._launch(SCALE, [1, second, second + 8 * SUMS, clip_norm])
        return sums[-1:]

    def update(
        self,
        code: RuleCode,
        numbers: Sequence[float],
        changes: Sequence[tuple[Array, Array, Recorded]],
        scale: Array | None,
        unless: Array | None,
    ) -> None:
        """Takes a step on dense parameters.

        Args:
            code: of the rule.
            numbers: those of this step.
            changes: parameter, gradient and state.
            scale: float64 [1], by which gradients are multiplied.
            unless: float64 [1]; where it is 0, nothing changes.
        """
        table = self._table(
            [
                [parameter, gradient, *(change.state[slot] for slot in code.slots)]
                for parameter, gradient, change in changes
            ]
        )
        self._launch(dense_source(code), [*table, unless, scale, *numbers])

    def update_rows(
        self,
        code: RuleCode,
        numbers: Sequence[float],
        parameter: Array,
        rows: MergedRows,
        change: Recorded,
        scale: Array | None,
        unless: Array | None,
    ) -> None:
        """Takes a step on some rows of a parameter, and counts it for them."""
        count = rows.rows.shape[0]
        if not rows.values.size:
            return
        source = rows_source(code, rows.values.size // count, _index(rows.rows))
        slots = [change.state[slot] for slot in code.slots]
        size = parameter.shape[0]
        words = [
            count,
            rows.rows,
            rows.values,
            parameter,
            change.count,
            unless,
            scale,
            size,
            *slots,
            *numbers,
        ]
        self._launch(source, words)
        self._launch(count_source(_index(rows.rows)), [count, rows.rows, change.count, unless, size])

    def write_rows(self, target: Array, rows: MergedRows, *, zeros: bool) -> None:
        """Writes rows into an array of the parameter's shape, or zeros in their place."""
        count = rows.rows.shape[0]
        if rows.values.size:
            source = write_source(rows.values.dtype.name, rows.values.size // count, _index(rows.rows))
            self._launch(source, [count, rows.rows, None if zeros else rows.values, target, target.shape[0]])

    def _table(self, tensors: Sequence[Sequence[Array | int]]) -> list[int]:
        """The words of a table: how many chunks, and where the chunks and the tensors are listed.

        A tensor is its size and what is given; a chunk is the number of its tensor, and its first number.
        """
        sizes = [tensor[0].size for tensor in tensors if not isinstance(tensor[0], int)]
        lines = [
            [size, *(each if isinstance(each, int) else self._device.address(each) for each in tensor)]
            for size, tensor in zip(sizes, tensors, strict=True)
        ]
        key = tuple(word for line in lines for word in line)
        if key not in self._used:
            sent = self._tables.get(key)
            self._used[key] = self._send(lines, sizes) if sent is None else sent
        address = self._device.address(self._used[key])
        return [sum(-(-size // CHUNK) for size in sizes), address + 8 * len(key), address]

    def _send(self, lines: Sequence[Sequence[int]], sizes: Sequence[int]) -> Array:
        chunks = [[number, at] for number, size in enumerate(sizes) for at in range(0, size, CHUNK)]
        words = [word for line in (*lines, *chunks) for word in line]
        return self._device.to_device(np.array(words, np.int64))

    def _launch(self, source: KernelSource, words: Sequence[Array | int | float | None]) -> None:
        line = np.zeros((1, source.words), np.int64)
        for place, word in enumerate(words):
            if isinstance(word, float):
                line[0, place : place + 1].view(np.float64)[0] = word
            elif word is not None:
                line[0, place] = word if isinstance(word, int) else self._device.address(word)
        kernel = self._device.compile([source])[source.name]
        kernel.bind(line)(0)


def _index(rows: Array) -> str:
    return _INDEX_TYPES[rows.dtype.name]
