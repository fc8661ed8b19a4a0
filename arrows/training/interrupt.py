"""Ctrl-C that waits for the end of a step, so that what is saved then is the state between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """Within its context the first Ctrl-C only sets `came`; the second interrupts at once.

    It leaves things as they are outside of the main thread, where Python hands out no signals, and where the
    program has a handler of its own.

    Args:
        held: False: do nothing.

    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.came
    True
    """

    def __init__(self, *, held: bool = True) -> None:
        self.came = False
        self._held = held
        self._before: Any = None

    def __enter__(self) -> Self:
        self._held = (
            self._held
            and threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._held:
            self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held:
            signal.signal(signal.SIGINT, self._before)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True


@contextmanager
def undisturbed() -> Iterator[None]:
    """A context for a few assignments that belong together: Ctrl-C comes after them.

    >>> with undisturbed():
    ...     half, other_half = 1, 2
    """
    with Interrupts() as interrupts:
        yield
    if interrupts.came:
        raise KeyboardInterrupt
