"""Writes to many ranges at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.engine.device import ArrayWrite, get_device
from tests.marks import KERNELS, needs_compiler

devices = pytest.mark.parametrize("device", ["cpu", "fake", KERNELS])
TYPES = ["float32", "float64", "bool", "int8", "int16", "int64"]


@devices
@given(data=st.data())
def test_what_is_written_and_what_is_not(device: str, data: Any) -> None:
    on = get_device(device)
    writes, wholes, expected = [], [], []
    for number in range(data.draw(st.integers(0, 40))):
        dtype = data.draw(st.sampled_from(TYPES))
        shape = tuple(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
        before = (np.arange(np.prod(shape)) + number).reshape(shape).astype(dtype)
        key = tuple(slice(*sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))) for n in shape)
        source = (before[key] + 1).astype(dtype) if data.draw(st.booleans()) else None
        after = before.copy()
        after[key] = 0 if source is None else source
        whole = on.to_device(before.copy())
        writes.append(ArrayWrite(whole[key], None if source is None else on.to_device(source)))
        wholes.append(whole)
        expected.append(after)
    on.write(writes)
    for whole, after in zip(wholes, expected, strict=True):
        np.testing.assert_array_equal(ar.to_numpy(whole), after)


@needs_compiler
@pytest.mark.parametrize(("ranges", "launches"), [(0, 0), (1, 1), (16, 1), (17, 2)])
def test_a_launch_writes_16_ranges(ranges: int, launches: int) -> None:
    device = get_device("fake-kernels")
    arrays = [device.empty((3, 2), "float32") for _ in range(ranges)]
    before = device.counts
    device.write([*map(ArrayWrite, arrays), ArrayWrite(device.empty((0, 2), "float32"))])
    assert (device.counts - before).launches == launches
