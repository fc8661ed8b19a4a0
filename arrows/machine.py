"""The machine: the threads of matrix products, and what this installation computes with.

OpenBLAS picks its kernels by processor. A variable in the environment can pin it to kernels of half the
speed, of which `show_config` warns.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import TextIO

import numpy as np
from threadpoolctl import ThreadpoolController

from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.version import __version__

# Environment variables that pin OpenBLAS to a kernel or to cache sizes, whatever the processor is.
PINS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def set_threads(count: int) -> None:
    """Sets the number of threads that NumPy's matrix products use in this process from now on.

    Two threads make a large product almost twice as fast. A small product gains nothing. Beside other busy
    processes its threads wait for each other, which makes the training of a small model several times slower.

    Args:
        count: at least 1.

    Raises:
        ArrowTypeError: `count` is not an integer.
        ArrowValueError: `count` is below 1.

    Warns:
        RuntimeWarning: NumPy's library for matrix products (Apple's Accelerate, say) does not allow it.

    >>> import arrows as ar
    >>> ar.set_threads(1)
    """
    value: object = count
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ArrowTypeError(f"the number of threads must be an integer, not {value!r}")
    if int(value) < 1:
        raise ArrowValueError(f"the number of threads must be at least 1, not {value}")
    libraries = _products().lib_controllers
    for library in libraries:
        library.set_num_threads(int(value))
    if not libraries:
        warnings.warn(
            "the threads of NumPy's library for matrix products cannot be set",
            RuntimeWarning,
            stacklevel=2,
        )


@contextmanager
def limited_to(count: int) -> Iterator[None]:
    """Limits NumPy's matrix products to `count` threads inside a `with` block, where that is possible.

    >>> with limited_to(1):
    ...     threads() == 1 or not settable()
    True
    """
    with _products().limit(limits=count):
        yield


def threads() -> int:
    """The number of threads that a large product may use.

    >>> threads() >= 1
    True
    """
    return max((library.num_threads for library in _products().lib_controllers), default=cores())


def settable() -> bool:
    """Whether the number of threads can be set.

    >>> settable() in (True, False)
    True
    """
    return bool(_products().lib_controllers)


def _products() -> ThreadpoolController:
    """The controller of those libraries for matrix products that this process has loaded so far."""
    return ThreadpoolController().select(user_api="blas")


def cores() -> int:
    """The number of processors that this process may use.

    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def show_config(file: TextIO | None = None) -> None:
    """Prints what this installation computes with, and warns of what slows it down.

    The lines name the versions, the BLAS with its kernel and threads, and say whether numba and CuPy are
    installed.

    Args:
        file: where to print; standard output by default.

    Example:
        >>> import arrows as ar
        >>> ar.show_config()  # doctest: +SKIP
        arrows 1.0.0, Python 3.11.7, NumPy 2.4.6; 2 cores
        openblas 0.3.31 SkylakeX: 2 threads
        numba: not installed; CuPy: not installed
    """
    print(
        f"arrows {__version__}, Python {platform.python_version()}, NumPy {np.__version__}; {cores()} cores",
        file=file,
    )
    for library in _products().lib_controllers:
        kernel = getattr(library, "architecture", "")
        print(f"{library.internal_api} {library.version} {kernel}: {library.num_threads} threads", file=file)
    there = {
        name: "installed" if importlib.util.find_spec(name.lower()) else "not installed"
        for name in ("numba", "CuPy")
    }
    print("; ".join(f"{name}: {word}" for name, word in there.items()), file=file)
    for name in PINS:
        if name in os.environ:
            words = f"{name}={os.environ[name]} pins the BLAS to one kernel; unset it unless you mean that"
            print(f"warning: {words}", file=sys.stderr if file is None else file)
