"""`TreeLSTM`: a long short-term memory whose state comes from several children."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from arrows import ops
from arrows.layers import initializers
from arrows.layers.arguments import items, vector
from arrows.layers.cells import GateBias, Memory, MemoryCell
from arrows.ops import Parameter, ShapeError, TensorLike
from arrows.typesys import types as T


@dataclass(eq=False, repr=False)
class TreeLSTM(MemoryCell[Any, Any]):
    """A Tree-LSTM: from (x, states of the children) to a state (h, c); x is a vector [in], h and c are
    [size].

    Tai, Socher, Manning, "Improved Semantic Representations From Tree-Structured Long Short-Term Memory
    Networks", ACL 2015.  With `children=N`, section 3.2, (9) to (14), the input is (x, (state, ..., state))
    with N states, and each child has its own matrix::

        u, i, o, f1 .. fN = split(concat(x, h1 .. hN) @ weight + bias)  # one product, gates in this order
        c = sigmoid(i) * tanh(u) + sum over k of sigmoid(fk) * ck
        h = sigmoid(o) * tanh(c)

    With `children=None`, section 3.1, (2) to (8), the *child-sum* cell, the input is (x, Sequence(state)):
    any number of children, also none, whose order does not count::

        u, i, o = split(concat(x, sum over k of hk) @ weight + bias)
        fk = x @ forget_input + hk @ forget_state + forget_bias
        c = sigmoid(i) * tanh(u) + sum over k of sigmoid(fk) * ck
        h = sigmoid(o) * tanh(c)

    Args:
        size: length of h and of c.
        children: number of children, at least 1, or None for the child-sum cell.
        dropout: rate of the recurrent dropout, 0 <= dropout < 1, of the update tanh(u), while training (see
            `ops.dropout`).  Semeniuta, Severyn, Barth, "Recurrent Dropout without Memory Loss", COLING 2016,
            (15).
        forget_bias: first value of the biases of f.
        initializer: first values of the weights.
        dtype: element type of the states, and of x.
        name: the name in messages, and of the parameters: `name/weight`.

    Attributes:
        state: the type of (h, c), as `ar.Zeros` takes it.

    Parameters of the layer:
        weight [in + N * size, (3 + N) * size] and bias [(3 + N) * size]; of the child-sum cell weight
        [in + size, 3 * size], bias [3 * size], forget_input [in, size], forget_state [size, size],
        forget_bias [size].

    Raises:
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value.
        ShapeError: when types are checked, the input is not of the form above.

    >>> import arrows as ar
    >>> cell = ar.TreeLSTM(4, children=2)
    >>> cell.state
    (float32[4], float32[4])
    >>> leaf = (ar.Vector(3) & ar.Zeros((cell.state, cell.state))) >> cell
    >>> h, c = leaf.eval([1, 2, 3])
    >>> h.shape
    (4,)
    """

    children: int | None = 2

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        if self.children is None:
            return self._child_sum_parameters(input)
        count, n = self.children, self.size
        form = f"(x, ({'state' if count == 1 else f'{count} states'}))"
        x, states = items("TreeLSTM", input, form, 2)
        x = vector("TreeLSTM", x, "x")
        children = items("TreeLSTM", states, f"a tuple of {count} states", count, "second item of the input")
        for k, state in enumerate(children):
            self.check_state(state, x, f"state of child {k}")
        return (
            Parameter("weight", (x.shape[0] + count * n, (3 + count) * n), x.dtype, self.initializer),
            Parameter("bias", ((3 + count) * n,), x.dtype, GateBias(3 * n, self.forget_bias)),
        )

    def _child_sum_parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        x, states = items("TreeLSTM", input, "(x, Sequence(state))", 2)
        x = vector("TreeLSTM", x, "x")
        if not isinstance(states, T.Sequence):
            raise ShapeError(
                f"the states of TreeLSTM(children=None) must be a sequence, not {states}",
                hint=f"give it children={len(states.items)}" if isinstance(states, T.Tuple) else "",
            )
        n = self.size
        self.check_state(states.element, x, "states of the children")
        return (
            Parameter("weight", (x.shape[0] + n, 3 * n), x.dtype, self.initializer),
            Parameter("bias", (3 * n,), x.dtype, initializers.zeros),
            Parameter("forget_input", (x.shape[0], n), x.dtype, self.initializer),
            Parameter("forget_state", (n, n), x.dtype, self.initializer),
            Parameter("forget_bias", (n,), x.dtype, initializers.constant(self.forget_bias)),
        )

    def forward(self, parameters: Mapping[str, TensorLike], x: TensorLike, states: Any) -> Memory:
        n = self.size
        if self.children is None:
            hs, cs = states
            products = ops.concat([x, ops.segment_sum(hs)]) @ parameters["weight"] + parameters["bias"]
            shared = x @ parameters["forget_input"] + parameters["forget_bias"]
            remembered = ops.segment_sum(ops.sigmoid(hs @ parameters["forget_state"] + shared) * cs)
            return self.next_state(*self.gates(products), remembered)
        products = ops.concat([x, *(h for h, _ in states)]) @ parameters["weight"] + parameters["bias"]
        u, opened = self.gates(products)
        forgets = (opened[k * n : (k + 1) * n] for k in range(2, 2 + self.children))
        remembered = reduce(add, (forget * c for forget, (_, c) in zip(forgets, states, strict=True)))
        return self.next_state(u, opened, remembered)
