"""Hashes what objects hold: two objects of equal content have the same digest, in every process.

The objects that can be reached from some roots become a graph. Each node has a head, what it is by itself,
and children. A node's digest is the hash of its head and its children's digests; the nodes of a circle are
hashed together. There is no recursion, so objects may be as deep as memory allows. The order of sets and
dicts does not count, nor does the node at which a circle is entered.

`pickle` would not do: its bytes depend on the order of sets, on which equal objects are one object, and on
where a function was defined rather than on what it does.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

from arrows.engine.planning import components
from arrows.engine.reading.object_content import ObjectContent, Unhashable, content_of

# Values without parts, which `marshal` writes the same way in every process.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(...)})
_FLAT = _PLAIN | {list, tuple}
# More nodes, and more looks at the nodes of a circle, would take longer than some seconds. Plain numbers and
# texts in lists and dicts are no nodes.
MOST = 300_000
_MOST_LOOKS = 1_000_000

Child = int | bytes


@dataclass(frozen=True, slots=True)
class _ObjectNode:
    """An object: what it is by itself, its children (nodes, or plain values), whether their order counts."""

    head: bytes
    children: list[Child]
    ordered: bool


class _Pair(tuple[Any, Any]):
    """An item of a mapping."""

    __slots__ = ()


def digests(roots: Sequence[tuple[str, object]]) -> list[str]:
    """For each root a hash of what it holds.

    Args:
        roots: what they are called in messages, and the objects.

    Raises:
        Unhashable: the content of something that a root holds cannot be hashed, or there is too much of it.

    >>> alike = [("one", {"a": [1], "b": {2, 3}}), ("two", {"b": {3, 2}, "a": [1]})]
    >>> one, two, three = digests([*alike, ("three", {"a": [1], "b": {2}})])
    >>> one == two != three
    True
    """
    graph = _ObjectGraph(roots)
    colours: list[bytes] = [b""] * len(graph.nodes)
    for circle in _circles(graph.nodes):
        _colour(graph.nodes, circle, colours)
    return [_hash(_bytes(child, colours)).hex() for child in graph.roots]


def _hash(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def _bytes(child: Child, colours: Sequence[bytes]) -> bytes:
    return child if isinstance(child, bytes) else colours[child]


# ------------------------------------------------------------------------------------------------ the graph


class _ObjectGraph:
    """The objects that can be reached from the roots."""

    def __init__(self, roots: Sequence[tuple[str, object]]) -> None:
        self.nodes: list[_ObjectNode] = []
        self._numbers: dict[int, int] = {}
        self._objects: list[object] = []  # kept, so that no other object gets the identity of one of them
        self._origins: list[tuple[int | None, str]] = []  # the parent, and the name there
        self.roots = [self._child(value, None, name) for name, value in roots]
        while len(self.nodes) < len(self._objects):
            number = len(self.nodes)
            self.nodes.append(self._node(number, self._objects[number]))

    def _child(self, value: object, parent: int | None, name: str) -> Child:
        if type(value) in _PLAIN:
            return _flat_bytes(value)
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._objects)
            if number >= MOST:
                raise Unhashable(self._path(parent), f"and what else is read hold more than {MOST:,} objects")
            self._objects.append(value)
            self._origins.append((parent, name))
        return number

    def _node(self, number: int, value: object) -> _ObjectNode:
        try:
            return self._described(number, value)
        except Unhashable as refused:
            raise Unhashable(refused.path or self._path(number), refused.reason) from refused.__cause__
        except Exception as error:  # of a user's class, or since another thread changes it meanwhile
            reason = f"cannot be looked at: {type(error).__name__}: {error}"
            raise Unhashable(self._path(number), reason) from error

    def _described(self, number: int, value: Any) -> _ObjectNode:
        kind = type(value)
        if kind is list or kind is tuple:
            flat = _flat(value)
            if flat is not None:
                return _ObjectNode(_hash(kind.__name__.encode(), flat), [], True)
            items = [(f"[{place}]", item) for place, item in enumerate(value)]
            return self._with(number, ObjectContent(kind.__name__.encode(), items))
        if kind is dict:
            flat = _flat_dict(value)
            if flat is not None:
                return _ObjectNode(_hash(b"dict", flat), [], True)
            pairs = [(_key(item[0]), _Pair(item)) for item in value.items()]
            return self._with(number, ObjectContent(b"dict", pairs, ordered=False))
        if kind is _Pair:
            return self._with(number, ObjectContent(b"pair", [("", item) for item in value]))
        if kind is set or kind is frozenset:
            flat = _flat_sorted(value)
            if flat is not None:
                return _ObjectNode(_hash(b"set", flat), [], True)
            return self._with(number, ObjectContent(b"set", [("", item) for item in value], ordered=False))
        return self._with(number, content_of(value))

    def _with(self, number: int, content: ObjectContent) -> _ObjectNode:
        children = [self._child(value, number, name) for name, value in content.parts]
        return _ObjectNode(content.head, children, content.ordered)

    def _path(self, number: int | None) -> str:
        """The names that lead to an object, from a root on."""
        names = []
        while number is not None:
            number, name = self._origins[number]
            names.append(name)
        return "".join(reversed(names))


def _key(key: object) -> str:
    """A key of a dict in a path."""
    return f"[{key!r:.40}]" if type(key) in _PLAIN else "[...]"


def _flat_bytes(value: Any) -> bytes:
    return b"." + marshal.dumps(value, 2)  # version 2 writes nothing of identities


def _flat(values: Collection[object]) -> bytes | None:
    """The bytes of a list of plain values, or of tuples and lists of such; None if it holds others."""
    kinds = set(map(type, values))
    if not kinds <= _FLAT:
        return None
    if not kinds <= _PLAIN:
        inner = chain.from_iterable(value for value in values if type(value) is list or type(value) is tuple)
        if not set(map(type, inner)) <= _PLAIN:
            return None
    return marshal.dumps(list(values), 2)


def _flat_sorted(values: Collection[Any]) -> bytes | None:
    """The bytes of a set of such values, whatever its order."""
    kinds = set(map(type, values))
    if len(kinds) == 1 and kinds <= {str, int, bytes}:
        return marshal.dumps(sorted(values), 2)
    if _flat(values) is None:
        return None
    return marshal.dumps(sorted(marshal.dumps(value, 2) for value in values), 2)


def _flat_dict(value: Mapping[Any, Any]) -> bytes | None:
    """The bytes of a dict of such values, whatever its order."""
    if _flat(value.keys()) is None or _flat(value.values()) is None:
        return None
    if set(map(type, value.values())) == {int} and len(set(value.values())) == len(value):
        # Numbers are sorted faster than words, and a vocabulary's are sorted as it is.
        items = sorted(value.items(), key=itemgetter(1))
        return marshal.dumps([[key for key, _ in items], [number for _, number in items]], 2)
    kinds = set(map(type, value))
    if len(kinds) == 1 and kinds <= {str, int, bytes}:
        keys = sorted(value)
        return marshal.dumps([keys, [value[key] for key in keys]], 2)
    return marshal.dumps(sorted(marshal.dumps(item, 2) for item in value.items()), 2)


# ------------------------------------------------------------------------------------------------- circles


def _circles(nodes: Sequence[_ObjectNode]) -> list[list[int]]:
    """The strongly connected components, each after those that it leads to."""
    component = components([[c for c in node.children if isinstance(c, int)] for node in nodes])
    circles: list[list[int]] = [[] for _ in range(max(component, default=-1) + 1)]
    for number, place in enumerate(component):
        circles[-1 - place].append(number)
    return circles


def _colour(nodes: Sequence[_ObjectNode], circle: list[int], colours: list[bytes]) -> None:
    """Gives the nodes of a circle their digests, by colour refinement (Weisfeiler, Leman 1968).

    All nodes begin alike. In each round, a node's colour is the hash of its head and its children's colours,
    until a round leaves as many colours as there were. Nodes outside that the circle leads to are done.
    """

    def refined(number: int) -> bytes:
        node = nodes[number]
        children = [_bytes(child, colours) for child in node.children]
        return _hash(node.head, *(children if node.ordered else sorted(children)))

    if len(circle) == 1 and circle[0] not in nodes[circle[0]].children:
        colours[circle[0]] = refined(circle[0])
        return
    for number in circle:
        colours[number] = b"circle"
    distinct = 0
    for _ in range(max(8, _MOST_LOOKS // len(circle))):
        for number, colour in zip(circle, [refined(number) for number in circle], strict=True):
            colours[number] = colour
        before, distinct = distinct, len({colours[number] for number in circle})
        if distinct == before:
            break
    whole = _hash(*sorted(colours[number] for number in circle))
    for number in circle:
        colours[number] = _hash(colours[number], whole)
