"""`GRUCell`: one step of a gated recurrent unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

from arrows import ops
from arrows.layers import initializers
from arrows.layers.cells import Cell, Vector
from arrows.ops import Parameter, TensorLike
from arrows.typesys import cached_property, types as T


@dataclass(eq=False, repr=False)
class GRUCell(Cell[tuple[Vector, Vector], Vector]):
    """One step of a gated recurrent unit: from (x, h) to the next h; x is a vector [in], h is [size].

    Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine
    Translation", EMNLP 2014, section 2.3, with biases::

        r, z = split(sigmoid(concat(x, h) @ weight + bias))       one product for both gates, in this order
        u = tanh(concat(x, r * h) @ update_weight + update_bias)
        h' = z * h + (1 - z) * u

    With `reset_after` the reset gate acts behind the product, as in PyTorch, in cuDNN and, unless told
    otherwise, in Keras; `wx` are the first rows of `update_weight`, `wh` its last `size`::

        u = tanh(x @ wx + update_bias + r * (h @ wh + recurrent_bias))

    Args:
        size: length of h.
        reset_after: whether the reset gate acts on the product with the state, not on the state. Parameters
            of PyTorch's `nn.GRUCell` go over by gate: `weight_ih` and `weight_hh`, transposed, are the upper
            and the lower rows of `weight` (r, z) and of `update_weight` (n), `bias_ih + bias_hh` of r and z
            is `bias`, that of n is `update_bias` and `recurrent_bias`.
        dropout: rate of the recurrent dropout, 0 <= dropout < 1, of the update u, while training (see
            `ops.dropout`).  Semeniuta, Severyn, Barth, "Recurrent Dropout without Memory Loss", COLING 2016,
            (16).
        initializer: first values of the weights.
        dtype: element type of the state, and of x.
        name: the name in messages, and of the parameters: `name/weight`.

    Attributes:
        state: the type of h, as `ar.Zeros` takes it.

    Parameters of the layer:
        weight [in + size, 2 * size], bias [2 * size], update_weight [in + size, size], update_bias [size],
        with reset_after recurrent_bias [size].

    Raises:
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value.
        ShapeError: when types are checked, the input is not (x, h).

    >>> import arrows as ar
    >>> cell = ar.GRUCell(4)
    >>> step = ar.Function(lambda h, x: cell(x, h))
    >>> (ar.Map(ar.Vector(3)) >> ar.Fold(step, ar.Zeros(cell.state))).eval([[1, 2, 3], [4, 5, 6]]).shape
    (4,)
    """

    _: KW_ONLY
    reset_after: bool = False

    @cached_property
    def state(self) -> T.Tensor:
        """The type of the state h."""
        return T.Tensor((self.size,), self.dtype)

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x, n = self.x_of(input), self.size
        rows = x.shape[0] + n
        return (
            Parameter("weight", (rows, 2 * n), x.dtype, self.initializer),
            Parameter("bias", (2 * n,), x.dtype, initializers.zeros),
            Parameter("update_weight", (rows, n), x.dtype, self.initializer),
            Parameter("update_bias", (n,), x.dtype, initializers.zeros),
            *([Parameter("recurrent_bias", (n,), x.dtype, initializers.zeros)] if self.reset_after else []),
        )

    def forward(self, parameters: Mapping[str, TensorLike], x: TensorLike, h: TensorLike) -> TensorLike:
        n = self.size
        gates = ops.sigmoid(ops.concat([x, h]) @ parameters["weight"] + parameters["bias"])
        r, z = gates[:n], gates[n:]
        weight = parameters["update_weight"]
        if self.reset_after:
            inner = h @ weight[x.type.shape[0] :] + parameters["recurrent_bias"]
            product = x @ weight[: x.type.shape[0]] + r * inner
        else:
            product = ops.concat([x, r * h]) @ weight
        u = ops.tanh(product + parameters["update_bias"])
        state: TensorLike = z * h + (1 - z) * self.dropped(u)
        return state
