"""Every crossing between host and fake device is caught, and what CuPy can do works."""

from __future__ import annotations

import copy
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
    "host @ device": lambda a: HOST.T @ a,
    "device + list": lambda a: a.__add__([1.0, 2.0, 3.0]),
    "host += device": in_place_host,
    "device += host": lambda a: a.__iadd__(HOST),
    "host[:] = device": lambda a: set_item(HOST.copy(), slice(None), a),
    "device[:] = host": lambda a: set_item(a, slice(None), HOST),
    "device[0] = list": lambda a: set_item(a, 0, [1.0, 2.0, 3.0]),
    "numpy ufunc": lambda a: np.add(a, a),
    "numpy ufunc out": lambda a: np.add(HOST, HOST, out=a),
    "numpy function": lambda a: np.concatenate([a, a]),
    "numpy.asarray": lambda a: np.asarray(a),
    "numpy.take by a device index": lambda a: np.take(HOST, up([0])),
    "host[device]": lambda a: HOST[up([0])],
    "device[host]": lambda a: a[np.array([0, 1])],
    "device[list]": lambda a: a[[0, 1]],
    "device[mask]": lambda a: a[a > 1],
    "device[host, device]": lambda a: a[np.array([0]), up([0])],
    "xp ufunc of host": lambda a: xp.exp(HOST),
    "xp ufunc, host out": lambda a: xp.add(a, a, out=HOST.copy()),
    "xp.sum of host": lambda a: xp.sum(HOST),
    "xp.take of host": lambda a: xp.take(HOST, up([0]), axis=0),
    "xp.concatenate with host": lambda a: xp.concatenate([a, HOST]),
    "xp.concatenate of one device array": lambda a: xp.concatenate(a),
    "xp.stack with a number": lambda a: xp.stack([a[0, 0], 1.0]),
    "xp.einsum with host": lambda a: xp.einsum("ij,ij->i", a, HOST),
    "xp.asarray of host": lambda a: xp.asarray(HOST),
    "xp.array of a list": lambda a: xp.array([1.0, 2.0]),
    "xp.zeros of a device shape": lambda a: xp.zeros(up(3)),
    "xp.full with a device value": lambda a: xp.full((2,), up(3)),
    "xp.reshape to a device shape": lambda a: xp.reshape(a, up([3, 2])),
    "xp.copyto from host": lambda a: xp.copyto(a, HOST),
    "bool": lambda a: bool(a.sum()),
    "if of one element": lambda a: 1 if a[0, 0] > 0 else 2,
    "float": lambda a: float(a[0, 0]),
    "int": lambda a: int(a[0, 0]),
    "list": lambda a: list(a),
    "in": lambda a: 1.0 in a,
    "item": lambda a: a[0, 0].item(),
    "tolist": lambda a: a.tolist(),
    "equal to None": lambda a: a == None,  # noqa: E711
    "pickle": lambda a: pickle.dumps(a),
    "deepcopy": lambda a: copy.deepcopy(a),
    "hash": lambda a: hash(a),
    "%f": lambda a: "%f" % a[0, 0],  # noqa: UP031
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
