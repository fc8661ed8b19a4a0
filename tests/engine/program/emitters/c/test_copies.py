"""Fills, copies of rows, and sums of gradients by row, executed through the host's compiler."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import KernelSource
from arrows.engine.device.host_compiler import HostLibrary, host_compiler
from arrows.engine.device.kernel import PRELUDE
from arrows.engine.program.emitters.c import copy_kernel, fill_kernel, segment_sum_kernel

pytestmark = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")


def run(source: KernelSource, *words: Any) -> None:
    """Runs a kernel on numbers and arrays."""
    table = [word.ctypes.data if isinstance(word, np.ndarray) else word for word in words]
    assert len(table) == source.words
    line = np.array(table, np.int64)
    HostLibrary(PRELUDE + source.text).function(source.name)(ctypes.c_void_p(line.ctypes.data))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64", "bool"])
def test_fills(dtype: str) -> None:
    array = np.full((4, 3), 1, dtype)
    run(fill_kernel(3, dtype), 3, array)
    assert array.tolist() == [[0, 0, 0]] * 3 + [[1, 1, 1]]


def test_a_fill_with_infinity() -> None:
    array = np.zeros((2, 3), np.float32)
    run(fill_kernel(3, "float32", -np.inf), 2, array)
    assert np.isneginf(array).all()


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("indexed", [False, True])
def test_copies_of_parts_of_rows(dtype: str, indexed: bool) -> None:
    source = np.random.default_rng(0).integers(0, 2, (5, 7)).astype(dtype)
    target, expected = np.ones((3, 6), dtype), np.ones((3, 6), dtype)
    index = np.array([4, 0, 4], np.int32)
    expected[:, :4] = source[index, :4] if indexed else source[:3, :4]
    run(copy_kernel(4, dtype), 3, target, 6, source, 7, index if indexed else 0)
    assert np.array_equal(target, expected)


def test_sums_of_gradients_keep_float32s_digits() -> None:
    count = 100_000
    values = np.full((count, 1), 0.1, np.float32)
    target = np.array([[1.0], [2.0]], np.float32)
    rows, order = np.array([1], np.int32), np.arange(count, dtype=np.int32)
    run(
        segment_sum_kernel(1, "float32"),
        1, target, rows, values, order, np.array([0, count], np.int32),
    )  # fmt: skip
    assert target[0] == 1 and abs(float(target[1, 0]) - 10_002) < 0.01
