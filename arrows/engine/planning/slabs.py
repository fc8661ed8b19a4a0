"""Slabs are the arrays of rows that hold the outputs of operations.

Outputs that can meet share a slab: at one port, so that a gather reads one array instead of choosing among
several for each row; in one leaf of the result; in one metric.  Meeting is transitive, so slabs are
the connected components of outputs and their readers.

A slab's rows are its constants first, then the rows of each operation that writes to it.  Constants come
first because their rows are then the same in every batch, however many rows follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.device import Device
from arrows.engine.lowering import Lowered
from arrows.engine.planning.operations import SiteGroups
from arrows.engine.planning.strata import components
from arrows.typesys import ArrowValueError, message, types as T

Output = tuple[int, int]
"""An operation, and the number of one of its outputs."""

Operand = tuple[int, int, int | None]
"""An operation, a leaf of its input, and the sequence that the leaf belongs to (None: one row a node)."""


@dataclass(frozen=True, slots=True)
class Slab:
    """One array of rows.

    Attributes:
        type: what a row is.
        constants: the constants in front.
        outputs: the outputs that follow, in order.
    """

    type: T.Tensor
    constants: tuple[int, ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class PlannedSlabs:
    """The slabs of a model, and who writes to and reads from them.

    Attributes:
        slabs: the slabs.
        outputs: the slab of each output.
        operands: the slab that each operand is gathered from.
        results: the slabs that the leaves of the result and of the taps are read from.
        metrics: the slabs that the metric streams are read from.
        constant_rows: the row of each constant in its slab.
    """

    slabs: tuple[Slab, ...]
    outputs: dict[Output, int]
    operands: dict[Operand, int]
    results: tuple[int, ...]
    metrics: tuple[int, ...]
    constant_rows: HostArray


def plan_slabs(lowered: Lowered, groups: SiteGroups, *, by_type: bool) -> PlannedSlabs:
    """Puts outputs that can meet at a reader into one slab: a block says before any data which can.

    Ordinary code does not: with ``by_type`` all outputs of one type share a slab, which keeps its number when
    more sites are observed.
    """
    firsts, operation_of = groups.firsts, groups.operation
    outputs = [(o, k) for o, site in enumerate(firsts) for k in range(len(site.outputs))]
    members = {output: number for number, output in enumerate(outputs)}
    types = [firsts[o].outputs[k] for o, k in members]
    meets: list[list[int]] = [[] for _ in members]  # by member, those in the same slab

    def read(reader: int, place: int) -> int:
        for site, k in () if by_type else lowered.reaching[place]:
            output = members[operation_of[site], k]
            meets[output].append(reader)
            meets[reader].append(output)
        return reader

    def reader(of: T.Tensor) -> int:
        types.append(of)
        meets.append([])
        return len(meets) - 1

    operands: dict[Operand, int] = {}
    for site in lowered.sites:
        for port in site.ports:
            operand = operation_of[site.index], port.leaf, port.domain
            if operand not in operands:
                operands[operand] = reader(site.trace.inputs[port.leaf].type)
            read(operands[operand], port.place)
    results = [read(reader(leaf.type), leaf.place) for leaf in lowered.streams.leaves]
    metrics = [read(reader(stream.type), stream.place) for stream in lowered.streams.metrics]

    # Slabs are numbered by their first outputs; those that nothing writes to come last, and are empty.
    numbers: dict[object, int] = {}
    keys: Sequence[object] = types if by_type else components(meets)
    slab_of = [numbers.setdefault(key, len(numbers)) for key in keys]
    slab_types = dict(zip(reversed(slab_of), reversed(types), strict=True))
    slab_constants: list[list[int]] = [[] for _ in numbers]
    slab_outputs: list[list[Output]] = [[] for _ in numbers]
    constant_rows = np.zeros(len(lowered.constants), np.int32)
    for (o, k), member in members.items():
        site, slab = firsts[o], slab_of[member]
        if site.kind == "constant":
            ((_, constant),) = site.constants
            constant_rows[constant] = len(slab_constants[slab])
            slab_constants[slab].append(constant)
        else:
            slab_outputs[slab].append((o, k))
    return PlannedSlabs(
        slabs=tuple(
            Slab(slab_types[n], tuple(constants), tuple(outputs))
            for n, (constants, outputs) in enumerate(zip(slab_constants, slab_outputs, strict=True))
        ),
        outputs={output: slab_of[member] for output, member in members.items()},
        operands={operand: slab_of[member] for operand, member in operands.items()},
        results=tuple(slab_of[member] for member in results),
        metrics=tuple(slab_of[member] for member in metrics),
        constant_rows=constant_rows,
    )


def check_slab_types(slabs: Sequence[Slab], device: Device) -> None:
    """Checks that a device's kernels have the element types of slabs.

    Raises:
        ArrowValueError: they have not.
    """
    for dtype in device.lacks.intersection(slab.type.dtype for slab in slabs):
        raise ArrowValueError(
            message(
                f"cannot compute in {dtype} on {device.name!r}",
                reason="its kernels have no arithmetic in that type",
                hint='float_type="float32" takes all numbers as float32; the CPU computes in float16',
            )
        )
