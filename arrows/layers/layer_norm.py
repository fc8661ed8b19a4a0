"""`LayerNorm`: mean 0 and variance 1 along the last axis, then a trained gain and bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arrows import ops
from arrows.layers import initializers
from arrows.layers.arguments import DeclaredLayer
from arrows.ops import Parameter, ShapeError, TensorLike
from arrows.typesys import types as T


@dataclass(eq=False, repr=False)
class LayerNorm(DeclaredLayer[Any, Any]):
    """`(x - mean) / sqrt(variance + epsilon) * gain + bias` along the last axis; the shape stays.

    Ba, Kiros, Hinton, "Layer Normalization", 2016, (4).

    Args:
        epsilon: a positive number, at most 1, that is added to the variance.
        name: the name in messages, and of the parameters: `name/gain`.

    Parameters of the layer:
        gain [n] (ones at first), bias [n] (zeros at first), n the size of the last axis.

    Raises:
        ArrowTypeError, ArrowValueError: epsilon is not a positive number, or above 1.
        ShapeError: when types are checked, the input is not a floating tensor whose last axis has elements.

    >>> import arrows as ar
    >>> (ar.Vector(2) >> ar.LayerNorm()).eval([1, 3]).round(3).tolist()
    [-1.0, 1.0]
    """

    epsilon: float = 1e-5

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x = input.element if isinstance(input, T.Sequence) else input
        if not isinstance(x, T.Tensor) or not x.floating or not x.ndim or not x.shape[-1]:
            raise ShapeError(
                f"the input of LayerNorm must be a floating tensor whose last axis has elements, not {input}"
            )
        return (
            Parameter("gain", x.shape[-1:], x.dtype, initializers.ones),
            Parameter("bias", x.shape[-1:], x.dtype, initializers.zeros),
        )

    def forward(self, parameters: Mapping[str, TensorLike], x: TensorLike) -> TensorLike:
        return ops.standardize(x, -1, self.epsilon) * parameters["gain"] + parameters["bias"]
