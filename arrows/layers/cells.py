"""`LSTMCell`: one step of a recurrent network; and the base classes of all recurrent cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from arrows import ops
from arrows.arrays import HostArray
from arrows.combinators import set_name, wrong_argument
from arrows.layers import initializers
from arrows.layers.arguments import CHECKS, A, B, DeclaredLayer, items, vector
from arrows.ops import Initializer, Parameter, ShapeError, TensorLike
from arrows.typesys import cached_property, static as S, types as T

Vector: TypeAlias = S.Tensor[Any, tuple[Any]]
State: TypeAlias = tuple[Vector, Vector]
Memory: TypeAlias = tuple[TensorLike, TensorLike]
"""The state (h, c) while it is computed."""


@dataclass(eq=False, repr=False)
class Cell(DeclaredLayer[A, B]):
    """Base of the recurrent cells: a layer whose result is its next state.

    Attributes:
        size: the length of the state's vectors.
        dropout: the rate of the recurrent dropout.
        initializer: first values of the weights.
        dtype: element type of the state.
        form: the state in messages.
    """

    form: ClassVar[str] = "h"
    size: int
    _: KW_ONLY
    dropout: float = 0.0
    initializer: Initializer = initializers.glorot_uniform
    dtype: str = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.effect = self.dropout > 0  # dropout differs from call to call, so equal calls are not merged

    @property
    def state(self) -> T.Type:
        """The type of the state, as `ar.Zeros` takes it."""
        raise NotImplementedError

    def signature(self) -> tuple[T.Type | None, T.Type | None]:
        return None, self.state

    def x_of(self, input: T.Type) -> T.Tensor:
        """The type of x in an input (x, state); else a ShapeError."""
        x, state = items(self.kind, input, f"(x, {self.form})", 2)
        vector_x = vector(self.kind, x, "x")
        self.check_state(state, vector_x, "state")
        return vector_x

    def check_state(self, state: T.Type, x: T.Tensor, what: str) -> None:
        """Raises ShapeError unless the type is that of a state, of the element type of x."""
        wanted = T.with_float(self.state, x.dtype)
        if state != wanted:
            other = T.with_float(state, x.dtype) == wanted
            hint = f"x is {x}; give the layer dtype={x.dtype!r}, or cast x" if other else None
            reason = f"the {what} of {self.kind} must be {self.form}: {wanted}, not {state}"
            raise ShapeError(reason, hint=hint)

    def dropped(self, update: TensorLike) -> TensorLike:
        """The update of a state, under recurrent dropout if there is any."""
        return ops.dropout(update, self.dropout) if self.dropout else update


@dataclass(eq=False, repr=False)
class MemoryCell(Cell[A, B]):
    """Base of the cells whose state is (h, c), the output and the memory, each [size]."""

    form: ClassVar[str] = "(h, c)"
    _: KW_ONLY
    forget_bias: float = 1.0

    @cached_property
    def state(self) -> T.Tuple:
        """The type of the state (h, c)."""
        return T.Tuple((T.Tensor((self.size,), self.dtype),) * 2)

    def gates(self, products: TensorLike) -> tuple[TensorLike, TensorLike]:
        """The update u, and the gates i, o, f1 .. fN as one tensor, from the products in this order."""
        return ops.tanh(products[: self.size]), ops.sigmoid(products[self.size :])

    def next_state(self, u: TensorLike, opened: TensorLike, remembered: TensorLike) -> Memory:
        """The next (h, c), from the result of `gates` and from the memory that the forget gates keep."""
        n = self.size
        c = opened[:n] * self.dropped(u) + remembered
        return opened[n : 2 * n] * ops.tanh(c), c


@dataclass(frozen=True)
class GateBias:
    """Zeros, but `forget` from index `start` on: a cell that keeps its memory at first learns faster.

    Gers, Schmidhuber, Cummins, "Learning to Forget", 2000, section 4; Jozefowicz, Zaremba, Sutskever, "An
    Empirical Exploration of Recurrent Network Architectures", ICML 2015, section 2.2.

    >>> GateBias(1, 3.0)(np.random.default_rng(0), (3,), "float32").tolist()
    [0.0, 3.0, 3.0]
    """

    start: int
    forget: float

    def __call__(self, generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> HostArray:
        bias = np.zeros(shape, dtype)
        bias[self.start :] = self.forget
        return bias


@dataclass(eq=False, repr=False)
class LSTMCell(MemoryCell[tuple[Vector, State], State]):
    """One step of an LSTM: from (x, (h, c)) to the next (h, c); x is a vector [in], h and c are [size].

    Hochreiter, Schmidhuber, "Long Short-Term Memory", 1997, with the forget gates of Gers, Schmidhuber,
    Cummins, 2000::

        u, i, o, f = split(concat(x, h) @ weight + bias)       one product for all gates, in this order
        c' = sigmoid(i) * tanh(u) + sigmoid(f) * c
        h' = sigmoid(o) * tanh(c')

    It is the Tree-LSTM of one child: same state, same order of gates.

    Args:
        size: length of h and of c.
        dropout: rate of the recurrent dropout, 0 <= dropout < 1, of the update tanh(u), while training (see
            `ops.dropout`).  Semeniuta, Severyn, Barth, "Recurrent Dropout without Memory Loss", COLING 2016,
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
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value.
        ShapeError: when types are checked, the input is not (x, (h, c)).

    >>> import arrows as ar
    >>> cell = ar.LSTMCell(4)
    >>> step = ar.Function(lambda state, x: cell(x, state))
    >>> h, c = (ar.Map(ar.Vector(3)) >> ar.Fold(step, ar.Zeros(cell.state))).eval([[1, 2, 3], [4, 5, 6]])
    >>> h.shape
    (4,)
    """

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x = self.x_of(input)
        n = self.size
        return (
            Parameter("weight", (x.shape[0] + n, 4 * n), x.dtype, self.initializer),
            Parameter("bias", (4 * n,), x.dtype, GateBias(3 * n, self.forget_bias)),
        )

    def forward(self, parameters: Mapping[str, TensorLike], x: TensorLike, state: Memory) -> Memory:
        h, c = state
        u, opened = self.gates(ops.concat([x, h]) @ parameters["weight"] + parameters["bias"])
        return self.next_state(u, opened, opened[2 * self.size :] * c)


class Stacked(Cell[tuple[Vector, Any], Any]):
    """Several cells as one: each reads the output of the one before it, as PyTorch's `num_layers` does.

    It takes (x, state) and gives the next state, as a step of `RNN` and `Fold` and on the fly. The state is
    that of the last cell, then those of the cells below it, from the top down: (h, c, (h, c)) of two
    LSTMs. So `state[0]` is the output, as of a single cell.

    Args:
        *cells: two or more, the first one reads x: `LSTMCell`, `GRUCell`, or another Stacked.
        dropout: rate of the dropout between the cells, 0 <= dropout < 1, while training.
        name: the name in messages; parameters go by the names of the cells.

    Attributes:
        state: the type of the state, as `ar.Zeros` takes it.

    Raises:
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value.
        ShapeError: when types are checked, the input is not (x, state).

    >>> import arrows as ar
    >>> cell = ar.Stacked(ar.LSTMCell(4), ar.LSTMCell(5))
    >>> cell.state
    (float32[5], float32[5], (float32[4], float32[4]))
    >>> outputs, state = (ar.Map(ar.Vector(3)) >> ar.RNN(cell)).eval([[1, 2, 3], [4, 5, 6]])
    >>> bool((outputs[-1] == state[0]).all())
    True
    """

    form: ClassVar[str] = "that of the last cell, then those of the cells below"

    def __init__(self, *cells: Cell[Any, Any], dropout: float = 0.0, name: str | None = None) -> None:
        set_name(self, name)
        # A TreeLSTM takes the states of children, not its own.
        if len(cells) < 2 or not all(
            isinstance(cell, Cell) and not hasattr(cell, "children") for cell in cells
        ):
            reason = f"it takes two cells or more, such as ar.LSTMCell(128), got {cells!r:.200}"
            raise wrong_argument(self.kind, reason)
        self.cells, self.dropout = cells, CHECKS["dropout"][0](self.kind, "rate", dropout)
        self.size = cells[-1].size
        self.effect = self.dropout > 0 or any(cell.effect for cell in cells)

    @cached_property
    def state(self) -> T.Tuple:
        """The type of the state: of the last cell, then of the cells below it."""
        *below, last = (cell.state for cell in self.cells)
        return T.Tuple((*(last.items if isinstance(last, T.Tuple) else (last,)), *reversed(below)))

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        self.x_of(input)
        return ()

    def forward(self, parameters: Mapping[str, TensorLike], x: TensorLike, state: tuple[Any, ...]) -> Any:
        below = state[1 - len(self.cells) :]
        last = state[: -len(below)] if isinstance(self.cells[-1].state, T.Tuple) else state[0]
        after: list[Any] = []
        for cell, before in zip(self.cells, (*reversed(below), last), strict=True):
            after.insert(0, cell.of_example(self.dropped(x) if after else x, before))
            x = after[0][0] if isinstance(after[0], tuple) else after[0]
        return (*(after[0] if isinstance(after[0], tuple) else after[:1]), *after[1:])

    def arguments(self) -> list[str]:
        return [*map(repr, self.cells), *[f"dropout={self.dropout}"] * (self.dropout > 0)]
