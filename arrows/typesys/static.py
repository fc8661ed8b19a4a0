"""Phantom types for type checkers: the type arguments of `Block[A, B]`.

`Tensor[F32, tuple[Hidden]]` is a vector whose axis is named `Hidden`. Nothing here is ever instantiated, and
a user without a type checker never sees it. These types state element type, rank, named axes and structure;
`arrows check` checks the sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar


class DType:
    """Base of the phantom element types."""


class F16(DType):
    """`float16`."""


class F32(DType):
    """`float32`."""


class F64(DType):
    """`float64`."""


class I32(DType):
    """`int32`."""


class I64(DType):
    """`int64`."""


class Bool(DType):
    """`bool`."""


class Axis:
    """Subclass it to name an axis: `class Hidden(Axis): size = 300`.

    Attributes:
        size: the number of elements along it.
    """

    size: int


D = TypeVar("D", bound=DType)
S = TypeVar("S")


class Tensor(Generic[D, S]):
    """A tensor of element type `D` as type checkers see it.

    `S` is a tuple type of `Axis` classes, one for each axis; `tuple[()]` is a scalar. Arithmetic keeps the
    element type and forgets the axes, since broadcasting may change them.

    Example:
        >>> from arrows.typesys.static import F32, Tensor
        >>> Scalar = Tensor[F32, tuple[()]]
    """

    if TYPE_CHECKING:

        def __add__(self, other: Tensor[D, Any] | float) -> Tensor[D, Any]: ...

        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__

        def __matmul__(self, other: Tensor[D, Any]) -> Tensor[D, Any]: ...

        def __pow__(self, other: float) -> Tensor[D, S]: ...

        def __neg__(self) -> Tensor[D, S]: ...

        def __getitem__(self, key: object) -> Tensor[D, Any]: ...


Scalar32: TypeAlias = Tensor[F32, tuple[()]]
Scalar64: TypeAlias = Tensor[F64, tuple[()]]
Index32: TypeAlias = Tensor[I32, tuple[()]]
Index64: TypeAlias = Tensor[I64, tuple[()]]
