"""`FC`: a fully connected layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from arrows import ops
from arrows.combinators import Layer
from arrows.layers import initializers
from arrows.layers.arguments import function_of, size_of, vector
from arrows.ops.context import Initializer, Parameter
from arrows.typesys import types as T
from arrows.typesys.static import Axis, Tensor

A = TypeVar("A")
B = TypeVar("B")
N = TypeVar("N", bound=Axis)


class FC(Layer[A, B]):
    """Fully connected: `activation(x @ weight + bias)`, from a vector [in] to a vector [size].

    The element type is that of the input.  The source is as old as the field; called `FC` after TensorFlow
    Fold.

    Args:
        size: length of the output: a number, or an `Axis` that type checkers see.
        activation: function of a tensor such as `ar.ops.tanh`; none by default.
        bias: whether there is one.
        initializer: first values of the weight.
        name: the name in messages, and of the parameters: `name/weight`.

    Parameters of the layer:
        weight [in, size], bias [size] (zeros at first).

    Raises:
        ArrowTypeError, ArrowValueError: an argument is none of these.
        ShapeError: when types are checked, the input is no vector of floating numbers.

    >>> import arrows as ar
    >>> (ar.Vector(3) >> ar.FC(2, activation=ar.ops.tanh)).eval([1, 2, 3]).shape
    (2,)
    """

    size: int
    activation: Callable[[Any], Any] | None
    bias: bool
    initializer: Initializer

    @overload
    def __init__(
        self: FC[Tensor[Any, Any], Tensor[Any, tuple[N]]],
        size: type[N],
        activation: Callable[[Any], Any] | None = None,
        bias: bool = True,
        initializer: Initializer = initializers.glorot_uniform,
        *,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: FC[Tensor[Any, Any], Tensor[Any, tuple[Any]]],
        size: int,
        activation: Callable[[Any], Any] | None = None,
        bias: bool = True,
        initializer: Initializer = initializers.glorot_uniform,
        *,
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self,
        size: Any,
        activation: Callable[[Any], Any] | None = None,
        bias: bool = True,
        initializer: Initializer = initializers.glorot_uniform,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.size = size_of("FC", size)
        self.activation = function_of("FC", "activation", activation)
        self.bias = bool(bias)
        self.initializer = function_of("FC", "initializer", initializer)

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x = vector("FC", input)
        weight = Parameter("weight", (*x.shape, self.size), x.dtype, self.initializer)
        bias = Parameter("bias", (self.size,), x.dtype, initializers.zeros)
        return (weight, bias) if self.bias else (weight,)

    def forward(self, parameters: Mapping[str, Any], *args: Any) -> Any:
        (x,) = args
        y = ops.matmul(x, parameters["weight"])
        if self.bias:
            y = y + parameters["bias"]
        return y if self.activation is None else self.activation(y)
