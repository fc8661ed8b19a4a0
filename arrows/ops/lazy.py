"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class once(Generic[Result]):
    """As `functools.cached_property`, without the lock that it has in Python 3.11.

    All objects share that lock, and a process that is forked while another thread holds it waits for ever.

    >>> class Square:
    ...     def __init__(self, side):
    ...         self.side = side
    ...
    ...     @once
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
