"""`FC`: a fully connected layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Never, TypeAlias, TypedDict, Unpack, overload

from arrows import ops
from arrows.combinators.base.arguments import wrong_argument
from arrows.layers import initializers
from arrows.layers.arguments import A, B, DeclaredLayer, N, vector
from arrows.ops import Parameter, ShapeError, TensorLike
from arrows.ops.context import Initializer
from arrows.typesys import types as T
from arrows.typesys.static import Tensor

Activation: TypeAlias = Callable[[Any], Any]
"""A function of a tensor, such as `ar.ops.tanh`."""

NoAxes: TypeAlias = list[Never] | tuple[()]
"""The shape of a scalar, `[]`."""


class _Options(TypedDict, total=False):
    weight_norm: bool
    dtype: str | None
    name: str | None


@dataclass(eq=False, repr=False)
class FC(DeclaredLayer[A, B]):
    """Fully connected: `activation(x @ weight + bias)`, from a vector [in] to a vector [size].

    `FC([])` gives a scalar, as the target of a regression is; its parameters are those of `FC(1)`.
    The name is that of TensorFlow Fold.

    Args:
        size: length of the output: a number, or an `Axis` that type checkers see; `[]` for a scalar.
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

    size: int
    activation: Activation | None = None
    bias: bool = True
    initializer: Initializer = initializers.glorot_uniform
    _: KW_ONLY
    weight_norm: bool = False
    dtype: str | None = None

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: FC[Tensor[Any, Any], Tensor[Any, tuple[N]]],
            size: type[N],
            activation: Activation | None = None,
            bias: bool = True,
            initializer: Initializer = initializers.glorot_uniform,
            **options: Unpack[_Options],
        ) -> None: ...
        @overload
        def __init__(
            self: FC[Tensor[Any, Any], Tensor[Any, tuple[()]]],
            size: NoAxes,
            activation: Activation | None = None,
            bias: bool = True,
            initializer: Initializer = initializers.glorot_uniform,
            **options: Unpack[_Options],
        ) -> None: ...
        @overload
        def __init__(
            self: FC[Tensor[Any, Any], Tensor[Any, tuple[Any]]],
            size: int,
            activation: Activation | None = None,
            bias: bool = True,
            initializer: Initializer = initializers.glorot_uniform,
            **options: Unpack[_Options],
        ) -> None: ...
        def __init__(self, *args: Any, **options: Any) -> None: ...

    def __post_init__(self) -> None:
        size: Any = self.size
        self.scalar = isinstance(size, (list, tuple)) and not size
        if self.scalar:
            self.size = 1
        elif isinstance(size, (list, tuple)):
            hint = f"ar.{self.kind}({size[0]}) gives a vector, ar.{self.kind}([]) a scalar"
            reason = f"the size of {self.kind} is a whole number or [], got {size!r}"
            raise wrong_argument(self.kind, reason, hint=hint)
        super().__post_init__()

    def signature(self) -> tuple[T.Type | None, T.Type | None]:
        return None, None if self.dtype is None else self.default_output()

    def default_output(self) -> T.Type:
        return T.Tensor(() if self.scalar else (self.size,), self.dtype or "float32")

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x = vector(self.kind, input)
        dtype = self.dtype or x.dtype
        weight = Parameter("weight", (*x.shape, self.size), dtype, self.initializer)
        gain = Parameter("gain", (self.size,), dtype, initializers.ones)
        bias = Parameter("bias", (self.size,), dtype, initializers.zeros)
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
