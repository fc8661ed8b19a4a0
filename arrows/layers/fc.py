"""`FC`: a fully connected layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Never, TypeAlias

from arrows import ops
from arrows.layers import initializers
from arrows.layers.arguments import DeclaredLayer, size_of, vector
from arrows.ops import Initializer, Parameter, ShapeError, TensorLike
from arrows.typesys import static as S, types as T

Activation: TypeAlias = Callable[[Any], Any]
"""A function of a tensor, such as `ar.ops.tanh`."""

NoAxes: TypeAlias = list[Never] | tuple[()]
"""The shape of a scalar, `[]`."""


@dataclass(eq=False, repr=False)
class FC(DeclaredLayer[S.Tensor[Any, Any], S.Tensor[Any, Any]]):
    """Fully connected: `activation(x @ weight + bias)`, from a vector [in] to a vector [size].

    `FC([])` gives a scalar, as the target of a regression is; its parameters are those of `FC(1)`.
    The name is that of TensorFlow Fold.

    Args:
        size: length of the output; `[]` for a scalar.
        activation: function of a tensor such as `ar.ops.tanh`; none by default.
        bias: whether there is one.
        initializer: first values of the weight.
        weight_norm: whether to learn the length and the direction of each column of the weight separately:
            the layer then multiplies by `gain * weight / norm(weight)`, column by column.  Salimans, Kingma,
            "Weight Normalization", NIPS 2016, (2).
        dtype: element type of input, parameters and output; by default that of the input.
        name: the name in messages, and of the parameters: `name/weight`.

    Parameters of the layer:
        weight [in, size], bias [size] (zeros at first), with weight_norm gain [size] (ones at first).

    Raises:
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value.
        ShapeError: when types are checked, the input is not a vector of floating numbers, or not of `dtype`.

    >>> import arrows as ar
    >>> (ar.Vector(3) >> ar.FC(2, activation=ar.ops.tanh)).eval([1, 2, 3]).shape
    (2,)
    >>> price = ar.GetItem(0) >> ar.Vector(3) >> ar.FC([])
    >>> ar.infer((price & ar.GetItem(1) >> ar.Scalar()) >> ar.SquaredError()).output
    float32
    """

    size: int | NoAxes
    activation: Activation | None = None
    bias: bool = True
    initializer: Initializer = initializers.glorot_uniform
    _: KW_ONLY
    weight_norm: bool = False
    dtype: str | None = None

    def __post_init__(self) -> None:
        self.scalar = isinstance(self.size, (list, tuple)) and not self.size
        self.size = self.units = size_of(self.kind, "size", 1 if self.scalar else self.size)
        super().__post_init__()

    def signature(self) -> tuple[T.Type | None, T.Type | None]:
        return None, None if self.dtype is None else self.default_output()

    def default_output(self) -> T.Type:
        return T.Tensor(() if self.scalar else (self.units,), self.dtype or "float32")

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x = vector(self.kind, input)
        dtype = self.dtype or x.dtype
        weight = Parameter("weight", (*x.shape, self.units), dtype, self.initializer)
        gain = Parameter("gain", (self.units,), dtype, initializers.ones)
        bias = Parameter("bias", (self.units,), dtype, initializers.zeros)
        return (weight, *([gain] if self.weight_norm else []), *([bias] if self.bias else []))

    def forward(self, parameters: Mapping[str, TensorLike], x: TensorLike) -> Any:
        weight = parameters["weight"]
        if weight.dtype != x.dtype:
            hint = f'cast the input: ar.Function(lambda x: x.cast("{weight.dtype}")), or leave dtype out'
            raise ShapeError(f"{self.kind} has dtype={self.dtype!r}, and its input is {x.type}", hint=hint)
        if self.weight_norm:  # depends on parameters alone, so the engine computes it once a batch
            weight = weight * (parameters["gain"] / ops.norm(weight, axis=0))
        y = ops.matmul(x, weight)
        if self.bias:
            y = y + parameters["bias"]
        if self.scalar:
            y = ops.reshape(y, ())
        return y if self.activation is None else self.activation(y)
