"""What recurrent cells share: arguments, the state (h, c), the bias of the forget gates, dropout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from arrows import ops
from arrows.combinators import Layer
from arrows.layers.arguments import float_type, function_of, rate_of, size_of
from arrows.ops import ShapeError, TensorLike
from arrows.ops.arrays import HostArray
from arrows.ops.context import Initializer
from arrows.typesys import types as T

A = TypeVar("A")
B = TypeVar("B")


class Cell(Layer[A, B]):
    """Base of the recurrent cells: a layer whose result is its next state.

    Attributes:
        size: the length of the state's vectors.
        dropout: the rate of the recurrent dropout.
        initializer: first values of the weights.
        dtype: element type of the state.
    """

    size: int
    dropout: float
    initializer: Initializer
    dtype: str

    def __init__(
        self, size: object, *, dropout: float, initializer: Initializer, dtype: str, name: str | None
    ) -> None:
        super().__init__(name=name)
        kind = self.kind
        self.size = size_of(kind, size)
        self.dropout = rate_of(kind, dropout)
        self.effect = self.dropout > 0  # what is dropped differs from call to call
        self.initializer = function_of(kind, "initializer", initializer)
        self.dtype = float_type(kind, dtype)

    @property
    def state(self) -> T.Type:
        """The type of the state, as `ar.Zeros` takes it."""
        raise NotImplementedError

    def signature(self) -> tuple[T.Type | None, T.Type | None]:
        return None, self.state

    def dropped(self, update: TensorLike) -> TensorLike:
        """The update of a state, under recurrent dropout if there is any."""
        return ops.drop(update, self.dropout) if self.dropout else update


class MemoryCell(Cell[A, B]):
    """Base of the cells whose state is (h, c), the output and the memory, each [size]."""

    forget_bias: float

    def __init__(
        self,
        size: object,
        *,
        dropout: float,
        forget_bias: float,
        initializer: Initializer,
        dtype: str,
        name: str | None,
    ) -> None:
        super().__init__(size, dropout=dropout, initializer=initializer, dtype=dtype, name=name)
        self.forget_bias = float(forget_bias)

    @property
    def state(self) -> T.Tuple:
        """The type of the state (h, c)."""
        return self._state(self.dtype)

    def _state(self, dtype: str) -> T.Tuple:
        return T.Tuple((T.Tensor((self.size,), dtype), T.Tensor((self.size,), dtype)))

    def check_state(self, state: T.Type, x: T.Tensor, what: str) -> None:
        """Raise ShapeError unless the type is (h, c), each [size], of the element type of x."""
        wanted = self._state(x.dtype)
        if state != wanted:
            hint = None
            if isinstance(state, T.Tuple) and T.with_float(state, x.dtype) == wanted:
                hint = f"x is {x}; give the layer dtype={x.dtype!r}, or cast x"
            raise ShapeError(f"the {what} of {self.kind} is (h, c): {wanted}, and {state} is not", hint=hint)

    def gates(self, products: TensorLike) -> tuple[TensorLike, TensorLike]:
        """The update u and the opened gates i, o, f1 .. fN, from their products in this order."""
        return ops.tanh(products[: self.size]), ops.sigmoid(products[self.size :])

    def next_state(
        self, u: TensorLike, opened: TensorLike, remembered: TensorLike
    ) -> tuple[TensorLike, TensorLike]:
        """The next (h, c), from what `gates` gave and what the forget gates leave of the memory."""
        n = self.size
        c = opened[:n] * self.dropped(u) + remembered
        return opened[n : 2 * n] * ops.tanh(c), c


@dataclass(frozen=True)
class GateBias:
    """Zeros, but `forget` from an index on: a cell that remembers at first learns faster.

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
