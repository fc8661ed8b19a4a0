"""`Embedding`: a trained vector for each of a number of buckets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from arrows import ops
from arrows.combinators import Layer
from arrows.layers import initializers
from arrows.layers.arguments import float_type, function_of, size_of
from arrows.ops import ShapeError
from arrows.ops.context import Initializer, Parameter
from arrows.typesys import types as T
from arrows.typesys.static import F32, Axis, Tensor

A = TypeVar("A")
B = TypeVar("B")
N = TypeVar("N", bound=Axis)


class Embedding(Layer[A, B]):
    """Row `i` of a trained table: from an integer to a vector [size].

    Integers of any shape give a vector each, along a new last axis.  Gradients of the table are row-sparse.

    Args:
        buckets: number of rows; each integer i has 0 <= i < buckets.
        size: length of a vector: a number, or an `Axis` that type checkers see.
        initializer: first values of the table.
        dtype: element type of the table.
        name: the name in messages, and of the parameter: `name/weight`.

    Parameters of the layer:
        weight [buckets, size].

    Raises:
        ArrowTypeError, ArrowValueError: an argument is none of these.
        ShapeError: when types are checked, the input is no integer tensor.
        IndexError: an integer of an example is out of range.

    >>> import arrows as ar
    >>> (ar.Scalar("int32") >> ar.Embedding(10, 4)).eval(7).shape
    (4,)
    """

    buckets: int
    size: int
    dtype: str
    initializer: Initializer

    @overload
    def __init__(
        self: Embedding[Tensor[Any, tuple[()]], Tensor[F32, tuple[N]]],
        buckets: int,
        size: type[N],
        initializer: Initializer = initializers.small_uniform,
        *,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Embedding[Any, Any],
        buckets: int,
        size: int,
        initializer: Initializer = initializers.small_uniform,
        *,
        dtype: str = "float32",
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self,
        buckets: int,
        size: Any,
        initializer: Initializer = initializers.small_uniform,
        *,
        dtype: str = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.buckets = size_of("Embedding", buckets, "number of buckets")
        self.size = size_of("Embedding", size)
        self.initializer = function_of("Embedding", "initializer", initializer)
        self.dtype = float_type("Embedding", dtype)

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        if not isinstance(input, T.Tensor) or input.floating or input.dtype == "bool":
            raise ShapeError(
                f"the input of Embedding is an integer, and {input} is not",
                hint='read it with ar.Scalar("int32")',
            )
        return (Parameter("weight", (self.buckets, self.size), self.dtype, self.initializer),)

    def forward(self, parameters: Mapping[str, Any], *args: Any) -> Any:
        (index,) = args
        return ops.lookup(parameters["weight"], index)
