"""What example documents have at each path, read from the examples alone.

Each value stands at the path that leads to it.  Objects or arrays of the kind of those at a path above stand
there with them, so that recursive documents have finitely many paths.  Which these are is found by reading,
looking, and reading again, until nothing is new.  Nothing else is decided here; see `decide.py`.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from arrows.documents.blocks import entries, json_type
from arrows.typesys import InputError, printable, quoted, shortened

ROOT = "$"
LONGEST = 4  # steps between an object and the next of its kind that are looked at
MOST_FIELDS = 2000
_RARE_FIELDS = 200  # an object with more keys than these, of which each is rare, has data as its keys
_RARE = 0.1
_TYPES = ("boolean", "number", "text", "array", "object")
# Brackets, quotes and dots mean something in paths, and `x (text)` is what is read of x where it is a text.
_PLAIN = re.compile(r"[^.\[\]()'\"$\s]([^.\[\]()'\"$]*[^.\[\]()'\"$\s])?")

Heads = Mapping[tuple[str, str], str]
"""By path and JSON type, the path above where objects or arrays of the same kind stand."""


@dataclass(slots=True, eq=False)
class Node:
    """What the examples have at a path.

    Attributes:
        path: such as `author.name` or `tags[]`; `$` is the document itself.
        depth: how many arrays and objects it lies in, recursions apart.
        above: where the objects or arrays are in which the values lie.
        count: how many values there are, nulls included.
        nulls: how many of them are null.
        values: by JSON type; with objects and arrays, all below that are of the same kind.
        again: how many objects or arrays stand with others above, by JSON type.
        recursive: the JSON types of values with which others from below stand.
        fields: below the objects, by key, in the order in which they first occur.
        element: below the arrays, or below objects whose keys are data.
        lengths: of these.
    """

    path: str
    depth: int = 0
    above: Node | None = None
    count: int = 0
    nulls: int = 0
    values: dict[str, list[Any]] = field(default_factory=dict)
    again: dict[str, int] = field(default_factory=dict)
    recursive: set[str] = field(default_factory=set)
    fields: dict[str, Node] = field(default_factory=dict)
    element: Node | None = None
    lengths: list[int] = field(default_factory=list)

    @property
    def types(self) -> list[str]:
        """The JSON types that occur, without null."""
        return [name for name in _TYPES if name in self.values or name in self.again]

    @property
    def missing(self) -> int:
        """How many objects lack the field."""
        is_field = self.above is not None and self.above.element is not self
        return len(self.above.values["object"]) - self.count if self.above and is_field else 0

    def row(self, kind: str) -> str:
        """Under which name it stands among the decisions how values of a JSON type are read."""
        return f"{self.path} ({kind})" if len(self.types) > 1 else self.path


@dataclass(slots=True, kw_only=True)
class Schema:
    """How examples are read, and what they have.

    Attributes:
        depth: how many arrays and objects may lie within one another, recursions apart.
        ignored: paths of fields that are not read.
        kinds: by path, what the user wants instead of what would be decided; "map" for keys that are data.
        heads: what stands with others above.
        nodes: by path.
    """

    depth: int
    ignored: Collection[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    heads: dict[tuple[str, str], str] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)

    def too_deep(self, node: Node) -> tuple[str, ...]:
        """The types of values at a node that are not read because they lie too deep."""
        return ("array", "object") if node.depth >= self.depth else ()

    def read(self, examples: Sequence[object]) -> None:
        """Reads examples.

        Raises:
            InputError: a value that JSON does not have, a number that is not finite, or an object whose keys
                are data; it names the path.
        """
        self.heads = {}
        while True:
            self._walk(examples)
            new = next((found for node in self.nodes.values() if (found := _repeats(node))), {})
            if not new:
                return
            self.heads |= new

    def _walk(self, examples: Sequence[object]) -> None:
        """Puts all values where they belong."""
        self.nodes = {ROOT: Node(ROOT)}
        waiting: deque[tuple[Node, Sequence[object]]] = deque([(self.nodes[ROOT], examples)])
        while waiting:
            node, values = waiting.popleft()
            node.count += len(values)
            node.nulls += sum(value is None for value in values)
            for kind, group in _by_type(values, node.path).items():
                head = self.nodes[self.heads.get((node.path, kind), node.path)]
                if head is not node:
                    node.again[kind] = node.again.get(kind, 0) + len(group)
                    head.recursive.add(kind)
                head.values.setdefault(kind, []).extend(group)
                if kind == "number" and node.depth <= self.depth:
                    _require_finite(group, node.path)
                # A little deeper than wanted, since recursion may begin there.
                if head.depth > self.depth + LONGEST:
                    continue
                if kind == "array" or (kind == "object" and self.kinds.get(head.path) == "map"):
                    waiting += self._elements(head, group if kind == "array" else [*map(entries, group)])
                elif kind == "object":
                    waiting += self._fields(head, group)

    def _elements(
        self, node: Node, arrays: Sequence[Sequence[object]]
    ) -> Iterator[tuple[Node, list[object]]]:
        node.lengths += map(len, arrays)
        node.element = self._below(node, f"{node.path}[]")
        yield node.element, [value for array in arrays for value in array]

    def _fields(
        self, node: Node, objects: Sequence[dict[str, object]]
    ) -> Iterator[tuple[Node, list[object]]]:
        found: dict[str, list[object]] = {}
        for each in objects:
            for key, value in each.items():
                found.setdefault(key, []).append(value)
        for key, values in found.items():
            if not isinstance(key, str):
                raise InputError(f"{node.path}: the keys of an object are texts, not {key!r}")
            node.fields[key] = self._below(node, below(node.path, key))
            if node.fields[key].path not in self.ignored:
                yield node.fields[key], values
        if node.depth < self.depth:
            _require_fields(node)

    def _below(self, node: Node, path: str) -> Node:
        return self.nodes.setdefault(path, Node(path, node.depth + 1, node))


def below(path: str, key: str) -> str:
    """The path of a field.

    >>> below("$", "author"), below("author", "first name"), below("tags[]", "a.b")
    ('author', 'author.first name', "tags[]['a.b']")
    """
    if not _PLAIN.fullmatch(key):
        return f"{'' if path == ROOT else path}[{key!r}]"
    return key if path == ROOT else f"{path}.{key}"


def _by_type(values: Sequence[object], path: str) -> dict[str, list[Any]]:
    """Values by JSON type, without null; refuses those that JSON does not have."""
    found: dict[str, list[Any]] = {}
    try:
        for value in values:
            if value is not None:
                found.setdefault(json_type(value), []).append(value)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    return found


def _require_finite(numbers: Sequence[int | float], path: str) -> None:
    for value in numbers:
        if isinstance(value, int) and value.bit_length() > 1023:
            raise InputError(f"{path}: a number of {value.bit_length():,} bits is too large for float64")
        if not math.isfinite(value):
            raise InputError(f"{path}: expected a finite number, got {value}; null stands for a missing one")


def _require_fields(node: Node) -> None:
    """Refuses objects whose keys are no names of fields."""
    keys, objects = node.fields, node.values["object"]
    if len(keys) <= _RARE_FIELDS:
        return
    share = sum(map(len, objects)) / (len(keys) * len(objects))
    if len(keys) > MOST_FIELDS or share < _RARE:
        examples = shortened(", ".join(map(quoted, islice(keys, 3))), 200)
        raise InputError(
            f"{node.path}: {len(keys):,} different keys in {len(objects):,} objects look like data, not like "
            f"names of fields ({examples}, ...); kinds={{{node.path!r}: 'map'}}, of a command "
            f"--kind {shlex.quote(printable(node.path))}=map, reads them as an array of keys and values; "
            f"ignore=[{node.path!r}] or --ignore leaves them out"
        )


def _repeats(head: Node) -> Heads:
    """Which objects and arrays below a node are of the kind of those at the node.

    Arrays are if they lie within one another to different depths, as the nodes of a tree do; those of a
    matrix do not: all its numbers are as deep.
    """
    found = {
        (path, "object"): head.path
        for key, node in head.fields.items()
        for path in _alike(head, key, node, LONGEST)
    }
    levels: list[Node] = []
    node = head.element if "array" in head.values else None
    while node is not None and len(levels) < 3:
        levels.append(node)
        node = node.element
    mixed = any("array" in level.types and len(level.types) > 1 for level in levels)
    if mixed and len(levels) > 1 and "array" in levels[1].types:
        found[levels[0].path, "array"] = head.path
    return found


def _alike(head: Node, key: str, node: Node, steps: int) -> Iterator[str]:
    """The paths, so many steps below at most, of objects that are of the kind of those at `head`.

    These can be gone through by the same key again, and share most fields: at least half of all that both
    have, or, where the way goes no further in these examples, four in five and at least two.
    """
    if "object" in node.values and key in node.fields:
        common = len(head.fields.keys() & node.fields.keys())
        share = common / len(head.fields.keys() | node.fields.keys())
        goes_on = {"array", "object"}.intersection(node.fields[key].types)
        if share >= 0.5 if goes_on else share >= 0.8 and common > 1:
            yield node.path
            return
    if steps > 1:
        for inner in [*node.fields.values(), *([node.element] if node.element else [])]:
            yield from _alike(head, key, inner, steps - 1)
