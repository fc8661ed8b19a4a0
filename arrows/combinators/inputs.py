"""Blocks that bring data in: `Scalar`, `Vector`, `Tensor`, `InputTransform`, `GetItem`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from arrows.combinators.block import Block, set_name
from arrows.typesys import static
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, Site, message

A = TypeVar("A")
B = TypeVar("B")

Floats = Literal["float16", "float32", "float64"]
Ints = Literal["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


class Read(Block[A, B]):
    """The core form of `Scalar`, `Vector` and `Tensor`: a Python object becomes a tensor of one type.

    Attributes:
        type: the tensor's type.
    """

    type: T.Tensor

    def __init__(self, type: T.Tensor, *, kind: str = "Tensor", name: str | None = None) -> None:
        self.kind = kind
        set_name(self, name)
        self.type = type

    def arguments(self, depth: int = 2) -> str:
        dtype = repr(self.type.dtype)
        if self.kind == "Scalar":
            return dtype
        size = str(self.type.shape[0]) if self.kind == "Vector" else str(list(self.type.shape))
        return size if self.type.dtype == "float32" else f"{size}, {dtype}"


@overload
def Scalar(
    dtype: Literal["float32"] = "float32", *, name: str | None = None
) -> Read[float, static.Scalar32]: ...
@overload
def Scalar(dtype: Literal["float64"], *, name: str | None = None) -> Read[float, static.Scalar64]: ...
@overload
def Scalar(dtype: Literal["int32"], *, name: str | None = None) -> Read[int, static.Index32]: ...
@overload
def Scalar(dtype: Literal["int64"], *, name: str | None = None) -> Read[int, static.Index64]: ...
@overload
def Scalar(dtype: str, *, name: str | None = None) -> Read[Any, static.Tensor[Any, tuple[()]]]: ...
def Scalar(dtype: str = "float32", *, name: str | None = None) -> Read[Any, Any]:
    """Reads a number.

    Args:
        dtype: element type. Integer types take `int`, `bool` and NumPy integers in range; float types any
            real number.
        name: makes it a named input, whose gradient may be asked for.

    Raises:
        ArrowTypeError: unknown element type.
        InputError: at evaluation, something else than such a number.

    Source: TensorFlow Fold, `td.Scalar`.

    Example:
        >>> import arrows as ar
        >>> ar.Scalar("int32")
        Scalar('int32')
    """
    return Read(T.Tensor((), dtype), kind="Scalar", name=name)


def Vector(
    size: int, dtype: str = "float32", *, name: str | None = None
) -> Read[Any, static.Tensor[Any, tuple[Any]]]:
    """Reads a list of `size` numbers.

    Args:
        size: length, >= 0.
        dtype: element type.
        name: makes it a named input, whose gradient may be asked for.

    Raises:
        ArrowTypeError, ArrowValueError: the size or the element type cannot be.
        InputError: at evaluation, another number of numbers, or something else.

    Source: TensorFlow Fold, `td.Vector`.

    Example:
        >>> import arrows as ar
        >>> ar.Vector(3)
        Vector(3)
    """
    return Read(T.Tensor((size,), dtype), kind="Vector", name=name)


def Tensor(
    shape: list[int] | tuple[int, ...], dtype: str = "float32", *, name: str | None = None
) -> Read[Any, static.Tensor[Any, Any]]:
    """Reads an array, or nested lists of numbers, of one shape.

    Args:
        shape: sizes of the axes, each >= 0.
        dtype: element type.
        name: makes it a named input, whose gradient may be asked for.

    Raises:
        ArrowTypeError, ArrowValueError: the shape or the element type cannot be.
        InputError: at evaluation, another shape, or something else than numbers.

    Source: TensorFlow Fold, `td.Tensor`.

    Example:
        >>> import arrows as ar
        >>> ar.Tensor([2, 3], "float64")
        Tensor([2, 3], 'float64')
    """
    return Read(T.Tensor(shape, dtype), kind="Tensor", name=name)


class Transform(Block[A, B]):
    """The core form of `InputTransform`.

    Attributes:
        function: from a Python object to a Python object.
    """

    function: Callable[[A], B]

    def __init__(self, function: Callable[[A], B], *, name: str | None = None) -> None:
        set_name(self, name)
        if isinstance(function, Block) or not callable(function):
            raise ArrowTypeError(
                message(
                    f"cannot make an InputTransform at {Site.here()}",
                    reason=f"expected a function of a Python object, got {function!r}",
                    hint="ar.InputTransform(len)",
                )
            )
        self.function = function

    def arguments(self, depth: int = 2) -> str:
        return function_name(self.function)


class InputTransform(Transform[A, B]):
    """Applies a Python function to a Python object.

    It runs while an example is read, once a visit; it must not change what it is given.

    Args:
        function: from one Python object to another.
        name: the name in messages.

    Raises:
        ArrowTypeError: not a function.
        InputError: at evaluation, whatever the function raises (chained).

    Source: TensorFlow Fold, `td.InputTransform`.

    Example:
        >>> import arrows as ar
        >>> ar.InputTransform(str.lower).eval("Tree")
        'tree'
    """


class Item(Block[A, B]):
    """The core form of `GetItem`.

    Attributes:
        key: an index, a slice, a key, a label.
        arity: how many items the input must have if it is a tuple (`ar.unpack`), or None.
    """

    key: Any
    arity: int | None

    def __init__(self, key: Any, *, arity: int | None = None, name: str | None = None) -> None:
        set_name(self, name)
        self.kind = "GetItem"
        self.key = key
        self.arity = arity

    def arguments(self, depth: int = 2) -> str:
        return repr(self.key)


class GetItem(Item[Any, Any]):
    """Takes an item: `x[key]` of a Python object; an item of a tuple by position or label; an element of a
    sequence.

    Args:
        key: index, slice, or key. A tuple's labels go before positions.
        name: the name in messages.

    Raises:
        ArrowTypeError: at `compile`, a tuple that has no such item, or an input without items.
        InputError: at evaluation, an object or sequence that has no such item.

    Source: TensorFlow Fold, `td.GetItem`, `td.Slice`.

    Example:
        >>> import arrows as ar
        >>> ar.GetItem("word").eval({"word": "tree"})
        'tree'
    """

    def __init__(self, key: Any, *, name: str | None = None) -> None:
        super().__init__(key, name=name)


def function_name(function: Any) -> str:
    """A function in a word: its name, through partials; `lambda` for a lambda."""
    while hasattr(function, "func"):
        function = function.func
    name = getattr(function, "__name__", None)
    if name is None:
        return type(function).__name__
    return "lambda" if name == "<lambda>" else str(name)
