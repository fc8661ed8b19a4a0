"""The machine: the threads of matrix products, and what this installation computes with.

OpenBLAS picks its kernels by processor. A variable in the environment can pin it to kernels of half the
speed, of which `show_config` warns.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from numbers import Integral
from typing import TextIO
from weakref import WeakKeyDictionary

import numpy as np
from threadpoolctl import ThreadpoolController

from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.version import __version__

# Environment variables that pin OpenBLAS to a kernel or to cache sizes, whatever the processor is.
PINS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


# Environment variables by which a user says how many threads there are to be.
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
# All threads must take at most this part of the time of one, since others may want the processors.
_GAIN = 0.9

_told = False  # whether `set_threads` has been called
_limits: list[list[int]] = []  # the number outside of all contexts that are open, and then of each its own
_turn = threading.Lock()
if hasattr(os, "register_at_fork"):  # a forked process must not wait for a thread that it does not have
    os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release)
_counts: WeakKeyDictionary[object, dict[str, int]] = WeakKeyDictionary()  # of each model, what `faster` found
_found: dict[str, str] = {}  # what it found last for each kind of work, in words


def set_threads(count: int) -> None:
    """Sets the number of threads that NumPy's matrix products use in this process from now on.

    Two threads make a large product almost twice as fast. A small product gains nothing. Beside other busy
    processes its threads wait for each other, which makes the training of a small model several times slower.
    So `train` and `Model.predict` try out which number is faster, unless it is set by this function or by
    the environment (`OMP_NUM_THREADS`, `OPENBLAS_NUM_THREADS`); `show_config` says what they have found.

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
    global _told  # noqa: PLW0603 (the threads belong to the process)
    _told = True
    if _limits:
        _limits[-1][:] = [int(value)]
    _set(int(value))
    if not settable():
        warnings.warn(
            "the threads of NumPy's library for matrix products cannot be set", RuntimeWarning, stacklevel=2
        )


@contextmanager
def limited_to(count: int) -> Iterator[None]:
    """Limits NumPy's matrix products to `count` threads inside a `with` block, where that is possible.

    >>> with limited_to(1):
    ...     threads() == 1 or not settable()
    True
    """
    mine = [count]
    with _turn:
        if not _limits:
            _limits.append([threads()])
        _limits.append(mine)
        _set(count)
    try:
        yield
    finally:
        with _turn:  # contexts of several threads of Python end in any order
            _limits[:] = (limit for limit in _limits if limit is not mine)
            _set(*_limits[-1])
            if len(_limits) == 1:
                _limits.clear()


def faster(
    work: str,
    model: object,
    run: Callable[[], object],
    known: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> int:
    """The number of threads, one or all, with which a model takes less time for a kind of work.

    It runs five times, on one thread and on all in turns; the first time, which also plans and takes memory,
    is never the least. Nothing is tried where the user has set the number, nor twice for a model.

    Args:
        work: a word for `show_config`.
        model: what works.
        run: does it.
        known: what was found before, in another process.
        clock: gives seconds; tests hand in their own.

    >>> faster("sleep", object(), lambda: None, known=1)
    1
    """
    most = threads()
    if most == 1 or is_told():
        return most
    counts: dict[str, int] = {}
    with suppress(TypeError):  # a learner of the user's may be what cannot be a key
        counts = _counts.setdefault(model, counts)
    known = known or counts.get(work)
    if known is not None:
        return min(known, most)
    seconds: dict[int, list[float]] = {1: [], most: []}
    for count in (1, most, 1, most, 1):
        with limited_to(count):
            start = clock()
            run()
            seconds[count].append(clock() - start)
    one, all_ = (min(times) for times in seconds.values())
    best = counts[work] = most if all_ < _GAIN * one else 1
    _found[work] = f"{best} of {most} threads (1: {1e3 * one:.3g} ms, {most}: {1e3 * all_:.3g} ms)"
    return best


def is_told() -> bool:
    """Whether the user has said how many threads there are to be, or this installation cannot set them.

    >>> with limited_to(1):
    ...     is_told()
    True
    """
    return _told or bool(_limits) or not settable() or any(os.environ.get(name) for name in VARIABLES)


def threads() -> int:
    """The number of threads that a large product may use.

    >>> threads() >= 1
    True
    """
    return max((library.num_threads for library in _products().lib_controllers), default=cores())


@cache
def one_thread() -> bool:
    """Whether products run on one thread, as `threads` says: found out once for each number that is set.

    >>> with limited_to(1):
    ...     one_thread() == (threads() == 1)
    True
    """
    return threads() == 1


def _set(count: int) -> None:
    one_thread.cache_clear()
    for library in _products().lib_controllers:
        library.set_num_threads(count)


def settable() -> bool:
    """Whether the number of threads can be set.

    >>> settable() in (True, False)
    True
    """
    return bool(_products().lib_controllers)


@cache
def _products() -> ThreadpoolController:
    """The controller of the libraries for matrix products that this process had loaded when it was made."""
    return ThreadpoolController().select(user_api="blas")


def cores() -> int:
    """The number of processors that this process may use.

    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def show_config(file: TextIO | None = None) -> None:
    """Prints what this installation computes with, and warns of what slows it down.

    The lines name the versions, the BLAS with its kernel and threads, the threads with which `train` and
    `predict` have found their last trial to be faster, and say whether numba and CuPy are installed.

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
    for work, found in _found.items():
        print(f"{work}: {found}", file=file)
    there = {
        name: "installed" if importlib.util.find_spec(name.lower()) else "not installed"
        for name in ("numba", "CuPy")
    }
    print("; ".join(f"{name}: {word}" for name, word in there.items()), file=file)
    for name in PINS:
        if name in os.environ:
            words = f"{name}={os.environ[name]} pins the BLAS to one kernel; unset it unless you mean that"
            print(f"warning: {words}", file=sys.stderr if file is None else file)
