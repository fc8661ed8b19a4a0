"""Where in an example a value was found: what the errors about data print as `tree > right > word`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from arrows.typesys.types import label

# A longer path is printed by its two ends.
_LONGEST = 16


class ExamplePath:
    """A place inside an example, as a chain of steps from the root.

    It follows the *data*: `GetItem` and `Map` step into a part, a block that changes an object without taking
    a part of it (`InputTransform`) does not move, and a tuple remembers the place of each of its items.

    Attributes:
        parent: the place one step up; None at the root.
        step: the last step: a key, or the name of a block; None at the root.
        items: the places of a tuple's items, if the tuple was put together from several places.

    >>> str(ExamplePath().named("tree").child("right").child(3))
    'tree > right > [3]'
    """

    __slots__ = ("items", "parent", "step")

    def __init__(
        self,
        parent: ExamplePath | None = None,
        step: object = None,
        items: tuple[ExamplePath, ...] | None = None,
    ) -> None:
        self.parent = parent
        self.step = step
        self.items = items

    def named(self, name: str) -> ExamplePath:
        """The same place, reached by way of a named block."""
        return ExamplePath(self, _Name(name))

    def child(self, key: object) -> ExamplePath:
        """The place of an item; for an item of a tuple that was put together, the place that it came from."""
        if self.items is not None and isinstance(key, int) and -len(self.items) <= key < len(self.items):
            return self.items[key]
        return ExamplePath(self, key)

    def joined(self, items: tuple[ExamplePath, ...]) -> ExamplePath:
        """This place, for a tuple put together from values that stand at `items`, all of them below it."""
        return ExamplePath(self.parent, self.step, items)

    @property
    def keys(self) -> list[str]:
        """The steps from the root that go into the data, without the names of blocks."""
        return [_text(step) for step in self._steps() if not isinstance(step, _Name)][::-1]

    def __str__(self) -> str:
        steps = [_text(step) for step in self._steps()][::-1]
        if len(steps) > _LONGEST:
            half = _LONGEST // 2
            steps = [*steps[:half], f"... {len(steps) - 2 * half} more ...", *steps[-half:]]
        return " > ".join(steps)

    def _steps(self) -> Iterator[object]:
        """The steps from here up to the root."""
        place = self
        while place.parent is not None:
            yield place.step
            place = place.parent


class _Name(str):
    """The name of a block among the keys of data."""

    __slots__ = ()


def _text(step: Any) -> str:
    if isinstance(step, _Name):
        return str(step)
    if isinstance(step, str):
        return label(step)
    if isinstance(step, slice):
        return f"[{':'.join('' if bound is None else str(bound) for bound in (step.start, step.stop))}]"
    return f"[{step!r}]"
