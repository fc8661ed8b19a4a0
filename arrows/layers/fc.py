"""`FC` and `Linear`: fully connected layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar, overload

from arrows import ops
from arrows.combinators import Layer
from arrows.layers import initializers
from arrows.layers.arguments import function_of, size_of, vector
from arrows.ops import Parameter, TensorLike
from arrows.ops.context import Initializer
from arrows.typesys import ArrowTypeError
from arrows.typesys import types as T
from arrows.typesys.errors import message
from arrows.typesys.static import Axis, Tensor

A = TypeVar("A")
B = TypeVar("B")
N = TypeVar("N", bound=Axis)

Activation: TypeAlias = Callable[[Any], Any]
"""A function of a tensor, such as `ar.ops.tanh`."""


class FC(Layer[A, B]):
    """Fully connected: `activation(x @ weight + bias)`, from a vector [in] to a vector [size].

    The element type is that of the input.  The name is that of TensorFlow Fold.

    Args:
        size: length of the output: a number, or an `Axis` that type checkers see.
        activation: function of a tensor such as `ar.ops.tanh`; none by default.
        bias: whether there is one.
        initializer: first values of the weight.
        weight_norm: whether to learn the length and the direction of each column of the weight separately:
            the layer then multiplies by `gain * weight / norm(weight)`, column by column.  Salimans, Kingma,
            "Weight Normalization", NIPS 2016, (2).
        name: the name in messages, and of the parameters: `name/weight`.

    Parameters of the layer:
        weight [in, size], bias [size] (zeros at first), with weight_norm gain [size] (ones at first).

    Raises:
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value.
        ShapeError: when types are checked, the input is not a vector of floating numbers.

    >>> import arrows as ar
    >>> (ar.Vector(3) >> ar.FC(2, activation=ar.ops.tanh)).eval([1, 2, 3]).shape
    (2,)
    """

    @overload
    def __init__(
        self: FC[Tensor[Any, Any], Tensor[Any, tuple[N]]],
        size: type[N],
        activation: Activation | None = None,
        bias: bool = True,
        initializer: Initializer = initializers.glorot_uniform,
        *,
        weight_norm: bool = False,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: FC[Tensor[Any, Any], Tensor[Any, tuple[Any]]],
        size: int,
        activation: Activation | None = None,
        bias: bool = True,
        initializer: Initializer = initializers.glorot_uniform,
        *,
        weight_norm: bool = False,
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self,
        size: object,
        activation: Activation | None = None,
        bias: bool = True,
        initializer: Initializer = initializers.glorot_uniform,
        *,
        weight_norm: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        layer = self.kind
        self.size = size_of(layer, size)
        self.activation = function_of(layer, "activation", activation)
        if isinstance(bias, int) and bias not in (0, 1):
            hint = f"ar.{layer}({bias}): the size of the input is inferred, not given"
            raise ArrowTypeError(message(f"the bias of {layer} is True or False, got {bias!r}", hint=hint))
        self.bias = bool(bias)
        self.initializer = function_of(layer, "initializer", initializer)
        self.weight_norm = bool(weight_norm)

    def default_output(self) -> T.Type:
        return T.Tensor((self.size,))

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x = vector(self.kind, input)
        weight = Parameter("weight", (*x.shape, self.size), x.dtype, self.initializer)
        gain = Parameter("gain", (self.size,), x.dtype, initializers.ones)
        bias = Parameter("bias", (self.size,), x.dtype, initializers.zeros)
        return (weight, *([gain] if self.weight_norm else []), *([bias] if self.bias else []))

    def forward(self, parameters: Mapping[str, TensorLike], *args: Any) -> Any:
        (x,) = args
        weight = parameters["weight"]
        if self.weight_norm:  # depends on parameters alone, so the engine computes it once a batch
            weight = weight * (parameters["gain"] / ops.norm(weight, axis=0))
        y = ops.matmul(x, weight)
        if self.bias:
            y = y + parameters["bias"]
        return y if self.activation is None else self.activation(y)


class Linear(FC[A, B]):
    """A matrix product, `x @ weight + bias`: `FC` without an activation.

    Args:
        size: length of the output: a number, or an `Axis` that type checkers see.
        bias: whether there is one.
        initializer: first values of the weight.
        weight_norm: see `FC`.
        name: the name in messages, and of the parameters: `name/weight`.

    Parameters of the layer:
        weight [in, size], bias [size] (zeros at first), with weight_norm gain [size] (ones at first).

    Raises:
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value.
        ShapeError: when types are checked, the input is not a vector of floating numbers.

    >>> import arrows as ar
    >>> (ar.Vector(3) >> ar.Linear(2, bias=False)).eval([0, 0, 0]).tolist()
    [0.0, 0.0]
    """

    @overload
    def __init__(
        self: Linear[Tensor[Any, Any], Tensor[Any, tuple[N]]],
        size: type[N],
        bias: bool = True,
        initializer: Initializer = initializers.glorot_uniform,
        *,
        weight_norm: bool = False,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Linear[Tensor[Any, Any], Tensor[Any, tuple[Any]]],
        size: int,
        bias: bool = True,
        initializer: Initializer = initializers.glorot_uniform,
        *,
        weight_norm: bool = False,
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self: Linear[Any, Any],
        size: Any,
        bias: bool = True,
        initializer: Initializer = initializers.glorot_uniform,
        *,
        weight_norm: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(size, None, bias, initializer, weight_norm=weight_norm, name=name)
