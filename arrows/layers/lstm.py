"""`LSTMCell`: one step of a long short-term memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from arrows import ops
from arrows.combinators import Layer
from arrows.layers import initializers
from arrows.layers.arguments import float_type, function_of, items, size_of, vector
from arrows.layers.gates import GateBias, check_state, dropped, recurrent_dropout, state_type
from arrows.ops import Parameter
from arrows.ops.context import Initializer
from arrows.typesys import types as T
from arrows.typesys.static import F32, Axis, Tensor

A = TypeVar("A")
B = TypeVar("B")
N = TypeVar("N", bound=Axis)


class LSTMCell(Layer[A, B]):
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

    size: int
    dropout: float
    forget_bias: float
    dtype: str
    initializer: Initializer

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
        size: Any,
        *,
        dropout: float = 0.0,
        forget_bias: float = 1.0,
        initializer: Initializer = initializers.glorot_uniform,
        dtype: str = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.size = size_of("LSTMCell", size)
        self.dropout = recurrent_dropout(self, dropout)
        self.forget_bias = float(forget_bias)
        self.initializer = function_of("LSTMCell", "initializer", initializer)
        self.dtype = float_type("LSTMCell", dtype)

    @property
    def state(self) -> T.Tuple:
        """The type of the state (h, c)."""
        return state_type(self.size, self.dtype)

    def signature(self) -> tuple[T.Type | None, T.Type | None]:
        return None, self.state

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x, state = items("LSTMCell", input, "(x, (h, c))", 2)
        x = vector("LSTMCell", x, "x")
        check_state("LSTMCell", state, self.size, x, "state")
        n = self.size
        return (
            Parameter("weight", (x.shape[0] + n, 4 * n), x.dtype, self.initializer),
            Parameter("bias", (4 * n,), x.dtype, GateBias(3 * n, self.forget_bias)),
        )

    def forward(self, parameters: Mapping[str, Any], *args: Any) -> Any:
        x, (h, c) = args
        n = self.size
        gates = ops.concat([x, h]) @ parameters["weight"] + parameters["bias"]
        u, opened = ops.tanh(gates[:n]), ops.sigmoid(gates[n:])
        c = opened[:n] * dropped(u, self.dropout) + opened[2 * n :] * c
        return opened[n : 2 * n] * ops.tanh(c), c
