"""Laws of composition, of tuples, of wires and of what is read."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.build import WIDTH, anything, numbers, vectors, words
from tests.laws.law import Law, change, join, reader, score

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


CATEGORY = [
    Law(
        "Identity >> f == f",
        ("Pipe", "Identity"),
        (reader,),
        lambda f: ar.Pipe(ar.Identity(name="same"), f),
        lambda f: f,
    ),
    Law(
        "f >> Identity == f",
        ("Pipe", "Identity"),
        (reader,),
        lambda f: ar.Pipe(f, ar.Identity(name="same")),
        lambda f: f,
    ),
    Law(
        "(f >> g) >> h == f >> (g >> h)",
        ("Pipe",),
        (reader, change, change),
        lambda f, g, h: ar.Pipe(ar.Pipe(f, g, name="left"), h),
        lambda f, g, h: ar.Pipe(f, ar.Pipe(g, h, name="right")),
    ),
    Law(
        "Pipe(f, g, h) == f >> g >> h",
        ("Pipe",),
        (reader, change, change),
        lambda f, g, h: ar.Pipe(f, g, h),
        lambda f, g, h: f >> g >> h,
    ),
]

PRODUCTS = [
    Law(
        "(f & g) >> first == f",
        ("GetItem", "AllOf", "Item", "Fan"),
        (reader, reader),
        lambda f, g: (f & g) >> FIRST,
        lambda f, g: f,
        "g has no effects",
    ),
    Law(
        "AllOf(f, g) >> second == g",
        ("GetItem", "AllOf"),
        (reader, reader),
        lambda f, g: ar.AllOf(f, g) >> SECOND,
        lambda f, g: g,
        "f has no effects",
    ),
    Law(
        "(f & g) >> (first & second) == f & g",
        ("GetItem", "AllOf"),
        (reader, reader),
        lambda f, g: (f & g) >> (FIRST & SECOND),
        lambda f, g: f & g,
    ),
    Law(
        "h >> (f & g) == (h >> f) & (h >> g)",
        ("AllOf", "Pipe"),
        (reader, change, change),
        lambda h, f, g: h >> (f & g),
        lambda h, f, g: (h >> f) & (h >> g),
        "h has no effects",
    ),
    Law(
        "f & g & h == AllOf(f, g, h)",
        ("AllOf",),
        (reader, reader, reader),
        lambda f, g, h: f & g & h,
        ar.AllOf,
    ),
    Law(
        "(f & (g & h)) >> reassociated == (f & g) & h",
        ("AllOf", "GetItem"),
        (reader, reader, reader),
        lambda f, g, h: (f & ar.AllOf(g, h)) >> (ar.AllOf(FIRST, SECOND >> FIRST) & SECOND >> SECOND),
        lambda f, g, h: ar.AllOf(ar.AllOf(f, g), h),
    ),
    Law(
        "swap >> swap == identity of pairs",
        ("GetItem", "AllOf"),
        (reader, reader),
        lambda f, g: (f & g) >> SWAP >> SWAP,
        lambda f, g: f & g,
    ),
    Law(
        "(f & Void) >> first == f",
        ("Void",),
        (reader,),
        lambda f: (f & ar.Void()) >> FIRST,
        lambda f: f,
    ),
    Law(
        "Record((f, g)) == GetItem(0) >> f & GetItem(1) >> g",
        ("Record",),
        (reader, reader),
        lambda f, g: (ar.Identity() & ar.Identity()) >> ar.Record((f, g)),
        lambda f, g: f & g,
    ),
    Law(
        "Record({k: f, l: g}) == GetItem(k) >> f & GetItem(l) >> g",
        ("Record", "AllOf", "GetItem"),
        (score, score),
        lambda f, g: ar.Record({"k": ar.Vector(WIDTH) >> f, "l": ar.Vector(WIDTH) >> g}),
        lambda f, g: ar.GetItem("k") >> ar.Vector(WIDTH) >> f & ar.GetItem("l") >> ar.Vector(WIDTH) >> g,
        data=st.fixed_dictionaries({"k": vectors, "l": vectors}),
    ),
    Law(
        "{k: f} is Record({k: f})",
        ("Record", "as_block"),
        (reader,),
        lambda f: ar.InputTransform(lambda x: {"k": x}) >> ({"k": f} >> ar.GetItem("k")),
        lambda f: f,
    ),
    Law(
        "Concat of three == Concat of the first two, and the third",
        ("Concat",),
        (reader, reader, reader),
        lambda f, g, h: (f & g & h) >> ar.Concat(),
        lambda f, g, h: ((f & g) >> ar.Concat() & h) >> ar.Concat(),
    ),
    Law(
        "Concat(flatten=True) of nested == Concat of flat",
        ("Concat",),
        (reader, reader, reader),
        lambda f, g, h: ar.AllOf(f, ar.AllOf(g, h)) >> ar.Concat(flatten=True),
        lambda f, g, h: ar.AllOf(f, g, h) >> ar.Concat(),
    ),
    Law(
        "a part of Concat is that item",
        ("Concat", "Function"),
        (reader, reader),
        lambda f, g: (f & g) >> ar.Concat() >> ar.Function(lambda x: x[WIDTH:]),
        lambda f, g: g,
    ),
    Law(
        "Sum of a pair is symmetric",
        ("Sum",),
        (reader, reader),
        lambda f, g: (f & g) >> ar.Sum(),
        lambda f, g: (f & g) >> SWAP >> ar.Sum(),
    ),
]

WIRES = [
    Law(
        "arrow x: g(f(x)) == f >> g",
        ("arrow", "Graph", "Wire"),
        (reader, change),
        lambda f, g: ar.arrow(lambda x: g(f(x))),
        lambda f, g: f >> g,
    ),
    Law(
        "arrow x: (f(x), g(x)) == f & g",
        ("arrow",),
        (reader, reader),
        lambda f, g: ar.arrow(lambda x: (f(x), g(x))),
        lambda f, g: f & g,
    ),
    Law(
        "arrow a, b: j(b, a) == swap >> j",
        ("arrow",),
        (reader, reader, join),
        lambda f, g, j: (f & g) >> swapped(j),
        lambda f, g, j: (f & g) >> SWAP >> j,
    ),
    Law(
        "arrow p: p[0] == GetItem(0), unpack(p)[1] == GetItem(1)",
        ("arrow", "unpack", "GetItem"),
        (reader, reader),
        lambda f, g: (f & g) >> ar.arrow(lambda p: (ar.unpack(p, 2)[1], p[0])),
        lambda f, g: (f & g) >> SWAP,
    ),
]


def composed(*blocks: Any) -> Any:
    """One block after another, connected in a scope."""
    with ar.Composition().scope() as c:
        wire = c.input
        for block in blocks:
            wire = block.reads(wire)
        c.output.reads(wire)
    return c


def both(f: Any, g: Any, j: Any) -> Any:
    """Two blocks on one input, and one on their results, by occurrence."""
    with ar.Composition().scope() as c:
        first, second = ar.Pipe(f, name="first"), ar.Pipe(g, name="second")
        first.reads(c.input)
        second.reads(c.input)
        c.output.reads(j.reads(second, first))
    return c


WIRES += [
    Law(
        "Composition of f, then g == f >> g",
        ("Composition",),
        (reader, change),
        composed,
        lambda f, g: f >> g,
    ),
    Law(
        "Composition == arrow == (g & f) >> j",
        ("Composition", "arrow"),
        (reader, reader, join),
        lambda f, g, j: ar.AllOf(both(f, g, j), ar.arrow(lambda x: j(g(x), f(x)))),
        lambda f, g, j: ar.AllOf((g & f) >> j, (g & f) >> j),
    ),
    Law(
        "a Composition of nothing but its input == Identity",
        ("Composition", "Identity"),
        (reader,),
        lambda f: f >> composed(),
        lambda f: f,
    ),
    Law(
        "Concat(-1) == Concat(0), of vectors",
        ("Concat",),
        (reader, reader),
        lambda f, g: (f & g) >> ar.Concat(-1),
        lambda f, g: (f & g) >> ar.Concat(0),
    ),
    Law(
        "a column of Concat(axis=1), of columns, is that item",
        ("Concat", "Function"),
        (reader, reader),
        lambda f, g: (f >> COLUMN & g >> COLUMN) >> ar.Concat(axis=1) >> ar.Function(lambda x: x[:, 1]),
        lambda f, g: ar.AllOf(f, g) >> ar.GetItem(1),
    ),
    Law(
        "Concat(axis=1) == Concat(axis=0) of what is transposed, transposed",
        ("Concat", "Function"),
        (reader, reader),
        lambda f, g: (f >> COLUMN & g >> COLUMNS) >> ar.Concat(axis=1),
        lambda f, g: (f >> COLUMN >> TURN & g >> COLUMNS >> TURN) >> ar.Concat(axis=0) >> TURN,
    ),
]

READING = [
    Law(
        "Scalar(t) == Tensor([], t)",
        ("Scalar", "Tensor", "Read"),
        (),
        lambda: ar.Scalar("float64"),
        lambda: ar.Tensor([], "float64"),
        data=numbers,
    ),
    Law(
        "Vector(n) == Tensor([n])",
        ("Vector", "Tensor"),
        (change,),
        lambda g: ar.Vector(WIDTH) >> g,
        lambda g: ar.Tensor([WIDTH]) >> g,
        data=vectors,
    ),
    Law(
        "Vector(n) == Map(Scalar) of n numbers, for what sums them",
        ("Vector", "Scalar", "Map"),
        (),
        lambda: ar.Vector(WIDTH) >> ar.Function(ops.sum),
        lambda: ar.Map(ar.Scalar()) >> ar.Sum(),
        data=vectors,
    ),
    Law(
        "InputTransform(u) >> InputTransform(v) == InputTransform(v after u)",
        ("InputTransform", "Transform"),
        (),
        lambda: ar.InputTransform(len) >> ar.InputTransform(lambda n: n + 1) >> ar.Scalar("int32"),
        lambda: ar.InputTransform(lambda x: len(x) + 1) >> ar.Scalar("int32"),
        data=st.lists(anything, max_size=4),
    ),
    Law(
        "InputTransform(x -> x) == Identity",
        ("InputTransform", "Identity"),
        (reader,),
        lambda f: ar.InputTransform(lambda x: x) >> f,
        lambda f: f,
    ),
    Law(
        "GetItem(k) == InputTransform(x -> x[k])",
        ("GetItem", "InputTransform"),
        (reader,),
        lambda f: ar.InputTransform(lambda x: [x, None]) >> ar.GetItem(-2) >> f,
        lambda f: ar.InputTransform(lambda x: [x, None]) >> ar.InputTransform(lambda x: x[0]) >> f,
    ),
    Law(
        "f >> Zeros(t) == Zeros(t)",
        ("Zeros",),
        (reader,),
        lambda f: f >> ar.Zeros(([2], "int64")),
        lambda f: ar.Zeros(([2], "int64")),
        "f has no effects",
    ),
    Law(
        "f >> Constant(c) == Constant(c)",
        ("Constant",),
        (reader,),
        lambda f: f >> ar.Constant([1.0, 2.0]),
        lambda f: ar.Constant([1.0, 2.0]),
        "f has no effects",
    ),
    Law(
        "f >> Void == Void",
        ("Void",),
        (reader,),
        lambda f: f >> ar.Void() & ar.Zeros([]),
        lambda f: ar.Void() & ar.Zeros([]),
        "f has no effects",
    ),
    Law(
        "c & c == c >> (Identity & Identity), for a trainable constant",
        ("Constant",),
        (reader, join),
        lambda f, j: f >> (_TRAINED & _TRAINED) >> j,
        lambda f, j: f >> _TRAINED >> (ar.Identity() & ar.Identity()) >> j,
    ),
    Law(
        "Constant(zeros) == Zeros",
        ("Constant", "Zeros"),
        (join, reader),
        lambda j, f: (f & ar.Constant(np.zeros(WIDTH, "float32"))) >> j,
        lambda j, f: (f & ar.Zeros([WIDTH])) >> j,
    ),
    Law(
        "Function(u) >> Function(v) == Function(v after u)",
        ("Function", "Apply"),
        (reader,),
        lambda f: f >> ar.Function(double) >> ar.Function(parts.bell),
        lambda f: f >> ar.Function(lambda x: parts.bell(double(x))),
    ),
    Law(
        "a layer called inside a Function == the layer as a block",
        ("Function", "Layer"),
        (reader,),
        lambda f: f >> ar.Function(lambda x: double(_FC(x))),
        lambda f: f >> _FC >> ar.Function(double),
    ),
    Law(
        "an index reads the row of a table that its one-hot vector multiplies out",
        ("Scalar", "Function"),
        (),
        lambda: ar.Scalar("int32") >> ar.Function(lambda i: ops.lookup(_TABLE, i)),
        lambda: ar.Scalar("int32") >> ar.Function(lambda i: parts.unit(i) @ _TABLE),
        data=words,
    ),
]

_FC = ar.FC(WIDTH)
_TRAINED = ar.Constant([0.5, -1.0, 2.0], trainable=True)
_TABLE = np.linspace(-1, 1, parts.WORDS * WIDTH, dtype="float32").reshape(parts.WORDS, WIDTH)

LAWS = [*CATEGORY, *PRODUCTS, *WIRES, *READING]
