"""The fields of layers and losses: each is checked by its name, so that all refuse in the same words.

A layer of this folder is a dataclass. Its fields are its arguments, and `CHECKS` says by a field's name what
it may hold. `vector` and `items` check types of inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from arrows import ops
from arrows.combinators import Layer, Wire, Written, require_flag, set_name, wrong_argument, wrong_value
from arrows.ops import ShapeError
from arrows.typesys import types as T

A = TypeVar("A")
B = TypeVar("B")


@dataclass(eq=False, repr=False)
class Declared(Written[A, B]):
    """Base of the layers and losses of this folder: each field is checked, and becomes its plain value.

    A field may be None if its type says so.

    Raises:
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value.
    """

    name: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_name(self, self.name)
        for declared in fields(self):
            value = getattr(self, declared.name)
            if declared.name in CHECKS and (value is not None or "None" not in str(declared.type)):
                check, words = CHECKS[declared.name]
                setattr(self, declared.name, check(self.kind, words, value))


@dataclass(eq=False, repr=False)
class DeclaredLayer(Declared[A, B], Layer[A, B]):
    """Base of the layers of this folder."""


def size_of(layer: str, words: str, size: Any) -> int:
    """A positive size, given as a number or as a named axis."""
    if isinstance(size, bool) or not isinstance(size, Integral):
        hint = f"make the block first, then call it on the wire, as ar.{layer}(300)(wire)"
        reason = f"the {words} of {layer} is a whole number, got {size!r}"
        raise wrong_argument(layer, reason, hint=hint if isinstance(size, Wire) else "")
    if size < 1:
        raise wrong_value(layer, f"the {words} of {layer} is at least 1, got {size}")
    return int(size)


def float_type(layer: str, words: str, dtype: Any) -> str:
    """The name of a floating element type."""
    kind = T.Tensor((), dtype)
    if not kind.floating:
        raise wrong_value(layer, f"the {words} of {layer} is floating, got {kind.dtype}")
    return kind.dtype


def _function(layer: str, words: str, function: Any) -> Callable[..., Any]:
    if callable(function):
        return function  # type: ignore[no-any-return]
    example = "arrows.layers.initializers.uniform(0.1)" if words == "initializer" else "ar.ops.tanh"
    hint = ""
    if words == "activation" and isinstance(function, int):
        hint = f"ar.{layer}({function}): the size of the input is inferred, not given"
    if words == "activation" and isinstance(function, str) and function in ops.__all__:
        hint = f"the function itself, not its name: ar.ops.{function}"
    reason = f"the {words} of {layer} is a function such as {example}, got {function!r}"
    raise wrong_argument(layer, reason, hint=hint)


def _number(rule: str, holds: Callable[[float], bool]) -> Callable[[str, str, Any], float]:
    """The check of a finite number for which a rule holds."""

    def check(layer: str, words: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise wrong_argument(layer, f"the {words} of {layer} is a number, got {value!r}")
        if not holds(float(value)) or value == inf:
            broken = "finite" if value == inf else rule
            raise wrong_value(layer, f"the {words} of {layer} is {broken}, got {value}")
        return float(value)

    return check


def _class_weights(layer: str, words: str, weight: Any) -> tuple[float, ...]:
    """A weight >= 0 for each class."""
    try:
        numbers = np.asarray(weight, np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(())
    if numbers.ndim != 1 or not len(numbers):
        reason = f"the {words} of {layer} is a list of a number for each class, got {weight!r}"
        raise wrong_argument(layer, reason)
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        reason = f"the {words}s of {layer} are finite and at least 0, got {numbers.tolist()}"
        raise wrong_value(layer, reason)
    return tuple(numbers.tolist())


_rate = _number("at least 0 and below 1", lambda x: 0 <= x < 1)
_share = _number("from 0 to 1", lambda x: 0 <= x <= 1)
_positive = _number("positive", lambda x: x > 0)
CHECKS: dict[str, tuple[Callable[[str, str, Any], Any], str]] = {
    "size": (size_of, "size"),
    "buckets": (size_of, "number of buckets"),
    "children": (size_of, "number of children"),
    "num_heads": (size_of, "number of heads"),
    "dtype": (float_type, "element type"),
    "activation": (_function, "activation"),
    "initializer": (_function, "initializer"),
    "forget_bias": (_number("finite", isfinite), "forget_bias"),
    "rate": (_rate, "rate"),
    "dropout": (_rate, "rate"),
    "label_smoothing": (_share, "label_smoothing"),
    "weight": (_class_weights, "weight"),
    **{name: (require_flag, name) for name in ("bias", "causal", "reset_after", "trainable", "weight_norm")},
    **{name: (_positive, name) for name in ("delta", "margin", "pos_weight")},
    "epsilon": (_number("above 0 and at most 1 (the size is inferred)", lambda x: 0 < x <= 1), "epsilon"),
}
"""For each name of a field, its check (of layer, words and value) and the words for it in messages."""


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
