"""What sample documents have at each path: a schema, read from the samples alone.

Nothing is decided here; `decisions.py` says which block reads what.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

from arrows.documents.readers import entries, json_type
from arrows.documents.recursion import (
    ELEMENT,
    JsonObject,
    Step,
    Suffix,
    closure,
    repeated_objects,
    repeats_arrays,
    walk,
)
from arrows.typesys import InputError
from arrows.typesys.quoting import quoted, shortened

T = TypeVar("T")

ROOT = "$"
MOST_FIELDS = 2000
_RARE_FIELDS = 200  # an object with more keys than these, of which each is rare, has data as its keys
_RARE = 0.1
_PLAIN = re.compile(r"[^.\[\]'\"$\s]([^.\[\]'\"$]*[^.\[\]'\"$\s])?")


@dataclass(frozen=True, slots=True)
class ObjectSchema:
    """The objects at a path.

    Attributes:
        count: how many there are, those below in the same recursion included.
        fields: by key, in the order in which they first occur.
        recursive: whether such objects lie within one another.
        ignored: the keys of fields that were not to be read.
    """

    count: int
    fields: Mapping[str, Schema]
    recursive: bool = False
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArraySchema:
    """The arrays at a path.

    Attributes:
        lengths: of each array, those below in the same recursion included.
        element: of all of them.
        recursive: whether such arrays lie within one another.
        keyed: whether they are the fields of objects whose keys are data.
    """

    lengths: Sequence[int]
    element: Schema
    recursive: bool = False
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class RepeatedSchema:
    """Objects or arrays that are of the same kind as those at a path above.

    Attributes:
        head: that path.
        count: how many there are.
    """

    head: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What the samples have at one path, by JSON type.

    Attributes:
        path: such as `author.name` or `tags[]`; `$` is the document itself.
        count: how many values there are, nulls included.
        missing: how many objects lack the field.
        nulls: how many values are null.
        booleans, numbers, texts: the values.
        objects, arrays: what is in them; None if there are none.
        deeper: how many objects and arrays were not read, because they lie too deep, by JSON type.
    """

    path: str
    count: int
    missing: int = 0
    nulls: int = 0
    booleans: Sequence[bool] = ()
    numbers: Sequence[int | float] = ()
    texts: Sequence[str] = ()
    objects: ObjectSchema | ArraySchema | RepeatedSchema | None = None
    arrays: ArraySchema | RepeatedSchema | None = None
    deeper: Mapping[str, int] = field(default_factory=dict)

    @property
    def types(self) -> tuple[str, ...]:
        """The JSON types that occur, without null."""
        present = {
            "boolean": self.booleans,
            "number": self.numbers,
            "text": self.texts,
            "array": self.arrays or "array" in self.deeper,
            "object": self.objects or "object" in self.deeper,
        }
        return tuple(name for name, values in present.items() if values)


def below(path: str, key: str) -> str:
    """The path of a field.

    >>> below("$", "author"), below("author", "first name"), below("tags[]", "a.b")
    ('author', 'author.first name', "tags[]['a.b']")
    """
    if not _PLAIN.fullmatch(key):
        return f"{'' if path == ROOT else path}[{key!r}]"
    return key if path == ROOT else f"{path}.{key}"


def paths_of(schema: Schema) -> Iterator[str]:
    """All paths below a schema, itself and what was ignored included."""
    yield schema.path
    if isinstance(schema.objects, ObjectSchema):
        yield from (below(schema.path, key) for key in schema.objects.ignored)
        for field in schema.objects.fields.values():
            yield from paths_of(field)
    for values in (schema.objects, schema.arrays):
        if isinstance(values, ArraySchema):
            yield from paths_of(values.element)


Places = Mapping[tuple[type, Suffix], str]
"""The ways from a value to arrays (`list`) or objects (`dict`) of a kind above, and the path of that kind."""


Kind = tuple[str, type]
"""Objects (`dict`) or arrays (`list`) that repeat, by the path of their head and their type."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """What belongs to the kinds of objects and arrays that repeat.

    Attributes:
        members: the identities of the values that were read at the head of each kind.
        strays: of each kind, values that belong to it though no way leads from its head to them: they lie
            within another recursion on the way.
        new_strays: the same, as they turn up.
    """

    strays: Mapping[Kind, Sequence[object]] = field(default_factory=dict)
    members: dict[Kind, set[int]] = field(default_factory=dict)
    new_strays: dict[Kind, list[object]] = field(default_factory=dict)

    def closure(self, values: Sequence[T], ways: Collection[Suffix], path: str, kind: type[T]) -> list[T]:
        """All values of a kind, which are read at its head."""
        members = closure(values, ways, kind)
        identities = set(map(id, members))
        for stray in self.strays.get((path, kind), ()):
            if id(stray) not in identities and isinstance(stray, kind):
                more = [value for value in closure([stray], ways, kind) if id(value) not in identities]
                members += more
                identities.update(map(id, more))
        if ways:
            self.members[path, kind] = identities
        return members

    def require(self, values: Sequence[object], head: str, kind: type) -> None:
        """Notes which of the values that repeat a kind were not read at its head."""
        strays = [value for value in values if id(value) not in self.members[head, kind]]
        if strays:
            self.new_strays.setdefault((head, kind), []).extend(strays)

    def next_round(self) -> Repeats:
        """The same for reading again, with all strays."""
        kinds = dict.fromkeys([*self.strays, *self.new_strays])
        return Repeats({kind: [*self.strays.get(kind, ()), *self.new_strays.get(kind, ())] for kind in kinds})


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaReader:
    """How samples are read.

    Attributes:
        depth: how many arrays and objects may lie within one another, recursions apart.
        ignored: paths of fields that are not read.
        keyed: paths of objects whose keys are data.
        repeats: what belongs to recursions.
    """

    depth: int
    ignored: Collection[str] = ()
    keyed: Collection[str] = ()
    repeats: Repeats = field(default_factory=Repeats)

    def read(self, samples: Sequence[object]) -> Schema:
        """The schema of samples.

        Raises:
            InputError: a value that JSON does not have, a number that is not finite, or an object whose keys
                are data; it names the path.
        """
        repeats = Repeats()
        while True:
            schema = replace(self, repeats=repeats)._schema(samples, ROOT, 0, {}, missing=0)
            if not repeats.new_strays:
                return schema
            repeats = repeats.next_round()

    def _schema(
        self, values: Sequence[object], path: str, depth: int, above: Places, *, missing: int
    ) -> Schema:
        """The schema of the values at a path."""
        kinds = dict.fromkeys(map(type, values))
        found: dict[type, list[Any]] = {kind: [v for v in values if type(v) is kind] for kind in kinds}
        _require_json(found, path)
        numbers = [value for value in values if type(value) is int or type(value) is float]
        _require_finite(numbers, path)
        repeated = {kind: head for (kind, way), head in above.items() if not way}
        parts: dict[type, Any] = {}
        deeper: dict[str, int] = {}
        for kind, name in ((dict, "object"), (list, "array")):
            nested = found.get(kind, [])
            if nested and kind in repeated:
                self.repeats.require(nested, repeated[kind], kind)
                parts[kind] = RepeatedSchema(repeated[kind], len(nested))
            elif nested and depth >= self.depth:
                deeper[name] = len(nested)
            elif nested:
                keyed = kind is dict and path in self.keyed
                read = self._keyed if keyed else self._fields if kind is dict else self._elements
                parts[kind] = read(nested, path, depth, above)
        return Schema(
            path=path,
            count=len(values),
            missing=missing,
            nulls=len(found.get(type(None), [])),
            booleans=found.get(bool, []),
            numbers=numbers,
            texts=found.get(str, []),
            objects=parts.get(dict),
            arrays=parts.get(list),
            deeper=deeper,
        )

    def _fields(self, objects: list[JsonObject], path: str, depth: int, above: Places) -> ObjectSchema:
        _require_fields(objects, path)
        taken = [way for kind, way in above if kind is dict and way]
        strays = [value for value in self.repeats.strays.get((path, dict), ()) if isinstance(value, dict)]
        ways = repeated_objects([*objects, *strays], taken)
        members = self.repeats.closure(objects, ways, path, dict)
        _require_fields(members, path)
        own_places: Places = {(dict, way): path for way in ways}
        places = {**above, **own_places}
        fields: dict[str, Schema] = {}
        ignored = []
        for key in dict.fromkeys(key for value in members for key in value):
            own = below(path, key)
            if own in self.ignored:
                ignored.append(key)
                continue
            values = walk(members, (key,))
            missing = len(members) - len(values)
            fields[key] = self._schema(values, own, depth + 1, _after(places, key), missing=missing)
        return ObjectSchema(len(members), fields, bool(ways), tuple(ignored))

    def _elements(self, arrays: list[list[object]], path: str, depth: int, above: Places) -> ArraySchema:
        recursive = repeats_arrays(arrays)
        members = self.repeats.closure(arrays, [(ELEMENT,)] if recursive else [], path, list)
        own_places: Places = {(list, (ELEMENT,)): path} if recursive else {}
        places = {**above, **own_places}
        element = self._schema(
            walk(members, (ELEMENT,)), f"{path}[]", depth + 1, _after(places, ELEMENT), missing=0
        )
        return ArraySchema([*map(len, members)], element, recursive)

    def _keyed(self, objects: list[JsonObject], path: str, depth: int, above: Places) -> ArraySchema:
        arrays: list[list[object]] = [[*entries(value)] for value in objects]
        # What repeats something above is not found again behind the keys.
        return replace(self._elements(arrays, path, depth, {}), keyed=True)


def _after(places: Places, step: Step) -> Places:
    """The ways that are left after a step."""
    return {(kind, way[1:]): head for (kind, way), head in places.items() if way and way[0] == step}


def _require_json(found: Mapping[type, Sequence[object]], path: str) -> None:
    """Refuses values of types that JSON does not have."""
    for values in found.values():
        try:
            json_type(values[0])
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None


def _require_finite(numbers: Sequence[int | float], path: str) -> None:
    for value in numbers:
        if isinstance(value, int) and value.bit_length() > 1023:
            raise InputError(f"{path}: a number of {value.bit_length():,} bits is too large for float64")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{path}: expected a finite number, got {value}; null stands for a missing one")


def _require_fields(objects: Sequence[JsonObject], path: str) -> None:
    """Refuses objects whose keys are no names of fields."""
    keys = {key: None for value in objects for key in value}
    for key in keys:
        if not isinstance(key, str):
            raise InputError(f"{path}: the keys of an object are texts, not {key!r}")
    share = sum(map(len, objects)) / (len(keys) * len(objects)) if keys else 1.0
    if len(keys) > MOST_FIELDS or (len(keys) > _RARE_FIELDS and share < _RARE):
        examples = shortened(", ".join(map(quoted, islice(keys, 3))), 200)
        raise InputError(
            f"{path}: {len(keys):,} different keys in {len(objects):,} objects look like data, not like "
            f"names of fields ({examples}, ...); kinds={{{path!r}: 'map'}} reads them as an array of keys "
            f"and values, ignore=[{path!r}] leaves them out"
        )
