"""Tensors inside a Function: the operators and methods that recorded and computed tensors share."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn, Union, cast

import numpy as np

import arrows.ops as ops  # a cycle: operations take tensors, whose methods call operations when they run
from arrows.arrays import HostArray
from arrows.ops.errors import ShapeError
from arrows.typesys import Tensor as TensorType

if TYPE_CHECKING:
    from arrows.ops.context import Context

Operand = Union["TensorLike", HostArray, np.generic, float, int, bool]
"""An argument of an operation: a tensor of the function, a NumPy constant or a Python number."""

Binary = Callable[["TensorLike", Operand], "TensorLike"]

_UFUNCS = {
    "true_divide": "divide",
    "absolute": "abs",
    "remainder": "mod",
    "rint": "round",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "invert": "logical_not",
}
"""Names of operations by NumPy's names, where they differ."""


def _operator(name: str) -> tuple[Binary, Binary]:
    """The methods of an operator that calls the operation of this name, and of the operator reflected."""

    def forward(self: TensorLike, other: Operand) -> TensorLike:
        return getattr(ops, name)(self, other)  # type: ignore[no-any-return]

    def reflected(self: TensorLike, other: Operand) -> TensorLike:
        return getattr(ops, name)(other, self)  # type: ignore[no-any-return]

    return forward, reflected


def refusal(reason: str, hint: str = "") -> Callable[..., Any]:
    """A method that asks for what a tensor does not have; `{}` in the reason is its type."""

    def refuse(self: TensorLike, *arguments: object, **keywords: object) -> NoReturn:
        raise ShapeError(reason.format(self.type), hint=hint)

    return refuse


class TensorLike:
    """A tensor inside a Function: `x + y`, `x @ w`, `x > 0`, `x[0]`, `x.sum()`.

    Shapes are those of one example.

    Attributes:
        type: element type and shape of one row.
        rows: the level (see `arrows.ops.primitive`): -2 for a parameter or constant, -1 for a value of each
            example, k >= 0 for a value of each element of the function's k-th sequence.

    >>> from arrows.ops import trace
    >>> print(trace(lambda x: (2 * x + 1).sum(), TensorType((3,))).output)
    float32
    """

    __slots__ = ()
    __array_priority__ = 1000.0

    if TYPE_CHECKING:

        @property
        def type(self) -> TensorType: ...

        @property
        def rows(self) -> int: ...

        @property
        def context(self) -> Context: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes of one row."""
        return self.type.shape

    @property
    def dtype(self) -> str:
        """Element type, such as "float32"."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of axes of one row."""
        return len(self.type.shape)

    @property
    def size(self) -> int:
        """Number of elements of one row."""
        return prod(self.type.shape)

    @property
    def T(self) -> TensorLike:
        """Axes in reverse order."""
        return ops.transpose(self)

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract")
    __mul__, __rmul__ = _operator("multiply")
    __truediv__, __rtruediv__ = _operator("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide")
    __mod__, __rmod__ = _operator("mod")
    __matmul__, __rmatmul__ = _operator("matmul")
    __pow__, __rpow__ = _operator("power")
    __and__, __rand__ = _operator("logical_and")
    __or__, __ror__ = _operator("logical_or")
    __gt__, __lt__ = _operator("greater")
    __ge__, __le__ = _operator("greater_equal")
    # `==` compares element by element, as in NumPy. The hash is the object's, so that tensors can be keys of
    # a dictionary, which looks at identity first.
    __eq__: Binary = _operator("equal")[0]  # type: ignore[assignment]
    __ne__: Binary = _operator("not_equal")[0]  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __neg__(self) -> TensorLike:
        return ops.negative(self)

    def __invert__(self) -> TensorLike:
        return ops.logical_not(self)

    def __abs__(self) -> TensorLike:
        return ops.abs(self)

    def __getitem__(self, key: object) -> TensorLike:
        return ops.index(self, key)

    def sum(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> TensorLike:
        """See `arrows.ops.sum`."""
        return ops.sum(self, axis, keepdims)

    def mean(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> TensorLike:
        """See `arrows.ops.mean`."""
        return ops.mean(self, axis, keepdims)

    def max(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> TensorLike:
        """See `arrows.ops.max`."""
        return ops.max(self, axis, keepdims)

    def min(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> TensorLike:
        """See `arrows.ops.min`."""
        return ops.min(self, axis, keepdims)

    def argmax(self, axis: int = -1) -> TensorLike:
        """See `arrows.ops.argmax`."""
        return ops.argmax(self, axis)

    def clip(self, low: float | None = None, high: float | None = None) -> TensorLike:
        """See `arrows.ops.clip`."""
        return ops.clip(self, low, high)

    def reshape(self, *shape: Any) -> TensorLike:
        """See `arrows.ops.reshape`; takes `(2, 3)` or `2, 3`."""
        return ops.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> TensorLike:
        """See `arrows.ops.transpose`; takes `(1, 0)` or `1, 0` or nothing."""
        return ops.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def cast(self, dtype: object) -> TensorLike:
        """See `arrows.ops.cast`."""
        return ops.cast(self, dtype)

    astype = cast  # NumPy's name

    __bool__ = refusal(
        "the truth of a tensor ({}) is not known while the function is built; "
        "a Function cannot branch on values",
        hint="branch on shapes, use arrows.ops.where or maximum, or choose between blocks with OneOf; "
        "`and`, `or`, `not` are &, |, ~ here, and a < x < b is (a < x) & (x < b)",
    )
    __float__ = __int__ = __index__ = refusal(
        "the value of a tensor ({}) is not known while the function is built",
        hint='write ops.exp(x), not math.exp(x); x.cast("int32"), not int(x); ops.gather(xs, x), not xs[x]',
    )
    __array__ = refusal(
        "a tensor ({}) of a Function is not a NumPy array", hint="use the functions of arrows.ops"
    )

    __iter__ = refusal(
        "a tensor or a sequence ({}) cannot be iterated or unpacked inside a function",
        hint="take a tensor apart by index, x[0], x[1]; for a sequence, whose length differs from example to "
        "example, use arrows.ops.segment_sum and its like, or Map and Fold outside",
    )
    __rshift__ = __rrshift__ = refusal("a tensor ({}) has no operator >>", hint="a layer f is called: f(x)")

    def __len__(self) -> int:
        if self.rows >= 0 or not self.type.shape:
            raise ShapeError(
                f"{self.type} has no length inside a function; that of a sequence is arrows.ops.segment_count"
            )
        return self.type.shape[0]

    def __array_function__(self, function: Callable[..., object], *rest: object) -> NoReturn:
        raise self._no_array(function.__name__)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *operands: Operand, **keywords: object
    ) -> TensorLike:
        """`np.tanh(x)` and `array * x` mean `ops.tanh(x)` and `ops.multiply(array, x)`."""
        name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
        function = getattr(ops, name, None)
        if method != "__call__" or keywords or name not in ops.__all__ or function is None:
            raise self._no_array(ufunc.__name__)
        return cast("TensorLike", function(*operands))

    def _no_array(self, name: str) -> ShapeError:
        """The error for a function of NumPy that takes no tensors."""
        return ShapeError(
            f"numpy.{name} does not take a tensor of a Function ({self.type})",
            hint=f"use arrows.ops.{name}" if name in ops.__all__ else "use the functions of arrows.ops",
        )
