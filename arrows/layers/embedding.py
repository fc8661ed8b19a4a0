"""`Embedding`: a table with a vector for each integer, trained or given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from arrows import ops
from arrows.combinators import Layer
from arrows.layers import initializers
from arrows.layers.arguments import float_type, function_of, size_of
from arrows.ops import Parameter, ShapeError, TensorLike
from arrows.ops.context import Initializer
from arrows.typesys import ArrowTypeError
from arrows.typesys import types as T
from arrows.typesys.static import F32, Axis, Tensor

A = TypeVar("A")
B = TypeVar("B")
N = TypeVar("N", bound=Axis)


class Embedding(Layer[A, B]):
    """From an integer i to row i of a table, a vector [size].

    For a tensor of integers the vectors lie along a new last axis.  Gradients of the table are row-sparse.

    Args:
        buckets: number of rows; each integer i has 0 <= i < buckets.
        size: length of a vector: a number, or an `Axis` that type checkers see.
        initializer: first values of the table.
        dtype: element type of the table.
        trainable: whether the table is trained; if not, it is still saved and loaded, but never changes.
        name: the name in messages, and of the parameter: `name/weight`.

    Parameters of the layer:
        weight [buckets, size].

    Raises:
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value.
        ShapeError: when types are checked, the input is not an integer tensor.
        IndexError: an integer of an example is out of range.

    >>> import arrows as ar
    >>> (ar.Scalar("int32") >> ar.Embedding(10, 4)).eval(7).shape
    (4,)
    >>> import numpy as np
    >>> vectors = ar.Embedding.of(np.array([[1.0, 2.0], [3.0, 4.0]]), trainable=False)
    >>> (ar.Scalar("int32") >> vectors).eval(1).tolist()
    [3.0, 4.0]
    """

    buckets: int
    size: int
    dtype: str
    initializer: Initializer
    trainable: bool

    @overload
    def __init__(
        self: Embedding[Tensor[Any, tuple[()]], Tensor[F32, tuple[N]]],
        buckets: int,
        size: type[N],
        initializer: Initializer = initializers.small_uniform,
        *,
        trainable: bool = True,
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
        trainable: bool = True,
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self,
        buckets: int,
        size: object,
        initializer: Initializer = initializers.small_uniform,
        *,
        dtype: str = "float32",
        trainable: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.buckets = size_of("Embedding", buckets, "number of buckets")
        self.size = size_of("Embedding", size)
        self.initializer = function_of("Embedding", "initializer", initializer)
        self.dtype = float_type("Embedding", dtype)
        self.trainable = bool(trainable)

    @staticmethod
    def of(table: npt.ArrayLike, *, trainable: bool = True, name: str | None = None) -> Embedding[Any, Any]:
        """An embedding with a given table, such as word vectors.

        Args:
            table: an array of floating numbers [buckets, size]; it is copied.
            trainable: whether the table is trained further.
            name: the name in messages, and of the parameter: `name/weight`.

        Raises:
            ArrowTypeError: the table is not an array of two axes.
            ArrowValueError: its elements are not floating.
        """
        shape = np.shape(table)
        if len(shape) != 2:
            raise ArrowTypeError(
                f"the table of Embedding is an array [buckets, size], got shape {list(shape)}"
            )
        values = np.asarray(table)
        return Embedding(
            shape[0],
            int(shape[1]),
            initializers.given(values),
            dtype=float_type("Embedding", values.dtype),
            trainable=trainable,
            name=name,
        )

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        if not isinstance(input, T.Tensor) or input.floating or input.dtype == "bool":
            raise ShapeError(
                f"the input of Embedding must be an integer, not {input}",
                hint='read it with ar.Scalar("int32")',
            )
        shape = self.buckets, self.size
        return (Parameter("weight", shape, self.dtype, self.initializer, trainable=self.trainable),)

    def forward(self, parameters: Mapping[str, TensorLike], *args: Any) -> TensorLike:
        (index,) = args
        return ops.lookup(parameters["weight"], index)
