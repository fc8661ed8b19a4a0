"""Checks of the arguments and input types of layers, so that all layers refuse in the same words."""

from __future__ import annotations

from math import inf
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from arrows import ops
from arrows.combinators import Wire
from arrows.combinators.base.arguments import wrong_argument, wrong_value
from arrows.ops import ShapeError
from arrows.typesys import types as T
from arrows.typesys.static import Axis

F = TypeVar("F")


def size_of(layer: str, size: object, what: str = "size") -> int:
    """A positive size, given as a number or as a named axis; else an ArrowTypeError or an ArrowValueError."""
    number = size.size if isinstance(size, type) and issubclass(size, Axis) else size
    if isinstance(number, bool) or not isinstance(number, Integral):
        hint = f"make the block first, then call it on the wire, as ar.{layer}(300)(wire)"
        reason = f"the {what} of {layer} is a whole number or an Axis, got {size!r}"
        raise wrong_argument(layer, reason, hint=hint if isinstance(size, Wire) else "")
    if number < 1:
        raise wrong_value(layer, f"the {what} of {layer} is at least 1, got {number}")
    return int(number)


def float_type(layer: str, dtype: Any) -> str:
    """The name of a floating element type; else an ArrowTypeError or an ArrowValueError."""
    kind = T.Tensor((), dtype)
    if not kind.floating:
        raise wrong_value(layer, f"the element type of {layer} is floating, got {kind.dtype}")
    return kind.dtype


def flag(what: str, layer: str, value: object) -> bool:
    """True or False; else an ArrowTypeError."""
    if not isinstance(value, (bool, np.bool_)):
        raise wrong_argument(layer, f"{what} of {layer} is True or False, got {value!r}")
    return bool(value)


def function_of(layer: str, what: str, function: F) -> F:
    """A function, or None; else an ArrowTypeError."""
    if function is None or callable(function):
        return function
    example = "arrows.layers.initializers.uniform(0.1)" if what == "initializer" else "ar.ops.tanh"
    hint = ""
    if what == "activation" and isinstance(function, int):
        hint = f"ar.{layer}({function}): the size of the input is inferred, not given"
    if what == "activation" and isinstance(function, str) and function in ops.__all__:
        hint = f"the function itself, not its name: ar.ops.{function}"
    reason = f"the {what} of {layer} is a function such as {example}, got {function!r}"
    raise wrong_argument(layer, reason, hint=hint)


def vector(layer: str, kind: T.Type, what: str = "input") -> T.Tensor:
    """The type, if it is a vector of floating numbers; else a ShapeError."""
    if not isinstance(kind, T.Tensor) or kind.ndim != 1:
        hint = None
        if isinstance(kind, T.Tensor) and not kind.ndim:
            hint = "for a vector of one number: ar.Vector(1); of several: (f & g) >> ar.Concat()"
        elif isinstance(kind, T.Tuple):
            hint = "make a vector of it with ar.Concat()"
        raise ShapeError(f"the {what} of {layer} must be a vector, not {kind}", hint=hint)
    if not kind.floating:
        raise ShapeError(f"the {what} of {layer} must be floating, not {kind}", hint="cast it: ar.ops.cast")
    return kind


def items(layer: str, kind: T.Type, form: str, count: int, what: str = "input") -> tuple[T.Type, ...]:
    """The `count` items of a tuple type; else a ShapeError that shows the form that the layer takes."""
    if not isinstance(kind, T.Tuple) or len(kind.items) != count:
        raise ShapeError(f"the {what} of {layer} must be {form}, not {kind}")
    return kind.items


def rate_of(layer: str, rate: object) -> float:
    """A rate of dropout, 0 <= rate < 1; else an ArrowTypeError or an ArrowValueError."""
    number = _number("rate", layer, rate)
    if not 0 <= number < 1:
        raise wrong_value(layer, f"the rate of {layer} is at least 0 and below 1, got {rate}")
    return number


def smoothing_of(layer: str, smoothing: object) -> float:
    """A share of label smoothing, 0 <= smoothing <= 1; else an ArrowTypeError or an ArrowValueError."""
    number = _number("label_smoothing", layer, smoothing)
    if not 0 <= number <= 1:
        raise wrong_value(layer, f"the label_smoothing of {layer} is from 0 to 1, got {smoothing}")
    return number


def class_weights(layer: str, weight: object) -> tuple[float, ...] | None:
    """A weight >= 0 for each class, or None; else an ArrowTypeError or an ArrowValueError."""
    if weight is None:
        return None
    try:
        numbers = np.asarray(weight, np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(())
    if numbers.ndim != 1 or not len(numbers):
        reason = f"the weight of {layer} is a list of a number for each class, got {weight!r}"
        raise wrong_argument(layer, reason)
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        reason = f"the weights of {layer} are finite and at least 0, got {numbers.tolist()}"
        raise wrong_value(layer, reason)
    return tuple(numbers.tolist())


def positive(what: str, layer: str, value: object) -> float:
    """A number above 0; else an ArrowTypeError or an ArrowValueError."""
    number = _number(what, layer, value)
    if not number > 0:
        raise wrong_value(layer, f"the {what} of {layer} is positive, got {value}")
    if number == inf:
        raise wrong_value(layer, f"the {what} of {layer} is finite, got {value}")
    return number


def _number(quantity: str, layer: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise wrong_argument(layer, f"the {quantity} of {layer} is a number, got {value!r}")
    return float(value)
