"""`MultiHeadAttention`: attention within a sequence, as Transformers have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from arrows import ops
from arrows.arrays import HostArray
from arrows.layers import initializers
from arrows.layers.arguments import DeclaredLayer
from arrows.ops import Parameter, ShapeError, TensorLike
from arrows.typesys import types as T


@dataclass(eq=False, repr=False)
class MultiHeadAttention(DeclaredLayer[Sequence[Any], Sequence[Any]]):
    """Multi-head attention within a sequence of vectors [n], from each element to all; the type stays.

    Vaswani et al., "Attention Is All You Need", NIPS 2017, section 3.2::

        q, k, v = split(x @ in_proj_weight.T + in_proj_bias)          each [n], cut into `num_heads` parts
        h_i = concat over heads(sum_j(softmax_j(q_i . k_j / sqrt(n / num_heads)) * v_j))
        y_i = h_i @ out_proj_weight.T + out_proj_bias

    It is one operation for all sequences of a batch, of whatever lengths, without padding: matrix products
    within each.  Parameters, their layout and first values are those of PyTorch's `nn.MultiheadAttention`, so
    that arrays go from one to the other as they are.  An empty sequence stays empty.

    Args:
        num_heads: into how many equal parts the vectors are cut, each of which attends by itself.
        causal: whether an element sees itself and those before it alone.
        bias: whether there are biases.
        name: the name in messages, and of the parameters: `name/in_proj_weight`.

    Parameters of the layer:
        in_proj_weight [3 * n, n] (Glorot), in_proj_bias [3 * n] (zeros at first), out_proj_weight [n, n]
        (uniform within 1 / sqrt(n)), out_proj_bias [n] (zeros at first).

    Raises:
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value.
        ShapeError: when types are checked, the input is not a sequence of vectors of floating numbers, or
            their length is not a multiple of `num_heads`.

    >>> import arrows as ar
    >>> block = ar.Map(ar.Vector(4)) >> ar.MultiHeadAttention(2)
    >>> ar.infer(block).output
    Sequence(float32[4])
    >>> len(block.eval([[1, 2, 3, 4], [5, 6, 7, 8], [0, 0, 0, 0]]))
    3
    """

    num_heads: int
    _: KW_ONLY
    causal: bool = False
    bias: bool = True

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x = _element(input)
        (n,) = x.shape
        weights = (
            Parameter("in_proj_weight", (3 * n, n), x.dtype, initializers.glorot_uniform),
            Parameter("out_proj_weight", (n, n), x.dtype, _within_root),
        )
        biases = (
            Parameter("in_proj_bias", (3 * n,), x.dtype, initializers.zeros),
            Parameter("out_proj_bias", (n,), x.dtype, initializers.zeros),
        )
        return (*weights, *biases) if self.bias else weights

    def forward(self, parameters: Mapping[str, TensorLike], x: TensorLike) -> TensorLike:
        n = x.type.shape[0]
        if n % self.num_heads:
            raise ShapeError(
                f"{self.num_heads} heads of MultiHeadAttention cannot share vectors of {n} numbers",
                hint="the length of the vectors is a multiple of the number of heads",
            )
        both = self._project(parameters, "in", x)
        q, k, v = (both[i * n : (i + 1) * n] for i in range(3))
        means = ops.segment_attention(q, k, v, self.num_heads, self.causal)
        return self._project(parameters, "out", means)

    def _project(self, parameters: Mapping[str, TensorLike], part: str, x: TensorLike) -> TensorLike:
        y = ops.matmul(x, parameters[f"{part}_proj_weight"].T)
        return y + parameters[f"{part}_proj_bias"] if self.bias else y


def _element(input: T.Type) -> T.Tensor:
    """The type of the elements, if they are vectors of floating numbers; else a ShapeError."""
    element = input.element if isinstance(input, T.Sequence) else None
    if isinstance(element, T.Tensor) and element.ndim == 1 and element.floating:
        return element
    hint = None
    if isinstance(input, T.Tensor):
        hint = "it stands behind the Map, not in it: ar.Map(f) >> ar.MultiHeadAttention(num_heads)"
    elif isinstance(input, T.Tuple):
        hint = "it attends within one sequence; from one to another: ar.Attention beside a Broadcast"
    raise ShapeError(
        f"the input of MultiHeadAttention must be a sequence of vectors of floats, not {input}", hint=hint
    )


def _within_root(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> HostArray:
    """Uniform within 1 / sqrt(n), as a linear layer of PyTorch's begins."""
    return initializers.uniform(max(shape[-1], 1) ** -0.5)(generator, shape, dtype)
