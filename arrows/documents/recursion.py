"""Finds recursion in documents: objects and arrays that lie within others of their own kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

LONGEST = 4  # steps between an object and the next of its kind that are looked at


@dataclass(frozen=True, slots=True)
class Element:
    """The step from an array to its elements; the step from an object to a field is its key."""


ELEMENT = Element()
JsonObject = dict[str, object]
Step = str | Element
Suffix = tuple[Step, ...]
"""The way from a value to one within it."""


def walk(values: Sequence[object], suffix: Suffix) -> Sequence[object]:
    """The values to which a way leads.

    >>> walk([{"a": [1, 2]}, {"b": 3}, {"a": [4]}], ("a", ELEMENT))
    [1, 2, 4]
    """
    for step in suffix:
        if isinstance(step, Element):
            values = [element for value in values if isinstance(value, list) for element in value]
        else:
            values = [value[step] for value in values if isinstance(value, dict) and step in value]
    return values


def closure(values: Sequence[T], suffixes: Collection[Suffix], kind: type[T]) -> list[T]:
    """Values, and all of a Python type to which ways lead, taken any number of times.

    >>> closure([{"next": {"next": {}}}], [("next",)], dict)
    [{'next': {'next': {}}}, {'next': {}}, {}]
    """
    members, newest = list(values), list(values)
    while newest and suffixes:
        newest = [value for way in suffixes for value in walk(newest, way) if isinstance(value, kind)]
        members += newest
    return members


def repeated_objects(objects: Sequence[JsonObject], taken: Collection[Suffix] = ()) -> list[Suffix]:
    """The ways from objects to objects within them that are of the same kind.

    Objects at the end of a way are of the same kind if they can be gone through by its first key again, and
    share most fields: at least half of all that both have, or, where the way goes no further in these
    samples, four in five and at least two.

    Args:
        objects: at one path of the samples.
        taken: ways that are not to be followed, because they lead to something above.

    >>> tree = {"v": 1, "kids": [{"v": 2, "kids": [{"v": 3}]}, {"v": 4, "kids": []}]}
    >>> repeated_objects([tree])
    [('kids', Element())]
    """
    ways: list[Suffix] = []
    while True:
        members = closure(objects, ways, dict)
        way = _next_way(members, {*ways, *taken})
        if way is None:
            return ways
        ways.append(way)


def _next_way(members: Sequence[JsonObject], closed: Collection[Suffix]) -> Suffix | None:
    """The shortest way, apart from closed ones, to objects of the same kind."""
    fields = _keys(members)
    groups: Mapping[Suffix, Sequence[object]] = {(): members}
    for _ in range(LONGEST):
        longer: dict[Suffix, Sequence[object]] = {}
        for way, values in groups.items():
            steps: list[Step] = [*_keys([value for value in values if isinstance(value, dict)])]
            steps += [ELEMENT] * any(isinstance(value, list) for value in values)
            longer |= {(*way, step): walk(values, (step,)) for step in steps if (*way, step) not in closed}
        groups = longer
        for way, values in groups.items():
            if _same_kind(fields, [value for value in values if isinstance(value, dict)], way[0]):
                return way
    return None


def _same_kind(fields: Mapping[str, None], objects: Sequence[JsonObject], key: Step) -> bool:
    others = _keys(objects)
    if not isinstance(key, str) or key not in others:
        return False
    common = len(fields.keys() & others.keys())
    share = common / len(fields.keys() | others.keys())
    goes_on = any(isinstance(value.get(key), (dict, list)) for value in objects)
    return share >= 0.5 if goes_on else share >= 0.8 and common > 1


def repeats_arrays(arrays: Sequence[list[object]]) -> bool:
    """Whether arrays lie within one another to different depths, as the nodes of a tree do.

    Those of a matrix do not: all numbers are as deep.

    >>> repeats_arrays([["+", ["*", ["-", 1], 2], 3]]), repeats_arrays([[[[1, 2]], [[3]]]])
    (True, False)
    """
    levels: list[Sequence[object]] = [arrays]
    for _ in range(3):
        elements = walk(levels[-1], (ELEMENT,))
        levels.append([value for value in elements if value is not None])
    mixed = any(len({isinstance(value, list) for value in level}) == 2 for level in levels[1:])
    return mixed and any(isinstance(value, list) for value in levels[2])


def _keys(objects: Sequence[JsonObject]) -> dict[str, None]:
    """All keys, in the order in which they first occur."""
    return {key: None for value in objects for key in value}
