"""Recursion without the interpreter's stack: examples, results and types may be deeper than that.

A recursive function is a generator that yields its calls; `recursive` makes a plain function of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from types import GeneratorType
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Recursion: TypeAlias = Generator[Any, Any, R]
"""The body of a recursive function, which yields its calls and returns an `R`."""


class recursive(Generic[P, R]):
    """A function without a limit to recursion, of a generator function that yields its recursive calls.

    Args:
        call: the generator function; inside of it, and of others, ``yield f.call(x)`` calls this one.

    >>> @recursive
    ... def depth(tree):
    ...     return 1 + max((yield each(map(depth.call, tree))), default=0)
    >>> depth([[], [[]]])
    3
    """

    def __init__(self, call: Callable[P, Recursion[R]]) -> None:
        self.call = call

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        return trampoline(self.call(*arguments, **named))


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
