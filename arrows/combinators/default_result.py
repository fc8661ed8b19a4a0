"""The `default=` of `Max`, `Min`, `Mean` and `Attention`: their result if there are no elements."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from arrows import ops
from arrows.combinators.base.arguments import wrong_argument
from arrows.ops import TensorLike
from arrows.ops.arrays import HostArray
from arrows.typesys import types as T
from arrows.typesys.dtypes import masked_elements

DefaultResult: TypeAlias = "int | float | HostArray | tuple[DefaultResult, ...]"
"""A number, an array, or a tuple of these."""


def as_default_result(value: object, kind: str) -> DefaultResult | None:
    """Checks a `default=` argument, and makes its arrays read-only; None stays None.

    Raises:
        ArrowTypeError: the argument is no number, no array, and no tuple of these.

    Example:
        >>> as_default_result((1, [2.0, 3.0]), "Max")
        (1, array([2., 3.]))
    """
    return None if value is None else _frozen(value, value, kind)


def _frozen(x: object, value: object, kind: str) -> DefaultResult:
    """Converts `x`, a part of the default `value`; `kind` names the block in messages."""
    if isinstance(x, tuple):
        return tuple(_frozen(item, value, kind) for item in x)
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return x
    array = numbers_of(x)
    if array is None or array.dtype.kind not in "iuf" or masked_elements(x):
        raise wrong_argument(
            f"{'an' if kind[0] in 'AEIO' else 'a'} {kind}",
            f"a default must be a number, an array, or a tuple of these, not {value!r}",
        )
    if array.ndim == 0:
        number: DefaultResult = array.item()
        return number
    array.flags.writeable = False
    return array


def numbers_of(x: object) -> HostArray | None:
    """The array that NumPy makes of an object; None if it makes none, as of lists of different lengths."""
    try:
        return np.array(x)
    except (TypeError, ValueError):
        return None


def unfit(default: DefaultResult, element: T.Type) -> tuple[str, str] | None:
    """Returns why a default does not fit elements of this type, and a hint; None if it fits.

    Example:
        >>> unfit(2.5, T.Tensor((3,), "int32"))[0]
        'the default 2.5 is not int32'
    """
    reason = _unfit(default, element)
    hint = "a default is a number, or an array of the shape of an element"
    tuples = ", or a tuple with one for each item" if isinstance(element, T.Tuple) else ""
    return None if reason is None else (reason, hint + tuples)


def _unfit(default: DefaultResult, element: T.Type) -> str | None:
    misfit = f"the default {shown(default)} does not fit the elements, which are {element}"
    todo = [(default, element)]
    while todo:
        value, type = todo.pop()
        if isinstance(type, T.Tuple):
            values = value if isinstance(value, tuple) else (value,) * len(type.items)
            if not isinstance(value, (int, float, tuple)) or len(values) != len(type.items):
                return misfit
            todo.extend(zip(values, type.items, strict=True))
        elif isinstance(type, T.Tensor):
            if isinstance(value, tuple) or (isinstance(value, np.ndarray) and value.shape != type.shape):
                return misfit
            if not _holds(type.dtype, value):
                return f"the default {shown(value)} is not {type.dtype}"
    return None


def _holds(dtype: str, value: float | HostArray) -> bool:
    """Whether an element type can hold a number, or all numbers of an array."""
    if dtype.startswith("float"):
        return not isinstance(value, int) or abs(value) < 2**1023  # a larger integer may overflow float64
    if dtype == "bool":
        return False
    array = np.asarray(value)
    limits = np.iinfo(dtype)
    whole = array.dtype.kind != "f" or bool((array == np.floor(array)).all())
    return whole and bool((array >= limits.min).all() and (array <= limits.max).all())


def shown(default: DefaultResult) -> str:
    """Writes a default in a few words.

    Example:
        >>> shown((1, np.zeros(2), np.zeros((9, 9))))
        '(1, [0.0, 0.0], float64[9, 9])'
    """
    if isinstance(default, np.ndarray):
        return str(default.tolist()) if default.size < 5 else f"{default.dtype}{list(default.shape)}"
    if isinstance(default, tuple):
        return f"({', '.join(map(shown, default))}{',' if len(default) == 1 else ''})"
    return repr(default)


def put_default(rows: TensorLike, result: TensorLike, default: DefaultResult | None) -> TensorLike:
    """Puts the default into `result` for each example without `rows`.

    The default is a number or an array of the shape of one result; None changes nothing.
    """
    if default is None:
        return result
    has_elements = ops.segment_count(rows, "int32") > 0
    return ops.where(has_elements, result, np.full(result.shape, default, result.dtype))
