"""Delays Ctrl-C until the current step is done, so that a saved state always lies between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self


class Interrupts:
    """A context in which the first Ctrl-C only sets `came`; the second one interrupts at once.

    It does nothing in any thread but the main one, since Python delivers signals only there, and nothing if
    the program has installed a signal handler of its own.

    Args:
        held: False makes a context that does nothing.

    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.came
    True
    """

    def __init__(self, *, held: bool = True) -> None:
        self.came = False
        self._held = held

    def __enter__(self) -> Self:
        self._held = (
            self._held
            and threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._held:
            signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # `__enter__` has checked for it

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True


@contextmanager
def undisturbed() -> Iterator[None]:
    """A context for assignments that belong together: Ctrl-C takes effect after them.

    >>> with undisturbed():
    ...     half, other_half = 1, 2
    """
    with Interrupts() as interrupts:
        yield
    if interrupts.came:
        raise KeyboardInterrupt
