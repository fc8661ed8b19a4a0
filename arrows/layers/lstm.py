"""`LSTMCell`: one step of a long short-term memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from arrows import ops
from arrows.layers import initializers
from arrows.layers.arguments import items, vector
from arrows.layers.cells import GateBias, MemoryCell
from arrows.ops import Parameter, TensorLike
from arrows.ops.context import Initializer
from arrows.typesys import types as T
from arrows.typesys.static import F32, Axis, Tensor

A = TypeVar("A")
B = TypeVar("B")
N = TypeVar("N", bound=Axis)


class LSTMCell(MemoryCell[A, B]):
    """One step of an LSTM: from (x, (h, c)) to the next (h, c); x is a vector [in], h and c are [size].

    Hochreiter, Schmidhuber, "Long Short-Term Memory", 1997, with the forget gates of Gers, Schmidhuber,
    Cummins, 2000::

        u, i, o, f = split(concat(x, h) @ weight + bias)       one product for all gates, in this order
        c' = sigmoid(i) * tanh(u) + sigmoid(f) * c
        h' = sigmoid(o) * tanh(c')

    It is the Tree-LSTM of one child: same state, same order of gates.

    Args:
        size: length of h and of c: a number, or an `Axis` that type checkers see.
        dropout: rate of the recurrent dropout, 0 <= dropout < 1, of the update tanh(u), while training (see
            `ops.drop`).  Semeniuta, Severyn, Barth, "Recurrent Dropout without Memory Loss", COLING 2016,
            (15).
        forget_bias: first value of the bias of f.
        initializer: first values of the weight.
        dtype: element type of the state, and of x.
        name: the name in messages, and of the parameters: `name/weight`.

    Attributes:
        state: the type of (h, c), as `ar.Zeros` takes it.

    Parameters of the layer:
        weight [in + size, 4 * size], bias [4 * size].

    Raises:
        ArrowTypeError, ArrowValueError: an argument is none of these.
        ShapeError: when types are checked, the input is not (x, (h, c)).

    >>> import arrows as ar
    >>> cell = ar.LSTMCell(4)
    >>> step = ar.Function(lambda state, x: cell(x, state))
    >>> h, c = (ar.Map(ar.Vector(3)) >> ar.Fold(step, ar.Zeros(cell.state))).eval([[1, 2, 3], [4, 5, 6]])
    >>> h.shape
    (4,)
    """

    @overload
    def __init__(
        self: LSTMCell[
            tuple[Tensor[F32, Any], tuple[Tensor[F32, tuple[N]], Tensor[F32, tuple[N]]]],
            tuple[Tensor[F32, tuple[N]], Tensor[F32, tuple[N]]],
        ],
        size: type[N],
        *,
        dropout: float = 0.0,
        forget_bias: float = 1.0,
        initializer: Initializer = initializers.glorot_uniform,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: LSTMCell[Any, Any],
        size: int,
        *,
        dropout: float = 0.0,
        forget_bias: float = 1.0,
        initializer: Initializer = initializers.glorot_uniform,
        dtype: str = "float32",
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self,
        size: object,
        *,
        dropout: float = 0.0,
        forget_bias: float = 1.0,
        initializer: Initializer = initializers.glorot_uniform,
        dtype: str = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(
            size,
            dropout=dropout,
            forget_bias=forget_bias,
            initializer=initializer,
            dtype=dtype,
            name=name,
        )

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x, state = items("LSTMCell", input, "(x, (h, c))", 2)
        x = vector("LSTMCell", x, "x")
        self.check_state(state, x, "state")
        n = self.size
        return (
            Parameter("weight", (x.shape[0] + n, 4 * n), x.dtype, self.initializer),
            Parameter("bias", (4 * n,), x.dtype, GateBias(3 * n, self.forget_bias)),
        )

    def forward(self, parameters: Mapping[str, TensorLike], *args: Any) -> tuple[TensorLike, TensorLike]:
        x, (h, c) = args
        u, opened = self.gates(ops.concat([x, h]) @ parameters["weight"] + parameters["bias"])
        return self.next_state(u, opened, opened[2 * self.size :] * c)
