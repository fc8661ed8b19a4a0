"""Helpers around the Python runtime: garbage collection, cached attributes, refusal of old pickles."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NoReturn, TypeVar

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


def refusal_of(module: str, names: Collection[str], what: str, hint: str) -> Callable[[str], NoReturn]:
    """Makes the `__getattr__` of a module that no longer has `names`, to which old pickles refer.

    For these names it raises `pickle.UnpicklingError` instead of Python's AttributeError. The message says
    what such a pickle contains (`what`) and what to do instead (`hint`).

    >>> refusal_of("arrows.x", {"Old"}, "a set", "prepare it again")("Old")
    Traceback (most recent call last):
    ...
    _pickle.UnpicklingError: an earlier version of arrows pickled a set here; prepare it again
    """

    def refuse(name: str) -> NoReturn:
        if name in names:
            raise pickle.UnpicklingError(f"an earlier version of arrows pickled {what} here; {hint}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return refuse
