"""`RMSNorm`: mean square 1 along the last axis, then a trained gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arrows import ops
from arrows.layers import initializers
from arrows.layers.arguments import DeclaredLayer, vector
from arrows.ops import Parameter, TensorLike
from arrows.typesys import types as T


@dataclass(eq=False, repr=False)
class RMSNorm(DeclaredLayer[Any, Any]):
    """`x / sqrt(mean(x * x) + epsilon) * gain` of a vector.

    Zhang, Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019, (4).

    Args:
        epsilon: a positive number, at most 1, that is added to the mean.
        name: the name in messages, and of the parameter: `name/gain`.

    Raises:
        ArrowTypeError, ArrowValueError: epsilon is not a positive number, or above 1.
        ShapeError: when types are checked, the input is not a vector of floating numbers.

    >>> import arrows as ar
    >>> (ar.Vector(2) >> ar.RMSNorm()).eval([1, 7]).round(1).astype(str).tolist()
    ['0.2', '1.4']
    """

    epsilon: float = 1e-5

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x = vector(self.kind, input)
        return (Parameter("gain", x.shape, x.dtype, initializers.ones),)

    def forward(self, parameters: Mapping[str, TensorLike], x: TensorLike) -> TensorLike:
        return x / ops.sqrt(ops.mean(x * x) + self.epsilon) * parameters["gain"]
