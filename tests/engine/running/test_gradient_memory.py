"""The parts of parameters' gradients come together, whichever operations take part in a batch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import get_device, write_arrays
from arrows.engine.device.host_compiler import host_compiler
from arrows.engine.program.instructions import Accumulate, Region
from arrows.engine.running.gradient_memory import GradientMemory, add_gradients, own
from arrows.layers import initializers
from arrows.ops import INVARIANT, Parameter, RowSparse, Var
from arrows.ops.arrays import HostArray
from arrows.typesys import types as T

OWNER = object()
SPEC = Parameter("weight", (4, 3), "float64", initializers.constant(0.0))
KEY = id(OWNER), "weight"


def accumulate(region: Region | None) -> Accumulate:
    shape = SPEC.shape if region is None else tuple(stop - start for start, stop in region)
    return Accumulate(OWNER, SPEC, region, Var(0, T.Tensor(shape, "float64"), INVARIANT))


def box(rows: tuple[int, int], columns: tuple[int, int] = (0, 3)) -> Region:
    return rows, columns


KERNELS = pytest.param(
    "fake-kernels",
    marks=pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler"),
)
REGIONS: dict[str, list[list[Region]]] = {
    "halves": [[box((0, 2)), box((2, 4))]],
    "halves of two operations": [[box((0, 2))], [box((2, 4))]],
    "the same twice": [[box((1, 3)), box((1, 3))]],
    "all of two operations": [[box((0, 4))], [box((0, 4))]],
    "a part and all": [[box((1, 2), (1, 3))], [box((0, 4))]],
    "overlapping": [[box((0, 3)), box((2, 4), (0, 1))], [box((1, 3))]],
}


@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("device_name", ["cpu", "fake", KERNELS])
def test_parts_add_up(name: str, device_name: str) -> None:
    device, regions = get_device(device_name), REGIONS[name]
    accumulates = {o: [accumulate(region) for region in own_regions] for o, own_regions in enumerate(regions)}
    memory = GradientMemory(accumulates, device)
    everyone = list(accumulates)
    for operations in (everyone, everyone[:1], everyone[1:], everyone):  # what a batch left is overwritten
        if not operations:
            continue
        wanted = np.zeros(SPEC.shape)
        batch = memory.begin(operations)
        write_arrays(device, batch.blanks)
        for o in operations:
            values: list[Any] = []
            targets, added = batch.targets(o, len(regions[o])), batch.added(o, len(regions[o]))
            for number, ((a, z), (b, y)) in reversed([*enumerate(regions[o])]):
                value = np.full((z - a, y - b), 1.0 + o + 10 * number)
                wanted[a:z, b:y] += value
                values.insert(0, device.to_device(value))
                target, total = targets[number], added[number]
                assert target is None or total is None
                if target is not None:  # the emitted function writes there
                    target[...] = values[0]
                if total is not None:
                    total += values[0]
                    values[0] = None
            batch.add(o, values)
        assert (device.to_numpy(batch.total()[KEY]) == wanted).all()
    assert len(memory.kept) == 1


def test_parts_that_meet_nothing_before_them_are_written_in_place() -> None:
    regions = REGIONS["halves"][0]
    memory = GradientMemory({0: [accumulate(region) for region in regions]}, get_device("cpu"))
    targets = memory.begin([0]).targets(0, 2)
    assert [target is not None for target in targets] == [True, True]
    memory = GradientMemory({0: [accumulate(box((1, 3)))] * 2}, get_device("cpu"))
    assert [target is not None for target in memory.begin([0]).targets(0, 2)] == [True, False]


def rows(numbers: list[int]) -> RowSparse:
    return RowSparse(np.array(numbers), np.ones((len(numbers), 3)), SPEC.shape)


def dense(gradient: Any) -> HostArray:
    return np.asarray(gradient.to_dense(np) if isinstance(gradient, RowSparse) else gradient)


def test_rows_stay_sparse_until_they_meet_an_array() -> None:
    device = get_device("cpu")
    memory = GradientMemory({0: [accumulate(None)], 1: [accumulate(None)]}, device)
    assert isinstance(memory.zero(KEY, SPEC), RowSparse)
    batch = memory.begin([0, 1])
    assert batch.targets(0, 1) == [None]
    batch.add(0, [rows([1])])
    batch.add(1, [rows([1, 3])])
    (total,) = batch.total().values()
    assert isinstance(total, RowSparse) and memory.kept == []
    assert dense(total)[:, 0].tolist() == [0, 2, 0, 1]

    memory = GradientMemory({0: [accumulate(None)], 1: [accumulate(box((0, 2)))]}, device)
    assert not isinstance(memory.zero(KEY, SPEC), RowSparse)
    batch = memory.begin([0, 1])
    write_arrays(device, batch.blanks)
    (target,) = batch.targets(1, 1)
    assert target is not None
    target[...] = 1.0
    batch.add(0, [rows([1])])
    batch.add(1, [target])
    assert dense(batch.total()[KEY])[:, 0].tolist() == [1, 2, 0, 0]


def test_gradients_of_both_kinds_add_up() -> None:
    device = get_device("cpu")
    kinds = [rows([0, 2]), np.full(SPEC.shape, 2.0)]
    for left, right in [*pairwise(kinds), *pairwise(kinds[::-1]), (kinds[0], kinds[0]), (kinds[1], kinds[1])]:
        before = dense(own(left)), dense(own(right))
        both_dense = not isinstance(left, RowSparse) and not isinstance(right, RowSparse)
        total = add_gradients(device, own(left) if both_dense else left, right)  # the first becomes the sum
        assert isinstance(total, RowSparse) == (isinstance(left, RowSparse) and isinstance(right, RowSparse))
        assert (dense(total) == before[0] + before[1]).all()
        assert (dense(left) == before[0]).all() and (dense(right) == before[1]).all()


@pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
def test_a_product_adds_to_what_other_operations_have_written() -> None:
    device = get_device("fake-kernels")
    memory = GradientMemory({0: [accumulate(box((0, 4)))], 1: [accumulate(box((0, 4)))]}, device)
    batch = memory.begin([0, 1])
    assert batch.added(0, 1) == batch.targets(1, 1) == [None]
    assert batch.added(1, 1)[0] is not None
    # Of one operation, nobody says which part is computed first.
    memory = GradientMemory({0: [accumulate(box((0, 4)))] * 2}, device)
    assert memory.begin([0]).added(0, 2) == [None, None]
