"""The type language: what may flow along an arrow.

Six kinds of type: `Input` (a Python object), `Tensor` (a shape without a batch axis, and an element type),
    `Tuple`,
`Sequence`, `Broadcast` (an endless sequence) and `Void`. Types are immutable values: they compare and hash by
structure (labels of tuples apart), print in a short notation, and nothing here recurses, so a type may nest
as deep as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, NoReturn

import numpy as np

from arrows.typesys.dtypes import DTYPES, FLOATS, dtype_name
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, SourceLine, message

__all__ = [
    "DTYPES",
    "Broadcast",
    "Input",
    "Sequence",
    "Tensor",
    "Tuple",
    "Type",
    "Void",
    "as_type",
    "common_labels",
    "label",
    "leaves",
    "notation",
    "transform",
    "with_float",
]


class Type:
    """Base of all types; compare with `==`, print with `str`.

    Attributes:
        pure_input: the type is `Input`, or a tuple or sequence of nothing else, so that it may go where an
            `Input` is wanted.
        convertible: some part of the type is a tuple or sequence for which `pure_input` holds.
        labelled: some tuple inside has labels.
        has_input: an `Input` stands somewhere inside.
        width: how many parts without parts there are inside, each counted wherever it stands.

    Example:
        >>> Tuple((Input(), Tensor((3,)))) == Tuple((Input(), Tensor((3,))), labels=("a", "b"))
        True
    """

    __slots__ = ("_hash", "convertible", "has_input", "labelled", "pure_input", "width")

    _hash: int
    pure_input: bool
    convertible: bool
    labelled: bool
    has_input: bool
    width: int

    @property
    def children(self) -> tuple[Type, ...]:
        """The types directly inside this one."""
        return ()

    def _head(self) -> Hashable:
        """What tells it from others of its class with the same children."""
        raise NotImplementedError

    def _seal(
        self,
        key: Hashable,
        pure_input: bool = False,
        convertible: bool = False,
        labelled: bool = False,
        has_input: bool = False,
        width: int = 1,
    ) -> None:
        put = object.__setattr__
        put(self, "_hash", hash(key))
        put(self, "pure_input", pure_input)
        put(self, "convertible", convertible)
        put(self, "labelled", labelled)
        put(self, "has_input", has_input)
        put(self, "width", width)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"types are immutable: cannot set {name!r} of {self}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"types are immutable: cannot delete {name!r} of {self}")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type):
            return NotImplemented
        return self._hash == other._hash and equal(self, other)

    def __repr__(self) -> str:
        return notation(self)

    def __reduce__(self) -> tuple[Callable[..., Type], tuple[Any, ...]]:
        return assemble, (flatten(self),)

    def __copy__(self) -> Type:
        return self

    def __deepcopy__(self, memo: object) -> Type:
        return self


class Input(Type):
    """A Python object of any kind: data before it becomes a tensor.

    Example:
        >>> Input()
        Input
    """

    __slots__ = ()

    def __new__(cls) -> Input:  # noqa: PYI034  there is one, of this class
        return _INPUT

    def _head(self) -> Hashable:
        return "Input"


class Void(Type):
    """Nothing: the value is `None`.

    Example:
        >>> Void()
        Void
    """

    __slots__ = ()

    def __new__(cls) -> Void:  # noqa: PYI034  there is one, of this class
        return _VOID

    def _head(self) -> Hashable:
        return "Void"


class Tensor(Type):
    """An array of one example: `shape` has no batch axis.

    Args:
        shape: sizes of the axes, each an integer >= 0; `()` is a scalar.
        dtype: name of the element type, one of `DTYPES`.

    Raises:
        ArrowTypeError: the shape is not a tuple or list of integers, or the element type is unknown.
        ArrowValueError: a size is negative.

    Example:
        >>> Tensor((3, 4)), Tensor((), "int32")
        (float32[3, 4], int32)
    """

    __slots__ = ("dtype", "shape")

    shape: tuple[int, ...]
    dtype: str

    def __init__(self, shape: tuple[int, ...] | list[int] = (), dtype: str = "float32") -> None:
        object.__setattr__(self, "shape", _shape(shape))
        object.__setattr__(self, "dtype", dtype_name(dtype))
        self._seal(("Tensor", self.shape, self.dtype))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements; 1 for a scalar."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def floating(self) -> bool:
        """Whether the elements are floating point numbers."""
        return self.dtype in FLOATS

    def _head(self) -> Hashable:
        return "Tensor", self.shape, self.dtype


class Tuple(Type):
    """A fixed number of values, each with its own type, perhaps with keys.

    Labels are no part of the type: two tuples that differ in labels only are equal.

    Args:
        items: the types of the items.
        labels: one key for each item, or None.

    Raises:
        ArrowTypeError: an item is not a type.
        ArrowValueError: another number of labels than of items, or a label twice.

    Example:
        >>> Tuple((Input(), Tensor(())), labels=("left", "right"))
        (left: Input, right: float32)
    """

    __slots__ = ("_places", "items", "labels")

    items: tuple[Type, ...]
    labels: tuple[Hashable, ...] | None
    _places: dict[Hashable, int]

    def __init__(
        self, items: tuple[Type, ...] | list[Type] = (), labels: tuple[Hashable, ...] | None = None
    ) -> None:
        items = tuple(items)
        pure, convertible, labelled, has_input, width = True, False, labels is not None, False, 0
        for i, item in enumerate(items):
            if not isinstance(item, Type):
                raise ArrowTypeError(f"item {i} of a tuple type must be a type, not {item!r}")
            pure = pure and item.pure_input
            convertible = convertible or item.convertible
            labelled = labelled or item.labelled
            has_input = has_input or item.has_input
            width += item.width
        if labels is not None:
            labels = tuple(labels)
            if len(labels) != len(items):
                raise ArrowValueError(f"{len(labels)} labels for a tuple type of {len(items)} items")
            if len(set(labels)) != len(labels):
                raise ArrowValueError(f"a label stands twice in {labels!r}")
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "labels", labels)
        self._seal(("Tuple", items), pure, pure or convertible, labelled, has_input, max(width, 1))

    @property
    def children(self) -> tuple[Type, ...]:
        return self.items

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Type]:
        return iter(self.items)

    def index(self, key: Hashable) -> int:
        """Position of the item that `key` names: a label if there is such a one, else a position.

        Raises:
            KeyError: there is no such item.

        Example:
            >>> Tuple((Input(), Void()), ("a", "b")).index("b"), Tuple((Input(), Void())).index(-1)
            (1, 1)
        """
        place = self.place(key)
        if place is None:
            raise KeyError(key)
        return place

    def place(self, key: Hashable) -> int | None:
        """`index`, and None if there is no such item.

        Example:
            >>> Tuple((Input(), Void()), ("a", "b")).place("c") is None
            True
        """
        if self.labels is not None:
            if not hasattr(self, "_places"):
                object.__setattr__(self, "_places", {label: i for i, label in enumerate(self.labels)})
            try:
                place = self._places.get(key)
            except TypeError:  # a list, say, is no label
                return None
            if place is not None:
                return place
        if isinstance(key, int) and -len(self.items) <= key < len(self.items):
            return key % len(self.items)
        return None

    def _head(self) -> Hashable:
        return "Tuple", len(self.items)


class Sequence(Type):
    """Any number of values of one type.

    Raises:
        ArrowTypeError: the element is not a type.

    Example:
        >>> Sequence(Tensor((300,)))
        Sequence(float32[300])
    """

    __slots__ = ("element",)

    element: Type

    def __init__(self, element: Type) -> None:
        _element(self, element, convertible=element.pure_input if isinstance(element, Type) else False)

    @property
    def children(self) -> tuple[Type, ...]:
        return (self.element,)

    def _head(self) -> Hashable:
        return "Sequence"


class Broadcast(Type):
    """One value repeated without end; no kind of `Sequence`.

    Raises:
        ArrowTypeError: the element is not a type.

    Example:
        >>> Broadcast(Tensor((300,)))
        Broadcast(float32[300])
    """

    __slots__ = ("element",)

    element: Type

    def __init__(self, element: Type) -> None:
        _element(self, element, convertible=False)

    @property
    def children(self) -> tuple[Type, ...]:
        return (self.element,)

    def _head(self) -> Hashable:
        return "Broadcast"


def _element(self: Sequence | Broadcast, element: Type, convertible: bool) -> None:
    kind = type(self).__name__
    if not isinstance(element, Type):
        raise ArrowTypeError(f"the element of a {kind} type must be a type, not {element!r}")
    object.__setattr__(self, "element", element)
    inside = element.labelled, element.has_input, element.width
    self._seal((kind, element), convertible, convertible or element.convertible, *inside)


def _singleton(cls: type[Type], pure_input: bool) -> Any:
    self = object.__new__(cls)
    self._seal(cls.__name__, pure_input, has_input=pure_input)
    return self


_INPUT: Input = _singleton(Input, True)
_VOID: Void = _singleton(Void, False)


def as_type(x: object) -> Type:
    """The type that a short-hand stands for.

    Args:
        x: a type; a list of sizes, perhaps with an element type at its end (`[3]`, `[]`, `[3, "int32"]`); the
            name of an element type, or a NumPy one (`"int32"`, `np.int32`): a scalar; a tuple of short-hands:
            a tuple.

    Raises:
        ArrowTypeError: `x` is none of these.

    Example:
        >>> as_type(([300], [], "int32", [3, "int64"]))
        (float32[300], float32, int32, int64[3])
    """
    done: list[Type] = []
    todo: list[tuple[object, bool]] = [(x, False)]
    while todo:
        x, ready = todo.pop()
        if ready:
            assert isinstance(x, tuple)
            items = done[len(done) - len(x) :]
            del done[len(done) - len(x) :]
            done.append(Tuple(tuple(items)))
        elif isinstance(x, tuple):
            todo.append((x, True))
            todo.extend((item, False) for item in reversed(x))
        else:
            done.append(_leaf_type(x))
    return done[0]


def _leaf_type(x: object) -> Type:
    if isinstance(x, Type):
        return x
    if isinstance(x, list):
        if x and isinstance(x[-1], (str, np.dtype, type)):
            return Tensor(tuple(x[:-1]), dtype_name(x[-1]))
        return Tensor(tuple(x))
    if isinstance(x, (str, np.dtype)) or (isinstance(x, type) and issubclass(x, np.generic)):
        return Tensor((), dtype_name(x))
    number = isinstance(x, int) and not isinstance(x, bool)
    raise ArrowTypeError(
        message(
            f"cannot read {x!r} as a type at {SourceLine.here()}",
            reason="expected a type, a shape such as [3] or [3, 'int32'], an element type such as 'int32', "
            "or a tuple of these",
            hint=f"a vector of {x} numbers is [{x}]" if number else "",
        )
    )


def _shape(shape: object) -> tuple[int, ...]:
    if type(shape) is tuple and not [n for n in shape if type(n) is not int or n < 0]:
        return shape
    if not isinstance(shape, (tuple, list)):
        raise ArrowTypeError(f"a shape must be a tuple or list of sizes, not {shape!r}")
    sizes = []
    for n in shape:
        if isinstance(n, (bool, np.bool_)) or not isinstance(n, (int, np.integer)):
            raise ArrowTypeError(f"a size must be an integer, not {n!r}, in the shape {list(shape)!r}")
        if n < 0:
            raise ArrowValueError(f"a size must not be negative, as {n} is in the shape {list(shape)!r}")
        sizes.append(int(n))
    return tuple(sizes)


# The walks need the classes above; they are part of this module's interface.
from arrows.typesys.walks import (  # noqa: E402  # noqa: E402
    assemble,
    common_labels,
    equal,
    flatten,
    label,
    leaves,
    notation,
    transform,
    with_float,
)
