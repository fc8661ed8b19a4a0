"""Productions from a sequence to one value: extremes, means, trees of pairs, stacks, attention."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.build import Build, Piece, numbers, production

DEFAULTS = (0.5, -1, None)


@production
def extremes(build: Build, depth: int) -> Piece:
    """The greatest, the least and the mean, of nothing too where a default says so."""
    element = build.vector(depth)
    default = build.one_of(*DEFAULTS)
    reduction = build.one_of(ar.Max, ar.Min, ar.Mean)
    reduce = reduction(default=default)
    data = st.lists(element.data, min_size=default is None, max_size=4)
    elements = ar.Map(element.block) >> ar.Function(parts.spaced)
    kind = build.one_of("elements", "tuples", "tuple")
    if kind == "elements":
        return Piece(elements >> reduce, data)
    if kind == "tuples":
        two = ar.Map(ar.Identity() & ar.Function(parts.squeezed)) >> reduce
        return Piece(elements >> two >> build.join(2), data)
    three = ar.AllOf(*[ar.GetItem(i) >> element.block >> ar.Function(parts.moved(i)) for i in range(3)])
    return Piece(three >> reduce, st.lists(element.data, min_size=3, max_size=3))


@production
def reduced(build: Build, depth: int) -> Piece:
    """A balanced tree of pairs: over tensors, over pairs of tensors, over a tuple, over objects."""
    element, join = build.vector(depth), build.join(2)
    default = build.one_of(None, ar.Constant([0.5, -0.5, 0.25]))
    data = st.lists(element.data, max_size=6)
    kind = build.one_of("tensors", "pairs", "tuple", "objects")
    if kind == "tensors":
        return Piece(ar.Map(element.block) >> ar.Reduce(join, default), data)
    if kind == "pairs":
        change = build.change()

        @ar.arrow
        def both(a: Any, b: Any) -> Any:
            return join(a[0], b[1]), change(b[0])

        pairs = ar.Map(element.block >> (ar.Identity() & ar.Function(ops.tanh)))
        return Piece(pairs >> ar.Reduce(both) >> ar.GetItem(0), data)
    if kind == "tuple":
        three = ar.AllOf(*[ar.GetItem(i) >> element.block for i in range(3)])
        return Piece(three >> ar.Reduce(join), st.lists(element.data, min_size=3, max_size=3))
    first = parts.watched(lambda pair: pair[0])
    some = st.lists(element.data, min_size=1, max_size=5)
    return Piece(ar.Reduce(ar.InputTransform(first)) >> element.block, some)


@production
def stacked(build: Build, depth: int) -> Piece:
    """A sequence of known length, or a tuple, as one tensor."""
    element, length = build.vector(depth), build.one_of(2, 1, 3)
    data = st.lists(element.data, min_size=length, max_size=length)
    elements: Any = ar.Map(element.block)
    kind = build.one_of("sequence", "tuple", "pairs")
    if kind == "tuple":
        elements = ar.AllOf(*[ar.GetItem(i) >> element.block for i in range(length)])
    if kind == "pairs":
        elements = elements >> ar.Map(ar.Identity() & ar.Function(ops.tanh))
        return Piece(elements >> ar.Stack(length) >> ar.Function(parts.crossed), data)
    return Piece(elements >> ar.Stack(length) >> ar.Function(parts.means), data)


@production
def attention(build: Build, depth: int) -> Piece:
    """The mean weighted by a softmax of scores: of elements alone, against a query, with its weights."""
    element = build.vector(depth)
    default = build.one_of(*DEFAULTS)
    data = st.lists(element.data, min_size=default is None, max_size=4)
    elements = ar.Map(element.block)
    kind = build.one_of("alone", "value", "query", "weights")
    if kind == "alone":
        return Piece(elements >> ar.Attention(build.score(), default=default), data)
    if kind == "value":
        fc = build.layer("scores of attention", lambda: ar.FC(build.one_of(1, [])))
        score = ar.Function(ops.tanh) >> fc
        return Piece(elements >> ar.Attention(score, build.change(), default=default), data)
    if kind == "weights":
        both = elements >> ar.Attention(build.score(), default=default, need_weights=True)
        last = ar.GetItem(1) >> ar.Map(ar.Function(parts.spread)) >> ar.Sum()
        return Piece(both >> ar.Identity() * ar.Identity() >> (ar.GetItem(0) & last) >> build.join(2), data)
    query = build.vector(depth)
    beside = (ar.GetItem(0) >> elements & ar.GetItem(1) >> query.block >> ar.Broadcast()) >> ar.Zip()
    dot = ar.Function(parts.dot)
    pooled = beside >> ar.Attention(dot, ar.GetItem(0), default=default)
    return Piece(pooled, st.tuples(data, query.data))


@production
def typed_elements(build: Build, depth: int) -> Piece:
    """Elements of every type, reduced in every way, and made a vector at last."""
    dtype = build.one_of("int32", "float64", "int64", "uint8", "float32", "int8")
    floats = dtype.startswith("float")
    values: Any = numbers if floats else st.integers(0, 3)
    add = ar.Function(lambda a, b: a + b)
    zero = ar.Zeros(dtype)
    reduce = build.one_of(
        ar.Sum(),
        ar.Max(default=1),
        ar.Min(default=0),
        ar.Fold(add, zero),
        ar.Reduce(add, zero),
        ar.RNN(add, zero) >> ar.GetItem(1),
        ar.Scan(add >> (ar.Identity() & ar.Identity()), zero, reverse=True) >> ar.GetItem(0) >> ar.Sum(),
        *([ar.Mean(default=0.25)] if floats else []),
    )
    spaced = ar.Function(parts.spaced_numbers) if floats else ar.Identity()
    block = ar.Map(ar.Scalar(dtype)) >> spaced >> reduce >> ar.Function(parts.spread)
    return Piece(block, st.lists(values, max_size=5))
