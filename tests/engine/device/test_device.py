"""Devices: transfers, gathers and the transposes of gathers, on every device that is here."""

from __future__ import annotations

import numpy as np
import pytest

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


def test_unknown_device() -> None:
    for device in ("gpu", "cuda:", "cuda:01", "cuda:-1", "cpu:0", None, 3):
        with pytest.raises(ValueError, match="it must be 'cpu', 'cuda', 'cuda:1' or 'auto'"):
            get_device(device)  # type: ignore[arg-type]
