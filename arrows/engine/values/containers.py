"""Elements of the user's containers: by place for `Nth`, and one after another for `Map` and folds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from itertools import tee
from operator import index
from typing import Any


class IteratorReplay:
    """Iterates over containers of an example; an iterator among them can be read from its start repeatedly.

    Several blocks may read the same iterator: the block that returns it runs once, wherever it stands.

    Example:
        >>> replay, numbers = IteratorReplay(), map(float, "12")
        >>> list(replay(numbers)), list(replay(numbers)), list(replay([1]))
        ([1.0, 2.0], [1.0, 2.0], [1])
    """

    def __init__(self) -> None:
        # By identity, since an iterator need not be hashable. The iterator is kept beside its start, so that
        # no other object gets its identity.
        self._starts: dict[int, tuple[object, Iterator[Any]]] = {}

    def __call__(self, container: Any) -> Iterator[Any]:
        """An iterator over the elements of a container."""
        iterator: Iterator[Any] = iter(container)
        if iterator is not container:
            return iterator
        if id(container) not in self._starts:
            self._starts[id(container)] = container, tee(container, 1)[0]
        return copy(self._starts[id(container)][1])

    def clear(self) -> None:
        """Forgets all iterators, before the next example."""
        self._starts.clear()


def nth(container: Any, place: Any) -> Any:
    """Returns the element at a place; a negative place counts from the end.

    Raises:
        TypeError: the container has no places, or this is none.
        IndexError: the place is beyond the end.

    >>> nth("tree", -1)
    'e'
    """
    if isinstance(container, Mapping):
        raise TypeError  # `container[0]` would look up a key
    return container[index(place)]
