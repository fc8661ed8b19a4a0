"""The result where there is nothing to reduce: the `default=` of `Max`, `Mean`, `Attention`."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from arrows.combinators.constant import InferredZeros
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, SourceLine, message
from arrows.typesys.masked import masked_elements

DefaultResult: TypeAlias = "int | float | np.ndarray[Any, Any] | tuple[DefaultResult, ...]"
"""A number, an array, or a tuple of these."""


class NoDefault(InferredZeros):
    """The default of a `Reduce` that was given none: zeros, or an error in the data where there is no zero.

    Example:
        >>> NoDefault()
        Zeros()
    """


def as_default_result(value: Any, kind: str) -> DefaultResult | None:
    """A `default=` argument, its arrays frozen; None stays None.

    Raises:
        ArrowTypeError: it is no number, no array, and no tuple of these.

    Example:
        >>> as_default_result((1, [2.0, 3.0]), "Max")
        (1, array([2., 3.]))
    """
    if value is None:
        return None
    done: list[list[DefaultResult]] = [[]]
    todo: list[Any] = [value]
    while todo:
        x = todo.pop()
        if isinstance(x, _Close):
            items = tuple(done.pop())
            done[-1].append(items)
        elif isinstance(x, tuple):
            done.append([])
            todo.append(_Close())
            todo.extend(reversed(x))
        elif isinstance(x, (int, float)) and not isinstance(x, bool):
            done[-1].append(x)
        else:
            done[-1].append(_frozen(x, value, kind))
    return done[0][0]


class _Close:
    """The end of a tuple."""


def _frozen(x: Any, value: Any, kind: str) -> DefaultResult:
    try:
        array = np.array(x)
    except (TypeError, ValueError):
        array = np.array(None)
    if array.dtype.kind not in "iuf" or masked_elements(x):
        raise ArrowTypeError(
            message(
                f"cannot make {'an' if kind[0] in 'AEIO' else 'a'} {kind} at {SourceLine.here()}",
                reason=f"a default is a number, an array, or a tuple of these, and this is {value!r}",
            )
        )
    if array.ndim == 0:
        number: DefaultResult = array.item()
        return number
    array.flags.writeable = False
    return array


def unfit(default: DefaultResult, element: T.Type) -> tuple[str, str] | None:
    """Why a default does not fit elements of this type, and a hint; None if it does.

    Example:
        >>> unfit(2.5, T.Tensor((3,), "int32"))[0]
        'the default 2.5 is no int32'
    """
    reason = _unfit(default, element)
    hint = "a default is a number, or an array of the shape of an element"
    tuples = ", or a tuple with one for each item" if isinstance(element, T.Tuple) else ""
    return None if reason is None else (reason, hint + tuples)


def _unfit(default: DefaultResult, element: T.Type) -> str | None:
    todo = [(default, element)]
    while todo:
        given, of = todo.pop()
        if isinstance(of, T.Tuple):
            parts = given if isinstance(given, tuple) else (given,) * len(of.items)
            if not isinstance(given, (int, float, tuple)) or len(parts) != len(of.items):
                return f"the default {shown(default)} does not fit the elements, which are {element}"
            todo.extend(zip(parts, of.items, strict=True))
        elif isinstance(of, T.Tensor):
            if isinstance(given, tuple) or (isinstance(given, np.ndarray) and given.shape != of.shape):
                return f"the default {shown(default)} does not fit the elements, which are {element}"
            if not _holds(of.dtype, given):
                return f"the default {shown(given)} is no {of.dtype}"
    return None


def _holds(dtype: str, given: Any) -> bool:
    if dtype.startswith("float"):
        return not isinstance(given, int) or abs(given) < 2**1023
    if dtype == "bool":
        return False
    array = np.asarray(given)
    limits = np.iinfo(dtype)
    whole = array.dtype.kind != "f" or bool((array == np.floor(array)).all())
    return whole and bool((array >= limits.min).all() and (array <= limits.max).all())


def shown(default: DefaultResult) -> str:
    """A default in a few words.

    Example:
        >>> shown((1, np.zeros(2), np.zeros((9, 9))))
        '(1, [0.0, 0.0], float64[9, 9])'
    """
    if isinstance(default, np.ndarray):
        return str(default.tolist()) if default.size < 5 else f"{default.dtype}{list(default.shape)}"
    if isinstance(default, tuple):
        return f"({', '.join(map(shown, default))}{',' if len(default) == 1 else ''})"
    return repr(default)


def put_default(rows: Any, result: Any, default: DefaultResult | None) -> Any:
    """The result of a sequence with elements, the default for one without.

    Args:
        rows: the sequence, inside a Function.
        result: what was made of it, one tensor for each example.
        default: a number, or an array of the result's shape; None changes nothing.
    """
    if default is None:
        return result
    from arrows import ops

    some = ops.segment_count(rows, "int32") > 0
    return ops.where(some, result, np.full(result.shape, default, result.dtype))
