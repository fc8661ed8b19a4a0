"""Threads take turns with parameters, and a forked process gets a turn that nobody else holds.

A fork waits for the calls that other threads are in, a second at most: OpenBLAS loses its threads when a
process is forked in the middle of a product, and then neither that product nor any of the child's ends.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast
from weakref import WeakSet

from arrows.typesys.errors import message

_ALL: WeakSet[ParameterLock] = WeakSet()
Method = TypeVar("Method", bound=Callable[..., Any])
_LONGEST_WAIT = 1.0  # seconds; a call may itself be waiting for the thread that forks
_no_fork_waits = threading.Event()
_no_fork_waits.set()
_taken = threading.local()  # the locks that this thread has taken for a fork


class ParameterLock:
    """The lock of all models that share parameters; a thread that holds it may take it again.

    In a process that was forked while another thread held the lock, that thread is gone: the lock is free
    there, and what it was working on is not to be used. If it was changing the parameters, these are half
    old, half new, and whoever takes the lock gets an error.

    Attributes:
        lost_holders: how many holders were lost in forks.  Memory that a lost holder was writing to is not
            used again: whoever keeps memory compares this number with that of the time when he took it.

    >>> lock = ParameterLock()
    >>> with lock.mutex, lock.updating():
    ...     lock.lost_holders
    0
    """

    def __init__(self) -> None:
        self.lost_holders = 0
        self._lock = threading.RLock()
        self._updating = False
        self._torn = False
        _ALL.add(self)

    @property
    def mutex(self) -> threading.RLock:
        """The lock itself, so that an interrupt finds it either taken and to be released, or free.

        Raises:
            RuntimeError: the parameters are half old, half new.
        """
        if self._torn:
            raise RuntimeError(
                message(
                    "cannot use a model in this process",
                    reason="it was forked while another thread was changing the model's parameters, which "
                    "are half old, half new here",
                    hint="fork between two steps of training, or compile the block anew and load parameters",
                )
            )
        if not _no_fork_waits.is_set() and not self._lock._is_owned():  # type: ignore[attr-defined]
            _no_fork_waits.wait(_LONGEST_WAIT)  # or a thread that calls again and again would always be first
        return self._lock

    def taken_by(self, end: float) -> bool:
        """Takes the lock until `end` of the monotonic clock at most: whether it could."""
        return self._lock.acquire(timeout=max(end - time.monotonic(), 0.0))

    def release(self) -> None:
        self._lock.release()

    @contextmanager
    def updating(self) -> Iterator[None]:
        """While the holder changes parameters."""
        self._updating = True
        try:
            yield
        finally:
            self._updating = False

    def forked(self) -> None:
        """Called in a process that has just been forked."""
        if self._lock.acquire(blocking=False):  # it was free, or the thread that forked holds it
            self._lock.release()
            return
        self._lock = threading.RLock()
        self._torn = self._torn or self._updating
        self._updating = False
        self.lost_holders += 1


def locks_parameters(change: Method) -> Method:
    """A method that changes the parameters of a model, its first argument, in the model's turn.

    What has no lock, such as a dict in the place of a model's `params`, goes without.
    """

    @wraps(change)
    def changed(self: Any, model: Any, *arguments: Any, **named: Any) -> Any:
        lock = getattr(getattr(model, "params", None), "lock", None)
        if not isinstance(lock, ParameterLock):
            return change(self, model, *arguments, **named)
        with lock.mutex, lock.updating():
            return change(self, model, *arguments, **named)

    return cast("Method", changed)


def _before_fork() -> None:
    end = time.monotonic() + _LONGEST_WAIT
    _no_fork_waits.clear()
    _taken.lock = []
    for lock in list(_ALL):
        if lock.taken_by(end):
            _taken.lock.append(lock)


def _after_fork() -> None:
    for lock in _taken.lock:
        lock.release()
    _taken.lock = []
    _no_fork_waits.set()


def _after_fork_in_child() -> None:
    global _no_fork_waits  # noqa: PLW0603 (another thread may have held the lock of the old one)
    _no_fork_waits = threading.Event()
    _after_fork()
    for lock in list(_ALL):
        lock.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
