"""Laws of composition, of tuples, of wires and of what is read."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.build import WIDTH, anything, numbers, vectors, words
from tests.laws.law import change, join, law, reader, score

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)
SWAP = SECOND & FIRST
COLUMN, COLUMNS = ar.Function(parts.column), ar.Function(parts.columns)
TURN = ar.Function(lambda x: x.T)


def double(x: Any) -> Any:
    return x * 2.0


def plus_one(x: Any) -> Any:
    return x + 1.0


def swapped(f: Any) -> Any:
    @ar.arrow
    def wired(a: Any, b: Any) -> Any:
        return f(b, a)

    return wired


@law("Identity >> f == f", reader)
def _(f):
    return ar.Pipe(ar.Identity(name="same"), f), f


@law("f >> Identity == f", reader)
def _(f):
    return ar.Pipe(f, ar.Identity(name="same")), f


@law("(f >> g) >> h == f >> (g >> h)", reader, change, change)
def _(f, g, h):
    return ar.Pipe(ar.Pipe(f, g, name="left"), h), ar.Pipe(f, ar.Pipe(g, h, name="right"))


@law("Pipe(f, g, h) == f >> g >> h", reader, change, change)
def _(f, g, h):
    return ar.Pipe(f, g, h), f >> g >> h


@law("(f & g) >> first == f", reader, reader, where="g has no effects")
def _(f, g):
    return (f & g) >> FIRST, f


@law("AllOf(f, g) >> second == g", reader, reader, where="f has no effects")
def _(f, g):
    return ar.AllOf(f, g) >> SECOND, g


@law("(f & g) >> (first & second) == f & g", reader, reader)
def _(f, g):
    return (f & g) >> (FIRST & SECOND), f & g


@law("h >> (f & g) == (h >> f) & (h >> g)", reader, change, change, where="h has no effects")
def _(h, f, g):
    return h >> (f & g), h >> f & h >> g


@law("f & g & h == AllOf(f, g, h)", reader, reader, reader)
def _(f, g, h):
    return f & g & h, ar.AllOf(f, g, h)


@law("(f & (g & h)) >> reassociated == (f & g) & h", reader, reader, reader)
def _(f, g, h):
    return (f & ar.AllOf(g, h)) >> (ar.AllOf(FIRST, SECOND >> FIRST) & SECOND >> SECOND), ar.AllOf(
        ar.AllOf(f, g), h
    )


@law("swap >> swap == identity of pairs", reader, reader)
def _(f, g):
    return (f & g) >> SWAP >> SWAP, f & g


@law("(f & Void) >> first == f", reader)
def _(f):
    return (f & ar.Void()) >> FIRST, f


@law("Record((f, g)) == GetItem(0) >> f & GetItem(1) >> g", reader, reader)
def _(f, g):
    return (ar.Identity() & ar.Identity()) >> ar.Record((f, g)), f & g


@law(
    "Record({k: f, l: g}) == GetItem(k) >> f & GetItem(l) >> g",
    score,
    score,
    data=st.fixed_dictionaries({"k": vectors, "l": vectors}),
)
def _(f, g):
    return ar.Record({"k": ar.Vector(WIDTH) >> f, "l": ar.Vector(WIDTH) >> g}), ar.GetItem("k") >> ar.Vector(
        WIDTH
    ) >> f & ar.GetItem("l") >> ar.Vector(WIDTH) >> g


@law("{k: f} is Record({k: f})", reader)
def _(f):
    return ar.InputTransform(lambda x: {"k": x}) >> ({"k": f} >> ar.GetItem("k")), f


@law("Concat of three == Concat of the first two, and the third", reader, reader, reader)
def _(f, g, h):
    return (f & g & h) >> ar.Concat(), ((f & g) >> ar.Concat() & h) >> ar.Concat()


@law("Concat(flatten=True) of nested == Concat of flat", reader, reader, reader)
def _(f, g, h):
    return ar.AllOf(f, ar.AllOf(g, h)) >> ar.Concat(flatten=True), ar.AllOf(f, g, h) >> ar.Concat()


@law("a part of Concat is that item", reader, reader)
def _(f, g):
    return (f & g) >> ar.Concat() >> ar.Function(lambda x: x[WIDTH:]), g


@law("Sum of a pair is symmetric", reader, reader)
def _(f, g):
    return (f & g) >> ar.Sum(), (f & g) >> SWAP >> ar.Sum()


@law("arrow x: g(f(x)) == f >> g", reader, change)
def _(f, g):
    return ar.arrow(lambda x: g(f(x))), f >> g


@law("arrow x: (f(x), g(x)) == f & g", reader, reader)
def _(f, g):
    return ar.arrow(lambda x: (f(x), g(x))), f & g


@law("arrow a, b: j(b, a) == swap >> j", reader, reader, join)
def _(f, g, j):
    return (f & g) >> swapped(j), (f & g) >> SWAP >> j


@law("arrow p: p[0] == GetItem(0), unpack(p)[1] == GetItem(1)", reader, reader)
def _(f, g):
    return (f & g) >> ar.arrow(lambda p: (ar.unpack(p, 2)[1], p[0])), (f & g) >> SWAP


def composed(*blocks: Any) -> Any:
    """One block after another, connected in a scope."""
    with ar.Composition().scope() as c:
        wire = c.input
        for block in blocks:
            wire = block.reads(wire)
        c.output.reads(wire)
    return c


def both(f: Any, g: Any, j: Any) -> Any:
    """Two blocks on one input, and one on their results."""
    with ar.Composition().scope() as c:
        first, second = f.reads(c.input), g.reads(c.input)
        c.output.reads(j.reads(second, first))
    return c


@law("Composition of f, then g == f >> g", reader, change)
def _(f, g):
    return composed(f, g), f >> g


@law("Composition == arrow == (g & f) >> j", reader, reader, join)
def _(f, g, j):
    return ar.AllOf(both(f, g, j), ar.arrow(lambda x: j(g(x), f(x)))), ar.AllOf((g & f) >> j, (g & f) >> j)


@law("a Composition of nothing but its input == Identity", reader)
def _(f):
    return f >> composed(), f


@law("Concat(-1) == Concat(0), of vectors", reader, reader)
def _(f, g):
    return (f & g) >> ar.Concat(-1), (f & g) >> ar.Concat(0)


@law("a column of Concat(axis=1), of columns, is that item", reader, reader)
def _(f, g):
    return (f >> COLUMN & g >> COLUMN) >> ar.Concat(axis=1) >> ar.Function(lambda x: x[:, 1]), ar.AllOf(
        f, g
    ) >> ar.GetItem(1)


@law("Concat(axis=1) == Concat(axis=0) of what is transposed, transposed", reader, reader)
def _(f, g):
    return (f >> COLUMN & g >> COLUMNS) >> ar.Concat(axis=1), (
        f >> COLUMN >> TURN & g >> COLUMNS >> TURN
    ) >> ar.Concat(axis=0) >> TURN


@law("Scalar(t) == Tensor([], t)", data=numbers)
def _():
    return ar.Scalar("float64"), ar.Tensor([], "float64")


@law("Vector(n) == Tensor([n])", change, data=vectors)
def _(g):
    return ar.Vector(WIDTH) >> g, ar.Tensor([WIDTH]) >> g


@law("Vector(n) == Map(Scalar) of n numbers, for what sums them", data=vectors)
def _():
    return ar.Vector(WIDTH) >> ar.Function(ops.sum), ar.Map(ar.Scalar()) >> ar.Sum()


@law(
    "InputTransform(u) >> InputTransform(v) == InputTransform(v after u)", data=st.lists(anything, max_size=4)
)
def _():
    return ar.InputTransform(len) >> ar.InputTransform(lambda n: n + 1) >> ar.Scalar(
        "int32"
    ), ar.InputTransform(lambda x: len(x) + 1) >> ar.Scalar("int32")


@law("InputTransform(x -> x) == Identity", reader)
def _(f):
    return ar.InputTransform(lambda x: x) >> f, f


@law("GetItem(k) == InputTransform(x -> x[k])", reader)
def _(f):
    return ar.InputTransform(lambda x: [x, None]) >> ar.GetItem(-2) >> f, ar.InputTransform(
        lambda x: [x, None]
    ) >> ar.InputTransform(lambda x: x[0]) >> f


@law("f >> Zeros(t) == Zeros(t)", reader, where="f has no effects")
def _(f):
    return f >> ar.Zeros(([2], "int64")), ar.Zeros(([2], "int64"))


@law("f >> Constant(c) == Constant(c)", reader, where="f has no effects")
def _(f):
    return f >> ar.Constant([1.0, 2.0]), ar.Constant([1.0, 2.0])


@law("f >> Void == Void", reader, where="f has no effects")
def _(f):
    return f >> ar.Void() & ar.Zeros([]), ar.Void() & ar.Zeros([])


@law("c & c == c >> (Identity & Identity), for a trainable constant", reader, join)
def _(f, j):
    return f >> (_TRAINED & _TRAINED) >> j, f >> _TRAINED >> (ar.Identity() & ar.Identity()) >> j


@law("Constant(zeros) == Zeros", join, reader)
def _(j, f):
    return (f & ar.Constant(np.zeros(WIDTH, "float32"))) >> j, (f & ar.Zeros([WIDTH])) >> j


@law("Function(u) >> Function(v) == Function(v after u)", reader)
def _(f):
    return f >> ar.Function(double) >> ar.Function(parts.bell), f >> ar.Function(
        lambda x: parts.bell(double(x))
    )


@law("a layer called inside a Function == the layer as a block", reader)
def _(f):
    return f >> ar.Function(lambda x: double(_FC(x))), f >> _FC >> ar.Function(double)


@law("an index reads the row of a table that its one-hot vector multiplies out", data=words)
def _():
    return ar.Scalar("int32") >> ar.Function(lambda i: ops.lookup(_TABLE, i)), ar.Scalar(
        "int32"
    ) >> ar.Function(lambda i: parts.unit(i) @ _TABLE)


_FC = ar.FC(WIDTH)
_TRAINED = ar.Constant([0.5, -1.0, 2.0], trainable=True)
_TABLE = np.linspace(-1, 1, parts.WORDS * WIDTH, dtype="float32").reshape(parts.WORDS, WIDTH)
