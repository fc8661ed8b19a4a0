"""Ways to use a table inside of a function, and what a function makes of a vector, as text.

In each, `{w}` is the table, [{r}, {c}] with both sizes at least 3; `{a}` is a vector of `WIDTH` numbers;
`{i}` and `{j}` are integers, 0 to 2. Each gives a vector, and `to` makes it one of `WIDTH` numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import arrows as ar
from arrows import ops

WIDTH = 3


def to(vector: Any, size: int) -> Any:
    """The first numbers of a vector, and the first again where there are too few."""
    have = vector.shape[0]
    if have == size:
        return vector
    return vector[:size] if have > size else ops.concat([vector, vector[: size - have]])


def number(vector: Any) -> Any:
    """An integer from 0 to 2 that depends on a vector."""
    return ops.cast(ops.argmax(vector[:WIDTH]), "int32")


def times_numbers(y: Any) -> Any:
    """A scalar, as a vector."""
    return y * np.array([0.5, -0.25, 1.0])


def spread(seed: int) -> Any:
    """An initializer: numbers of about a half, no two alike."""
    return lambda generator, shape, dtype: np.random.default_rng(seed).normal(0, 0.5, shape).astype(dtype)


class Table(ar.Layer[Any, Any]):
    """A layer whose result is its parameter, whatever it is called on."""

    def __init__(self, rows: int, columns: int, *, name: str, trainable: bool = True) -> None:
        super().__init__(name=name)
        self.shape, self.trainable = (rows, columns), trainable

    def parameters(self, input: Any) -> tuple[ops.Parameter, ...]:
        return (ops.Parameter("w", self.shape, "float32", spread(sum(self.shape)), self.trainable),)

    def forward(self, parameters: Any, *args: Any) -> Any:
        return parameters["w"]


USES: dict[str, str] = {
    "row": "{w}[1]",
    "look-up": "ops.lookup({w}, {i})",
    "product from the left": "to({a}, {r}) @ {w}",
    "product from the right": "{w} @ to({a}, {c})",
    "transposed, from the left": "to({a}, {c}) @ {w}.T",
    "transposed, from the right": "{w}.T @ to({a}, {r})",
    "element by element": "({w} * to({a}, {c})).sum(axis=0)",
    "softmax": "to({a}, {r}) @ ops.softmax({w})",
    "softmax along rows": "ops.softmax({w}, axis=0) @ to({a}, {c})",
    "normalised rows": "ops.lookup(ops.normalize({w}, epsilon=0.5), {i})",
    "standardised": "ops.standardize({w}, epsilon=0.25)[2]",
    "sum": "{w}.sum() * {a}",
    "sum of rows": "{w}.sum(axis=0)",
    "mean of columns": "{w}.mean(axis=1)",
    "largest": "ops.max({w}, axis=0)",
    "column by index": "ops.gather({w}, {i}, axis=1)",
    "fixed columns": "ops.gather({w}, np.array([2, 0]), axis=1).sum(axis=1)",
    "fixed rows": "ops.lookup({w}, np.array([2, 0, 2])).sum(axis=0)",
    "look-up of several": "ops.lookup({w}, ops.stack([{i}, {j}, {i}])).sum(axis=0)",
    "two look-ups": "ops.lookup({w}, {i}) * ops.lookup({w}, {j})",
    "dot of look-ups": "ops.dot(ops.lookup({w}, {i}), ops.lookup({w}, {j})) * {a}",
    "look-up of a function": "ops.lookup(ops.tanh({w}), {i})",
    "look-up in the transposed": "ops.lookup({w}.T, {i})",
    "look-up in a slice": "ops.lookup({w}[:, 1:], {i})",
    "look-up in some rows": "ops.lookup({w}[::-1], {i})",
    "look-up, then product": "to(ops.lookup({w}, {i}), {r}) @ {w}",
    "by a tensor": "{w}[{i}]",
    "unit vector times": "ops.one_hot({i}, {r}) @ {w}",
    "picked": "ops.pick({w}, {i} + np.zeros({r}, 'int32'))",
    "picked of a row": "ops.pick({w}[1], {i}) * {a}",
    "last row": "{w}[-1]",
    "slice of rows": "{w}[1:].sum(axis=0)",
    "every second row": "{w}[::2].sum(axis=0)",
    "rows turned": "{w}[::-1][0]",
    "column": "{w}[:, 1]",
    "element": "{w}[0, 1] * {a}",
    "slice of columns": "to({a}, {r}) @ {w}[:, 1:]",
    "joined rows": "ops.concat([{w}[0], {w}[2]])[1:]",
    "joined with itself": "ops.concat([{w}, {w}], axis=0)[{r}]",
    "joined, looked up": "ops.lookup(ops.concat([{w}[1:], {w}[:1]], axis=0), {i})",
    "stacked": "ops.stack([{w}[1], {w}[0]])[1]",
    "reshaped": "ops.reshape({w}, ({r} * {c},))[2:6]",
    "running": "ops.cumsum({w}, axis=0)[1]",
    "both sides": "to({a}, {r}) @ {w} @ {w}.T",
    "a row times the rest": "{w}[1:] @ {w}[0]",
    "where": "ops.where({a} > 0.1, to({w}[0], 3), {a})",
    "larger of two": "ops.maximum(to({w}[2], 3), {a})",
    "broadcast": "ops.broadcast_to({w}[0], (2, {c})).sum(axis=0)",
    "quotient": "{a} / (1.5 + to(ops.square({w}[1]), 3))",
    "outer": "ops.outer({a}, {w}[0]).sum(axis=0)",
    "norm": "ops.norm({w}) * {a}",
    # of the vector alone: views, what is made of views, and what may be written in place
    "turned": "{a}[::-1]",
    "turned round": "ops.concat([{a}[1:], {a}[:1]])",
    "joined of parts": "ops.concat([ops.tanh({a}[:1]), {a}[1:] * {a}[:2]])",
    "joined and cut": "ops.concat([{a}, ops.tanh({a}) + {a}])[2:5]",
    "joined twice": "ops.concat([{a}[:1] + 1.0, {a}[:1] + 1.0, {a}[2:]])",
    "reshaped vector": "ops.reshape(ops.reshape({a}, (3, 1)).T, (3,))[::-1]",
    "softmax of the vector": "ops.softmax({a})",
    "times its sum": "{a} * {a}.sum()",
    "less an element": "{a} - {a}[1]",
    "times an element": "{a}[:1] * {a}",
    "negative": "-{a}",
    "square": "{a} * {a}",
    "exponential": "ops.exp(ops.tanh({a}))",
    "of its own exponential": "{a} / (ops.exp(ops.tanh({a})) + 1.0)",
}  # fmt: skip


def use(kind: str, table: str, size: tuple[int, int], vector: str, index: str, other: str) -> str:
    """The text of one use of a table."""
    text = USES[kind].format(w=table, r=size[0], c=size[1], a=vector, i=index, j=other)
    return f"to({text}, {WIDTH})"
