"""Laws of sequences: functors, folds, and the blocks that are defined by them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import arrows as ar
from tests.generation.build import WIDTH, Build, vectors
from tests.generation.sequences import heads
from tests.laws.law import Law, cell, change, gru, integers, join, reader, sequence, some, start

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)
SWAP = SECOND & FIRST


def attention(build: Build) -> Any:
    """`MultiHeadAttention` in which all elements see all."""
    return heads(build, causal=False)


def causal_attention(build: Build) -> Any:
    """`MultiHeadAttention` in which an element sees none after it."""
    return heads(build, causal=True)


def halved_plus(state: Any, x: Any) -> Any:
    return state * 0.5 + x


def halved_plus_double(state: Any, x: Any) -> Any:
    return state * 0.5 + x * 2.0


def double(x: Any) -> Any:
    return x * 2.0


ADD = ar.Function(lambda state, x: state + x)

ATTENTION = [
    Law(
        "Reverse >> attention == attention >> Reverse",
        ("Reverse",),
        (sequence, attention),
        lambda s, f: s >> ar.Reverse() >> f,
        lambda s, f: s >> f >> ar.Reverse(),
        "every element sees all",
    ),
    Law(
        "Slice(stop=2) >> attention == attention >> Slice(stop=2)",
        ("Slice",),
        (sequence, causal_attention),
        lambda s, f: s >> ar.Slice(stop=2) >> f,
        lambda s, f: s >> f >> ar.Slice(stop=2),
        "no element sees those after it",
    ),
]

PLACES = [
    Law(
        "Shift(1) >> Shift(2) == Shift(3)",
        ("Shift",),
        (sequence,),
        lambda s: s >> ar.Shift(1) >> ar.Shift(2),
        lambda s: s >> ar.Shift(3),
    ),
    Law(
        "Reverse >> Shift(1) == Shift(-1) >> Reverse",
        ("Shift", "Reverse"),
        (sequence,),
        lambda s: s >> ar.Reverse() >> ar.Shift(1, default=0.5),
        lambda s: s >> ar.Shift(-1, default=0.5) >> ar.Reverse(),
    ),
    Law(
        "Map(f) >> Shift(1) == Shift(1) >> Map(f)",
        ("Shift", "Map"),
        (sequence,),
        lambda s: s >> ar.Map(ar.Function(double)) >> ar.Shift(1),
        lambda s: s >> ar.Shift(1) >> ar.Map(ar.Function(double)),
        "f(0) == 0",
    ),
    Law(
        "Window(3) == (Shift(1) & Identity & Shift(-1)) >> Zip >> Map(Stack(3))",
        ("Window", "Shift", "Stack"),
        (sequence,),
        lambda s: s >> ar.Window(3),
        lambda s: s >> (ar.Shift(1) & ar.Identity() & ar.Shift(-1)) >> ar.Zip() >> ar.Map(ar.Stack(3)),
    ),
    Law(
        "Window(2, padding='valid') == NGrams(2) >> Map(Stack(2))",
        ("Window", "NGrams", "Stack"),
        (sequence,),
        lambda s: s >> ar.Window(2, padding="valid"),
        lambda s: s >> ar.NGrams(2) >> ar.Map(ar.Stack(2)),
    ),
    Law(
        "Window(3, stride=2) == Window(3) >> Slice(step=2)",
        ("Window", "Slice"),
        (sequence,),
        lambda s: s >> ar.Window(3, stride=2),
        lambda s: s >> ar.Window(3) >> ar.Slice(step=2),
    ),
    Law(
        "(s & 0) >> At == s >> GetItem(0)",
        ("At", "GetItem"),
        (some,),
        lambda s: (s & ar.Constant(0, "int32")) >> ar.At(),
        lambda s: s >> ar.GetItem(0),
    ),
    Law(
        "(s & 1) >> At(default=c) == Shift(-1, default=c) >> At(0)",
        ("At", "Shift"),
        (some,),
        lambda s: (s & ar.Constant(1, "int32")) >> ar.At(default=0.5),
        lambda s: (s >> ar.Shift(-1, default=0.5) & ar.Constant(0, "int32")) >> ar.At(),
    ),
]

FUNCTORS = [
    Law(
        "Map(Identity) == Identity",
        ("Map", "Identity"),
        (sequence,),
        lambda s: s >> ar.Map(ar.Identity()),
        lambda s: s,
    ),
    Law(
        "Map(f) >> Map(g) == Map(f >> g)",
        ("Map", "Pipe"),
        (sequence, change, change),
        lambda s, f, g: s >> ar.Map(f) >> ar.Map(g),
        lambda s, f, g: s >> ar.Map(f >> g),
    ),
    Law(
        "Map(f) >> Sum == (first >> f & second >> f) >> Sum, of a pair",
        ("Map", "Sum"),
        (reader, reader, change),
        lambda u, v, f: (u & v) >> ar.Map(f) >> ar.Sum(),
        lambda u, v, f: (u >> f & v >> f) >> ar.Sum(),
    ),
    Law(
        "Reverse >> Reverse == Identity",
        ("Reverse",),
        (sequence,),
        lambda s: s >> ar.Reverse() >> ar.Reverse(),
        lambda s: s,
    ),
    Law(
        "Reverse >> Map(f) == Map(f) >> Reverse",
        ("Reverse", "Map"),
        (sequence, change),
        lambda s, f: s >> ar.Reverse() >> ar.Map(f),
        lambda s, f: s >> ar.Map(f) >> ar.Reverse(),
    ),
    Law(
        "Reverse before reading == Reverse after reading",
        ("Reverse", "Map"),
        (sequence,),
        lambda s: ar.Reverse() >> s,
        lambda s: s >> ar.Reverse(),
    ),
    Law(
        "Reverse == GetItem(slice(None, None, -1))",
        ("Reverse", "GetItem"),
        (sequence,),
        lambda s: s >> ar.Reverse(),
        lambda s: s >> ar.GetItem(slice(None, None, -1)),
    ),
    Law(
        "ZipWith(f) == Zip >> Map(f)",
        ("ZipWith", "Zip", "Map"),
        (sequence, sequence, join),
        lambda s, t, f: (s & t) >> ar.ZipWith(f, strict=False),
        lambda s, t, f: (s & t) >> ar.Zip(strict=False) >> ar.Map(f),
    ),
    Law(
        "ZipWith(f) >> Map(g) == ZipWith(f >> g)",
        ("ZipWith", "Map"),
        (sequence, sequence, join, change),
        lambda s, t, f, g: (s & t) >> ar.ZipWith(f, strict=False) >> ar.Map(g),
        lambda s, t, f, g: (s & t) >> ar.ZipWith(f >> g, strict=False),
    ),
    Law(
        "(Map(f) & Map(g)) >> Zip == Map(f & g)",
        ("Zip", "Map", "AllOf"),
        (sequence, change, change),
        lambda s, f, g: s >> (ar.Map(f) & ar.Map(g)) >> ar.Zip(),
        lambda s, f, g: s >> ar.Map(f & g),
    ),
    Law(
        "(Map(f) & Map(g)) >> Zip >> Map(first) == Map(f)",
        ("Zip", "Map", "GetItem"),
        (sequence, change, change),
        lambda s, f, g: s >> (ar.Map(f) & ar.Map(g)) >> ar.Zip() >> ar.Map(FIRST),
        lambda s, f, g: s >> ar.Map(f),
        "f and g have no effects",
    ),
    Law(
        "swap >> Zip == Zip >> Map(swap)",
        ("Zip",),
        (sequence, sequence),
        lambda s, t: (s & t) >> SWAP >> ar.Zip(strict=False),
        lambda s, t: (s & t) >> ar.Zip(strict=False) >> ar.Map(SWAP),
    ),
    Law(
        "(first >> Map(f) & second >> Map(g)) >> Zip == Zip >> Map(first >> f & second >> g)",
        ("Zip", "Map"),
        (sequence, sequence, change, change),
        lambda s, t, f, g: (s >> ar.Map(f) & t >> ar.Map(g)) >> ar.Zip(strict=False),
        lambda s, t, f, g: (s & t) >> ar.Zip(strict=False) >> ar.Map(FIRST >> f & SECOND >> g),
    ),
    Law(
        "Zip before reading == Zip after reading",
        ("Zip", "Map"),
        (change, change),
        lambda f, g: (
            (FIRST & SECOND)
            >> ar.Zip(strict=False)
            >> ar.Map(FIRST >> ar.Vector(WIDTH) >> f & SECOND >> ar.Vector(WIDTH) >> g)
        ),
        lambda f, g: (
            (FIRST >> ar.Map(ar.Vector(WIDTH) >> f) & SECOND >> ar.Map(ar.Vector(WIDTH) >> g))
            >> ar.Zip(strict=False)
        ),
        data=st.tuples(st.lists(vectors, max_size=3), st.lists(vectors, max_size=3)),
    ),
]

FOLDS = [
    Law(
        "Map(f) >> Fold(step, c) == Fold((state & x >> f) >> step, c)",
        ("Fold", "Map"),
        (sequence, change, join, start),
        lambda s, f, step, c: s >> ar.Map(f) >> ar.Fold(step, c),
        lambda s, f, step, c: s >> ar.Fold((FIRST & SECOND >> f) >> step, c),
    ),
    Law(
        "(s & c) >> Fold(step, start_from_input=True) == s >> Fold(step, c)",
        ("Fold",),
        (sequence, join, start),
        lambda s, step, c: (s & c) >> ar.Fold(step, start_from_input=True),
        lambda s, step, c: s >> ar.Fold(step, c),
    ),
    Law(
        "Fold(step, c) >> h == Fold(step', c >> h)",
        ("Fold",),
        (sequence, start),
        lambda s, c: s >> ar.Fold(ar.Function(halved_plus), c) >> ar.Function(double),
        lambda s, c: s >> ar.Fold(ar.Function(halved_plus_double), c >> ar.Function(double)),
        "h(step(state, x)) == step'(h(state), x)",
    ),
    Law(
        "Fold(first, c) == c",
        ("Fold",),
        (sequence, start),
        lambda s, c: s >> ar.Fold(FIRST, c),
        lambda s, c: c,
    ),
    Law(
        "Fold over what is read == read, then Fold",
        ("Fold", "Map"),
        (change, join, start),
        lambda f, step, c: ar.Fold((FIRST & SECOND >> ar.Vector(WIDTH) >> f) >> step, c),
        lambda f, step, c: ar.Map(ar.Vector(WIDTH) >> f) >> ar.Fold(step, c),
        data=st.lists(vectors, max_size=4),
    ),
    Law(
        "Fold((f, g)) == Fold(f) & Fold(g)",
        ("Fold", "AllOf"),
        (sequence, join, join, start, start),
        lambda s, f, g, c, d: (
            s
            >> ar.Fold(
                (FIRST >> FIRST & SECOND) >> f & (FIRST >> SECOND & SECOND) >> g, (c & d) >> ar.Identity()
            )
        ),
        lambda s, f, g, c, d: s >> (ar.Fold(f, c) & ar.Fold(g, d)),
    ),
    Law(
        "Sum == Fold(+, 0)",
        ("Sum", "Fold"),
        (sequence,),
        lambda s: s >> ar.Sum(),
        lambda s: s >> ar.Fold(ADD, ar.Zeros([WIDTH])),
    ),
    Law(
        "Sum == Fold(+, 0), of integers",
        ("Sum", "Fold"),
        (),
        lambda: ar.Map(ar.Scalar("int64")) >> ar.Sum(),
        lambda: ar.Map(ar.Scalar("int64")) >> ar.Fold(ADD, ar.Constant(0, "int64")),
        data=st.lists(st.integers(-9, 9), max_size=5),
    ),
    Law(
        "Reverse >> Sum == Sum",
        ("Sum", "Reverse"),
        (integers,),
        lambda s: s >> ar.Reverse() >> ar.Sum(),
        lambda s: s >> ar.Sum(),
    ),
    Law(
        "Map(linear) >> Sum == Sum >> linear",
        ("Sum", "Map"),
        (sequence,),
        lambda s: s >> ar.Map(ar.Function(double)) >> ar.Sum(),
        lambda s: s >> ar.Sum() >> ar.Function(double),
        "linear(x + y) == linear(x) + linear(y)",
    ),
    Law(
        "Map(f & g) >> Sum == Map(f) >> Sum & Map(g) >> Sum",
        ("Sum", "Map"),
        (sequence, change, change),
        lambda s, f, g: s >> ar.Map(f & g) >> ar.Sum(),
        lambda s, f, g: s >> (ar.Map(f) >> ar.Sum() & ar.Map(g) >> ar.Sum()),
    ),
]

NETWORKS = [
    Law(
        "Scan(step, c) >> last state == Fold(its state, c)",
        ("Scan", "Fold"),
        (sequence, join, change, start),
        lambda s, j, f, c: s >> ar.Scan(j >> (f & ar.Identity()), c) >> SECOND,
        lambda s, j, f, c: s >> ar.Fold(SWAP >> j, c),
    ),
    Law(
        "RNN(cell, c) == Scan(cell >> (Identity & Identity), c)",
        ("RNN", "Scan"),
        (sequence, join, start),
        lambda s, j, c: s >> ar.RNN(j, c),
        lambda s, j, c: s >> ar.Scan(j >> (ar.Identity() & ar.Identity()), c),
    ),
    Law(
        "RNN of a cell of (h, c) == Scan(cell >> (h & Identity))",
        ("RNN", "Scan"),
        (sequence, cell),
        lambda s, lstm: s >> ar.RNN(lstm),
        lambda s, lstm: s >> ar.Scan(lstm >> (FIRST & ar.Identity()), ar.Zeros(lstm.state)),
    ),
    Law(
        "RNN(cell) == RNN(cell, Zeros)",
        ("RNN", "Zeros"),
        (sequence, gru),
        lambda s, j: s >> ar.RNN(j),
        lambda s, j: s >> ar.RNN(j, ar.Zeros([WIDTH])),
    ),
    Law(
        "(s & c) >> RNN(cell, start_from_input=True) == s >> RNN(cell, c)",
        ("RNN",),
        (sequence, join, start),
        lambda s, j, c: (s & c) >> ar.RNN(j, start_from_input=True),
        lambda s, j, c: s >> ar.RNN(j, c),
    ),
    Law(
        "(s & c) >> Scan(step, start_from_input=True) == s >> Scan(step, c)",
        ("Scan",),
        (sequence, join, change, start),
        lambda s, j, f, c: (s & c) >> ar.Scan(j >> (f & ar.Identity()), start_from_input=True, reverse=True),
        lambda s, j, f, c: s >> ar.Scan(j >> (f & ar.Identity()), c, reverse=True),
    ),
    Law(
        "a network goes on where another ended",
        ("RNN", "Slice"),
        (sequence, join, start),
        lambda s, j, c: (
            (s >> ar.Slice(start=2) & s >> ar.Slice(stop=2) >> ar.RNN(j, c) >> SECOND)
            >> ar.RNN(j, start_from_input=True)
            >> SECOND
        ),
        lambda s, j, c: s >> ar.RNN(j, c) >> SECOND,
    ),
    Law(
        "RNN(cell, reverse) == Reverse >> RNN(cell) >> (outputs >> Reverse & state)",
        ("RNN", "Reverse"),
        (sequence, join, start),
        lambda s, j, c: s >> ar.RNN(j, c, reverse=True),
        lambda s, j, c: s >> ar.Reverse() >> ar.RNN(j, c) >> (FIRST >> ar.Reverse() & SECOND),
    ),
    Law(
        "Scan(step, reverse) == Reverse >> Scan(step) >> (outputs >> Reverse & state)",
        ("Scan", "Reverse"),
        (sequence, join, change, start),
        lambda s, j, f, c: s >> ar.Scan(j >> (f & ar.Identity()), c, reverse=True),
        lambda s, j, f, c: (
            s >> ar.Reverse() >> ar.Scan(j >> (f & ar.Identity()), c) >> (FIRST >> ar.Reverse() & SECOND)
        ),
    ),
    Law(
        "Scan(step) >> outputs >> Map(g) == Scan(step >> (output >> g & state)) >> outputs",
        ("Scan", "Map"),
        (sequence, join, change, change, start),
        lambda s, j, f, g, c: s >> ar.Scan(j >> (f & ar.Identity()), c) >> FIRST >> ar.Map(g),
        lambda s, j, f, g, c: s >> ar.Scan(j >> (f >> g & ar.Identity()), c) >> FIRST,
    ),
    Law(
        "Scan((x, state) -> (f(x), state)) >> outputs == Map(f)",
        ("Scan", "Map"),
        (sequence, change, start),
        lambda s, f, c: s >> ar.Scan(FIRST >> f & SECOND, c) >> FIRST,
        lambda s, f, c: s >> ar.Map(f),
    ),
    Law(
        "Bidirectional(f, g) == both RNNs, their outputs joined",
        ("Bidirectional", "RNN", "ZipWith"),
        (sequence, gru, gru),
        lambda s, f, g: s >> ar.Bidirectional(f, g),
        lambda s, f, g: (
            s
            >> (ar.RNN(f) & ar.RNN(g, reverse=True))
            >> (
                (FIRST >> FIRST & SECOND >> FIRST) >> ar.ZipWith(ar.Concat())
                & (FIRST >> SECOND & SECOND >> SECOND)
            )
        ),
    ),
]

LAWS = [*ATTENTION, *PLACES, *FUNCTORS, *FOLDS, *NETWORKS]
