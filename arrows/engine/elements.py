"""Elements of the user's containers, as `Nth` and `Length` want them."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

from arrows.engine.leaves import describe
from arrows.typesys.quoting import shortened


def nth(container: Any, place: Any) -> Any:
    """The element at a place, negative from the end.

    Raises:
        TypeError: the container has no places, or this is none.
        IndexError: the place is beyond the end.

    >>> nth("tree", -1)
    'e'
    """
    if isinstance(container, Mapping):
        raise TypeError
    return container[index(place)]


def no_nth(container: Any, place: Any, error: Exception) -> str:
    """Why there is no such element, in words.

    >>> no_nth([1, 2], 2, IndexError())
    'there is no element 2 in a list of 2'
    """
    try:
        index(place)
    except TypeError:
        return f"expected an integer as the place of an element, got {describe(place)}"
    if isinstance(error, IndexError):
        return f"there is no element {describe(place)} in {describe(container)}"
    if isinstance(error, TypeError):
        return f"expected a list or another sequence, got {describe(container)}"
    return f"the element {describe(place)}: {type(error).__name__}: {shortened(str(error), 300)}"
