"""Types made of other types: `Tuple`, `Sequence` and `Broadcast` (an endless sequence)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, TypeAlias

from arrows.typesys.errors import ArrowTypeError, ArrowValueError
from arrows.typesys.leaf_types import Type, parts_first

Labels: TypeAlias = tuple[Hashable, ...]
"""The keys of a tuple's items."""

Row: TypeAlias = tuple[Any, ...]
"""One type inside a pickled type: the rows of the types directly inside it, then what makes it of them."""


class CompoundType(Type):
    """A type made of other types."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return assemble, (flatten(self),)


class Tuple(CompoundType):
    """A fixed number of values, each with its own type and perhaps a key.

    Labels are not part of the type: two tuples that differ in labels only are equal.

    Args:
        items: the types of the items.
        labels: one key for each item, or None.

    Raises:
        ArrowTypeError: an item is not a type.
        ArrowValueError: there are more or fewer labels than items, or a label occurs twice.

    Example:
        >>> from arrows.typesys.types import Input, Tensor
        >>> Tuple((Input(), Tensor(())), labels=("left", "right"))
        (left: Input, right: float32)
    """

    __slots__ = ("_places", "items", "labels", "lost")

    items: tuple[Type, ...]
    labels: Labels | None
    lost: frozenset[Labels]
    _places: dict[Hashable, int]

    def __init__(
        self,
        items: tuple[Type, ...] | list[Type] = (),
        labels: Labels | None = None,
    ) -> None:
        items = tuple(items)
        for i, item in enumerate(items):
            if not isinstance(item, Type):
                raise ArrowTypeError(f"item {i} of a tuple type must be a type, not {item!r}")
        if labels is not None:
            labels = tuple(labels)
            if len(labels) != len(items):
                raise ArrowValueError(f"{len(labels)} labels for a tuple type of {len(items)} items")
            if len(set(labels)) != len(labels):
                raise ArrowValueError(f"a label appears twice in {labels!r}")
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "lost", frozenset())
        self._seal(("Tuple", items))

    @property
    def children(self) -> tuple[Type, ...]:
        return self.items

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Type]:
        return iter(self.items)

    def index(self, key: Hashable) -> int:
        """The position of the item that `key` names: a label if the tuple has that label, else a position.

        Raises:
            KeyError: there is no such item.

        Example:
            >>> from arrows.typesys.types import Input, Void
            >>> Tuple((Input(), Void()), ("a", "b")).index("b"), Tuple((Input(), Void())).index(-1)
            (1, 1)
        """
        place = self.place(key)
        if place is None:
            raise KeyError(key)
        return place

    def place(self, key: Hashable) -> int | None:
        """As `index`, but None if there is no such item.

        Example:
            >>> from arrows.typesys.types import Input, Void
            >>> Tuple((Input(), Void()), ("a", "b")).place("c") is None
            True
        """
        if self.labels is not None:
            if not hasattr(self, "_places"):
                object.__setattr__(self, "_places", {label: i for i, label in enumerate(self.labels)})
            try:
                place = self._places.get(key)
            except TypeError:  # an unhashable key, such as a list, is never a label
                return None
            if place is not None:
                return place
        if isinstance(key, int) and -len(self.items) <= key < len(self.items):
            place = key % len(self.items)
            if all(labels.index(key) == place for labels in self.lost if key in labels):
                return place
        return None

    def _head(self) -> Hashable:
        return len(self.items)

    def _pieces(self) -> list[Type | str]:
        pieces: list[Type | str] = ["("]
        for i, item in enumerate(self.items):
            if i:
                pieces.append(", ")
            if self.labels is not None:
                pieces.append(f"{label(self.labels[i])}: ")
            pieces.append(item)
        pieces.append(",)" if len(self.items) == 1 else ")")
        return pieces


def losing(made: Tuple, lost: frozenset[Labels]) -> Tuple:
    """Tells a tuple type that was just made which labels it does not have.

    They differ between the places that give the tuple, such as the cases of a choice. What is a key in them
    and means another item there is no position here.

    Example:
        >>> from arrows.typesys.types import Input, Void
        >>> losing(Tuple((Input(), Void())), frozenset({(1, 0)})).place(0) is None
        True
    """
    object.__setattr__(made, "lost", lost)
    return made


class ElementType(CompoundType):
    """Base of `Sequence` and `Broadcast`: one type for all elements."""

    __slots__ = ("element",)

    element: Type

    def __init__(self, element: Type) -> None:
        kind = type(self).__name__
        if not isinstance(element, Type):
            raise ArrowTypeError(f"the element of a {kind} type must be a type, not {element!r}")
        object.__setattr__(self, "element", element)
        self._seal((kind, element))

    @property
    def children(self) -> tuple[Type, ...]:
        return (self.element,)

    def _pieces(self) -> list[Type | str]:
        return [f"{type(self).__name__}(", self.element, ")"]


class Sequence(ElementType):
    """Any number of values of one type.

    Raises:
        ArrowTypeError: the element is not a type.

    Example:
        >>> from arrows.typesys.types import Tensor
        >>> Sequence(Tensor((300,)))
        Sequence(float32[300])
    """

    __slots__ = ()


class Broadcast(ElementType):
    """One value, repeated without end. It is not a kind of `Sequence`.

    Raises:
        ArrowTypeError: the element is not a type.

    Example:
        >>> from arrows.typesys.types import Tensor
        >>> Broadcast(Tensor((300,)))
        Broadcast(float32[300])
    """

    __slots__ = ()


def join_labels(
    labels: Labels | None, lost: frozenset[Labels], other: Labels | None, other_lost: frozenset[Labels]
) -> tuple[Labels | None, frozenset[Labels]]:
    """The labels that two tuples have in common when they become one, and those that they lose by it.

    Example:
        >>> join_labels(("a",), frozenset(), ("a",), frozenset())
        (('a',), frozenset())
        >>> labels, lost = join_labels(("a",), frozenset(), ("b",), frozenset())
        >>> labels, sorted(lost)
        (None, [('a',), ('b',)])
    """
    if labels == other:
        return labels, lost | other_lost
    return None, lost | other_lost | {each for each in (labels, other) if each is not None}


def label(key: Hashable) -> str:
    """A key as messages print it: identifiers bare, other keys by `repr`.

    Example:
        >>> label("left"), label(3), label("two words")
        ('left', '3', "'two words'")
    """
    if isinstance(key, str) and key.isidentifier() and key not in ("None", "True", "False"):
        return key
    return repr(key)


def flatten(t: Type) -> list[Row]:
    """A row for each type inside `t`, parts before wholes, so that pickling does not recurse."""
    place: dict[int, int] = {}
    rows: list[Row] = []
    for x in parts_first(t):
        made_by = (Tuple, x.labels, x.lost) if isinstance(x, Tuple) else (type(x) if x.children else x,)
        rows.append(([place[id(c)] for c in x.children], *made_by))
        place[id(x)] = len(place)
    return rows


def assemble(rows: list[Row]) -> Type:
    """Rebuilds the type that `flatten` took apart."""
    types: list[Type] = []
    for places, made_by, *rest in rows:
        inside = [types[i] for i in places]
        if made_by is Tuple:
            labels, lost = rest
            types.append(losing(Tuple(inside, labels), lost))
        else:
            types.append(made_by(inside[0]) if inside else made_by)
    return types[-1]
