"""A layer and a block that several tests of the language look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import arrows as ar
from arrows import ops, types as T


class Embedding(ar.Layer[Any, Any]):
    """Rows of a table; a layer that says its types before it is asked."""

    def __init__(self, count: int, size: int, *, name: str | None = None) -> None:
        super().__init__(name=name)
        self.count = count
        self.size = size

    def signature(self) -> tuple[T.Type | None, T.Type | None]:
        return T.Tensor((), "int32"), T.Tensor((self.size,))

    def parameters(self, input: T.Type) -> tuple[ops.Parameter, ...]:
        return (ops.Parameter("weight", (self.count, self.size), "float32", ar.initializers.zeros),)

    def forward(self, parameters: Mapping[str, Any], *args: Any) -> Any:
        return ops.lookup(parameters["weight"], args[0])


def tree_lstm(size: int = 300, classes: int = 5) -> ar.Block[Any, Any]:
    """The first example of the project: a classified Tree-LSTM with a loss at every node."""
    vocab = {"good": 1, "film": 2}
    cell = ar.TreeLSTM(size, children=2)
    classify = ar.FC(classes, name="classify")
    loss = ar.SoftmaxCrossEntropy()
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
