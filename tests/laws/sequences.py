"""Laws of sequences: functors, folds, and the blocks that are defined by them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import arrows as ar
from tests.generation.build import WIDTH, vectors
from tests.laws.law import cell, change, gru, integers, join, law, reader, sequence, some, start

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)
SWAP = SECOND & FIRST


def halved_plus(state: Any, x: Any) -> Any:
    return state * 0.5 + x


def halved_plus_double(state: Any, x: Any) -> Any:
    return state * 0.5 + x * 2.0


def double(x: Any) -> Any:
    return x * 2.0


ADD = ar.Function(lambda state, x: state + x)


@law("Shift(1) >> Shift(2) == Shift(3)", sequence)
def _(s):
    return s >> ar.Shift(1) >> ar.Shift(2), s >> ar.Shift(3)


@law("Reverse >> Shift(1) == Shift(-1) >> Reverse", sequence)
def _(s):
    return s >> ar.Reverse() >> ar.Shift(1, default=0.5), s >> ar.Shift(-1, default=0.5) >> ar.Reverse()


@law("Map(f) >> Shift(1) == Shift(1) >> Map(f)", sequence, where="f(0) == 0")
def _(s):
    return s >> ar.Map(ar.Function(double)) >> ar.Shift(1), s >> ar.Shift(1) >> ar.Map(ar.Function(double))


@law("Window(3) == (Shift(1) & Identity & Shift(-1)) >> Zip >> Map(Stack(3))", sequence)
def _(s):
    return s >> ar.Window(3), s >> (ar.Shift(1) & ar.Identity() & ar.Shift(-1)) >> ar.Zip() >> ar.Map(
        ar.Stack(3)
    )


@law("Window(2, padding='valid') == NGrams(2) >> Map(Stack(2))", sequence)
def _(s):
    return s >> ar.Window(2, padding="valid"), s >> ar.NGrams(2) >> ar.Map(ar.Stack(2))


@law("Window(3, stride=2) == Window(3) >> Slice(step=2)", sequence)
def _(s):
    return s >> ar.Window(3, stride=2), s >> ar.Window(3) >> ar.Slice(step=2)


@law("(s & 0) >> At == s >> GetItem(0)", some)
def _(s):
    return (s & ar.Constant(0, "int32")) >> ar.At(), s >> ar.GetItem(0)


@law("(s & 1) >> At(default=c) == Shift(-1, default=c) >> At(0)", some)
def _(s):
    return (s & ar.Constant(1, "int32")) >> ar.At(default=0.5), (
        s >> ar.Shift(-1, default=0.5) & ar.Constant(0, "int32")
    ) >> ar.At()


@law("Map(Identity) == Identity", sequence)
def _(s):
    return s >> ar.Map(ar.Identity()), s


@law("Map(f) >> Map(g) == Map(f >> g)", sequence, change, change)
def _(s, f, g):
    return s >> ar.Map(f) >> ar.Map(g), s >> ar.Map(f >> g)


@law("Map(f) >> Sum == (first >> f & second >> f) >> Sum, of a pair", reader, reader, change)
def _(u, v, f):
    return (u & v) >> ar.Map(f) >> ar.Sum(), (u >> f & v >> f) >> ar.Sum()


@law("Reverse >> Reverse == Identity", sequence)
def _(s):
    return s >> ar.Reverse() >> ar.Reverse(), s


@law("Reverse >> Map(f) == Map(f) >> Reverse", sequence, change)
def _(s, f):
    return s >> ar.Reverse() >> ar.Map(f), s >> ar.Map(f) >> ar.Reverse()


@law("Reverse before reading == Reverse after reading", sequence)
def _(s):
    return ar.Reverse() >> s, s >> ar.Reverse()


@law("Reverse == GetItem(slice(None, None, -1))", sequence)
def _(s):
    return s >> ar.Reverse(), s >> ar.GetItem(slice(None, None, -1))


@law("ZipWith(f) == Zip >> Map(f)", sequence, sequence, join)
def _(s, t, f):
    return (s & t) >> ar.ZipWith(f, strict=False), (s & t) >> ar.Zip(strict=False) >> ar.Map(f)


@law("ZipWith(f) >> Map(g) == ZipWith(f >> g)", sequence, sequence, join, change)
def _(s, t, f, g):
    return (s & t) >> ar.ZipWith(f, strict=False) >> ar.Map(g), (s & t) >> ar.ZipWith(f >> g, strict=False)


@law("(Map(f) & Map(g)) >> Zip == Map(f & g)", sequence, change, change)
def _(s, f, g):
    return s >> (ar.Map(f) & ar.Map(g)) >> ar.Zip(), s >> ar.Map(f & g)


@law(
    "(Map(f) & Map(g)) >> Zip >> Map(first) == Map(f)",
    sequence,
    change,
    change,
    where="f and g have no effects",
)
def _(s, f, g):
    return s >> (ar.Map(f) & ar.Map(g)) >> ar.Zip() >> ar.Map(FIRST), s >> ar.Map(f)


@law("swap >> Zip == Zip >> Map(swap)", sequence, sequence)
def _(s, t):
    return (s & t) >> SWAP >> ar.Zip(strict=False), (s & t) >> ar.Zip(strict=False) >> ar.Map(SWAP)


@law(
    "(first >> Map(f) & second >> Map(g)) >> Zip == Zip >> Map(first >> f & second >> g)",
    sequence,
    sequence,
    change,
    change,
)
def _(s, t, f, g):
    return (s >> ar.Map(f) & t >> ar.Map(g)) >> ar.Zip(strict=False), (s & t) >> ar.Zip(
        strict=False
    ) >> ar.Map(FIRST >> f & SECOND >> g)


@law(
    "Zip before reading == Zip after reading",
    change,
    change,
    data=st.tuples(st.lists(vectors, max_size=3), st.lists(vectors, max_size=3)),
)
def _(f, g):
    return (FIRST & SECOND) >> ar.Zip(strict=False) >> ar.Map(
        FIRST >> ar.Vector(WIDTH) >> f & SECOND >> ar.Vector(WIDTH) >> g
    ), (FIRST >> ar.Map(ar.Vector(WIDTH) >> f) & SECOND >> ar.Map(ar.Vector(WIDTH) >> g)) >> ar.Zip(
        strict=False
    )


@law("Fold(step, c, reverse=True) == Reverse >> Fold(step, c)", sequence, join, start)
def _(s, step, c):
    return s >> ar.Fold(step, c, reverse=True), s >> ar.Reverse() >> ar.Fold(step, c)


@law("Map(f) >> Fold(step, c) == Fold((state & x >> f) >> step, c)", sequence, change, join, start)
def _(s, f, step, c):
    return s >> ar.Map(f) >> ar.Fold(step, c), s >> ar.Fold((FIRST & SECOND >> f) >> step, c)


@law("(s & c) >> Fold(step, initial_state_from_input=True) == s >> Fold(step, c)", sequence, join, start)
def _(s, step, c):
    return (s & c) >> ar.Fold(step, initial_state_from_input=True), s >> ar.Fold(step, c)


@law(
    "Fold(step, c) >> h == Fold(step', c >> h)",
    sequence,
    start,
    where="h(step(state, x)) == step'(h(state), x)",
)
def _(s, c):
    return s >> ar.Fold(ar.Function(halved_plus), c) >> ar.Function(double), s >> ar.Fold(
        ar.Function(halved_plus_double), c >> ar.Function(double)
    )


@law("Fold(first, c) == c", sequence, start)
def _(s, c):
    return s >> ar.Fold(FIRST, c), c


@law("Fold over what is read == read, then Fold", change, join, start, data=st.lists(vectors, max_size=4))
def _(f, step, c):
    return ar.Fold((FIRST & SECOND >> ar.Vector(WIDTH) >> f) >> step, c), ar.Map(
        ar.Vector(WIDTH) >> f
    ) >> ar.Fold(step, c)


@law("Fold((f, g)) == Fold(f) & Fold(g)", sequence, join, join, start, start)
def _(s, f, g, c, d):
    return s >> ar.Fold(
        (FIRST >> FIRST & SECOND) >> f & (FIRST >> SECOND & SECOND) >> g, (c & d) >> ar.Identity()
    ), s >> (ar.Fold(f, c) & ar.Fold(g, d))


@law("Sum == Fold(+, 0)", sequence)
def _(s):
    return s >> ar.Sum(), s >> ar.Fold(ADD, ar.Zeros([WIDTH]))


@law("Sum == Fold(+, 0), of integers", data=st.lists(st.integers(-9, 9), max_size=5))
def _():
    return ar.Map(ar.Scalar("int64")) >> ar.Sum(), ar.Map(ar.Scalar("int64")) >> ar.Fold(
        ADD, ar.Constant(0, "int64")
    )


@law("Reverse >> Sum == Sum", integers)
def _(s):
    return s >> ar.Reverse() >> ar.Sum(), s >> ar.Sum()


@law("Map(linear) >> Sum == Sum >> linear", sequence, where="linear(x + y) == linear(x) + linear(y)")
def _(s):
    return s >> ar.Map(ar.Function(double)) >> ar.Sum(), s >> ar.Sum() >> ar.Function(double)


@law("Map(f & g) >> Sum == Map(f) >> Sum & Map(g) >> Sum", sequence, change, change)
def _(s, f, g):
    return s >> ar.Map(f & g) >> ar.Sum(), s >> (ar.Map(f) >> ar.Sum() & ar.Map(g) >> ar.Sum())


@law("Scan(step, c) >> last state == Fold(its state, c)", sequence, join, change, start)
def _(s, j, f, c):
    return s >> ar.Scan(j >> (f & ar.Identity()), c) >> SECOND, s >> ar.Fold(SWAP >> j, c)


@law("RNN(cell, c) == Scan(cell >> (Identity & Identity), c)", sequence, join, start)
def _(s, j, c):
    return s >> ar.RNN(j, c), s >> ar.Scan(j >> (ar.Identity() & ar.Identity()), c)


@law("RNN of a cell of (h, c) == Scan(cell >> (h & Identity))", sequence, cell)
def _(s, lstm):
    return s >> ar.RNN(lstm), s >> ar.Scan(lstm >> (FIRST & ar.Identity()), ar.Zeros(lstm.state))


@law("RNN(cell) == RNN(cell, Zeros)", sequence, gru)
def _(s, j):
    return s >> ar.RNN(j), s >> ar.RNN(j, ar.Zeros([WIDTH]))


@law("(s & c) >> RNN(cell, initial_state_from_input=True) == s >> RNN(cell, c)", sequence, join, start)
def _(s, j, c):
    return (s & c) >> ar.RNN(j, initial_state_from_input=True), s >> ar.RNN(j, c)


@law(
    "(s & c) >> Scan(step, initial_state_from_input=True) == s >> Scan(step, c)",
    sequence,
    join,
    change,
    start,
)
def _(s, j, f, c):
    return (s & c) >> ar.Scan(
        j >> (f & ar.Identity()), initial_state_from_input=True, reverse=True
    ), s >> ar.Scan(j >> (f & ar.Identity()), c, reverse=True)


@law("a network goes on where another ended", sequence, join, start)
def _(s, j, c):
    return (s >> ar.Slice(start=2) & s >> ar.Slice(stop=2) >> ar.RNN(j, c) >> SECOND) >> ar.RNN(
        j, initial_state_from_input=True
    ) >> SECOND, s >> ar.RNN(j, c) >> SECOND


@law("RNN(cell, reverse) == Reverse >> RNN(cell) >> (outputs >> Reverse & state)", sequence, join, start)
def _(s, j, c):
    return s >> ar.RNN(j, c, reverse=True), s >> ar.Reverse() >> ar.RNN(j, c) >> (
        FIRST >> ar.Reverse() & SECOND
    )


@law(
    "Scan(step, reverse) == Reverse >> Scan(step) >> (outputs >> Reverse & state)",
    sequence,
    join,
    change,
    start,
)
def _(s, j, f, c):
    return s >> ar.Scan(j >> (f & ar.Identity()), c, reverse=True), s >> ar.Reverse() >> ar.Scan(
        j >> (f & ar.Identity()), c
    ) >> (FIRST >> ar.Reverse() & SECOND)


@law(
    "Scan(step) >> outputs >> Map(g) == Scan(step >> (output >> g & state)) >> outputs",
    sequence,
    join,
    change,
    change,
    start,
)
def _(s, j, f, g, c):
    return s >> ar.Scan(j >> (f & ar.Identity()), c) >> FIRST >> ar.Map(g), s >> ar.Scan(
        j >> (f >> g & ar.Identity()), c
    ) >> FIRST


@law("Scan((x, state) -> (f(x), state)) >> outputs == Map(f)", sequence, change, start)
def _(s, f, c):
    return s >> ar.Scan(FIRST >> f & SECOND, c) >> FIRST, s >> ar.Map(f)


@law("Bidirectional(f, g) == both RNNs, their outputs joined", sequence, gru, gru)
def _(s, f, g):
    return s >> ar.Bidirectional(f, g), s >> (ar.RNN(f) & ar.RNN(g, reverse=True)) >> (
        (FIRST >> FIRST & SECOND >> FIRST) >> ar.ZipWith(ar.Concat()) & (FIRST >> SECOND & SECOND >> SECOND)
    )
