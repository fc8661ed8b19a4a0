"""Every crossing between host and fake device is caught, and what CuPy can do works."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import get_device
from arrows.testing.fake import FakeDeviceError, xp

HOST = np.arange(6.0).reshape(2, 3)


def up(array: Any) -> Any:
    return get_device("fake").to_device(np.asarray(array))


def down(array: Any) -> Any:
    return get_device("fake").to_numpy(array)


def set_item(array: Any, key: Any, value: Any) -> None:
    array[key] = value


def in_place_host(a: Any) -> None:
    host = HOST.copy()
    host += a


CROSSINGS: dict[str, Callable[[Any], Any]] = {
    "host + device": lambda a: HOST + a,
    "device + host": lambda a: a + HOST,
    "host += device": in_place_host,
    "device[:] = host": lambda a: set_item(a, slice(None), HOST),
    "numpy ufunc": lambda a: np.add(a, a),
    "numpy function": lambda a: np.concatenate([a, a]),
    "numpy.asarray": lambda a: np.asarray(a),
    "host[device]": lambda a: HOST[up([0])],
    "device[host]": lambda a: a[np.array([0, 1])],
    "device[mask]": lambda a: a[a > 1],
    "xp ufunc of host": lambda a: xp.exp(HOST),
    "xp.sum of host": lambda a: xp.sum(HOST),
    "xp.concatenate with host": lambda a: xp.concatenate([a, HOST]),
    "xp.asarray of host": lambda a: xp.asarray(HOST),
    "xp.full with a device value": lambda a: xp.full((2,), up(3)),
    "xp.copyto from host": lambda a: xp.copyto(a, HOST),
    "bool": lambda a: bool(a.sum()),
    "float": lambda a: float(a[0, 0]),
    "list": lambda a: list(a),
    "item": lambda a: a[0, 0].item(),
    "equal to None": lambda a: a == None,  # noqa: E711
    "pickle": lambda a: pickle.dumps(a),
    "hash": lambda a: hash(a),
}


@pytest.mark.parametrize("name", CROSSINGS)
def test_crossing_is_refused(name: str) -> None:
    # NumPy's own functions say TypeError themselves, everything of ours says FakeDeviceError, which is one.
    with pytest.raises(TypeError):
        CROSSINGS[name](up(HOST))


@pytest.mark.parametrize(
    "name", ["add.reduceat", "add.at", "unique", "nonzero", "allclose", "array_equal", "bincount"]
)
def test_what_cupy_lacks_or_waits_for_is_absent(name: str) -> None:
    with pytest.raises(AttributeError):
        operator.attrgetter(name)(xp)


def test_take_has_no_mode() -> None:
    with pytest.raises(TypeError):
        xp.take(up(HOST), up([0]), axis=0, mode="clip")
    with pytest.raises(IndexError):
        xp.take(up(HOST), up([2]), axis=0)


def test_floating_flags_stay_silent() -> None:
    """A device sets no flags, so neither does this one."""
    zero = up(np.zeros(2))
    assert np.isneginf(down(xp.log(zero))).all()
    assert np.isnan(down(zero / zero)).all()


def test_errors_say_what_to_do() -> None:
    with pytest.raises(FakeDeviceError, match="bring the value down with to_numpy"):
        float(up(1.0))
    with pytest.raises(FakeDeviceError, match="add: a host array"):
        up(HOST) + HOST
