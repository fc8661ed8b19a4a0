"""Goes through nested data: recursion, and elements of the user's containers.

Examples, results and types may be deeper than the interpreter's stack. So a recursive function is a generator
that yields its calls; `recursive` makes a plain function of it.

Elements are taken by place, and one after another for `Map` and folds.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from copy import copy
from itertools import count, cycle, repeat, tee
from operator import index
from types import FunctionType, GeneratorType, ModuleType
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

import numpy as np

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


# Elements

# Each of these gives all its elements to everybody who asks.
REREADABLE = (list, tuple, dict, str, bytes, range, set, frozenset, np.ndarray)


class IteratorReplay:
    """Iterates over containers of an example, each of which is gone over once, however many blocks read it.

    That makes iterators right, and containers that hand out one iterator again and again: the block that
    returns one runs once, wherever it stands, and its elements are kept for whoever reads them next.

    Example:
        >>> replay, numbers = IteratorReplay(), map(float, "12")
        >>> list(replay(numbers)), list(replay(numbers)), list(replay([1]))
        ([1.0, 2.0], [1.0, 2.0], [1])
    """

    def __init__(self) -> None:
        # By identity, since an iterator need not be hashable. The container is kept beside its start, so that
        # no other object gets its identity.
        self._starts: dict[int, tuple[object, Iterator[Any]]] = {}

    def __call__(self, container: Any) -> Iterator[Any]:
        """An iterator over the elements of a container."""
        if isinstance(container, REREADABLE):
            return iter(container)
        if id(container) not in self._starts:
            self._starts[id(container)] = container, tee(container, 1)[0]
        return copy(self._starts[id(container)][1])

    def clear(self) -> None:
        """Forgets all containers, before the next example."""
        self._starts.clear()


# Iterators that are never used up.
_ENDLESS = (count, cycle, repeat)
_HOLD_NONE = (str, int, float, bytes, type, ModuleType, *_ENDLESS)
_LOOKED_AT = 10_000  # objects of an example


def iterators_in(value: object) -> list[Any]:
    """The iterators that an object is or holds: in containers, arrays, attributes and closures.

    Whoever goes over one uses it up. Of large objects a part is looked at.

    >>> iterators_in({"words": iter("ab"), "length": 2})
    [<str_...iterator object at 0x...>]
    >>> iterators_in([[1, 2], "text"])
    []
    """
    found, todo = [], [value]
    seen: set[int] = set()
    while todo and len(seen) < _LOOKED_AT:
        part = todo.pop()
        if part is None or isinstance(part, _HOLD_NONE) or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, np.ndarray):
            todo.extend(part.flat if part.dtype.hasobject else ())
        elif isinstance(part, FunctionType):
            todo.extend([part.__closure__, part.__defaults__, part.__kwdefaults__])
        elif hasattr(type(part), "__next__"):
            found.append(part)
        else:
            todo.extend(gc.get_referents(part))
    return found


def nth(container: Any, place: Any, from_end: bool = True) -> Any:
    """Returns the element at a place; a negative place counts from the end, or is none.

    Raises:
        TypeError: the container has no places, or this is none.
        IndexError: there is no element at the place.

    >>> nth("tree", -1)
    'e'
    """
    if isinstance(container, Mapping):
        raise TypeError  # `container[0]` would look up a key
    if (number := index(place)) < 0 and not from_end:
        raise IndexError
    return container[number]


def grouped(elements: Iterable[Any], places: Iterable[Any], groups: Iterable[Any]) -> list[list[Any]]:
    """Puts each element into the group at its place; there are as many groups as `groups` has elements.

    Raises:
        TypeError: a place is no integer.
        IndexError: there is no group at a place.
        ValueError: there are more elements than places, or fewer.

    >>> grouped("abc", [2, 0, 2], range(3))
    [['b'], [], ['a', 'c']]
    """
    result: list[list[Any]] = [[] for _ in groups]
    for element, place in zip(elements, places, strict=True):
        nth(result, place, False).append(element)
    return result
