"""Splits the time of a call among the functions that it passes through."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any


class Stopwatch:
    """Counts all time for the innermost part that is running.

    Args:
        parts: (class or module, name of a function that it defines) -> the part that its calls belong to.
        rest: the part that all other time belongs to.
        clock: tells the time in seconds.

    >>> class Shop:
    ...     def sell(self):
    ...         pass
    >>> watch = Stopwatch({(Shop, "sell"): "sale"}, "rest")
    >>> with watch.running():
    ...     Shop().sell()
    >>> sorted(watch.seconds)
    ['rest', 'sale']
    """

    def __init__(
        self,
        parts: Mapping[tuple[object, str], str],
        rest: str,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.seconds: dict[str, float] = dict.fromkeys([rest, *parts.values()], 0.0)
        self._parts, self._clock = parts, clock
        self._open = [rest]
        self._since = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """A context in which the stopwatch runs; afterwards the functions are as before."""
        functions = {(owner, name): getattr(owner, name) for owner, name in self._parts}
        try:
            for (owner, name), function in functions.items():
                setattr(owner, name, self._timed(function, self._parts[owner, name]))
            self._since = self._clock()
            yield
        finally:
            self._count()
            for (owner, name), function in functions.items():
                setattr(owner, name, function)

    def _timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        @wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            self._count()
            self._open.append(part)
            try:
                return function(*arguments, **options)
            finally:
                self._count()
                self._open.pop()

        return timed

    def _count(self) -> None:
        """Counts the time since the last count for the innermost part."""
        now = self._clock()
        self.seconds[self._open[-1]] += now - self._since
        self._since = now
