"""Laws of what makes one value of a sequence: sums, extremes, means, trees of pairs, stacks, attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.build import WIDTH
from tests.laws.law import Law, change, integers, join, reader, score, sequence, some, start

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

REDUCE = [
    Law(
        "Reduce(op, c) == Fold(op, c)",
        ("Reduce", "Fold"),
        (),
        lambda: READ >> ar.Reduce(ADD, ZERO),
        lambda: READ >> ar.Fold(ADD, ZERO),
        "op is associative and c its neutral element",
        NUMBERS,
    ),
    Law(
        "Reduce(+) == Sum, of integers",
        ("Reduce", "Sum"),
        (),
        lambda: READ >> ar.Reduce(ADD),
        lambda: READ >> ar.Sum(),
        data=NUMBERS,
    ),
    Law(
        "Reduce(+) == Sum",
        ("Reduce", "Sum"),
        (sequence,),
        lambda s: s >> ar.Reduce(ADD),
        lambda s: s >> ar.Sum(),
    ),
    Law(
        "Reduce(f) of one element == the element",
        ("Reduce",),
        (reader, join),
        lambda f, j: ar.AllOf(f) >> ar.Reduce(j),
        lambda f, j: f,
    ),
    Law(
        "Reduce(f) of a pair == f",
        ("Reduce",),
        (reader, reader, join),
        lambda f, g, j: (f & g) >> ar.Reduce(j),
        lambda f, g, j: (f & g) >> j,
    ),
    Law(
        "Reduce(f) of (a, b, c) == f(f(a, b), c)",
        ("Reduce",),
        (reader, reader, reader, join),
        lambda f, g, h, j: (f & g & h) >> ar.Reduce(j),
        lambda f, g, h, j: ((f & g) >> j & h) >> j,
    ),
    Law(
        "Reduce(f) of (a, b, c, d) == f(f(a, b), f(c, d))",
        ("Reduce",),
        (),
        lambda: READ >> ar.Reduce(LEFT),
        lambda: (
            READ
            >> (
                ar.Slice(stop=2) >> ar.Fold(LEFT_FROM, EMPTY) >> FIRST
                & ar.Slice(start=2) >> ar.Fold(LEFT_FROM, EMPTY) >> FIRST
            )
            >> LEFT
        ),
        data=st.lists(st.integers(-9, 9), min_size=4, max_size=4),
    ),
    Law(
        "Reduce(f, c) of nothing == c",
        ("Reduce",),
        (join, start),
        lambda j, c: ar.Map(ar.Vector(WIDTH)) >> ar.Reduce(j, c),
        lambda j, c: c,
        data=st.just([]),
    ),
    Law(
        "Reduce(f) == Reduce(f, Zeros)",
        ("Reduce", "Zeros"),
        (sequence, join),
        lambda s, j: s >> ar.Reduce(j),
        lambda s, j: s >> ar.Reduce(j, ar.Zeros([WIDTH])),
    ),
    Law(
        "Map(h) >> Reduce(g) == Reduce(f) >> h",
        ("Reduce", "Map"),
        (),
        lambda: READ >> ar.Map(NEGATIVE) >> ar.Reduce(LEAST, ZERO),
        lambda: READ >> ar.Reduce(GREATEST, ZERO) >> NEGATIVE,
        "h(f(x, y)) == g(h(x), h(y))",
        NUMBERS,
    ),
    Law(
        "Reduce before reading == Reduce after reading",
        ("Reduce",),
        (),
        lambda: ar.Reduce(ar.InputTransform(lambda pair: pair[0] * 3 + pair[1])) >> ar.Scalar("int64"),
        lambda: READ >> ar.Reduce(LEFT),
        data=st.lists(st.integers(-9, 9), min_size=1, max_size=7),
    ),
]

LEFT_FROM = ar.Function(
    lambda state, x: (ops.where(state[1] > 0, state[0] * 3 + x, x), ops.maximum(state[1], 1))
)
EMPTY = ar.Zeros(("int64", "int64"))

EXTREMES = [
    Law(
        "Max == Reduce(maximum)",
        ("Max", "Reduce"),
        (some,),
        lambda s: s >> SPACED >> ar.Max(),
        lambda s: s >> SPACED >> ar.Reduce(GREATEST),
    ),
    Law(
        "Min == Reduce(minimum)",
        ("Min", "Reduce"),
        (some,),
        lambda s: s >> SPACED >> ar.Min(),
        lambda s: s >> SPACED >> ar.Reduce(LEAST),
    ),
    Law(
        "Min == negative >> Max >> negative",
        ("Min", "Max"),
        (some,),
        lambda s: s >> SPACED >> ar.Min(),
        lambda s: s >> SPACED >> ar.Map(NEGATIVE) >> ar.Max() >> NEGATIVE,
    ),
    Law(
        "Max(default) == Fold(maximum, default)",
        ("Max", "Fold"),
        (),
        lambda: READ >> ar.Max(default=-10),
        lambda: READ >> ar.Fold(GREATEST, ar.Constant(-10, "int64")),
        "no element is less than the default",
        NUMBERS,
    ),
    Law(
        "Max of (a & b) == (Max of a) & (Max of b)",
        ("Max", "Min", "AllOf"),
        (some,),
        lambda s: s >> SPACED >> ar.Map(ar.Identity() & NEGATIVE) >> (ar.Max() & ar.Min()),
        lambda s: (
            s
            >> SPACED
            >> ar.AllOf(
                ar.Max() & ar.Map(NEGATIVE) >> ar.Max(), ar.AllOf(ar.Min(), ar.Map(NEGATIVE) >> ar.Min())
            )
        ),
    ),
    Law(
        "Max of a tuple == Max of a sequence",
        ("Max", "Min"),
        (reader, reader),
        lambda f, g: (f & g >> ar.Function(parts.moved(1))) >> (ar.Max() & ar.Min()),
        lambda f, g: (f & g >> ar.Function(parts.moved(1))) >> ar.Map(ar.Identity()) >> (ar.Max() & ar.Min()),
    ),
    Law(
        "Reverse >> Max == Max",
        ("Max", "Min", "Reverse"),
        (integers,),
        lambda s: s >> ar.Reverse() >> (ar.Max(default=0) & ar.Min(default=9)),
        lambda s: s >> (ar.Max(default=0) & ar.Min(default=9)),
    ),
    Law(
        "Mean * Length == Sum",
        ("Mean", "Sum", "Length"),
        (some,),
        lambda s: s >> (ar.Mean() & ar.Length()) >> ar.Function(lambda m, n: m * ops.cast(n, m.dtype)),
        lambda s: s >> ar.Sum(),
    ),
    Law(
        "Map(affine) >> Mean == Mean >> affine",
        ("Mean", "Map"),
        (some,),
        lambda s: s >> ar.Map(ar.Function(lambda x: x * 2.0 + 1.0)) >> ar.Mean(),
        lambda s: s >> ar.Mean() >> ar.Function(lambda x: x * 2.0 + 1.0),
    ),
    Law(
        "the default stands for nothing",
        ("Max", "Min", "Mean"),
        (start,),
        lambda c: (
            ar.Map(ar.Vector(WIDTH))
            >> (ar.Max(default=0.5) & ar.Min(default=[1, 2, 3]) & ar.Mean(default=0.0))
        ),
        lambda c: ar.Constant([0.5] * WIDTH) & ar.Constant([1.0, 2.0, 3.0]) & ar.Zeros([WIDTH]),
        data=st.just([]),
    ),
]

STACKS = [
    Law(
        "Stack(n) >> sum of rows == Sum",
        ("Stack", "Sum"),
        (reader, reader),
        lambda f, g: (f & g) >> ar.Stack(2) >> ar.Function(lambda x: x.sum(axis=0)),
        lambda f, g: (f & g) >> ar.Sum(),
    ),
    Law(
        "row i of Stack(n) == GetItem(i)",
        ("Stack", "GetItem", "Unroll"),
        (reader, reader),
        lambda f, g: (f & g) >> ar.Map(ar.Identity()) >> ar.Stack(2) >> ar.Function(lambda x: (x[0], x[1])),
        lambda f, g: f & g,
    ),
    Law(
        "Map(f) >> Stack(n) == Stack(n) >> f on each row",
        ("Stack", "Map"),
        (reader, reader),
        lambda f, g: (f & g) >> ar.Map(ar.Function(ops.tanh)) >> ar.Stack(2),
        lambda f, g: (f & g) >> ar.Stack(2) >> ar.Function(ops.tanh),
        "f works element by element",
    ),
    Law(
        "Map(Scalar) >> Stack(n) == Vector(n)",
        ("Stack", "Vector", "Scalar"),
        (),
        lambda: ar.Map(ar.Scalar()) >> ar.Stack(3),
        lambda: ar.Vector(3),
        data=st.lists(st.integers(-4, 4), min_size=3, max_size=3),
    ),
    Law(
        "Stack(n) of (a & b) == Stack(n) of a & Stack(n) of b",
        ("Stack", "AllOf"),
        (reader, reader, change),
        lambda f, g, h: (f & g) >> ar.Map(ar.Identity() & h) >> ar.Stack(2),
        lambda f, g, h: (f & g) >> (ar.Stack(2) & ar.Map(h) >> ar.Stack(2)),
    ),
    Law(
        "Unroll(n) of a tuple of n == Identity",
        ("Unroll",),
        (reader, reader),
        lambda f, g: (f & g) >> UNROLL,
        lambda f, g: f & g,
    ),
]

UNROLL = ar.combinators.Unroll(2)

ATTENTION = [
    Law(
        "Attention of equal scores == Mean",
        ("Attention", "Mean"),
        (some,),
        lambda s: s >> ar.Attention(ar.Constant(0.5)),
        lambda s: s >> ar.Mean(),
    ),
    Law(
        "Attention(f) == Attention(f + c)",
        ("Attention",),
        (some, score),
        lambda s, f: s >> ar.Attention(f),
        lambda s, f: s >> ar.Attention(f >> ar.Function(lambda x: x + 3.0)),
    ),
    Law(
        "Attention(f, g) == Map(f & g) >> softmax, weighted sum",
        ("Attention", "Function"),
        (some, score, change),
        lambda s, f, g: s >> ar.Attention(f, g),
        lambda s, f, g: (
            s
            >> ar.Map(f & g)
            >> ar.Function(lambda x: ops.segment_sum(x[1] * ops.segment_softmax(x[0]).reshape(1)))
        ),
    ),
    Law(
        "Attention(f, g) == Attention(f) >> g",
        ("Attention",),
        (some, score),
        lambda s, f: s >> ar.Attention(f, ar.Function(lambda x: x * 2.0)),
        lambda s, f: s >> ar.Attention(f) >> ar.Function(lambda x: x * 2.0),
        "g(a x + b y) == a g(x) + b g(y)",
    ),
    Law(
        "the weights of Attention have the sum 1",
        ("Attention", "Sum"),
        (some, score),
        lambda s, f: s >> ar.Attention(f, weights=True) >> SECOND >> ar.Sum(),
        lambda s, f: ar.Constant(1.0),
    ),
    Law(
        "Attention(f, weights=True) >> first == Attention(f)",
        ("Attention", "GetItem"),
        (some, score),
        lambda s, f: s >> ar.Attention(f, weights=True) >> FIRST,
        lambda s, f: s >> ar.Attention(f),
    ),
    Law(
        "Reverse >> Attention == Attention",
        ("Attention", "Reverse"),
        (some, score),
        lambda s, f: s >> ar.Reverse() >> ar.Attention(f),
        lambda s, f: s >> ar.Attention(f),
    ),
    Law(
        "Attention of one element == the element",
        ("Attention",),
        (reader, score),
        lambda f, g: ar.AllOf(f) >> ar.Map(ar.Identity()) >> ar.Attention(g),
        lambda f, g: f,
    ),
    Law(
        "Attention(default=c) of nothing == c",
        ("Attention",),
        (score,),
        lambda f: ar.Map(ar.Vector(WIDTH)) >> ar.Attention(f, default=0.25),
        lambda f: ar.Constant(np.full(WIDTH, 0.25, "float32")),
        data=st.just([]),
    ),
]

LAWS = [*REDUCE, *EXTREMES, *STACKS, *ATTENTION]
