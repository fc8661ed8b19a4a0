"""Functions that use tables, parameters as a whole, and layers that are called, in any number of places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation.build import WIDTH, WORDS, Build, Piece, production


def to(vector: Any, size: int = WIDTH) -> Any:
    """The first numbers of a vector, and the first again where there are too few."""
    have = vector.shape[0]
    if have == size:
        return vector
    return vector[:size] if have > size else ops.concat([vector, vector[: size - have]])


def number(vector: Any) -> Any:
    """An integer from 0 to 2 that depends on a vector."""
    return ops.cast(ops.argmax(vector[:WIDTH]), "int32")


class Table(ar.Layer[Any, Any]):
    """A layer whose result is its parameter, whatever it is called on."""

    def __init__(self, shape: tuple[int, int], trainable: bool = True) -> None:
        super().__init__()
        self.shape, self.trainable = shape, trainable

    def parameters(self, input: Any) -> tuple[ops.Parameter, ...]:
        spread = ar.initializers.normal(0.5)
        return (ops.Parameter("w", self.shape, "float32", spread, self.trainable),)

    def forward(self, parameters: Any, *args: Any) -> Any:
        return parameters["w"]


USES: tuple[Callable[[Any, Any, Any, Any], Any], ...] = (
    lambda w, a, i, j: w[1],
    lambda w, a, i, j: ops.lookup(w, i),
    lambda w, a, i, j: to(a, w.shape[0]) @ w,
    lambda w, a, i, j: w @ to(a, w.shape[1]),
    lambda w, a, i, j: to(a, w.shape[1]) @ w.T,
    lambda w, a, i, j: w.T @ to(a, w.shape[0]),
    lambda w, a, i, j: (w * to(a, w.shape[1])).sum(axis=0),
    lambda w, a, i, j: to(a, w.shape[0]) @ ops.softmax(w),
    lambda w, a, i, j: ops.softmax(w, axis=0) @ to(a, w.shape[1]),
    lambda w, a, i, j: ops.lookup(ops.normalize(w, epsilon=0.5), i),
    lambda w, a, i, j: ops.standardize(w, epsilon=0.25)[2],
    lambda w, a, i, j: w.sum() * a,
    lambda w, a, i, j: w.sum(axis=0),
    lambda w, a, i, j: w.mean(axis=1),
    lambda w, a, i, j: ops.max(w, axis=0),
    lambda w, a, i, j: ops.gather(w.T, i),
    lambda w, a, i, j: ops.gather(w.T, np.array([2, 0])).sum(axis=0),
    lambda w, a, i, j: ops.lookup(w, np.array([2, 0, 2])).sum(axis=0),
    lambda w, a, i, j: ops.lookup(w, ops.stack([i, j, i])).sum(axis=0),
    lambda w, a, i, j: ops.lookup(w, i) * ops.lookup(w, j),
    lambda w, a, i, j: ops.dot(ops.lookup(w, i), ops.lookup(w, j)) * a,
    lambda w, a, i, j: ops.lookup(ops.tanh(w), i),
    lambda w, a, i, j: ops.lookup(w.T, i),
    lambda w, a, i, j: ops.lookup(w[:, 1:], i),
    lambda w, a, i, j: ops.lookup(w[::-1], i),
    lambda w, a, i, j: to(ops.lookup(w, i), w.shape[0]) @ w,
    lambda w, a, i, j: w[i],
    lambda w, a, i, j: ops.one_hot(i, w.shape[0]) @ w,
    lambda w, a, i, j: ops.pick(w, i + np.zeros(w.shape[0], "int32")),
    lambda w, a, i, j: ops.pick(w[1], i) * a,
    lambda w, a, i, j: (ops.lookup(w, ops.stack([i, j])) * ops.lookup(w, i)).sum(axis=0),
    lambda w, a, i, j: to(a, 2) @ w[1:][:2][:, 1:],
    lambda w, a, i, j: to(a, 2) @ w[:2] + to(a, 2) @ w[1:3],
    lambda w, a, i, j: to(a, 2) @ ops.concat([w[2:3], w[:1]]),
    lambda w, a, i, j: w[-1],
    lambda w, a, i, j: w[1:].sum(axis=0),
    lambda w, a, i, j: w[::2].sum(axis=0),
    lambda w, a, i, j: w[::-1][0],
    lambda w, a, i, j: w[:, 1],
    lambda w, a, i, j: w[0, 1] * a,
    lambda w, a, i, j: to(a, w.shape[0]) @ w[:, 1:],
    lambda w, a, i, j: ops.concat([w[0], w[2]])[1:],
    lambda w, a, i, j: ops.concat([w, w], axis=0)[w.shape[0]],
    lambda w, a, i, j: ops.lookup(ops.concat([w[1:], w[:1]], axis=0), i),
    lambda w, a, i, j: ops.stack([w[1], w[0]])[1],
    lambda w, a, i, j: ops.reshape(w, (-1,))[2:6],
    lambda w, a, i, j: to(a, w.shape[0]) @ w @ w.T,
    lambda w, a, i, j: w[1:] @ w[0],
    lambda w, a, i, j: ops.where(a > 0.1, to(w[0]), a),
    lambda w, a, i, j: ops.maximum(to(w[2]), a),
    lambda w, a, i, j: ops.broadcast_to(w[0], (2, w.shape[1])).sum(axis=0),
    lambda w, a, i, j: a / (1.5 + to(ops.square(w[1]))),
    lambda w, a, i, j: ops.outer(a, w[0]).sum(axis=0),
    lambda w, a, i, j: ops.norm(w) * a,
    # of the vector alone: views, what is made of views, what may be written in place
    lambda w, a, i, j: a[::-1],
    lambda w, a, i, j: ops.concat([a[1:], a[:1]]),
    lambda w, a, i, j: ops.concat([ops.tanh(a[:1]), a[1:] * a[:2]]),
    lambda w, a, i, j: ops.concat([a, ops.tanh(a) + a])[2:5],
    lambda w, a, i, j: ops.concat([a[:1] + 1.0, a[:1] + 1.0, a[2:]]),
    lambda w, a, i, j: ops.reshape(ops.reshape(a, (3, 1)).T, (3,))[::-1],
    lambda w, a, i, j: ops.softmax(a),
    lambda w, a, i, j: a * a.sum(),
    lambda w, a, i, j: a - a[1],
    lambda w, a, i, j: a[:1] * a,
    lambda w, a, i, j: -a,
    lambda w, a, i, j: a * a,
    lambda w, a, i, j: ops.exp(ops.tanh(a)),
    lambda w, a, i, j: a / (ops.exp(ops.tanh(a)) + 1.0),
)
"""From a table whose sizes are at least 3, a vector of `WIDTH` numbers and two integers to a vector."""


def uses(build: Build) -> Callable[..., Any]:
    """A function from a vector, perhaps with an integer or another vector, to a vector: it uses tables and
    layers up to three times, one after the other or on what the one before gave."""
    shapes = ((WIDTH, WIDTH), (4, WIDTH), (WIDTH, 4))
    steps = []
    for _ in range(build.one_of(1, 2, 3)):
        kind = build.one_of("table", "layer", "words")
        if kind == "table":
            shape, trainable = build.one_of(*shapes), build.one_of(True, True, True, False)
            held = build.layer(("table", shape, trainable), lambda s=shape, t=trainable: Table(s, t))
        elif kind == "layer":
            held = build.layer(("fc", WIDTH), lambda: ar.FC(WIDTH, bias=build.one_of(True, False)))
        else:
            held = build.layer("embedding", lambda: ar.Embedding(WORDS, WIDTH))
        steps.append((kind, held, build.one_of(*USES), build.one_of("+", "*", "of")))
    last = build.one_of(ops.tanh, ops.sigmoid, lambda x: x * 0.25)

    def function(vector: Any, other: Any = None) -> Any:
        total, i, j = vector, number(vector), number(ops.tanh(vector) - vector * vector)
        if other is not None and other.shape == ():
            i, other = other, None
        for kind, held, use, how in steps:
            if kind == "table":
                more = to(use(held(vector), vector, i, j))
            else:
                more = held(vector) if kind == "layer" else held(i) * held(j)
            if how == "of":  # what the first gave is what the second uses
                total, vector = more + total * 0.5, ops.tanh(more)
            else:
                total = total + more if how == "+" else total * more
        return last(total if other is None else total * other)

    return function


@production
def tables(build: Build, depth: int) -> Piece:
    """Of a vector, an integer beside it, the elements of a sequence, a sequence and a vector."""
    piece, f, g = build.vector(depth), uses(build), uses(build)
    kind = build.one_of("vector", "index", "rows", "attended", "beside", "both")
    if kind == "vector":
        return Piece(piece.block >> ar.Function(f) >> ar.Function(g), piece.data)
    if kind == "index":
        index, three = ar.GetItem(1) >> ar.Scalar("int32"), st.integers(0, 2)
        return Piece((ar.GetItem(0) >> piece.block & index) >> ar.Function(f), st.tuples(piece.data, three))
    rows, many = ar.Map(piece.block), st.lists(piece.data, max_size=3)
    if kind == "rows":
        return Piece(rows >> ar.Function(lambda a: g(ops.segment_sum(f(a)))), many)
    if kind == "attended":
        weighed = ar.Function(lambda a: ops.segment_sum(a * ops.segment_softmax(f(a))))
        return Piece(rows >> weighed, many)
    other = build.vector(depth)
    pair = ar.GetItem(0) >> rows & ar.GetItem(1) >> other.block
    if kind == "beside":
        both = ar.Function(lambda a, b: g(b) + ops.segment_sum(f(a)))
    else:
        both = ar.Function(lambda a, b: ops.segment_sum(f(a, b) * ops.segment_softmax(a)) * g(b))
    return Piece(pair >> both, st.tuples(many, other.data))
