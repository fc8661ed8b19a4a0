"""Where in an example a value was found: what the errors about data print as `tree > right > word`."""

from __future__ import annotations

from typing import Any

from arrows.typesys.types import label

# A longer path is printed by its two ends.
_LONGEST = 16


class ExamplePath:
    """A place inside an example, as a chain of steps from the root.

    It follows the *data*: `GetItem` and `Map` step down, a change of the object in place (`InputTransform`)
    does not move, and a tuple remembers the place of each of its items.

    Attributes:
        parent: the place one step up; None at the root.
        step: the last step as it is printed; None at the root.
        items: the places of a tuple's items, if it has been put together from several.

    >>> str(ExamplePath().named("tree").down("right").down(3))
    'tree > right > [3]'
    """

    __slots__ = ("items", "parent", "step")

    def __init__(
        self,
        parent: ExamplePath | None = None,
        step: Any = None,
        items: tuple[ExamplePath, ...] | None = None,
    ) -> None:
        self.parent = parent
        self.step = step
        self.items = items

    def named(self, name: str) -> ExamplePath:
        """The same place, reached by way of a named block."""
        return ExamplePath(self, _Name(name))

    def down(self, key: Any) -> ExamplePath:
        """The place of an item; that of a tuple's item if it is known."""
        if self.items is not None and isinstance(key, int) and -len(self.items) <= key < len(self.items):
            return self.items[key]
        return ExamplePath(self, key)

    def over(self, items: tuple[ExamplePath, ...]) -> ExamplePath:
        """The place of a tuple made of things that were found at `items`, all of them below this one."""
        return ExamplePath(self.parent, self.step, items)

    @property
    def steps(self) -> list[str]:
        """The steps from the root, as they are printed."""
        steps = []
        place: ExamplePath | None = self
        while place is not None:
            if place.parent is not None:
                steps.append(_text(place.step))
            place = place.parent
        return steps[::-1]

    @property
    def keys(self) -> list[str]:
        """The steps from the root that go into the data, without the names of blocks."""
        keys = []
        place: ExamplePath | None = self
        while place is not None:
            if place.parent is not None and not isinstance(place.step, _Name):
                keys.append(_text(place.step))
            place = place.parent
        return keys[::-1]

    def __str__(self) -> str:
        steps = self.steps
        if len(steps) > _LONGEST:
            half = _LONGEST // 2
            steps = [*steps[:half], f"... {len(steps) - 2 * half} more ...", *steps[-half:]]
        return " > ".join(steps)


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
