"""Makes the arguments of a function from its input type, and a type from its result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from itertools import count
from typing import Any

from arrows.ops.context import Context
from arrows.ops.errors import ShapeError
from arrows.ops.function_context import constant_array
from arrows.ops.primitive import ROW
from arrows.ops.tensorlike import TensorLike
from arrows.typesys import types as T


def spread(input: T.Type, leaf: Callable[[T.Tensor, int], object]) -> tuple[object, ...]:
    """The arguments of a function whose input has this type; `leaf(type, level)` makes each tensor.

    A ShapeError if the type has parts other than tensors, tuples, and sequences of tensors.

    >>> spread(T.Tuple((T.Tensor(()), T.Sequence(T.Tensor((3,))))), lambda type, rows: (str(type), rows))
    (('float32', -1), ('float32[3]', 0))
    """
    sequences = count()

    def made(t: T.Type, level: int) -> Any:
        if isinstance(t, T.Tensor):
            return leaf(t, level)
        if isinstance(t, T.Tuple):
            return tuple(made(item, level) for item in t.items)
        if isinstance(t, T.Sequence):
            if level != ROW:
                raise ShapeError(
                    f"a Function takes sequences of tensors, not sequences inside sequences: {input}"
                )
            return made(t.element, next(sequences))
        inside = "" if t is input else f", with {t} in it"
        raise ShapeError(
            f"a Function takes tensors, tuples and sequences of tensors, and its input is {input}{inside}"
        )

    argument = made(input, ROW)
    return argument if isinstance(input, T.Tuple) else (argument,)


def collect(returned: object, context: Context, name: str) -> tuple[list[Any], T.Type]:
    """The tensors in a function's result, depth first, and the result's type; numbers become constants.

    A ShapeError if the result contains anything else.
    """
    leaves: list[Any] = []  # tensors of the class that belongs to the context

    def type_of(item: object) -> T.Type:
        parts, labels = _parts(item)
        if parts is not None:
            return T.Tuple([type_of(part) for part in parts], labels)
        value = _leaf(item, context, name)
        leaves.append(value)
        return T.Sequence(value.type) if value.rows >= 0 else value.type

    T.check_depth(returned)
    output = type_of(returned)
    return leaves, output


def _parts(item: object) -> tuple[list[object] | None, tuple[Hashable, ...] | None]:
    if isinstance(item, dict):
        return list(item.values()), tuple(item)
    if isinstance(item, tuple):
        return list(item), getattr(item, "_fields", None)
    if isinstance(item, list):
        return item, None
    if dataclasses.is_dataclass(item) and not isinstance(item, (type, TensorLike)):
        names = tuple(field.name for field in dataclasses.fields(item))
        return [getattr(item, name) for name in names], names
    return None, None


_NUMBERS = {float: T.Tensor(()), int: T.Tensor((), "int32")}
"""What Python numbers become that a function returns."""


def _leaf(item: object, context: Context, name: str) -> TensorLike:
    if isinstance(item, TensorLike):
        return item
    try:
        return context.constant(constant_array(item, _NUMBERS.get(type(item))))
    except ShapeError:
        raise ShapeError(
            f"{name} returned {item!r:.50}", hint="return a tensor, or a tuple or dict of tensors"
        ) from None
