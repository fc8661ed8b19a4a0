"""Threads take turns with parameters, and a forked process gets a turn that nobody else holds."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast
from weakref import WeakSet

from arrows.typesys.errors import message

_ALL: WeakSet[Turns] = WeakSet()
Method = TypeVar("Method", bound=Callable[..., Any])


class Turns:
    """The lock of all models that share parameters; a thread that holds it may take it again.

    In a process that was forked while another thread held the lock, that thread is gone: the lock is free
    there, and what it was working on is not to be used. If it was changing the parameters, these are half
    old, half new, and whoever takes the lock gets an error.

    Attributes:
        losses: how many holders were lost in forks. What a holder works on belongs to the number of its time.

    >>> turns = Turns()
    >>> with turns.lock, turns.updating():
    ...     turns.losses
    0
    """

    def __init__(self) -> None:
        self.losses = 0
        self._lock = threading.RLock()
        self._updating = False
        self._torn = False
        _ALL.add(self)

    @property
    def lock(self) -> threading.RLock:
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
        return self._lock

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
        self.losses += 1


def in_turn(change: Method) -> Method:
    """A method that changes the parameters of a model, its first argument, in the model's turn.

    What has no turns, such as a dict in the place of a model's `params`, goes without.
    """

    @wraps(change)
    def changed(self: Any, model: Any, *arguments: Any, **named: Any) -> Any:
        turns = getattr(getattr(model, "params", None), "turns", None)
        if not isinstance(turns, Turns):
            return change(self, model, *arguments, **named)
        with turns.lock, turns.updating():
            return change(self, model, *arguments, **named)

    return cast("Method", changed)


def _forked() -> None:
    for turns in list(_ALL):
        turns.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
