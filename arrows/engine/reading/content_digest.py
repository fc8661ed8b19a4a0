"""What objects hold, as short texts: two objects of equal content have the same, in every process.

The objects that can be reached from some roots become a graph; each node has a head, what it is by itself,
and children. A node's digest is the hash of its head and its children's digests. Where children lead back to
their parents, all the nodes of the circle are hashed together, in rounds, until no more can be told apart.
So neither depth nor circles need recursion, and no order counts that is none: neither that of sets and
dicts, nor the order in which a circle is entered.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

from arrows.engine.reading.object_content import Described, Unhashable, described

# What says all of itself, and is written by `marshal` the same way everywhere.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(...)})
_FLAT = _PLAIN | {list, tuple}
# More nodes than these, and more looks at the nodes of a circle, take too long, some seconds. Plain numbers
# and texts in lists and dicts are no nodes.
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


def digests(roots: Sequence[tuple[str, Any]]) -> list[str]:
    """For each root a hash of what it holds.

    Args:
        roots: what they are called in messages, and the objects.

    Raises:
        Unhashable: something that a root holds has no content that could be told, or there is too much.

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
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


def _bytes(child: Child, colours: Sequence[bytes]) -> bytes:
    return child if isinstance(child, bytes) else colours[child]


# ------------------------------------------------------------------------------------------------ the graph


class _ObjectGraph:
    """The objects that can be reached from the roots."""

    def __init__(self, roots: Sequence[tuple[str, Any]]) -> None:
        self.nodes: list[_ObjectNode] = []
        self._numbers: dict[int, int] = {}
        self._objects: list[Any] = []  # kept, so that no other object gets the identity of one of them
        self._found_in: list[tuple[int, str]] = []
        self.roots = [self._child(value, -1, name) for name, value in roots]
        while len(self.nodes) < len(self._objects):
            number = len(self.nodes)
            self.nodes.append(self._node(number, self._objects[number]))

    def _child(self, value: Any, parent: int, name: str) -> Child:
        if type(value) in _PLAIN:
            return _flat_bytes(value)
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._objects)
            if number >= MOST:
                raise Unhashable(self._path(parent), f"and what else is read hold more than {MOST:,} objects")
            self._objects.append(value)
            self._found_in.append((parent, name))
        return number

    def _node(self, number: int, value: Any) -> _ObjectNode:
        try:
            return self._looked_at(number, value)
        except Unhashable as refused:
            raise Unhashable(refused.path or self._path(number), refused.reason) from refused.__cause__
        except Exception as error:  # of a user's class, or since another thread changes it meanwhile
            reason = f"cannot be looked at: {type(error).__name__}: {error}"
            raise Unhashable(self._path(number), reason) from error

    def _looked_at(self, number: int, value: Any) -> _ObjectNode:
        kind = type(value)
        if kind is list or kind is tuple:
            flat = _flat(value)
            if flat is not None:
                return _ObjectNode(_hash(kind.__name__.encode(), flat), [], True)
            items = [(f"[{place}]", item) for place, item in enumerate(value)]
            return self._with(number, Described(kind.__name__.encode(), items))
        if kind is dict:
            flat = _flat_dict(value)
            if flat is not None:
                return _ObjectNode(_hash(b"dict", flat), [], True)
            pairs = [(_key(item[0]), _Pair(item)) for item in value.items()]
            return self._with(number, Described(b"dict", pairs, ordered=False))
        if kind is _Pair:
            return self._with(number, Described(b"pair", [("", item) for item in value]))
        if kind is set or kind is frozenset:
            flat = _flat_sorted(value)
            if flat is not None:
                return _ObjectNode(_hash(b"set", flat), [], True)
            return self._with(number, Described(b"set", [("", item) for item in value], ordered=False))
        return self._with(number, described(value))

    def _with(self, number: int, what: Described) -> _ObjectNode:
        children = [self._child(value, number, name) for name, value in what.parts]
        return _ObjectNode(what.head, children, what.ordered)

    def _path(self, number: int) -> str:
        """How an object was come to, from a root on."""
        names = []
        while number >= 0:
            number, name = self._found_in[number]
            names.append(name)
        return "".join(reversed(names))


def _key(key: Any) -> str:
    """A key of a dict in a path."""
    return f"[{key!r:.40}]" if type(key) in _PLAIN else "[...]"


def _flat_bytes(value: Any) -> bytes:
    return b"." + marshal.dumps(value, 2)  # version 2 writes nothing of identities


def _flat(values: Collection[Any]) -> bytes | None:
    """A list of plain values, or of tuples and lists of such, as it is written; None if it holds others."""
    kinds = set(map(type, values))
    if not kinds <= _FLAT:
        return None
    if not kinds <= _PLAIN:
        inner = chain.from_iterable(value for value in values if type(value) is list or type(value) is tuple)
        if not set(map(type, inner)) <= _PLAIN:
            return None
    return marshal.dumps(list(values), 2)


def _flat_sorted(values: Collection[Any]) -> bytes | None:
    kinds = set(map(type, values))
    if len(kinds) == 1 and kinds <= {str, int, bytes}:
        return marshal.dumps(sorted(values), 2)
    if _flat(values) is None:
        return None
    return marshal.dumps(sorted(marshal.dumps(value, 2) for value in values), 2)


def _flat_dict(value: dict[Any, Any]) -> bytes | None:
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


# -------------------------------------------------------------------------------------------------- circles


def _circles(nodes: Sequence[_ObjectNode]) -> Iterator[list[int]]:
    """The strongly connected components, each after those that it leads to (Tarjan 1972; no recursion)."""
    order: list[int] = [-1] * len(nodes)
    lowest: list[int] = [0] * len(nodes)
    waiting: list[int] = []
    waits = [False] * len(nodes)
    count = 0
    for root in range(len(nodes)):
        if order[root] >= 0:
            continue
        stack: list[tuple[int, Iterator[Child]]] = []
        enter = root
        while True:
            if enter >= 0:
                order[enter] = lowest[enter] = count
                count += 1
                waiting.append(enter)
                waits[enter] = True
                stack.append((enter, iter(nodes[enter].children)))
                enter = -1
            number, children = stack[-1]
            for child in children:
                if isinstance(child, bytes):
                    continue
                if order[child] < 0:
                    enter = child
                    break
                if waits[child]:
                    lowest[number] = min(lowest[number], order[child])
            if enter >= 0:
                continue
            stack.pop()
            if stack:
                above = stack[-1][0]
                lowest[above] = min(lowest[above], lowest[number])
            if lowest[number] == order[number]:
                circle: list[int] = []
                while not circle or circle[-1] != number:
                    circle.append(waiting.pop())
                    waits[circle[-1]] = False
                yield circle
            if not stack:
                break


def _colour(nodes: Sequence[_ObjectNode], circle: list[int], colours: list[bytes]) -> None:
    """Gives the nodes of a circle their digests; those of the nodes that they lead to outside are there."""

    def look(number: int) -> bytes:
        node = nodes[number]
        parts = [_bytes(child, colours) for child in node.children]
        return _hash(node.head, *(parts if node.ordered else sorted(parts)))

    if len(circle) == 1 and circle[0] not in nodes[circle[0]].children:
        colours[circle[0]] = look(circle[0])
        return
    kinds = 0
    for number in circle:
        colours[number] = b"circle"
    for _ in range(max(8, _MOST_LOOKS // len(circle))):
        for number, colour in zip(circle, [look(number) for number in circle], strict=True):
            colours[number] = colour
        if len({colours[number] for number in circle}) == kinds:
            break
        kinds = len({colours[number] for number in circle})
    whole = _hash(*sorted(colours[number] for number in circle))
    for number in circle:
        colours[number] = _hash(colours[number], whole)
