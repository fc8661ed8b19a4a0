"""What random blocks are made of: functions of one example, and data with a shape of its own."""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from arrows.engine.values import Labelled

WIDTH = 3
WORDS = 4

Data = st.SearchStrategy[Any]

runs: list[str] = []
"""What ran on data: an entry for each call of a watched function."""


def watched(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function on data that leaves an entry in `runs` whenever it is called."""

    @functools.wraps(function)
    def run(x: Any) -> Any:
        runs.append(function.__name__)
        return function(x)

    return run


@watched
def is_leaf(t: Any) -> bool:
    return "leaf" in t


def scaled(rows: Any) -> Any:
    return rows * 0.5 + 1.0


def centred(rows: Any) -> Any:
    return rows - ops.segment_mean(rows)


def mean(rows: Any) -> Any:
    return ops.segment_mean(rows) + 0.5


def softmaxed(rows: Any) -> Any:
    return ops.segment_sum(rows * ops.segment_softmax(rows))


def counted(rows: Any) -> Any:
    return ops.tanh(ops.segment_sum(rows)) + ops.segment_max(rows, default=0.0)


def pairs(rows: Any) -> Any:
    a, b = rows
    return ops.segment_sum(a * b) * 0.5


def attend(rows: Any, query: Any) -> Any:
    weights = ops.segment_softmax((rows * query).sum())
    return ops.segment_sum(rows * ops.reshape(weights, (1,)))


def headed(query: Any, rows: Any) -> Any:
    """Attention of one vector to a sequence, with as many heads as it has numbers."""
    return ops.segment_sum(ops.segment_softmax(rows * query) * ops.tanh(rows))


def means(x: Any) -> Any:
    return x.mean(axis=0) + ops.max(x.T, axis=1) * 0.5


def to_float(x: Any) -> Any:
    return ops.cast(x, "float32") * 0.5


@watched
def itself(x: Any) -> Any:
    return x


@watched
def ends(t: Any) -> bool:
    return t["next"] is None


def spread(n: Any) -> Any:
    """A number, as a vector."""
    return ops.cast(n, "float32") * np.linspace(0.125, 0.5, WIDTH, dtype="float32")


def split(x: Any) -> Any:
    return {"head": x[0], "tail": x[1:]}


def fewer(x: Any) -> Any:
    """As many numbers of `WORDS` as a vector has."""
    return x[:WIDTH] - x[-1:] * 0.25


def column(x: Any) -> Any:
    return x.reshape(-1, 1)


def columns(x: Any) -> Any:
    return ops.stack([ops.tanh(x), x * 0.5], axis=1)


def weighed(x: Any) -> Any:
    """One number for each row of a matrix of three columns."""
    return x[:, 0] - x[:, 1] * x[:, 2] * 0.5


def narrowed(x: Any) -> Any:
    return x[: 2 * WIDTH : 2] * 0.5 + x[-1]


def bell(x: Any) -> Any:
    return ops.exp(-x * x)


def rolled(x: Any) -> Any:
    return ops.concat([x[1:], x[:1]])


def matrix(x: Any) -> Any:
    square = ops.outer(x, ops.tanh(x))
    return (square.T @ x) / (1.0 + (x * x).sum())


def products(x: Any) -> Any:
    """Products with three axes."""
    pair = ops.stack([ops.outer(x, ops.tanh(x)), ops.outer(x, x) * 0.5])
    return ops.tanh(((pair @ pair.transpose(0, 2, 1)) @ x).sum(axis=0) * 0.1)


def branched(x: Any) -> Any:
    return ops.where((x > 0) & (x < 1.5), ops.sin(x), x * 0.5)


def called(x: Any) -> Any:
    """Functions that are called, with layers and other Functions inside."""
    head, tail = _halves(x)
    both = _joined(head, _joined((tail, x)), 0.5)
    return both["sum"] + both["rest"] * ops.tanh(x)


_halves = ar.Function(lambda x: (x * 0.5, ops.tanh(x)))
_scaled = ar.Function(lambda x: ops.sigmoid(x) * 2.0)


@ar.Function
def _joined(x: Any, y: Any, factor: float = 0.25) -> Any:
    y = y["rest"] if isinstance(y, dict) else _scaled(y)
    return {"sum": x + y * factor, "rest": x * y}


def gathered(x: Any) -> Any:
    return ops.gather(x, np.array([WIDTH - 1, 0, 0])) + ops.cos(x)


def short(x: Any) -> Any:
    return ops.normalize(x, epsilon=0.5) + ops.norm(x * x + 0.25) * 0.25


def standard(x: Any) -> Any:
    return ops.standardize(x, epsilon=0.25)


def activated(x: Any) -> Any:
    softened = x * ops.tanh(ops.softplus(x)) + x / (ops.abs(x) + 1) * ops.log1p(x * x)
    return softened - ops.expm1(-ops.softplus(-x))


def rounded(x: Any) -> Any:
    whole = ops.floor(x * 0.71 + 0.13) + ops.round(x * 0.43 + 0.21)
    whole = whole + (x * 0.29 + 0.1) // 0.7
    return (x * 0.37 + 0.1) % 1.5 + whole * 0.25 + ops.stop_gradient(ops.tanh(x)) * x


def noisy(x: Any) -> Any:
    """Two draws in one function, which the reference must repeat to the last bit."""
    return x * (ops.uniform_like(x, 0.25, 1.25) + 0.125) + ops.tanh(ops.normal([WIDTH]) * 0.5)


def noisy_rows(rows: Any) -> Any:
    """Draws for each element, and one for all of them."""
    return ops.segment_sum(rows * ops.uniform_like(rows)) * 0.5 + ops.tanh(ops.normal([WIDTH]))


def multiplied(x: Any) -> Any:
    """From a square matrix to a vector, by a product of matrices and one of a matrix and a vector."""
    return ops.tanh(x @ (x.T @ x)[0] * 0.5)


def single(x: Any) -> Any:
    """Vectors, matrices and tables of one number."""
    one = np.array([0.5], "float32")
    y = ops.lookup(one[None], ops.argmax(x[:1])) + ops.concat([one, ops.tanh(x[1:2])])[:1]
    return ops.tanh(ops.outer(x, one) @ y) + x * (one + y * one)


def unit(label: Any) -> Any:
    return ops.one_hot(label, WORDS)


def numbered(rows: Any) -> Any:
    places = ops.cast(ops.segment_position(rows), "float32")
    return ops.segment_sum(rows * (1.0 / (places.reshape(1) + 1.0)))


def spaced(rows: Any) -> Any:
    """Rows no two of which are equal in any column."""
    places = ops.cast(ops.segment_position(rows), rows.dtype).reshape(1)
    return rows + places * np.array([0.3711, 0.5307, 0.7123], rows.dtype)


def spaced_numbers(rows: Any) -> Any:
    """Numbers no two of which are equal."""
    return rows + ops.cast(ops.segment_position(rows), rows.dtype) * 0.3711


def squeezed(x: Any) -> Any:
    """As far apart as before, between -1 and 1."""
    return ops.tanh(x * 0.25)


def moved(place: int) -> Callable[[Any], Any]:
    """A function that keeps vectors apart that stand at different places."""
    return lambda x: x + place * np.array([0.3711, 0.5307, 0.7123], "float32")


def crossed(a: Any, b: Any) -> Any:
    """From two matrices to a vector."""
    return ops.tanh((a * b).sum(axis=0) + a[0])


def dot(a: Any, b: Any) -> Any:
    return (a * b).sum() * 0.5


def log(x: Any) -> Any:
    return ops.log(x * x + 1.0)


def tanh_of_sum(*xs: Any) -> Any:
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return ops.tanh(total)


def product(*xs: Any) -> Any:
    result = xs[0] * 0.5
    for x in xs[1:]:
        result = result * x
    return ops.tanh(result)


def largest(*xs: Any) -> Any:
    result = xs[0]
    for x in xs[1:]:
        result = ops.maximum(result, x)
    return ops.tanh(result)


def gated(*xs: Any) -> Any:
    gate = ops.sigmoid(xs[0])
    return gate * xs[-1] + (1.0 - gate) * ops.tanh(xs[0])


def first_and_last(x: Any) -> Any:
    return ops.tanh(x[:WIDTH] + x[-WIDTH:])


def squares(x: Any) -> Any:
    return (x * x).mean()


def entropy(x: Any) -> Any:
    return -ops.sum(ops.softmax(x) * ops.log_softmax(x))


# Data with a shape of its own.


def as_object(fields: dict[str, Any]) -> Any:
    """The record as an object with attributes."""
    return types.SimpleNamespace(**fields)


def as_fields(fields: dict[str, Any]) -> Any:
    """The record as a NamedTuple."""
    return collections.namedtuple("Fields", fields)(**fields)  # noqa: PYI024 (its fields are drawn)


class Indexed:
    """What can be indexed is, whatever attributes it has."""

    a = b = c = "an attribute"

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def __getitem__(self, key: str) -> Any:
        return self.fields[key]


def as_result(fields: dict[str, Any]) -> Any:
    """The record as a model hands out its own."""
    return Labelled(tuple(fields.values()), tuple(fields))


RECORDS = (as_object, as_fields, as_result, types.MappingProxyType, Indexed)


def trees(leaf: Data) -> Data:
    return st.recursive(
        st.fixed_dictionaries({"leaf": leaf}), lambda t: st.fixed_dictionaries({"l": t, "r": t}), max_leaves=4
    )


def rose_trees(own: Data) -> Data:
    return st.recursive(
        st.tuples(own, st.just([])), lambda t: st.tuples(own, st.lists(t, max_size=3)), max_leaves=4
    )


def linked(values: list[Any]) -> Any:
    chain = None
    for value in values:
        chain = {"x": value, "next": chain}
    return chain


def dag(nodes: list[tuple[Any, list[int]]]) -> Any:
    made: list[Any] = []
    for value, earlier in nodes:
        made.append({"x": value, "in": [made[i % len(made)] for i in earlier] if made else []})
    return made[-1]
