"""Helpers around the Python runtime: garbage collection, cached attributes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pauses the collector of reference cycles; reference counting frees objects as always.

    The collector runs again and again while objects are made, and each run visits the objects that exist.
    Inference makes about forty objects a block, all of which live until it ends, so these runs free nothing
    and take as long as inference itself (`python -m benchmarks infer`). A collector that was off stays off.
    Two threads may pause it at the same time: at worst it starts again early.

    Example:
        >>> import gc
        >>> with gc_paused():
        ...     print(gc.isenabled())
        False
        >>> gc.isenabled()
        True
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class cached_property(Generic[Result]):
    """As `functools.cached_property`, without the lock that it has in Python 3.11.

    All instances of a class share that lock. A process that is forked while another thread holds the lock
    inherits it locked; no thread of its own releases it, so it waits forever.

    Example:
        >>> class Square:
        ...     def __init__(self, side):
        ...         self.side = side
        ...
        ...     @cached_property
        ...     def area(self):
        ...         return self.side**2
        >>> square = Square(3)
        >>> square.area, vars(square)
        (9, {'side': 3, 'area': 9})
    """

    def __init__(self, compute: Callable[[Any], Result]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, instance: object, owner: type | None = None) -> Result:
        if instance is None:
            raise AttributeError(self.compute.__name__)
        result = instance.__dict__[self.compute.__name__] = self.compute(instance)
        return result
