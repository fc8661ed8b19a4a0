"""`GRUCell`: one step of a gated recurrent unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from arrows import ops
from arrows.layers import initializers
from arrows.layers.arguments import items, vector
from arrows.layers.cells import Cell
from arrows.ops import Parameter, ShapeError, TensorLike
from arrows.ops.context import Initializer
from arrows.typesys import types as T
from arrows.typesys.static import F32, Axis, Tensor

A = TypeVar("A")
B = TypeVar("B")
N = TypeVar("N", bound=Axis)


class GRUCell(Cell[A, B]):
    """One step of a gated recurrent unit: from (x, h) to the next h; x is a vector [in], h is [size].

    Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine
    Translation", EMNLP 2014, section 2.3, with biases::

        r, z = split(sigmoid(concat(x, h) @ weight + bias))       one product for both gates, in this order
        u = tanh(concat(x, r * h) @ update_weight + update_bias)
        h' = z * h + (1 - z) * u

    Args:
        size: length of h: a number, or an `Axis` that type checkers see.
        dropout: rate of the recurrent dropout, 0 <= dropout < 1, of the update u, while training (see
            `ops.drop`).  Semeniuta, Severyn, Barth, "Recurrent Dropout without Memory Loss", COLING 2016,
            (16).
        initializer: first values of the weights.
        dtype: element type of the state, and of x.
        name: the name in messages, and of the parameters: `name/weight`.

    Attributes:
        state: the type of h, as `ar.Zeros` takes it.

    Parameters of the layer:
        weight [in + size, 2 * size], bias [2 * size], update_weight [in + size, size], update_bias [size].

    Raises:
        ArrowTypeError, ArrowValueError: an argument is none of these.
        ShapeError: when types are checked, the input is not (x, h).

    >>> import arrows as ar
    >>> cell = ar.GRUCell(4)
    >>> step = ar.Function(lambda h, x: cell(x, h))
    >>> (ar.Map(ar.Vector(3)) >> ar.Fold(step, ar.Zeros(cell.state))).eval([[1, 2, 3], [4, 5, 6]]).shape
    (4,)
    """

    @overload
    def __init__(
        self: GRUCell[tuple[Tensor[F32, Any], Tensor[F32, tuple[N]]], Tensor[F32, tuple[N]]],
        size: type[N],
        *,
        dropout: float = 0.0,
        initializer: Initializer = initializers.glorot_uniform,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: GRUCell[Any, Any],
        size: int,
        *,
        dropout: float = 0.0,
        initializer: Initializer = initializers.glorot_uniform,
        dtype: str = "float32",
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self,
        size: object,
        *,
        dropout: float = 0.0,
        initializer: Initializer = initializers.glorot_uniform,
        dtype: str = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(size, dropout=dropout, initializer=initializer, dtype=dtype, name=name)

    @property
    def state(self) -> T.Tensor:
        """The type of the state h."""
        return T.Tensor((self.size,), self.dtype)

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x, state = items("GRUCell", input, "(x, h)", 2)
        x = vector("GRUCell", x, "x")
        n = self.size
        wanted = T.Tensor((n,), x.dtype)
        if state != wanted:
            other = state == self.state
            hint = f"x is {x}; give the layer dtype={x.dtype!r}, or cast x" if other else None
            raise ShapeError(f"the state of GRUCell must be h: {wanted}, not {state}", hint=hint)
        rows = x.shape[0] + n
        return (
            Parameter("weight", (rows, 2 * n), x.dtype, self.initializer),
            Parameter("bias", (2 * n,), x.dtype, initializers.zeros),
            Parameter("update_weight", (rows, n), x.dtype, self.initializer),
            Parameter("update_bias", (n,), x.dtype, initializers.zeros),
        )

    def forward(self, parameters: Mapping[str, TensorLike], *args: Any) -> TensorLike:
        x, h = args
        n = self.size
        gates = ops.sigmoid(ops.concat([x, h]) @ parameters["weight"] + parameters["bias"])
        r, z = gates[:n], gates[n:]
        u = ops.tanh(ops.concat([x, r * h]) @ parameters["update_weight"] + parameters["update_bias"])
        state: TensorLike = z * h + (1 - z) * self.dropped(u)
        return state
