"""Tools for Python itself: a pause of the garbage collector, cached attributes, refusal of old pickles."""

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

    The collector runs again and again while objects are made, and each time it visits the objects that are
    there. Inference makes about forty objects a block, all of which live until it ends, so the visits free
    nothing and take as long as inference itself (`python -m benchmarks infer`). Whoever paused the collector
    starts it again. A collector that was off stays off. Two threads may pause it at the same time: at worst
    it comes back early.

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

    All instances of a class share that lock. A process that is forked while another thread holds it inherits
    a lock that nobody releases, and waits for ever.

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
    """The `__getattr__` of a module that lost `names`, which pickles of earlier versions refer to.

    It raises `pickle.UnpicklingError` for these names, where Python would say that the module has no such
    attribute; `what` is what such a pickle holds, `hint` what to do instead.

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
