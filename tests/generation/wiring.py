"""Productions that put blocks side by side, choose among them, and name wires."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from tests.generation import parts
from tests.generation.build import (
    WIDTH,
    WORDS,
    Build,
    Piece,
    anything,
    production,
    with_effects,
    words,
)


@production
def changed(build: Build, depth: int) -> Piece:
    piece = build.vector(depth)
    return Piece(piece.block >> build.change(), piece.data)


@production
def record(build: Build, depth: int) -> Piece:
    keys = build.one_of(("a",), ("a", "b"), ("a", "b", "c"))
    pieces = {key: build.vector(depth) for key in keys}
    data = st.fixed_dictionaries(
        {key: piece.data for key, piece in pieces.items()}, optional={"extra": anything}
    )
    data = st.one_of(data, *map(data.map, parts.RECORDS))
    block = ar.Record({key: piece.block for key, piece in pieces.items()})
    return Piece(block >> build.join(len(keys)), data)


@production
def again(build: Build, depth: int) -> Piece:
    """One object read twice by the same block: the block stands in two places."""
    piece = build.vector(depth)
    both = build.one_of(lambda f, g: f & g, ar.AllOf)
    return Piece(both(piece.block, piece.block >> build.change()) >> build.join(2), piece.data)


@production
def beside(build: Build, depth: int) -> Piece:
    """Two blocks side by side on a pair of objects, or of tensors."""
    a, b, join = build.vector(depth), build.vector(depth), build.join(2)
    if build.one_of("objects", "tensors") == "objects":
        return Piece(a.block * b.block >> join, st.tuples(a.data, b.data))
    pair = a.block * b.block >> build.change() * build.change()
    return Piece(pair >> join, st.tuples(a.data, b.data))


@production
def composed(build: Build, depth: int) -> Piece:
    """Blocks that are connected in a scope, and in a scope inside of it."""
    first, second, join = build.vector(depth), build.vector(depth), build.join(2)
    change, kind = build.change(), build.one_of("flat", "nested")
    outer = ar.Composition(name=build.one_of(None, "outer"))
    with outer.scope():
        a = first.block.reads(outer.input["a"])
        if kind == "nested":
            inner = ar.Composition()
            with inner.scope():
                inner.output.reads(change.reads(inner.input[1]), inner.input[0])
            pair = inner.reads(a, second.block.reads(outer.input["b"]))
            outer.output.reads(join.reads(pair[0], pair[1]))
        else:
            outer.output.reads(join.reads(a, second.block.reads(outer.input["b"])))
    return Piece(outer, st.fixed_dictionaries({"b": second.data, "a": first.data}))


@production
def choice(build: Build, depth: int) -> Piece:
    pieces = [build.vector(depth) for _ in range(build.one_of(1, 2, 3))]
    cases = {f"case {i}": ar.GetItem("of") >> piece.block for i, piece in enumerate(pieces)}
    tagged = [
        st.fixed_dictionaries({"kind": st.just(f"case {i}"), "of": piece.data})
        for i, piece in enumerate(pieces)
    ]
    key = build.one_of(parts.watched(lambda x: x["kind"]), ar.GetItem("kind"))
    return Piece(ar.OneOf(key, cases), st.one_of(tagged))


@production
def prepared_choice(build: Build, depth: int) -> Piece:
    """A choice of which all cases begin with the same block."""
    piece = build.vector(depth)
    before = ar.GetItem("of") >> piece.block
    cases = {key: before >> build.change() for key in build.one_of((0, 1), (0,), (0, 1, 2))}
    key = build.one_of(parts.watched(lambda x: x["kind"]), ar.GetItem("kind"))
    data = st.fixed_dictionaries({"kind": st.sampled_from(list(cases)), "of": piece.data})
    return Piece(ar.OneOf(key, cases), data)


@production
def optional(build: Build, depth: int) -> Piece:
    piece = build.vector(depth)
    # None must mean nothing: what the piece itself reads as None goes inside a list
    some = ar.GetItem(0) >> piece.block
    none = build.one_of(None, ar.Constant(np.ones(WIDTH, "float32")))
    if build.one_of(True, False):
        data = st.fixed_dictionaries({}, optional={"of": st.tuples(piece.data)})
        return Piece(ar.GetItem("of", default=None) >> ar.Optional(some, none), data)
    return Piece(ar.Optional(some, none), st.none() | st.tuples(piece.data))


@production
def mapped_tuple(build: Build, depth: int) -> Piece:
    """A tuple of one type is gone over like a sequence; a part of a sequence is one."""
    a, b, change = build.vector(depth), build.vector(depth), build.change()
    pair = ar.GetItem(0) >> a.block & ar.GetItem(1) >> b.block
    rest = ar.GetItem(build.one_of(slice(None), slice(1, None), slice(None, None, -1)))
    last = build.one_of(ar.Sum(), ar.Fold(build.join(2), ar.Zeros([WIDTH])))
    return Piece(pair >> ar.Map(change) >> rest >> last, st.tuples(a.data, b.data))


@production
def parameters(build: Build, depth: int) -> Piece:
    """An arrow of several parameters, called on nested tuples, with a result that has keys."""
    a, b = build.vector(depth), build.vector(depth)
    join, change = build.join(2), build.change()

    @ar.arrow
    def inner(u: Any, vw: Any) -> Any:
        v, w = ar.unpack(vw, 2)
        return {"out": join(u, w), "state": (v, change(u))}

    @ar.arrow
    def outer(x: Any) -> Any:
        u, v = a.block(x["a"]), b.block(x["b"])
        record = inner(u, (v, u))
        return join(record["out"], record["state"][0])

    return Piece(outer, st.fixed_dictionaries({"a": a.data, "b": b.data}))


@production
def graph(build: Build, depth: int) -> Piece:
    first, second, join = build.vector(depth), build.vector(depth), build.join(2)
    change = build.change()

    @ar.arrow
    def wired(x: Any) -> Any:
        a, b = first.block(x["a"]), second.block(x["b"])
        c = join(a, change(b))
        return join(c, a)

    return Piece(wired, st.fixed_dictionaries({"b": second.data, "a": first.data}))


@with_effects
def measured(build: Build, depth: int) -> Piece:
    """A metric of a value, with what was read as its label or without, or of elements that nobody reads."""
    piece, score = build.vector(depth), build.score()
    kind = build.one_of("alone", "labelled", "elements")
    name = build.one_of("loss", "other")
    build.metrics.add(name)

    @ar.arrow
    def measured(x: Any) -> Any:
        state = piece.block(x)
        ar.Metric(name)(score(state), *[x][: kind == "labelled"])
        return state

    @ar.arrow
    def elements(xs: Any) -> Any:
        states = ar.Map(piece.block)(xs)
        ar.Map(score >> ar.Metric(name))(states)
        return ar.Sum()(states)

    if kind == "elements":
        return Piece(elements, st.lists(piece.data, max_size=3))
    return Piece(measured, piece.data)


@with_effects
def tapped(build: Build, depth: int) -> Piece:
    """Values kept on their way: tensors, tuples, sequences, integers, Python objects."""
    piece = build.vector(depth)
    kind = build.one_of("tensor", "tuple", "sequence", "integer", "object")
    tap = ar.Tap(f"{kind}s")
    if kind == "tensor":
        return Piece(piece.block >> tap >> build.change(), piece.data)
    if kind == "object":
        return Piece(tap >> piece.block, piece.data)
    if kind == "tuple":
        both = piece.block >> (ar.Identity() & build.change() & ar.Void())
        return Piece(both >> tap >> (ar.GetItem(0) & ar.GetItem(1)) >> build.join(2), piece.data)
    elements = ar.Map(piece.block)
    data = st.lists(piece.data, max_size=3)
    if kind == "integer":
        return Piece((elements >> ar.Sum() & ar.Length() >> tap) >> ar.GetItem(0), data)
    return Piece(elements >> tap >> ar.Sum(), data)


@with_effects
def labelled(build: Build, depth: int) -> Piece:
    """A loss against a label, inside a tree of other things."""
    piece = build.vector(depth)
    scores = build.layer("scores", lambda: ar.FC(WORDS))
    build.metrics.add("loss")
    weight = [0.5, 2.0, 1.0, 0.25]
    loss, by_number = build.one_of(
        (ar.SoftmaxCrossEntropy(), True),
        (ar.SoftmaxCrossEntropy(weight=weight, label_smoothing=build.one_of(0.0, 0.125)), True),
        (ar.SoftmaxCrossEntropy(weight=build.one_of(None, weight), label_smoothing=0.125), False),
        (ar.SigmoidCrossEntropy(), False),
        (ar.SigmoidCrossEntropy(pos_weight=2.5, label_smoothing=build.one_of(0.0, 0.125)), False),
        (ar.SquaredError(), False),
        (ar.Hinge(), True),
        (ar.Huber(), False),
    )
    target: Any = ar.Scalar("int32") if by_number else ar.Scalar("int32") >> ar.Function(parts.unit)

    @ar.arrow
    def classified(x: Any) -> Any:
        state = piece.block(x["of"])
        ar.Metric("loss")(loss(scores(state), target(x["label"])))
        return state

    return Piece(classified, st.fixed_dictionaries({"of": piece.data, "label": words}))
