"""Devices: transfers, gathers and the transposes of gathers, on every device that is here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arrows.engine.device import Device, get_device, host_array
from arrows.testing.fake import FakeArray
from tests.marks import CUDA

DEVICES = ["cpu", "fake", CUDA]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Device:
    return get_device(request.param)


def test_transfers(device: Device) -> None:
    array = np.arange(4, dtype=np.int32)
    there = device.to_device(array)
    assert device.is_array(there)
    assert device.is_array(array) == (device.name == "cpu")
    np.testing.assert_array_equal(device.to_numpy(there), array)
    np.testing.assert_array_equal(host_array(there), array)
    assert device.zeros((2, 3), "float32").shape == device.empty((2, 3), "float32").shape == (2, 3)
    device.synchronize()
    assert repr(device) == f"get_device({device.name!r})"
    assert get_device(device) is device
    assert get_device(device.name) is device
    with pytest.raises(TypeError):
        device.to_device([1, 2])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        device.to_numpy([1, 2])


def test_host_takes_numbers_and_refuses_the_rest() -> None:
    assert host_array(3) == 3
    assert host_array(np.float32(2)).dtype == np.float32
    assert isinstance(host_array(FakeArray(np.ones(2))), np.ndarray)
    with pytest.raises(TypeError, match="expected an array, got str"):
        host_array("a")


def reduced(device: Device, target: Any, readers: Any, values: Any, **options: Any) -> Any:
    """target[readers[i]] += values[i], by way of a sort."""
    order = np.argsort(readers, kind="stable")
    rows, starts = np.unique(readers[order], return_index=True)
    there = device.to_device(target.copy())
    index = [device.to_device(np.asarray(a, device.index_dtype)) for a in (rows, order, starts)]
    device.scatter_add(there, index[0], device.to_device(values), index[1], index[2], **options)
    return device.to_numpy(there)


@given(
    readers=st.lists(st.integers(0, 7), max_size=40).flatmap(
        lambda short: st.sampled_from([short, short + [3] * 20, short * 30 + [1] * 1500])
    ),
    width=st.sampled_from([(), (1,), (3,), (2, 2), (0,)]),
    name=st.sampled_from(["cpu", "fake"]),
)
def test_add_reduced_is_add_at(readers: list[int], width: tuple[int, ...], name: str) -> None:
    values = np.random.default_rng(len(readers)).normal(size=(len(readers), *width))
    target, index = np.ones((8, *width)), np.array(readers, np.intp)
    expected = target.copy()
    np.add.at(expected, index, values)
    np.testing.assert_allclose(reduced(get_device(name), target, index, values), expected, rtol=0, atol=1e-11)
    longest = int(np.bincount(index, minlength=1).max())
    np.testing.assert_allclose(
        reduced(get_device(name), target, index, values, longest=longest), expected, rtol=0, atol=1e-11
    )


@pytest.mark.gpu
def test_add_reduced_on_cuda() -> None:
    index, values = np.arange(1000) % 7, np.random.default_rng(0).normal(size=(1000, 5))
    expected = np.ones((8, 5))
    np.add.at(expected, index, values)
    np.testing.assert_allclose(
        reduced(get_device("cuda"), np.ones((8, 5)), index, values), expected, atol=1e-11
    )


def test_add_reduced_ignores_other_segments(device: Device) -> None:
    """An infinity in one row must not leak into another (differences of running sums let it)."""
    values = np.array([[np.inf], [1.0], [np.nan], [2.0]])
    result = reduced(device, np.zeros((3, 1)), np.array([0, 1, 2, 1]), values)
    assert result[1] == 3
    assert np.isinf(result[0])
    assert np.isnan(result[2])


def test_unknown_device() -> None:
    for device in ("gpu", "cuda:", "cuda:01", "cuda:-1", "cpu:0", None, 3):
        with pytest.raises(ValueError, match="it must be 'cpu', 'cuda', 'cuda:1' or 'auto'"):
            get_device(device)  # type: ignore[arg-type]
