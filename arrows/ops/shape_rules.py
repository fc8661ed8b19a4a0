"""Shape rules that several primitives share, and their error messages."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter, index as as_int
from typing import Any, SupportsIndex, TypeAlias

from arrows.ops.bind import Operation, operation
from arrows.ops.context import Context
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import Kernel, ShapeRule, Vjp, no_gradient
from arrows.typesys import ArrowTypeError, Tensor, dtype_name, wider_dtype

Check: TypeAlias = Callable[[str, Tensor], Tensor]
"""`check(name, type) -> type` returns the type, or raises a ShapeError that names the primitive."""

Axis: TypeAlias = int | tuple[int, ...] | None
"""One axis, several axes, or None for all."""


def same_dtype(name: str, *types: Tensor) -> str:
    """The element type that all types have; else a ShapeError."""
    for kind in types[1:]:
        if kind.dtype != types[0].dtype:
            wide = wider_dtype(types[0].dtype, kind.dtype)
            narrow = types[0] if wide == kind.dtype else kind
            hint = f'cast the {narrow.dtype} one: x.cast("{wide}")'
            if {types[0].dtype, kind.dtype} == {"float32", "float64"}:  # what comes from NumPy is float64
                hint = 'cast the float64 one: x.cast("float32"), or array.astype("float32") of an array'
            raise ShapeError(f"{name}: {types[0]} and {kind} have different element types", hint=hint)
    return types[0].dtype


def _check(words: str, accepts: Callable[[Tensor], bool], hint: str) -> Check:
    def check(name: str, kind: Tensor) -> Tensor:
        if not accepts(kind):
            raise ShapeError(f"{name} takes {words}, not {kind}", hint=hint)
        return kind

    return check


floating = _check("floating numbers", lambda kind: kind.floating, 'cast it: x.cast("float32")')
arithmetic = _check("numbers", lambda kind: kind.dtype != "bool", 'cast it: x.cast("float32")')
integral = _check(
    "integers as an index",
    lambda kind: not kind.floating and kind.dtype != "bool",
    'cast it: x.cast("int32")',
)
truth = _check("truth values", lambda kind: kind.dtype == "bool", "compare first, as in x > 0")


def broadcast(name: str, *types: Tensor) -> tuple[int, ...]:
    """The shape to which operands of equal rank broadcast: sizes agree, or are 1; else a ShapeError."""
    first = types[0].shape
    shape = list(first)
    for kind in types[1:]:
        if kind.shape == first and len(types) == 2:
            return first
        for axis, n in enumerate(kind.shape):
            if shape[axis] == 1:
                shape[axis] = n
            elif n not in (1, shape[axis]):
                left, right = (" on the left", " on the right") if len(types) == 2 else ("", "")
                raise ShapeError(
                    f"{name}: {' and '.join(map(str, types))} do not fit: "
                    f"axis {axis} is {shape[axis]}{left} and {n}{right}"
                )
    return tuple(shape)


def checked(name: str, check: Check, dtype: str | None = None) -> ShapeRule:
    """The rule of an element-wise function: operands that pass a check, of one element type.

    Its shapes broadcast; the result has the element type of the operands, or `dtype`.
    """

    def rule(*types: Tensor, **attributes: Hashable) -> Tensor:
        for kind in types:
            check(name, kind)
        first = types[0]
        if len(types) == 1:
            return first
        common, shape = same_dtype(name, *types), broadcast(name, *types)
        # Reuse the operand's type where the result has the same, so that a trace makes few types.
        return first if dtype is None and shape == first.shape else Tensor(shape, dtype or common)

    return rule


def elementwise(
    vjp: Vjp = no_gradient,
    check: Check = arithmetic,
    *,
    kernel: Kernel | None = None,
    dtype: str | None = None,
    **flags: Any,
) -> Callable[[Operation], Operation]:
    """Declares an element-wise operation: a decorator of a function with a name and a docstring, but no body.

    Its primitive has that name and the rule `checked`; its kernel is NumPy's function of the name itself, so
    that a call has no overhead, unless another one is given; `flags` are fields of `Primitive`.
    """

    def declared(function: Operation) -> Operation:
        name = function.__name__
        rule = checked(name, check, dtype)
        return operation(rule, kernel or attrgetter(name), vjp, elementwise=True, **flags)(function)

    return declared


def negative_axis(name: str, axis: SupportsIndex, ndim: int) -> int:
    """The axis counted from the end (-1 the last), so that it means the same with rows in front.

    A ShapeError if the tensor has no such axis.
    """
    place = as_int(axis)
    if not -ndim <= place < ndim:
        raise ShapeError(f"{name}: a tensor with {ndim} {'axis' if ndim == 1 else 'axes'} has no axis {axis}")
    return place if place < 0 else place - ndim


def negative_axes(name: str, axis: Axis, ndim: int) -> tuple[int, ...]:
    """One or several axes, or all for None, counted from the end and sorted; a ShapeError if one repeats."""
    if axis is None:
        return tuple(range(-ndim, 0))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    counted = tuple(sorted(negative_axis(name, a, ndim) for a in axes))
    if len(set(counted)) != len(counted):
        raise ShapeError(f"{name}: an axis occurs twice in {tuple(axes)}")
    return counted


def element_type(name: str, dtype: object, context: Context | None) -> str:
    """The name of an element type, in place of a floating one that of the context; else a ShapeError."""
    try:
        kind = dtype_name(dtype)
    except ArrowTypeError as error:
        raise ShapeError(f"{name}: {error}") from None
    return kind if context is None else context.float_or(kind)


def sizes(shape: SupportsIndex | Sequence[SupportsIndex]) -> tuple[int, ...]:
    """A shape, given as one integer or several."""
    return tuple(as_int(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,)))
