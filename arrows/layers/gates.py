"""What cells share: the state, checks of their input, the first value of their bias, recurrent dropout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows import ops
from arrows.layers.arguments import rate_of
from arrows.ops import ShapeError
from arrows.typesys import types as T


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

    def __call__(
        self, generator: np.random.Generator, shape: tuple[int, ...], dtype: str
    ) -> np.ndarray[Any, Any]:
        bias = np.zeros(shape, dtype)
        bias[self.start :] = self.forget
        return bias


def state_type(size: int, dtype: str) -> T.Tuple:
    """The state of a cell: (h, c), each [size].

    >>> state_type(3, "float32")
    (float32[3], float32[3])
    """
    return T.Tuple((T.Tensor((size,), dtype), T.Tensor((size,), dtype)))


def check_state(layer: str, kind: T.Type, size: int, x: T.Tensor, what: str) -> None:
    """Raise ShapeError unless the type is (h, c), each [size], of the element type of x.

    >>> check_state("LSTMCell", state_type(3, "float32"), 3, T.Tensor((5,)), "state")
    """
    wanted = state_type(size, x.dtype)
    if kind != wanted:
        hint = None
        if isinstance(kind, T.Tuple) and T.with_float(kind, x.dtype) == wanted:
            hint = f"x is {x}; give the layer dtype={x.dtype!r}, or cast x"
        raise ShapeError(f"the {what} of {layer} is (h, c): {wanted}, and {kind} is not", hint=hint)


def recurrent_dropout(cell: Any, rate: Any) -> float:
    """The rate of a cell's recurrent dropout, checked; a cell that has it counts among the effects.

    >>> from types import SimpleNamespace
    >>> recurrent_dropout(SimpleNamespace(), 0.5)
    0.5
    """
    checked = rate_of(type(cell).__name__, rate)
    if checked:
        cell.__dict__["effect"] = True
    return checked


def dropped(u: Any, rate: float) -> Any:
    """The update of a state, under recurrent dropout if the rate is not 0."""
    return ops.drop(u, rate) if rate else u
