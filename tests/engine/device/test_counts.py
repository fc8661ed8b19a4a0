"""The fake devices count what they launch, send, bring down and wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import ProductLayout, get_device, kernel_source
from arrows.testing.fake import Counts
from tests.marks import needs_compiler

FAKE = get_device("fake")
XP: Any = FAKE.xp
A = FAKE.to_device(np.arange(6.0).reshape(2, 3))
INDEX = FAKE.to_device(np.array([1, 0], "int32"))


def counted(device: Any, action: Callable[[], object]) -> Counts:
    before = device.counts
    action()
    return device.counts - before


def assign(key: Any, value: Any) -> None:
    XP.zeros_like(A)[key] = value


def add_in_place() -> None:
    a = XP.empty_like(A)
    a += 1


@pytest.mark.parametrize(
    ("launches", "action"),
    [
        (1, lambda: A + 1),
        (1, add_in_place),
        (1, lambda: A @ A.T),
        (2, lambda: XP.exp(A).sum(axis=0)),
        (1, lambda: XP.take(A, INDEX, axis=0)),
        (1, lambda: A[INDEX]),
        (2, lambda: XP.concatenate([A, A, A[:0]])),  # CuPy copies them one by one
        (0, lambda: XP.concatenate([A[:0], A[:0]])),
        (2, lambda: XP.where(A > 1, A, 0)),
        (1, lambda: XP.einsum("ij,ij->i", A, A)),
        (1, lambda: A.T.reshape(6)),  # has to copy
        (2, lambda: assign(slice(None), 1.0)),
        (2, lambda: assign(INDEX, A)),
        (1, lambda: XP.copyto(XP.empty((2, 3)), A)),
        # What needs no launch: views, memory without content, and what is empty.
        (0, lambda: (A.T, A[0], A[:, 1:], A[None], A[0, 0], A.shape)),
        (0, lambda: (A.reshape(3, 2), A.ravel(), A.transpose(), A.view("int64"))),
        (0, lambda: (XP.reshape(A, (6,)), XP.broadcast_to(A, (4, 2, 3)), XP.expand_dims(A, 0))),
        (0, lambda: XP.split(A, 3, axis=1)),
        (0, lambda: (XP.empty((2, 3)), XP.empty_like(A), XP.zeros((0, 3)), A[:0] + 1)),
        (0, lambda: A.astype("float64", copy=False)),
    ],
)
def test_launches(launches: int, action: Callable[[], object]) -> None:
    assert counted(FAKE, action) == Counts(launches=launches)


def test_transfers_and_waiting() -> None:
    assert counted(FAKE, lambda: FAKE.to_device(np.ones(2))) == Counts(uploads=1)
    assert counted(FAKE, lambda: XP.asarray(3.0)) == Counts(uploads=1)
    assert counted(FAKE, lambda: FAKE.to_numpy(A)) == Counts(downloads=1)
    assert counted(FAKE, FAKE.synchronize) == Counts(synchronizations=1)
    assert counted(FAKE, lambda: XP.concatenate([A] * 9)) == Counts(launches=1, uploads=1)  # addresses
    assert counted(FAKE, lambda: XP.flatnonzero(INDEX)) == Counts(launches=1, synchronizations=1)


@needs_compiler
def test_kernels_and_products() -> None:
    device = get_device("fake-kernels")
    source = kernel_source("  ITEMS(i, WORD(0)) ((float*)WORD(1))[i] = 3;", words=2, columns=1)
    kernel = device.compile([source])[source.name]
    x = device.zeros((4,), "float32")
    launch = kernel.bind(np.array([[4, device.address(x)], [0, 0]]))
    assert counted(device, lambda: launch(0)) == Counts(launches=1)
    assert counted(device, lambda: launch(1)) == Counts()
    layout = ProductLayout(dtype="float32", a_stride=2, b_stride=2, c_stride=2)
    product = device.products(layout, np.array([[2, 2, 2, *[device.address(x)] * 3], [0, 2, 2, 0, 0, 0]]))
    assert counted(device, lambda: product(0)) == Counts(launches=1)
    assert counted(device, lambda: product(1)) == Counts()
