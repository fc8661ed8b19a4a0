"""Delays Ctrl-C, so that what belongs together is done together."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def undisturbed() -> Iterator[None]:
    """A context for a step, or for assignments that belong together: Ctrl-C takes effect after it.

    A second Ctrl-C does not wait.  The context does nothing in any thread but the main one, since Python
    delivers signals only there, and nothing if the program has installed a signal handler of its own.

    >>> with undisturbed():
    ...     half, other_half = 1, 2
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    came = False

    def take(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    signal.signal(signal.SIGINT, take)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt
