"""Threads take turns with parameters; a forked process knows which of them another thread was using."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar
from weakref import WeakSet

from arrows.typesys import message

P = ParamSpec("P")
R = TypeVar("R")


class ParameterLock:
    """The lock of all models that share parameters; a thread that holds it may take it again.

    A child that was forked while another thread held it lacks that thread, which may have left parameters and
    memory half written: it cannot take the lock.

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


def _after_fork_in_child() -> None:
    for lock in _locks:
        lock._lost = not lock._mutex.acquire(blocking=False)
        if not lock._lost:
            lock._mutex.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
