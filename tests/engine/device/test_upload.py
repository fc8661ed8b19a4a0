"""One upload brings everything that the host knows of a batch, of any element type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import Device, Upload, get_device
from arrows.engine.device.device import shared_device
from arrows.testing.fake import Counts
from tests.engine.device import pretend_cupy
from tests.marks import CUDA

ARRAYS: list[Any] = [
    np.arange(3, dtype="uint64") + (1 << 63),  # dropout keys
    np.array([True, False, True]),
    np.arange(6, dtype="float32").reshape(2, 3)[:, ::2],  # not contiguous
    np.array(2.5),
    np.zeros((0, 4), "float32"),
    np.arange(24, dtype="int16").reshape(2, 3, 4).T,
]


@pytest.fixture(params=["cpu", "fake", "pretended cuda", CUDA])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    pretended = request.param == "pretended cuda"
    if pretended:
        pretend_cupy.pretend(monkeypatch)
    yield get_device("cuda" if pretended else request.param)
    if pretended:
        shared_device.cache_clear()


def test_arrays_of_any_type(device: Device) -> None:
    upload = Upload(device)
    index = upload.add(np.arange(5))
    sent = [upload.add_values(array) for array in ARRAYS]
    upload.send()
    assert index.array.dtype == device.index_dtype
    for each, array in zip(sent, ARRAYS, strict=True):
        result = device.to_numpy(each.array)
        assert (result.dtype, result.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(result, array)
        assert each.array is each.array
        assert device.name == "fake" or not array.size or each.address == device.address(each.array)


def test_one_copy() -> None:
    fake = get_device("fake")
    upload, before = Upload(fake), fake.counts
    sent = [upload.add_values(array) for array in ARRAYS]
    upload.send()
    for each in sent:
        assert each.array.shape == each.host.shape
    assert fake.counts - before == Counts(uploads=1)


@pytest.mark.parametrize("arrays", [[], [np.zeros((0, 2))]])
def test_nothing_is_sent_if_there_is_nothing(device: Device, arrays: list[Any]) -> None:
    upload = Upload(device)
    sent = [upload.add_values(array) for array in arrays]
    before = device.counts if device.name == "fake" else None
    upload.send()
    for each in sent:
        assert each.array.shape == (0, 2)
    if before is not None:
        assert device.counts == before
