"""Kernels that the host's compiler compiles, and matrix products on addresses."""

from __future__ import annotations

import numpy as np
import pytest

from arrows.engine.device import KernelSource, get_device, kernel_source
from arrows.testing.fake import FakeKernelsDevice
from tests.marks import needs_compiler

pytestmark = needs_compiler


def scale(factor: int) -> KernelSource:
    body = f"""
  const float* from = (const float*)WORD(1);
  float* to = (float*)WORD(2);
  ITEMS(i, WORD(0) * 3) to[i] = {factor} * from[i];"""
    return kernel_source(body, words=3, columns=3)


def test_a_launch_is_a_line_of_words() -> None:
    device = get_device("fake-kernels")
    two, three = scale(2), scale(3)
    kernels = device.compile([two, three])
    x = device.to_device(np.arange(12, dtype=np.float32).reshape(4, 3))
    y = device.zeros((4, 3), "float32")
    row = 3 * 4
    words = np.array(
        [
            [1, device.address(x), device.address(y)],
            [0, 0, 0],
            [2, device.address(x) + row, device.address(y) + row],
        ]
    )
    for number in range(3):
        kernels[two.name].bind(words)(number)
    np.testing.assert_array_equal(device.to_numpy(y)[:3], 2 * np.arange(9).reshape(3, 3))
    assert not device.to_numpy(y)[3].any()
    kernels[three.name].bind(words)(0)
    np.testing.assert_array_equal(device.to_numpy(y)[0], [0, 3, 6])


@pytest.mark.parametrize(
    ("loops", "forwards", "backwards"),
    [
        ("ITEMS(i, WORD(0) - 1) to[i] = to[i + 1];", [2, 3, 3], [3, 3, 3]),
        ("ITEMS(i, WORD(0) - 1) to[i + 1] = to[i];", [1, 1, 1], [1, 1, 2]),
        ("ITEMS(i, WORD(0)) to[i] += 1; ITEMS(k, WORD(0)) to[k] *= 10;", [20, 30, 40], [11, 21, 31]),
        ("ITEMS(i, WORD(0)) to[i] *= 2;", [2, 4, 6], [2, 4, 6]),
    ],
)
def test_what_depends_on_the_order_shows_backwards(
    loops: str, forwards: list[int], backwards: list[int]
) -> None:
    source = kernel_source(f"  float* to = (float*)WORD(1);\n  {loops}", words=2, columns=3)
    for device, expected in (
        (get_device("fake-kernels"), forwards),
        (FakeKernelsDevice(backwards=True), backwards),
    ):
        array = device.to_device(np.array([1, 2, 3], "float32"))
        before = device.counts.launches
        device.compile([source])[source.name].bind(np.array([[3, device.address(array)]]))(0)
        assert device.to_numpy(array).tolist() == expected
        assert device.counts.launches == before + 1
