"""Blocks that read data: `Scalar`, `Vector`, `Tensor`, `Input`, `InputTransform`, `Length`."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any, ClassVar, Literal, get_origin, overload

from arrows.combinators.base.arguments import function_name, set_name, wrong_argument
from arrows.combinators.base.block import A, B, Block, spelled
from arrows.combinators.base.printing import Spelling
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine, message, static, types as T


class Read(Block[A, B]):
    """The core form of what takes a Python object: a function makes another of it, or it becomes a tensor.

    Attributes:
        type: the type of the result, a tensor or `Input`.
        function: what runs on the object first, while an example is read, or None.
        counts: whether anything that has elements is taken, not objects alone, and the result is a number.
    """

    kind = "Tensor"
    type: T.Type
    function: Callable[[Any], Any] | None = None
    counts: ClassVar[bool] = False

    def __init__(self, type: T.Tensor, *, name: str | None = None) -> None:
        set_name(self, name)
        self.type = type

    def arguments(self) -> list[str]:
        assert isinstance(self.type, T.Tensor)
        dtype = [] if self.type.dtype == "float32" else [repr(self.type.dtype)]
        return [str(list(self.type.shape)), *dtype]


@overload
def Scalar(
    dtype: Literal["float32"] = "float32", *, name: str | None = None
) -> Read[float, static.Scalar32]: ...
@overload
def Scalar(dtype: Literal["int32"], *, name: str | None = None) -> Read[int, static.Index32]: ...
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
    type = _tensor("Scalar", (), dtype, "ar.Scalar('int32')")
    return spelled(Read(type, name=name), Spelling("Scalar", (repr(type.dtype),)))


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
    shape: object = size  # an `object`, because callers without a type checker may pass anything
    hint = "ar.Tensor([3, 4])" if isinstance(shape, (list, tuple)) else "ar.Vector(300)"
    type = _tensor("Vector", (size,), dtype, hint)
    words = (str(size), *([] if type.dtype == "float32" else [repr(type.dtype)]))
    return spelled(Read(type, name=name), Spelling("Vector", words))


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
    hint = "ar.Tensor([3, 4], 'int32')"
    if isinstance(shape, (list, tuple)) and None in shape:
        hint = "an axis whose length differs from example to example is a sequence: ar.Map(ar.Vector(3))"
    return Read(_tensor("Tensor", shape, dtype, hint), name=name)


def _tensor(kind: str, shape: list[int] | tuple[int, ...], dtype: str, hint: str) -> T.Tensor:
    """Makes the type that a block reads; if there is no such type, the error names the block."""
    try:
        return T.Tensor(shape, dtype)
    except (ArrowTypeError, ArrowValueError) as error:
        raise type(error)(
            message(f"cannot make a {kind} at {SourceLine.here()}", reason=str(error), hint=hint)
        ) from None


class InputTransform(Read[A, B]):
    """Applies a Python function to a Python object.

    The function runs while an example is read, once for each visit, however many blocks read its result. It
    must not change its argument. If the result is an iterator, each block that goes over it starts at the
    beginning. But a function that takes the iterator itself uses it up: return a list if several functions
    read it.

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

    type = T.Input()

    def __init__(self, function: Callable[[A], B], *, name: str | None = None) -> None:
        set_name(self, name)
        argument: object = function  # an `object`, because callers without a type checker may pass anything
        if isinstance(argument, Block) or not callable(argument):
            reason = f"expected a function of a Python object, got {argument!r}"
            hint = "ar.InputTransform(len), ar.InputTransform(table.get); a block stands alone: f >> g"
            raise wrong_argument("an InputTransform", reason, hint=hint)
        self.function = function

    def arguments(self) -> list[str]:
        return [function_name(self.function)]


class Length(Read[Any, static.Tensor[Any, tuple[()]]]):
    """Counts the elements of a Python object, a sequence or a tuple.

    The number is read, not computed: no gradient passes.

    Args:
        dtype: element type of the number, an integer or float type.
        name: the name in messages.

    Attributes:
        type: the type of the result.

    Raises:
        ArrowTypeError: no such element type; at `compile`, an input without elements or without end.
        InputError: at evaluation, a Python object that has no length, or more elements than `dtype` can hold.

    Source: TensorFlow Fold, `td.Length`, which gives float32.

    Example:
        >>> import arrows as ar
        >>> int(ar.Length().eval("tree")), int((ar.Map(ar.Scalar()) >> ar.Length()).eval([1, 2]))
        (4, 2)
    """

    type: T.Tensor
    counts = True

    def __init__(self, dtype: str = "int32", *, name: str | None = None) -> None:
        super().__init__(T.Tensor((), dtype), name=name)
        self.function = _float_length if self.type.floating else len

    def arguments(self) -> list[str]:
        return [] if self.type.dtype == "int32" else [repr(self.type.dtype)]


def _float_length(x: Sized) -> float:
    return float(len(x))


class Unfit(ValueError):
    """Says that a function of the library cannot take a Python object; the text is the reason."""


class Input(InputTransform[A, A]):
    """A Python object of a known class, so that type checkers follow the fields of the data.

    `Input(Leaf).get(lambda leaf: leaf.word)` is a block from `Leaf` to the type of its field, and a misspelt
    field is an error of mypy and pyright: of dataclasses, NamedTuples and TypedDicts. A union is written
    `Input[Leaf | Pair]()`.

    Args:
        kind: the class. What can be tested by `isinstance` is tested when an example is read; a TypedDict
            cannot.
        name: the name in messages.

    Raises:
        ArrowTypeError: not a class.
        InputError: at evaluation, an object of another class.

    Example:
        >>> import arrows as ar
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Leaf:
        ...     word: str
        >>> leaf = ar.Input(Leaf)
        >>> (leaf >> leaf.get(lambda x: x.word) >> ar.InputTransform(len)).eval(Leaf("tree"))
        4
    """

    def __init__(self, kind: type[A] | None = None, *, name: str | None = None) -> None:
        cls: object = kind  # an `object`, because callers without a type checker may pass anything
        if cls is not None and not isinstance(cls, type) and get_origin(cls) is None:
            raise wrong_argument(
                "an Input",
                f"expected a class of Python objects, got {cls!r}",
                hint="ar.Input(dict); a tensor is read by ar.Scalar(), ar.Vector(n), ar.Tensor(shape)",
            )
        super().__init__(_InstanceOf(kind), name=name)

    def get(self, field: Callable[[A], B], *, name: str | None = None) -> InputTransform[A, B]:
        """Reads a field: `field` is a function of the object, such as `lambda leaf: leaf.word`.

        Raises:
            ArrowTypeError: not a function.
            InputError: at evaluation, whatever the function raises (chained).
        """
        return InputTransform(field, name=name)


class _InstanceOf:
    """Returns its argument if that is an instance of a class."""

    def __init__(self, kind: type | None) -> None:
        self.__name__ = "" if kind is None else getattr(kind, "__name__", repr(kind))
        try:
            isinstance(None, kind if kind is not None else object)
        except TypeError:  # `isinstance` cannot test a TypedDict or a list[int]
            kind = None
        self.checked = kind

    def __call__(self, x: A) -> A:
        if self.checked is not None and not isinstance(x, self.checked):
            got = "None" if x is None else f"an object of type {type(x).__name__}"
            raise Unfit(f"expected an object of type {self.__name__}, got {got}")
        return x
