"""Hashes the content of objects: equal content has the same digest in every process.

The objects that can be reached from some roots become a graph. Each node has children and a head, which
describes it without them. A node's digest is the hash of its head and its children's digests; the nodes of a
circle are hashed together. There is no recursion, so objects may be as deep as memory allows. The order of
sets and dicts does not count, nor does the node at which a circle is entered.

`pickle` would not do: its bytes depend on the order of sets, on which equal objects are one object, and on
where a function was defined rather than on what it does.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from arrows.engine.planning import components
from arrows.engine.reading.object_content import ObjectContent, Unhashable, content_of

# Values without parts, which `marshal` writes the same way in every process.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(...)})
_FLAT = _PLAIN | {list, tuple}
# The name of each kind of container, and whether the order of what it holds counts.
_CONTAINERS: dict[type, tuple[bytes, bool]] = {
    list: (b"list", True),
    tuple: (b"tuple", True),
    dict: (b"dict", False),
    set: (b"set", False),
    frozenset: (b"set", False),
}
# More nodes, and more looks at the nodes of a circle, would take longer than some seconds. Plain numbers and
# texts in lists and dicts are no nodes.
MOST = 300_000
_MOST_LOOKS = 1_000_000

Child = int | bytes


@dataclass(frozen=True, slots=True)
class _ObjectNode:
    """An object: its head, its children (nodes or plain values), and whether their order counts."""

    head: bytes
    children: list[Child]
    ordered: bool


class _Pair(tuple[Any, Any]):
    """An item of a mapping."""

    __slots__ = ()


def digests(roots: Sequence[tuple[str, object]]) -> list[str]:
    """Returns a hash of the content of each root.

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
        self._objects: list[object] = []  # keeps them alive, so that no other object gets the identity of one
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
        except Exception as error:  # raised by a user's class, or because another thread changes the object
            reason = f"cannot be looked at: {type(error).__name__}: {error}"
            raise Unhashable(self._path(number), reason) from error

    def _described(self, number: int, value: Any) -> _ObjectNode:
        kind = type(value)
        if kind not in _CONTAINERS:
            if kind is _Pair:
                return self._with(number, ObjectContent(b"pair", [("", item) for item in value]))
            return self._with(number, content_of(value))
        name, ordered = _CONTAINERS[kind]
        flat = _flat(value, ordered)
        if flat is not None:
            return _ObjectNode(_hash(name, flat), [], True)
        parts: list[tuple[str, object]]
        if kind is dict:
            parts = [(_key(item[0]), _Pair(item)) for item in value.items()]
        else:
            parts = [(f"[{place}]" if ordered else "", item) for place, item in enumerate(value)]
        return self._with(number, ObjectContent(name, parts, ordered))

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
    return b"." + marshal.dumps(value, 2)  # version 2, since later ones write which objects are identical


def _is_flat(values: Collection[object]) -> bool:
    """Whether values are plain, or tuples and lists of plain ones."""
    kinds = set(map(type, values))
    if not kinds <= _FLAT:
        return False
    inner = chain.from_iterable(value for value in values if type(value) is list or type(value) is tuple)
    return kinds <= _PLAIN or set(map(type, inner)) <= _PLAIN


def _flat(values: Any, ordered: bool) -> bytes | None:
    """Returns the bytes of a flat container, which are quick to hash; None if it is not flat."""
    if not _is_flat(values):
        return None
    if ordered:
        return marshal.dumps(list(values), 2)
    if isinstance(values, dict):
        if not _is_flat(values.values()):
            return None
        values = values.items()
    return marshal.dumps(sorted(marshal.dumps(value, 2) for value in values), 2)


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
    until a round leaves as many colours as there were. Children outside the circle have digests already.
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
