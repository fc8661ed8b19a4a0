"""Makes the arguments of a function from its input type, and a type from its result; without recursion."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from arrows.ops.context import Context
from arrows.ops.errors import ShapeError
from arrows.ops.function_context import constant
from arrows.ops.primitive import ROW
from arrows.ops.tensorlike import TensorLike
from arrows.typesys import types as T

_CLOSE = object()


def spread(input: T.Type, leaf: Callable[[T.Tensor, int], object]) -> tuple[object, ...]:
    """The arguments of a function whose input has this type; `leaf(type, level)` makes each tensor.

    A ShapeError if the type has parts other than tensors, tuples, and sequences of tensors.

    >>> spread(T.Tuple((T.Tensor(()), T.Sequence(T.Tensor((3,))))), lambda type, rows: (str(type), rows))
    (('float32', -1), ('float32[3]', 0))
    """
    built: list[list[object]] = [[]]
    sequences = 0
    level = ROW
    stack: list[object] = [input]
    while stack:
        item = stack.pop()
        if isinstance(item, T.Tensor):
            built[-1].append(leaf(item, level))
        elif isinstance(item, T.Tuple):
            built.append([])
            stack.append(_CLOSE)
            stack.extend(reversed(item.items))
        elif isinstance(item, T.Sequence):
            if level != ROW:
                raise ShapeError(
                    f"a Function takes sequences of tensors, not sequences inside sequences: {input}"
                )
            level = sequences
            sequences += 1
            stack.append(ROW)
            stack.append(item.element)
        elif item is _CLOSE:
            done = tuple(built.pop())
            built[-1].append(done)
        elif item is ROW:
            level = ROW
        else:
            inside = "" if item is input else f", with {item} in it"
            raise ShapeError(
                f"a Function takes tensors, tuples and sequences of tensors, and its input is {input}{inside}"
            )
    argument = built[0][0]
    return argument if isinstance(argument, tuple) and isinstance(input, T.Tuple) else (argument,)


def collect(returned: object, context: Context, name: str) -> tuple[list[Any], T.Type]:
    """The tensors in a function's result, depth first, and the result's type; numbers become constants.

    A ShapeError if the result contains anything else.
    """
    leaves: list[Any] = []  # tensors of the class that belongs to the context
    types: list[list[T.Type]] = [[]]
    stack: list[object] = [returned]
    while stack:
        item = stack.pop()
        if isinstance(item, _Close):
            items = tuple(types.pop())
            types[-1].append(T.Tuple(items, item.labels))
            continue
        parts, labels = _parts(item)
        if parts is not None:
            types.append([])
            stack.append(_Close(labels))
            stack.extend(reversed(parts))
            continue
        value = _leaf(item, context, name)
        leaves.append(value)
        types[-1].append(T.Sequence(value.type) if value.rows >= 0 else value.type)
    return leaves, types[0][0]


@dataclasses.dataclass(frozen=True, slots=True)
class _Close:
    labels: tuple[Hashable, ...] | None


def _parts(item: object) -> tuple[list[object] | None, tuple[Hashable, ...] | None]:
    if isinstance(item, dict):
        return list(item.values()), tuple(item)
    if isinstance(item, tuple):
        return list(item), getattr(item, "_fields", None)
    if isinstance(item, list):
        return item, None
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        names = tuple(field.name for field in dataclasses.fields(item))
        return [getattr(item, name) for name in names], names
    return None, None


def _leaf(item: object, context: Context, name: str) -> TensorLike:
    if isinstance(item, TensorLike):
        return item
    if item is None:
        raise ShapeError(f"{name} returned None", hint="return a tensor, or a tuple or dict of tensors")
    if isinstance(item, float) and not isinstance(item, np.generic):
        return context.constant(np.asarray(item, "float32"))
    if isinstance(item, int) and not isinstance(item, bool):
        try:
            return context.constant(np.asarray(item, "int32"))
        except OverflowError:
            raise ShapeError(f"{name} returned {item}, which is out of range for int32") from None
    try:
        return context.constant(constant(item))
    except ShapeError:
        raise ShapeError(
            f"{name} returned {type(item).__name__}", hint="return a tensor, or a tuple or dict of tensors"
        ) from None
