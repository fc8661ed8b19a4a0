"""The base of all types, and the types without parts: `Input`, `Void` and `Tensor`.

Types are immutable values: they compare and hash by structure (without the labels of tuples) and print in a
short notation. Nothing here recurses, so a type may nest as deep as memory allows.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import NoReturn, TypeVar

import numpy as np

from arrows.typesys.dtypes import FLOATS, dtype_name
from arrows.typesys.errors import ArrowTypeError, ArrowValueError


class Type:
    """Base of all types; compare with `==`, print with `str`.

    Attributes:
        width: the number of leaves (parts that have no parts), each counted wherever it occurs.

    Example:
        >>> Tensor((3,)) == Tensor([3], "float32"), Tensor((3,)) == Input()
        (True, False)
    """

    __slots__ = ("_hash", "width")

    _hash: int
    width: int

    @property
    def children(self) -> tuple[Type, ...]:
        """The types directly inside this one."""
        return ()

    def _head(self) -> Hashable:
        """What distinguishes this type from others of its class with equal children; None if nothing does."""
        return None

    def _pieces(self) -> list[Type | str]:
        """The notation as a list of texts, with each child in the place of its notation."""
        return [type(self).__name__]

    def _seal(self, key: Hashable) -> None:
        object.__setattr__(self, "_hash", hash(key))
        object.__setattr__(self, "width", max(1, sum([part.width for part in self.children])))

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

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return type(self), ()

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

    def __new__(cls) -> Input:  # noqa: PYI034  always the same instance
        return _INPUT


class Void(Type):
    """Nothing: the value is `None`.

    Example:
        >>> Void()
        Void
    """

    __slots__ = ()

    def __new__(cls) -> Void:  # noqa: PYI034  always the same instance
        return _VOID


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
        return math.prod(self.shape)

    @property
    def floating(self) -> bool:
        """Whether the elements are floating point numbers."""
        return self.dtype in FLOATS

    def _head(self) -> Hashable:
        return self.shape, self.dtype

    def _pieces(self) -> list[Type | str]:
        return [self.dtype + (f"[{', '.join(map(str, self.shape))}]" if self.shape else "")]

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Tensor, (self.shape, self.dtype)


def parts_first(t: Type) -> Iterator[Type]:
    """Every type inside `t` and `t` itself, once by identity, children before parents."""
    done: set[int] = set()
    todo = [t]
    while todo:
        x = todo[-1]
        if id(x) in done:
            todo.pop()
        elif missing := [c for c in x.children if id(c) not in done]:
            todo.extend(missing)
        else:
            done.add(id(todo.pop()))
            yield x


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
            raise ArrowValueError(f"a size must not be negative: {n} in the shape {list(shape)!r}")
        sizes.append(int(n))
    return tuple(sizes)


SingletonType = TypeVar("SingletonType", Input, Void)


def _singleton(kind: type[SingletonType]) -> SingletonType:
    self = object.__new__(kind)
    self._seal(kind.__name__)
    return self


_INPUT = _singleton(Input)
_VOID = _singleton(Void)


def equal(a: Type, b: Type) -> bool:
    """Whether two types have the same structure; a pair of shared parts is compared once."""
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
        if a._head() != b._head():
            return False
        todo.extend(zip(a.children, b.children, strict=True))
    return True


def notation(t: Type, limit: int | None = None) -> str:
    """The short notation of a type, which is what `str` gives.

    Args:
        t: the type.
        limit: about how many parts to print; `...` stands for the rest.

    Example:
        >>> notation(Tensor((300,))), notation(Tensor((3, 4), "int32"), limit=1)
        ('float32[300]', 'int32[3, 4]')
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
        else:
            todo.extend(reversed(x._pieces()))
    return "".join(text)
