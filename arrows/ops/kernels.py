"""What kernels share: writing into `out`, taking rows, testing what module they run on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

quiet = np.errstate(all="ignore")
"""A decorator of all that computes: infinite numbers and NaN are values, and travel; whatever `np.errstate`
the caller has set, NumPy neither warns of them nor raises.  A device does the same."""


def ufunc(name: str) -> Callable[..., Any]:
    """The kernel that is a function of `xp` itself, so that a call costs nothing more.

    >>> ufunc("add")(np) is np.add
    True
    """

    def kernel(xp: Any) -> Any:
        return getattr(xp, name)

    return kernel


def put(result: Any, out: Any) -> Any:
    """`result`, written to `out` if there is one.

    >>> put(np.ones(2), None).tolist()
    [1.0, 1.0]
    """
    if out is None:
        return result
    out[...] = result
    return out


def take(xp: Any, values: Any, index: Any, axis: int, out: Any) -> Any:
    """Rows of `values` along an axis; on NumPy without a second look at the indices, which have been checked.

    >>> take(np, np.array([5.0, 6.0]), np.array([1, 1]), 0, None).tolist()
    [6.0, 6.0]
    """
    if xp is np:
        return np.take(values, index, axis, out, "clip")
    if out is not None and out.flags.c_contiguous:
        return xp.take(values, index, axis=axis, out=out)
    return put(xp.take(values, index, axis=axis), out)


def contiguous(array: Any) -> bool:
    """True if a reshape of the array is a view of it."""
    return bool(array.flags.c_contiguous)
