"""Arrays and array modules: what NumPy, CuPy and the strict fake device have in common.

An array lies on the device of the module that made it; arithmetic never mixes devices.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from arrows.typesys import ArrowValueError

HostArray: TypeAlias = npt.NDArray[Any]
"""A NumPy array, which the host can read without waiting for a device."""

Array: TypeAlias = npt.NDArray[Any]
"""A dense array of NumPy, of CuPy, or of the fake device; type checkers see one of NumPy.

`np.asarray`, `int`, `float` and `tolist` read the numbers.  Kernels call them on NumPy's arrays alone: CuPy
refuses or waits for the device, and the fake device refuses.
"""

Function: TypeAlias = Callable[..., Array]


class ArrayModule(Protocol):
    """NumPy, CuPy or the fake device's module.

    Kernels and the engine call what all three have under one name; tests hold every call against the
    signatures of CuPy's functions, and the fake device lacks what CuPy lacks.
    """

    @property
    def ndarray(self) -> type[Any]: ...
    def __getattr__(self, name: str, /) -> Function: ...


HOST: ArrayModule = np
"""NumPy, typed as an `ArrayModule`, so that its functions take any `Array`."""

quiet = np.errstate(all="ignore")
"""Decorates every function that computes: infinities and NaN are ordinary values.  NumPy then neither warns
nor raises, whatever `np.errstate` the caller has set; a device never does."""


def put(result: Array, out: Array | None = None) -> Array:
    """`result`, written to `out` if there is one."""
    if out is None:
        return result
    out[...] = result
    return out


def take(xp: ArrayModule, values: Array, index: Array, axis: int, out: Array | None) -> Array:
    """Takes rows of `values` along an axis, at indices that the caller has checked."""
    if xp is np:  # "clip", since with the default mode, "raise", NumPy writes to a copy of `out` first
        return values.take(index, axis, out, "clip")
    if out is not None and out.flags.c_contiguous:
        return xp.take(values, index, axis=axis, out=out)
    return put(xp.take(values, index, axis=axis), out)


def on_host(array: Array) -> bool:
    """Whether an array is one of NumPy."""
    return isinstance(array, np.ndarray)


def module_of(array: Array) -> ArrayModule:
    """The array module of an array: NumPy, CuPy, or the one that its `__array_namespace__` returns."""
    if on_host(array):
        return HOST
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(array, cupy.ndarray):
        module: ArrayModule = cupy
        return module
    namespace: Callable[[], ArrayModule] | None = getattr(array, "__array_namespace__", None)
    if namespace is not None:
        return namespace()
    raise ArrowValueError(f"cannot tell the device of {type(array).__name__}: use the method that takes `xp`")
