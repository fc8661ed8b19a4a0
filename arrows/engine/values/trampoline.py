"""Recursion without the interpreter's stack: generators that call one another by `yield`."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from types import GeneratorType
from typing import Any, TypeAlias, TypeVar

R = TypeVar("R")
Recursion: TypeAlias = Generator[Any, Any, R]
"""The body of a recursive function, which yields its calls and returns an `R`."""


def trampoline(call: Recursion[R]) -> R:
    """Runs a generator in which `yield f(x)`, with `f` a generator function, is the call of `f`.

    Calls may nest as deep as memory allows.  An exception leaves at once: it does not pass through the
    callers, which would make its traceback as long as the calls are deep.

    Args:
        call: the outermost generator.  Anything else that it yields is sent back unchanged, so that a
            plain function can return its result at once.

    Returns:
        The result of the outermost generator.

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
            value = send(value)
        except StopIteration as done:
            pop()
            if not stack:
                result: R = done.value
                return result
            send = stack[-1].send
            value = done.value
        else:
            if isinstance(value, GeneratorType):
                push(value)
                send = value.send
                value = None


def each(calls: Iterable[Any]) -> Recursion[list[Any]]:
    """Makes calls one after another and lists their results, since a comprehension cannot yield.

    >>> def depths(tree):
    ...     return 1 + max((yield each(depths(branch) for branch in tree)), default=0)
    >>> trampoline(depths([[], [[]]]))
    3
    """
    results = []
    for call in calls:
        results.append((yield call))
    return results
