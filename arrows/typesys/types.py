"""The type language: what may flow along an arrow.

Six kinds of type: `Input` (a Python object), `Tensor` (a shape without a batch axis, and an element type),
`Tuple`, `Sequence`, `Broadcast` (an endless sequence) and `Void`. Types are immutable values: they compare
and hash by structure (without the labels of tuples) and print in a short notation. Nothing here recurses, so
a type may nest as deep as memory allows; but pickling does, and reaches 200 types inside one another.

Element types have names, as NumPy has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence as AnySequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, NoReturn, Self, TypeAlias, TypeVar

import numpy as np

from arrows.typesys.errors import ArrowTypeError, ArrowValueError, SourceLine, message

N = TypeVar("N")

FLOATS = ("float16", "float32", "float64")
DTYPES = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", *FLOATS)
)
_NAMES = {np.dtype(name): name for name in DTYPES}  # a look-up is far faster than `dtype.name`


def dtype_name(x: object) -> str:
    """The canonical name of an element type.

    Raises:
        ArrowTypeError: there is no such element type.
    """
    if isinstance(x, str) and x in DTYPES:
        return x
    if isinstance(x, np.dtype) and x in _NAMES:
        return _NAMES[x]
    try:
        name = np.dtype(x).name if x is not None else ""  # type: ignore[call-overload]
    except (TypeError, ValueError, SyntaxError):  # NumPy raises each of these for some unknown names
        name = ""
    if name not in DTYPES:
        raise ArrowTypeError(f"unknown element type {x!r}: expected one of {', '.join(sorted(DTYPES))}")
    return str(name)


def is_float(dtype: str) -> bool:
    """True for float16, float32 and float64.

    >>> is_float("float32"), is_float("int32")
    (True, False)
    """
    return dtype.startswith("float")


def wider_dtype(first: str, second: str) -> str:
    """The one of two element types that holds the other's numbers best: floats before integers before bool.

    >>> wider_dtype("int32", "float32"), wider_dtype("float32", "float64"), wider_dtype("int8", "bool")
    ('float32', 'float64', 'int8')
    """
    kinds = (np.dtype(name) for name in (first, second))
    ranks = [("bif".index(kind.kind.replace("u", "i")), kind.itemsize) for kind in kinds]
    return second if ranks[1] > ranks[0] else first


def masked_elements(value: object) -> int:
    """Counts the masked elements of an array, or of all arrays in nested lists; a repeated list counts once.

    NumPy converts masked arrays to plain ones silently, so arrows looks for them before it converts anything.

    Example:
        >>> pair = np.ma.array([1, 2], mask=[False, True])
        >>> masked_elements(pair), masked_elements([pair, [np.ma.masked, 3]]), masked_elements([1, 2])
        (1, 2, 0)
    """
    count = 0
    seen: set[int] = set()  # a list may hold itself
    todo = [value]
    while todo:
        x = todo.pop()
        if isinstance(x, np.ma.MaskedArray):
            count += int(np.count_nonzero(np.ma.getmaskarray(x)))
        elif isinstance(x, (list, tuple)) and id(x) not in seen:
            seen.add(id(x))
            kinds = set(map(type, x))
            if any(issubclass(kind, (list, tuple, np.ma.MaskedArray)) for kind in kinds):
                todo.extend(x)
    return count


__all__ = ["Broadcast", "Input", "Sequence", "Tensor", "Tuple", "Type", "Void", "as_type"]

Labels: TypeAlias = tuple[Hashable, ...]
"""The keys of a tuple's items."""


def __dir__() -> list[str]:
    return __all__


class Type:
    """Base of all types; compare with `==`, print with `str`.

    Attributes:
        width: the number of leaves (parts that have no parts), each counted wherever it occurs.
        has_input: whether it is `Input`, or some part of it is.

    Example:
        >>> Tensor((3,)) == Tensor([3], "float32"), Tensor((3,)) == Input()
        (True, False)
    """

    __slots__ = ("_hash", "has_input", "width")

    _hash: int
    width: int
    has_input: bool

    @property
    def children(self) -> tuple[Type, ...]:
        """The types directly inside this one."""
        return ()

    def _arguments(self) -> tuple[Any, ...]:
        """What it is made of."""
        return self.children

    def _own(self) -> Hashable:
        """What distinguishes this type from others of its class with equal children; None if nothing does."""
        return None

    def _pieces(self) -> list[Any]:
        """The notation as a list of texts, with each child in the place of its notation."""
        return [type(self).__name__]

    def _seal(self, **fields: object) -> None:
        put = object.__setattr__
        for name, value in fields.items():
            put(self, name, value)
        children = self.children
        put(self, "_hash", hash((type(self).__name__, self._own(), children)))
        put(self, "width", sum([part.width for part in children]) if children else 1)
        inside = True in [part.has_input for part in children] if children else isinstance(self, Input)
        put(self, "has_input", inside)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"types are immutable: cannot set {name!r} of {self}")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type):
            return NotImplemented
        return self._hash == other._hash and _equal(self, other)

    def __repr__(self) -> str:
        return notation(self)

    def __reduce__(self) -> tuple[type[Type], tuple[object, ...]]:
        return type(self), self._arguments()

    def __deepcopy__(self, memo: object) -> Self:
        return self


class _Single(Type):
    """A type of which there is one."""

    __slots__ = ()
    _only: _Single

    def __new__(cls) -> Self:
        if "_only" not in cls.__dict__:
            cls._only = super().__new__(cls)
            cls._only._seal()
        return cls._only  # type: ignore[return-value]


class Input(_Single):
    """A Python object of any kind: data before it becomes a tensor.

    Example:
        >>> Input()
        Input
    """

    __slots__ = ()


class Void(_Single):
    """Nothing: the value is `None`.

    Example:
        >>> Void()
        Void
    """

    __slots__ = ()


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
        self._seal(shape=_shape(shape), dtype=dtype_name(dtype))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements; 1 for a scalar."""
        return math.prod(self.shape)

    @property
    def floating(self) -> bool:
        """Whether the elements are floating point numbers."""
        return is_float(self.dtype)

    def _own(self) -> Hashable:
        return self.shape, self.dtype

    def _arguments(self) -> tuple[Any, ...]:
        return self.shape, self.dtype

    def _pieces(self) -> list[Any]:
        return [self.dtype + (f"[{', '.join(map(str, self.shape))}]" if self.shape else "")]


class Tuple(Type):
    """A fixed number of values, each with its own type and perhaps a key.

    Labels are not part of the type: two tuples that differ in labels only are equal.

    Args:
        items: the types of the items.
        labels: one key for each item, or None.

    Raises:
        ArrowTypeError: an item is not a type.
        ArrowValueError: there are more or fewer labels than items, a label occurs twice, or a number is the
            label of one item and the position of another.

    Example:
        >>> Tuple((Input(), Tensor(())), labels=("left", "right"))
        (left: Input, right: float32)
    """

    __slots__ = ("_places", "items", "labels")

    items: tuple[Type, ...]
    labels: Labels | None
    _places: dict[Hashable, int]

    def __init__(self, items: AnySequence[Type] = (), labels: Labels | None = None) -> None:
        items, places = tuple(items), {}
        for i, item in enumerate(items):
            if not isinstance(item, Type):
                raise ArrowTypeError(f"item {i} of a tuple type must be a type, not {item!r}")
        if labels is not None:
            labels = tuple(labels)
            if len(labels) != len(items):
                raise ArrowValueError(f"{len(labels)} labels for a tuple type of {len(items)} items")
            if len(places := {key: i for i, key in enumerate(labels)}) != len(labels):
                raise ArrowValueError(f"a label appears twice in {labels!r}")
            if (moved := moved_label(labels)) is not None:
                raise ArrowValueError(f"the label {moved!r} is the position of another item in {labels!r}")
        self._seal(items=items, labels=labels, _places=places)

    @property
    def children(self) -> tuple[Type, ...]:
        return self.items

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Type]:
        return iter(self.items)

    def place(self, key: Hashable) -> int | None:
        """The position of the item that `key` names: a label if the tuple has that label, else a position.

        None if there is no such item.

        Example:
            >>> pair = Tuple((Input(), Void()), ("a", "b"))
            >>> pair.place("b"), pair.place(-1), pair.place("c") is None
            (1, 1, True)
        """
        with suppress(KeyError, TypeError):  # what has no hash is no label
            return self._places[key]
        return key % len(self) if isinstance(key, int) and -len(self) <= key < len(self) else None

    def _own(self) -> Hashable:
        return len(self.items)

    def _arguments(self) -> tuple[Any, ...]:
        return self.items, self.labels

    def _pieces(self) -> list[Any]:
        return tuple_pieces(self.items, self.labels)


def moved_label(labels: Labels) -> Hashable | None:
    """A label that is the position of another item; None if there is none.

    Where tuples with other labels meet, and in a Python object, items have positions alone. So the same key
    would take another item there.

    >>> moved_label((1, 0)), moved_label((0, "a", 7))
    (1, None)
    """
    # By equality, as labels are looked up: NumPy's 1, True and 1.0 are the position 1 as well.
    positions: dict[Hashable, int] = {n: n % len(labels) for n in range(-len(labels), len(labels))}
    return next((key for n, key in enumerate(labels) if positions.get(key, n) != n), None)


class _OfElements(Type):
    """Base of `Sequence` and `Broadcast`: one type for all elements."""

    __slots__ = ("element",)

    element: Type

    def __init__(self, element: Type) -> None:
        if not isinstance(element, Type):
            raise ArrowTypeError(
                f"the element of a {type(self).__name__} type must be a type, not {element!r}"
            )
        self._seal(element=element)

    @property
    def children(self) -> tuple[Type, ...]:
        return (self.element,)

    def _pieces(self) -> list[Any]:
        return [f"{type(self).__name__}(", self.element, ")"]


class Sequence(_OfElements):
    """Any number of values of one type.

    Raises:
        ArrowTypeError: the element is not a type.

    Example:
        >>> Sequence(Tensor((300,)))
        Sequence(float32[300])
    """

    __slots__ = ()


class Broadcast(_OfElements):
    """One value, repeated without end. It is not a kind of `Sequence`.

    Raises:
        ArrowTypeError: the element is not a type.

    Example:
        >>> Broadcast(Tensor((300,)))
        Broadcast(float32[300])
    """

    __slots__ = ()


def _shape(shape: object) -> tuple[int, ...]:
    if type(shape) is tuple and not [n for n in shape if type(n) is not int or n < 0]:
        return shape
    if not isinstance(shape, (tuple, list)):
        raise ArrowTypeError(f"a shape must be a tuple or list of sizes, not {shape!r}")
    for n in shape:
        if isinstance(n, (bool, np.bool_)) or not isinstance(n, (int, np.integer)):
            raise ArrowTypeError(f"a size must be an integer, not {n!r}, in the shape {list(shape)!r}")
        if n < 0:
            raise ArrowValueError(f"a size must not be negative: {n} in the shape {list(shape)!r}")
    return tuple(map(int, shape))


def _equal(a: Type, b: Type) -> bool:
    """Whether two types have the same structure; a pair of shared parts is compared once."""
    todo = [(a, b)]
    met: set[tuple[int, int]] = set()
    while todo:
        a, b = todo.pop()
        if a is b:
            continue
        if a._hash != b._hash or type(a) is not type(b) or a._own() != b._own():
            return False
        if (children := a.children) and (pair := (id(a), id(b))) not in met:
            met.add(pair)
            todo.extend(zip(children, b.children, strict=True))
    return True


def label(key: Hashable) -> str:
    """A key as messages print it: identifiers bare, other keys by `repr`.

    Example:
        >>> label("left"), label(3), label("two words")
        ('left', '3', "'two words'")
    """
    if isinstance(key, str) and key.isidentifier() and key not in ("None", "True", "False"):
        return key
    return repr(key)


def tuple_pieces(items: AnySequence[object], labels: Labels | None) -> list[Any]:
    """The notation of a tuple as a list of texts, with each item in the place of its notation."""
    pieces: list[Any] = ["("]
    for i, item in enumerate(items):
        pieces += [", " if i else "", "" if labels is None else f"{label(labels[i])}: ", item]
    return [*pieces, ",)" if len(items) == 1 else ")"]


def notation(t: object, limit: int | None = None) -> str:
    """The short notation of a type, which is what `str` gives.

    Args:
        t: the type, or the variable of one that is being found.
        limit: about how many parts to print; `...` stands for the rest.

    Example:
        >>> notation(Tensor((300,))), notation(Tensor((3, 4), "int32"), limit=1)
        ('float32[300]', 'int32[3, 4]')
    """
    text: list[str] = []
    todo: list[Any] = [t]
    while todo:
        if limit is not None and len(text) >= limit:
            text.append("...")
            break
        x = todo.pop()
        if not isinstance(x, str):
            todo.extend(reversed(x._pieces()))
        elif x:
            text.append(x)
    return "".join(text)


def parts(t: Type) -> Iterator[Type]:
    """`t` and all types inside it, depth first."""
    todo = [t]
    while todo:
        t = todo.pop()
        yield t
        todo.extend(reversed(t.children))


def postorder(root: N, parts: Callable[[N], Iterable[N]], seen: set[int]) -> list[N]:
    """Lists all that is inside of `root` once and after its parts, but for what has been seen before."""
    order: list[N] = []
    todo = [(root, False)]
    while todo:
        x, ready = todo.pop()
        if ready:
            order.append(x)
        elif id(x) not in seen:
            seen.add(id(x))
            todo.append((x, True))
            todo.extend((part, False) for part in parts(x))
    return order


def parts_first(t: Type) -> list[Type]:
    """Every type inside `t` and `t` itself, once by identity, children before parents."""
    return postorder(t, attrgetter("children"), set())


def leaves(t: Type) -> list[Tensor]:
    """The tensors inside `t`, depth first.

    Example:
        >>> leaves(Tuple((Tensor((3,)), Sequence(Tensor((), "int32")), Input())))
        [float32[3], int32]
    """
    return [part for part in parts(t) if isinstance(part, Tensor)]


def holds(t: Type, kind: type[Type] | tuple[type[Type], ...]) -> bool:
    """Whether `t`, or some part of it, is a type of this kind.

    Example:
        >>> holds(Tuple((Tensor(()), Input())), Input), holds(Tensor(()), Input)
        (True, False)
    """
    return any(isinstance(part, kind) for part in parts_first(t))


def with_float(t: Type, float_type: str) -> Type:
    """`t` with every floating element type replaced by `float_type`.

    Example:
        >>> with_float(Tuple((Tensor((3,)), Tensor((), "int32"))), "float64")
        (float64[3], int32)
    """
    dtype = dtype_name(float_type)
    done: dict[int, Type] = {}
    for x in parts_first(t):
        if isinstance(x, Tuple):
            done[id(x)] = Tuple([done[id(item)] for item in x.items], x.labels)
        elif isinstance(x, _OfElements):
            done[id(x)] = type(x)(done[id(x.element)])
        else:
            done[id(x)] = Tensor(x.shape, dtype) if isinstance(x, Tensor) and x.floating else x
    return done[id(t)]


def check_depth(x: object) -> None:
    """Refuses tuples and dicts that nest deeper than Python itself can print them.

    Raises:
        ArrowTypeError: more than 100 stand in one another.
    """
    inside = {0: x}  # by identity, since one tuple may stand at many places
    for _ in range(101):  # a hundred of them, and what the innermost holds
        nested = [y for y in inside.values() if isinstance(y, (tuple, Mapping))]
        inside = {id(z): z for y in nested for z in (y.values() if isinstance(y, Mapping) else y)}
        if not inside:
            return
    raise ArrowTypeError(f"more than 100 tuples or dicts stand in one another at {SourceLine.here()}")


def as_type(x: object) -> Type:
    """The type that a short-hand stands for.

    Args:
        x: a type; for a tensor, a list of sizes, perhaps with an element type at its end (`[3]`, `[]`,
            `[3, "int32"]`); for a scalar, an element type (`"int32"`, `np.int32`); for a tuple, a tuple of
            short-hands.

    Raises:
        ArrowTypeError: `x` is none of these.

    Example:
        >>> as_type(([300], [], "int32", [3, "int64"]))
        (float32[300], float32, int32, int64[3])
    """
    if isinstance(x, Type):
        return x
    if isinstance(x, tuple) and not (x and all(isinstance(size, int) for size in x)):
        check_depth(x)
        return Tuple([as_type(item) for item in x])
    if isinstance(x, list):
        if x and isinstance(x[-1], (str, np.dtype, type)):
            return Tensor(tuple(x[:-1]), dtype_name(x[-1]))
        return Tensor(tuple(x))
    if isinstance(x, (str, np.dtype)) or (isinstance(x, type) and issubclass(x, np.generic)):
        return Tensor((), dtype_name(x))
    hint = f"a shape is a list: {list(x)}" if isinstance(x, tuple) else ""
    if isinstance(x, int) and not isinstance(x, bool):
        hint = f"a vector of {x} numbers is [{x}]"
    raise ArrowTypeError(
        message(
            f"cannot read {x!r} as a type at {SourceLine.here()}",
            reason="expected a type, a shape such as [3] or [3, 'int32'], an element type such as 'int32', "
            "or a tuple of these",
            hint=hint,
        )
    )
