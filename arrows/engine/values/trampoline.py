"""Recursion without the interpreter's stack: generators that call one another by `yield`."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

R = TypeVar("R")
Recursion: TypeAlias = Generator[Any, Any, R]
"""The calls of a recursive function, as they are wanted; it returns an `R`."""


def trampoline(call: Recursion[R]) -> R:
    """Runs a generator in which `yield f(x)`, with `f` a generator function, is the call of `f`.

    Calls may nest as deep as memory allows.  An exception leaves at once: it does not pass through the
    callers, which would make its traceback as long as the calls are deep.

    Args:
        call: the outermost generator.

    Returns:
        What it returns.

    >>> def depth(n):
    ...     return 0 if n == 0 else 1 + (yield depth(n - 1))
    >>> trampoline(depth(100_000))
    100000
    """
    stack: list[Recursion[Any]] = [call]
    push, pop = stack.append, stack.pop
    send = call.send
    value: Any = None
    while True:
        try:
            called = send(value)
        except StopIteration as done:
            pop()
            if not stack:
                result: R = done.value
                return result
            send = stack[-1].send
            value = done.value
        else:
            push(called)
            send = called.send
            value = None
