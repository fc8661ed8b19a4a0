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

from arrows.typesys.errors import ArrowTypeError, ArrowValueError, Site, message

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
    "leaves",
    "transform",
    "with_float",
]

FLOATS = ("float16", "float32", "float64")
DTYPES = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", *FLOATS)
)


class Type:
    """Base of all types; compare with `==`, print with `str`.

    Attributes:
        pure_input: the type is `Input`, or a tuple or sequence of nothing else, so that it may go where an
            `Input` is wanted.
        convertible: some part of the type is a tuple or sequence for which `pure_input` holds.
        labelled: some tuple inside has labels.
        has_input: an `Input` stands somewhere inside.

    Example:
        >>> Tuple((Input(), Tensor((3,)))) == Tuple((Input(), Tensor((3,))), labels=("a", "b"))
        True
    """

    __slots__ = ("_hash", "convertible", "has_input", "labelled", "pure_input")

    _hash: int
    pure_input: bool
    convertible: bool
    labelled: bool
    has_input: bool

    @property
    def children(self) -> tuple[Type, ...]:
        """The types directly inside this one."""
        return ()

    def _seal(
        self,
        key: Hashable,
        pure_input: bool = False,
        convertible: bool = False,
        labelled: bool = False,
        has_input: bool = False,
    ) -> None:
        put = object.__setattr__
        put(self, "_hash", hash(key))
        put(self, "pure_input", pure_input)
        put(self, "convertible", convertible)
        put(self, "labelled", labelled)
        put(self, "has_input", has_input)

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
        return self._hash == other._hash and _equal(self, other)

    def __repr__(self) -> str:
        return notation(self)

    def __reduce__(self) -> tuple[Callable[..., Type], tuple[Any, ...]]:
        return _assemble, (_flatten(self),)

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
        object.__setattr__(self, "dtype", _dtype(dtype))
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

    __slots__ = ("items", "labels")

    items: tuple[Type, ...]
    labels: tuple[Hashable, ...] | None

    def __init__(
        self, items: tuple[Type, ...] | list[Type] = (), labels: tuple[Hashable, ...] | None = None
    ) -> None:
        items = tuple(items)
        pure, convertible, labelled, has_input = True, False, labels is not None, False
        for i, item in enumerate(items):
            if not isinstance(item, Type):
                raise ArrowTypeError(f"item {i} of a tuple type must be a type, not {item!r}")
            pure = pure and item.pure_input
            convertible = convertible or item.convertible
            labelled = labelled or item.labelled
            has_input = has_input or item.has_input
        if labels is not None:
            labels = tuple(labels)
            if len(labels) != len(items):
                raise ArrowValueError(f"{len(labels)} labels for a tuple type of {len(items)} items")
            if len(set(labels)) != len(labels):
                raise ArrowValueError(f"a label stands twice in {labels!r}")
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "labels", labels)
        self._seal(("Tuple", items), pure, pure or convertible, labelled, has_input)

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
        if self.labels is not None and key in self.labels:
            return self.labels.index(key)
        if isinstance(key, int) and -len(self.items) <= key < len(self.items):
            return key % len(self.items)
        raise KeyError(key)

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
    self._seal(
        (kind, element), convertible, convertible or element.convertible, element.labelled, element.has_input
    )


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
            return Tensor(tuple(x[:-1]), _dtype(x[-1]))
        return Tensor(tuple(x))
    if isinstance(x, (str, np.dtype)) or (isinstance(x, type) and issubclass(x, np.generic)):
        return Tensor((), _dtype(x))
    number = isinstance(x, int) and not isinstance(x, bool)
    raise ArrowTypeError(
        message(
            f"cannot read {x!r} as a type at {Site.here()}",
            reason="expected a type, a shape such as [3] or [3, 'int32'], an element type such as 'int32', "
            "or a tuple of these",
            hint=f"a vector of {x} numbers is [{x}]" if number else "",
        )
    )


def leaves(t: Type) -> list[Tensor]:
    """Tensors of `t`, depth first, through tuples and sequences.

    Example:
        >>> leaves(Tuple((Tensor((3,)), Sequence(Tensor((), "int32")), Input())))
        [float32[3], int32]
    """
    found: list[Tensor] = []
    todo = [t]
    while todo:
        t = todo.pop()
        if isinstance(t, Tensor):
            found.append(t)
        else:
            todo.extend(reversed(t.children))
    return found


def transform(t: Type, leaf: Callable[[Type], Type]) -> Type:
    """`t` with every type that has no parts replaced by `leaf` of it.

    Example:
        >>> transform(Tuple((Input(), Void())), lambda leaf: Tensor((2,)))
        (float32[2], float32[2])
    """
    done: dict[int, Type] = {}
    todo = [t]
    while todo:
        x = todo[-1]
        if id(x) in done:
            todo.pop()
            continue
        missing = [c for c in x.children if id(c) not in done]
        if missing:
            todo.extend(missing)
            continue
        todo.pop()
        if isinstance(x, Tuple):
            done[id(x)] = Tuple(tuple(done[id(c)] for c in x.items), x.labels)
        elif isinstance(x, (Sequence, Broadcast)):
            done[id(x)] = type(x)(done[id(x.element)])
        else:
            done[id(x)] = leaf(x)
    return done[id(t)]


def with_float(t: Type, float_type: str) -> Type:
    """`t` with every floating element type replaced by `float_type`.

    Example:
        >>> with_float(Tuple((Tensor((3,)), Tensor((), "int32"))), "float64")
        (float64[3], int32)
    """
    dtype = _dtype(float_type)
    return transform(t, lambda x: Tensor(x.shape, dtype) if isinstance(x, Tensor) and x.floating else x)


def common_labels(t: Type, other: Type) -> Type:
    """`t`, equal to `other`, with those labels only that both have; `t` itself if that drops none.

    Example:
        >>> a = Tuple((Void(), Tuple((Void(),), ("x",))), ("a", "b"))
        >>> common_labels(a, Tuple((Void(), Tuple((Void(),), ("y",))), ("a", "b")))
        (a: Void, b: (Void,))
    """
    done: dict[tuple[int, int], Type] = {}
    todo = [(t, other)]
    while todo:
        x, y = todo[-1]
        pair = (id(x), id(y))
        if pair in done:
            todo.pop()
            continue
        if x is y or not x.labelled:
            done[pair] = x
            continue
        inside = list(zip(x.children, y.children, strict=True))
        missing = [p for p in inside if (id(p[0]), id(p[1])) not in done]
        if missing:
            todo.extend(missing)
            continue
        children = tuple(done[id(p), id(q)] for p, q in inside)
        same = all(a is b for a, b in zip(children, x.children, strict=True))
        if isinstance(x, Tuple) and isinstance(y, Tuple):
            labels = x.labels if x.labels == y.labels else None
            done[pair] = x if same and labels == x.labels else Tuple(children, labels)
        elif isinstance(x, (Sequence, Broadcast)):
            done[pair] = x if same else type(x)(children[0])
        else:
            done[pair] = x
    return done[id(t), id(other)]


def _shape(shape: object) -> tuple[int, ...]:
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


def _dtype(x: object) -> str:
    if isinstance(x, str) and x in DTYPES:
        return x
    try:
        name = np.dtype(x).name if x is not None else ""  # type: ignore[call-overload]
    except TypeError:
        name = ""
    if name not in DTYPES:
        raise ArrowTypeError(f"unknown element type {x!r}: expected one of {', '.join(sorted(DTYPES))}")
    return str(name)


def _equal(a: Type, b: Type) -> bool:
    """Structural equality; pairs already met are skipped, so that shared parts cost nothing."""
    todo = [(a, b)]
    met: set[tuple[int, int]] = set()
    while todo:
        a, b = todo.pop()
        if a is b:
            continue
        if a._hash != b._hash or type(a) is not type(b):
            return False
        pair = (id(a), id(b))
        if pair in met:
            continue
        met.add(pair)
        if a._head() != b._head():  # type: ignore[attr-defined]
            return False
        todo.extend(zip(a.children, b.children, strict=True))
    return True


def notation(t: Type, limit: int | None = None) -> str:
    """The short notation of a type, which is what `str` gives.

    Args:
        t: the type.
        limit: about how many parts to print; what is beyond them is `...`.

    Example:
        >>> notation(Tuple((Input(), Tensor((3,)), Void())), limit=4)
        '(Input, float32[3]...'
    """
    text: list[str] = []
    todo: list[Type | str] = [t]
    while todo:
        if limit is not None and len(text) >= limit:
            text.append("...")
            break
        x = todo.pop()
        if isinstance(x, str):
            text.append(x)
        elif isinstance(x, Tensor):
            text.append(x.dtype + (f"[{', '.join(map(str, x.shape))}]" if x.shape else ""))
        elif isinstance(x, Tuple):
            pieces: list[Type | str] = ["("]
            for i, item in enumerate(x.items):
                if i:
                    pieces.append(", ")
                if x.labels is not None:
                    pieces.append(f"{label(x.labels[i])}: ")
                pieces.append(item)
            pieces.append(",)" if len(x.items) == 1 else ")")
            todo.extend(reversed(pieces))
        elif isinstance(x, (Sequence, Broadcast)):
            todo.extend((")", x.element, f"{type(x).__name__}("))
        else:
            text.append(type(x).__name__)
    return "".join(text)


def label(key: Hashable) -> str:
    """A key as it is printed: names bare, the rest as Python writes it.

    Example:
        >>> label("left"), label(3), label("two words")
        ('left', '3', "'two words'")
    """
    return key if isinstance(key, str) and key.isidentifier() else repr(key)


def _flatten(t: Type) -> list[tuple[Any, ...]]:
    """`t` as a flat list of parts, each named by its place, parts first: pickles without recursion."""
    place: dict[int, int] = {}
    rows: list[tuple[Any, ...]] = []
    todo = [t]
    while todo:
        x = todo[-1]
        if id(x) in place:
            todo.pop()
            continue
        missing = [c for c in x.children if id(c) not in place]
        if missing:
            todo.extend(missing)
            continue
        todo.pop()
        if isinstance(x, Tensor):
            row: tuple[Any, ...] = ("Tensor", x.shape, x.dtype)
        elif isinstance(x, Tuple):
            row = ("Tuple", tuple(place[id(c)] for c in x.items), x.labels)
        elif isinstance(x, (Sequence, Broadcast)):
            row = (type(x).__name__, place[id(x.element)])
        else:
            row = (type(x).__name__,)
        place[id(x)] = len(rows)
        rows.append(row)
    return rows


def _assemble(rows: list[tuple[Any, ...]]) -> Type:
    made: list[Type] = []
    for kind, *rest in rows:
        if kind == "Tensor":
            made.append(Tensor(rest[0], rest[1]))
        elif kind == "Tuple":
            made.append(Tuple(tuple(made[i] for i in rest[0]), rest[1]))
        elif kind == "Sequence":
            made.append(Sequence(made[rest[0]]))
        elif kind == "Broadcast":
            made.append(Broadcast(made[rest[0]]))
        else:
            made.append(_INPUT if kind == "Input" else _VOID)
    return made[-1]
