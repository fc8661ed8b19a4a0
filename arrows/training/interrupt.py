"""Delays Ctrl-C until the current step is done, so that a saved state always lies between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """A context in which the first Ctrl-C only sets `came`; the second one interrupts at once.

    It does nothing in any thread but the main one, since Python delivers signals only there, and nothing if
    the program has installed a signal handler of its own.

    Args:
        held: False makes a context that does nothing.
        terminated: SIGTERM counts as Ctrl-C: what ends the ranks of a job sends it.

    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.came
    True
    """

    def __init__(self, *, held: bool = True, terminated: bool = False) -> None:
        self.came = False
        self._at_once = False
        self._usual: dict[int, Any] = {}
        if held:
            self._usual[signal.SIGINT] = signal.default_int_handler
        if held and terminated:
            self._usual[signal.SIGTERM] = signal.SIG_DFL

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        self._usual = {
            number: usual
            for number, usual in self._usual.items()
            if main and signal.getsignal(number) is usual
        }
        for number in self._usual:
            signal.signal(number, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, usual in self._usual.items():
            signal.signal(number, usual)  # `__enter__` has checked for it

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """A context in which the first Ctrl-C interrupts at once, and so does one that came before it."""
        self._at_once = True
        try:
            if self.came:
                raise KeyboardInterrupt
            yield
        finally:
            self._at_once = False

    def _take(self, number: int, frame: FrameType | None) -> None:
        again, self.came = self.came, True
        if again or self._at_once:
            raise KeyboardInterrupt


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
