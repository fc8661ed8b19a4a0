"""Small layers for the tests of the language, so that they lean on nothing above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import arrows as ar
from arrows import ops
from arrows.typesys import types as T


def _zeros(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype)


class FC(ar.Layer[Any, Any]):
    """A matrix product."""

    def __init__(self, size: int, *, name: str | None = None) -> None:
        super().__init__(name=name)
        self.size = size

    def parameters(self, input: T.Type) -> tuple[ops.Parameter, ...]:
        if not isinstance(input, T.Tensor) or input.ndim != 1 or not input.floating:
            raise ops.ShapeError(f"FC takes a vector of floats, not {input}")
        return (ops.Parameter("weight", (input.shape[0], self.size), input.dtype, _zeros),)

    def forward(self, parameters: Mapping[str, Any], *args: Any) -> Any:
        return args[0] @ parameters["weight"]


class Embedding(ar.Layer[Any, Any]):
    """Rows of a table."""

    def __init__(self, count: int, size: int, *, name: str | None = None) -> None:
        super().__init__(name=name)
        self.count = count
        self.size = size

    def signature(self) -> tuple[T.Type | None, T.Type | None]:
        return T.Tensor((), "int32"), T.Tensor((self.size,))

    def parameters(self, input: T.Type) -> tuple[ops.Parameter, ...]:
        return (ops.Parameter("weight", (self.count, self.size), "float32", _zeros),)

    def forward(self, parameters: Mapping[str, Any], *args: Any) -> Any:
        return ops.lookup(parameters["weight"], args[0])


class Cell(ar.Layer[Any, Any]):
    """A binary tree cell: `(x, (state, state)) -> state`, a state is `(h, c)`."""

    def __init__(self, size: int, *, name: str | None = None) -> None:
        super().__init__(name=name)
        self.size = size

    @property
    def state(self) -> T.Type:
        return T.Tuple((T.Tensor((self.size,)), T.Tensor((self.size,))))

    def signature(self) -> tuple[T.Type | None, T.Type | None]:
        return None, self.state

    def parameters(self, input: T.Type) -> tuple[ops.Parameter, ...]:
        first = T.leaves(input)[0]
        return (ops.Parameter("weight", (first.shape[0], self.size), first.dtype, _zeros),)

    def forward(self, parameters: Mapping[str, Any], *args: Any) -> Any:
        x, ((h1, c1), (h2, c2)) = args
        return ops.tanh(x @ parameters["weight"] + h1 + h2), c1 + c2


def tree_lstm(size: int = 300, classes: int = 5) -> ar.Block[Any, Any]:
    """The first example of the project: a classified Tree-LSTM with a loss at every node."""
    vocab = {"good": 1, "film": 2}
    cell = Cell(size)
    classify = FC(classes, name="classify")
    loss = ar.Function(lambda scores, label: (ops.log_softmax(scores) * -1.0).sum())
    word = ar.InputTransform(vocab.get) >> ar.Optional(ar.Scalar("int32"), ar.Constant(0, "int32"))
    x = ar.GetItem("word") >> word >> Embedding(len(vocab) + 1, size)
    leaf = (x & ar.Zeros((cell.state, cell.state))) >> cell
    label = ar.GetItem("label") >> ar.Scalar("int32")

    @ar.fix
    def tree(me: Any) -> Any:
        children = ar.GetItem("left") >> me & ar.GetItem("right") >> me
        pair = (ar.Zeros([size]) & children) >> cell
        node = ar.OneOf(lambda t: "word" in t).case(True, leaf).case(False, pair)

        @ar.arrow
        def labelled(t: Any) -> Any:
            state = node(t)
            ar.Metric("loss")(loss(classify(state[0]), label(t)))
            return state

        return labelled

    return tree
