"""Threads take turns with parameters, and a forked process gets a lock that nobody else holds.

A fork waits at most a second for the calls that other threads are in.  It waits because OpenBLAS loses its
threads when a process is forked in the middle of a product: that product then never ends, nor does any
product of the child.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar
from weakref import WeakSet

from arrows.typesys import message

P = ParamSpec("P")
R = TypeVar("R")

_LONGEST_WAIT = 1.0  # seconds; a limit, since a call may itself wait for the thread that forks


class ParameterLock:
    """The lock of all models that share parameters; a thread that holds it may take it again.

    A fork waits for the thread that holds it, a second at most.  A child that was forked meanwhile all the
    same lacks that thread, which may have left parameters and memory half written: it cannot take the lock.

    Attributes:
        updates: grows whenever parameters are changed under the lock.

    >>> lock = ParameterLock()
    >>> with lock.mutex, lock.updating():
    ...     lock.updates
    1
    """

    def __init__(self) -> None:
        self.updates = 0
        self._mutex = threading.RLock()
        self._lost = False
        _locks.add(self)

    @property
    def mutex(self) -> threading.RLock:
        """The lock itself, for a `with`: unlike with a generator, Ctrl-C cannot leave it taken.

        Raises:
            RuntimeError: the process was forked while another thread held it.
        """
        if self._lost:
            raise RuntimeError(
                message(
                    "cannot use a model in this process",
                    reason="it was forked while another thread was using the model, whose parameters may be "
                    "half old, half new here",
                    hint="fork between two calls, or compile the block anew and load parameters",
                )
            )
        if not _no_fork_waits.is_set() and not self._mutex._is_owned():  # type: ignore[attr-defined]
            # Otherwise a thread that calls in a loop would take the lock again before the fork gets it. The
            # thread that holds the lock must not wait here: the fork waits for it.
            _no_fork_waits.wait(_LONGEST_WAIT)
        return self._mutex

    @contextmanager
    def updating(self) -> Iterator[None]:
        """Marks the time in which the holder changes parameters."""
        self.updates += 1
        try:
            yield
        finally:
            self.updates += 1  # after an error too: a part of the parameters may have changed


def locks_parameters(method: Callable[P, R]) -> Callable[P, R]:
    """Decorates a method whose first argument is a model and that changes its parameters: takes their lock.

    If the model's parameters have no lock, such as a plain dict, the method runs without one.
    """

    @wraps(method)
    def locked(*arguments: P.args, **keywords: P.kwargs) -> R:
        model = arguments[1] if len(arguments) > 1 else keywords.get("model")
        lock = getattr(getattr(model, "params", None), "lock", None)
        if not isinstance(lock, ParameterLock):
            return method(*arguments, **keywords)
        with lock.mutex, lock.updating():
            return method(*arguments, **keywords)

    return locked


_locks: WeakSet[ParameterLock] = WeakSet()
_no_fork_waits = threading.Event()
_no_fork_waits.set()
_taken = threading.local()  # the locks that a thread takes for its fork; by thread, as two may fork at once


def _before_fork() -> None:
    deadline = time.monotonic() + _LONGEST_WAIT
    _no_fork_waits.clear()
    _taken.locks = []
    for lock in list(_locks):
        if lock._mutex.acquire(timeout=max(deadline - time.monotonic(), 0.0)):
            _taken.locks.append(lock)


def _after_fork() -> None:
    for lock in _taken.locks:
        lock._mutex.release()
    _taken.locks = []
    _no_fork_waits.set()


def _after_fork_in_child() -> None:
    global _no_fork_waits  # noqa: PLW0603 (another thread may have held the inner lock of the old one)
    _no_fork_waits = threading.Event()
    for lock in _locks:
        lock._lost = lock not in _taken.locks
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
