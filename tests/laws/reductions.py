"""Laws of what makes one value of a sequence: sums, extremes, means, trees of pairs, stacks, attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.build import WIDTH
from tests.laws.law import change, integers, join, law, reader, score, sequence, some, start

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)
ADD = ar.Function(lambda a, b: a + b)
LEAST = ar.Function(ops.minimum)
GREATEST = ar.Function(ops.maximum)
NEGATIVE = ar.Function(lambda x: -x)
SPACED = ar.Function(parts.spaced)
NUMBERS = st.lists(st.integers(-9, 9), max_size=6)
READ = ar.Map(ar.Scalar("int64"))
ZERO = ar.Zeros("int64")


def triple(a: Any, b: Any) -> Any:
    return a * 3 + b


LEFT = ar.Function(triple)
"""An operation that is not associative."""


@law("Reduce(op, c) == Fold(op, c)", where="op is associative and c its neutral element", data=NUMBERS)
def _():
    return READ >> ar.Reduce(ADD, ZERO), READ >> ar.Fold(ADD, ZERO)


@law("Reduce(+) == Sum, of integers", data=NUMBERS)
def _():
    return READ >> ar.Reduce(ADD), READ >> ar.Sum()


@law("Reduce(+) == Sum", sequence)
def _(s):
    return s >> ar.Reduce(ADD), s >> ar.Sum()


@law("Reduce(f) of one element == the element", reader, join)
def _(f, j):
    return ar.AllOf(f) >> ar.Reduce(j), f


@law("Reduce(f) of a pair == f", reader, reader, join)
def _(f, g, j):
    return (f & g) >> ar.Reduce(j), (f & g) >> j


@law("Reduce(f) of (a, b, c) == f(f(a, b), c)", reader, reader, reader, join)
def _(f, g, h, j):
    return (f & g & h) >> ar.Reduce(j), ((f & g) >> j & h) >> j


@law(
    "Reduce(f) of (a, b, c, d) == f(f(a, b), f(c, d))",
    data=st.lists(st.integers(-9, 9), min_size=4, max_size=4),
)
def _():
    return READ >> ar.Reduce(LEFT), READ >> (
        ar.Slice(stop=2) >> ar.Fold(LEFT_FROM, EMPTY) >> FIRST
        & ar.Slice(start=2) >> ar.Fold(LEFT_FROM, EMPTY) >> FIRST
    ) >> LEFT


@law("Reduce(f, c) of nothing == c", join, start, data=st.just([]))
def _(j, c):
    return ar.Map(ar.Vector(WIDTH)) >> ar.Reduce(j, c), c


@law("Reduce(f) == Reduce(f, Zeros)", sequence, join)
def _(s, j):
    return s >> ar.Reduce(j), s >> ar.Reduce(j, ar.Zeros([WIDTH]))


@law("Map(h) >> Reduce(g) == Reduce(f) >> h", where="h(f(x, y)) == g(h(x), h(y))", data=NUMBERS)
def _():
    return READ >> ar.Map(NEGATIVE) >> ar.Reduce(LEAST, ZERO), READ >> ar.Reduce(GREATEST, ZERO) >> NEGATIVE


@law(
    "Reduce before reading == Reduce after reading", data=st.lists(st.integers(-9, 9), min_size=1, max_size=7)
)
def _():
    return ar.Reduce(ar.InputTransform(lambda pair: pair[0] * 3 + pair[1])) >> ar.Scalar(
        "int64"
    ), READ >> ar.Reduce(LEFT)


LEFT_FROM = ar.Function(
    lambda state, x: (ops.where(state[1] > 0, state[0] * 3 + x, x), ops.maximum(state[1], 1))
)
EMPTY = ar.Zeros(("int64", "int64"))


@law("Max == Reduce(maximum)", some)
def _(s):
    return s >> SPACED >> ar.Max(), s >> SPACED >> ar.Reduce(GREATEST)


@law("Min == Reduce(minimum)", some)
def _(s):
    return s >> SPACED >> ar.Min(), s >> SPACED >> ar.Reduce(LEAST)


@law("Min == negative >> Max >> negative", some)
def _(s):
    return s >> SPACED >> ar.Min(), s >> SPACED >> ar.Map(NEGATIVE) >> ar.Max() >> NEGATIVE


@law("Max(default) == Fold(maximum, default)", where="no element is less than the default", data=NUMBERS)
def _():
    return READ >> ar.Max(default=-10), READ >> ar.Fold(GREATEST, ar.Constant(-10, "int64"))


@law("Max of (a & b) == (Max of a) & (Max of b)", some)
def _(s):
    return s >> SPACED >> ar.Map(ar.Identity() & NEGATIVE) >> (ar.Max() & ar.Min()), s >> SPACED >> ar.AllOf(
        ar.Max() & ar.Map(NEGATIVE) >> ar.Max(), ar.AllOf(ar.Min(), ar.Map(NEGATIVE) >> ar.Min())
    )


@law("Max of a tuple == Max of a sequence", reader, reader)
def _(f, g):
    return (f & g >> ar.Function(parts.moved(1))) >> (ar.Max() & ar.Min()), (
        f & g >> ar.Function(parts.moved(1))
    ) >> ar.Map(ar.Identity()) >> (ar.Max() & ar.Min())


@law("Reverse >> Max == Max", integers)
def _(s):
    return s >> ar.Reverse() >> (ar.Max(default=0) & ar.Min(default=9)), s >> (
        ar.Max(default=0) & ar.Min(default=9)
    )


@law("Mean * Length == Sum", some)
def _(s):
    return s >> (ar.Mean() & ar.Length()) >> ar.Function(lambda m, n: m * ops.cast(n, m.dtype)), s >> ar.Sum()


@law("Map(affine) >> Mean == Mean >> affine", some)
def _(s):
    return s >> ar.Map(ar.Function(lambda x: x * 2.0 + 1.0)) >> ar.Mean(), s >> ar.Mean() >> ar.Function(
        lambda x: x * 2.0 + 1.0
    )


@law("the default stands for nothing", start, data=st.just([]))
def _(c):
    return ar.Map(ar.Vector(WIDTH)) >> (
        ar.Max(default=0.5) & ar.Min(default=3) & ar.Mean(default=0.0)
    ), ar.Constant([0.5] * WIDTH) & ar.Constant([3.0] * WIDTH) & ar.Zeros([WIDTH])


@law("Stack(n) >> sum of rows == Sum", reader, reader)
def _(f, g):
    return (f & g) >> ar.Stack(2) >> ar.Function(lambda x: x.sum(axis=0)), (f & g) >> ar.Sum()


@law("row i of Stack(n) == GetItem(i)", reader, reader)
def _(f, g):
    return (f & g) >> ar.Map(ar.Identity()) >> ar.Stack(2) >> ar.Function(lambda x: (x[0], x[1])), f & g


@law("Map(f) >> Stack(n) == Stack(n) >> f on each row", reader, reader, where="f works element by element")
def _(f, g):
    return (f & g) >> ar.Map(ar.Function(ops.tanh)) >> ar.Stack(2), (f & g) >> ar.Stack(2) >> ar.Function(
        ops.tanh
    )


@law("Map(Scalar) >> Stack(n) == Vector(n)", data=st.lists(st.integers(-4, 4), min_size=3, max_size=3))
def _():
    return ar.Map(ar.Scalar()) >> ar.Stack(3), ar.Vector(3)


@law("Stack(n) of (a & b) == Stack(n) of a & Stack(n) of b", reader, reader, change)
def _(f, g, h):
    return (f & g) >> ar.Map(ar.Identity() & h) >> ar.Stack(2), (f & g) >> (
        ar.Stack(2) & ar.Map(h) >> ar.Stack(2)
    )


@law("Attention of equal scores == Mean", some)
def _(s):
    return s >> ar.Attention(ar.Constant(0.5)), s >> ar.Mean()


@law("Attention(f) == Attention(f + c)", some, score)
def _(s, f):
    return s >> ar.Attention(f), s >> ar.Attention(f >> ar.Function(lambda x: x + 3.0))


@law("Attention(f, g) == Map(f & g) >> softmax, weighted sum", some, score, change)
def _(s, f, g):
    return s >> ar.Attention(f, g), s >> ar.Map(f & g) >> ar.Function(
        lambda x: ops.segment_sum(x[1] * ops.segment_softmax(x[0]).reshape(1))
    )


@law("Attention(f, g) == Attention(f) >> g", some, score, where="g(a x + b y) == a g(x) + b g(y)")
def _(s, f):
    return s >> ar.Attention(f, ar.Function(lambda x: x * 2.0)), s >> ar.Attention(f) >> ar.Function(
        lambda x: x * 2.0
    )


@law("the weights of Attention have the sum 1", some, score)
def _(s, f):
    return s >> ar.Attention(f, need_weights=True) >> SECOND >> ar.Sum(), ar.Constant(1.0)


@law("Attention(f, need_weights=True) >> first == Attention(f)", some, score)
def _(s, f):
    return s >> ar.Attention(f, need_weights=True) >> FIRST, s >> ar.Attention(f)


@law("Reverse >> Attention == Attention", some, score)
def _(s, f):
    return s >> ar.Reverse() >> ar.Attention(f), s >> ar.Attention(f)


@law("Attention of one element == the element", reader, score)
def _(f, g):
    return ar.AllOf(f) >> ar.Map(ar.Identity()) >> ar.Attention(g), f


@law("Attention(default=c) of nothing == c", score, data=st.just([]))
def _(f):
    return ar.Map(ar.Vector(WIDTH)) >> ar.Attention(f, default=0.25), ar.Constant(
        np.full(WIDTH, 0.25, "float32")
    )
