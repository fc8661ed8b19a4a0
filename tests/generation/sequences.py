"""Productions over sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from tests.generation import parts
from tests.generation.between import lstm
from tests.generation.build import WIDTH, WORDS, Build, Piece, production, words


@production
def sequence(build: Build, depth: int) -> Piece:
    element = build.vector(depth)
    reduced = build.one_of("sum", "fold", "segments", "attention", "pairs")
    data = st.lists(element.data, max_size=4)
    block = ar.Map(element.block)
    if reduced == "sum":
        return Piece(block >> ar.Sum(), data)
    if reduced == "fold":
        return Piece(block >> ar.Fold(build.join(2), ar.Zeros([WIDTH])), data)
    if reduced == "segments":
        noise = [parts.noisy_rows] if build.noise else []
        function = build.one_of(parts.mean, parts.softmaxed, parts.counted, parts.numbered, *noise)
        return Piece(block >> ar.Function(function), data)
    if reduced == "pairs":
        both = ar.Map(element.block >> (ar.Identity() & build.change())) >> ar.Function(parts.pairs)
        return Piece(both, data)
    query = build.vector(depth)
    pair = ar.GetItem(0) >> block & ar.GetItem(1) >> query.block
    return Piece(pair >> ar.Function(parts.attend), st.tuples(data, query.data))


@production
def folded_input(build: Build, depth: int) -> Piece:
    """A fold over Python objects, which are read inside its step."""
    element, join = build.vector(depth), build.join(2)
    step = (ar.GetItem(0) & ar.GetItem(1) >> element.block) >> join
    data = st.lists(element.data, max_size=3)
    if build.one_of(False, True):
        first = build.vector(depth)
        both = ar.GetItem(0) & ar.GetItem(1) >> first.block
        return Piece(both >> ar.Fold(step, initial_state_from_input=True), st.tuples(data, first.data))
    return Piece(ar.Fold(step, ar.Zeros([WIDTH])), data)


@production
def recurrent(build: Build, depth: int) -> Piece:
    """Networks over sequences, from either end: of tensors, of Python objects, of sequences."""
    element = build.vector(depth)
    data = st.lists(element.data, max_size=4)
    elements = ar.Map(element.block)
    kind = build.one_of("rnn", "state", "both", "scan", "objects", "levels")
    reverse = build.one_of(False, True)
    if kind == "rnn":
        network = elements >> ar.RNN(lstm(build), reverse=reverse)
        return Piece(network >> reduced(build), data)
    if kind == "state":
        start = build.one_of(ar.Zeros([WIDTH]), ar.Constant(np.full(WIDTH, 0.5, "float32")))
        return Piece(elements >> ar.RNN(build.join(2), start, reverse=reverse) >> reduced(build), data)
    if kind == "both":
        network = elements >> ar.Bidirectional(lstm(build), lstm(build))
        last = ar.GetItem(1) >> ar.GetItem(1) >> ar.GetItem(1)
        both = (ar.GetItem(0) >> ar.Sum() & last) >> ar.Concat()
        return Piece(network >> both >> ar.Function(parts.first_and_last), data)
    if kind == "levels":
        inner = elements >> ar.RNN(lstm(build), reverse=reverse) >> ar.GetItem(1) >> ar.GetItem(0)
        network = ar.Map(inner) >> ar.RNN(lstm(build)) >> reduced(build)
        return Piece(network, st.lists(data, max_size=3))
    join, change, changes = build.join(2), build.change(), build.one_of(False, True)

    @ar.arrow
    def step(x: Any, state: Any) -> Any:
        read = x if kind == "scan" else element.block(x)
        return (change(state) if changes else state), join(read, state)

    scan = ar.Scan(step, ar.Zeros([WIDTH]), reverse=reverse)
    return Piece((elements if kind == "scan" else ar.Identity()) >> scan >> reduced(build), data)


@production
def started(build: Build, depth: int) -> Piece:
    """Networks whose first state is read."""
    element, first = build.vector(depth), build.vector(depth)
    data = st.tuples(st.lists(element.data, max_size=4), first.data)
    kind = build.one_of("state", "cell", "scan", "objects")
    reverse = build.one_of(False, True)
    elements = ar.GetItem(0) >> (ar.Identity() if kind == "objects" else ar.Map(element.block))
    start = ar.GetItem(1) >> first.block
    if kind == "cell":
        start = start >> (ar.Identity() & build.change())
        network = ar.RNN(lstm(build), initial_state_from_input=True, reverse=reverse)
        return Piece((elements & start) >> network >> reduced(build), data)
    join, change = build.join(2), build.change()
    if kind == "state":
        network = ar.RNN(join, initial_state_from_input=True, reverse=reverse)
        return Piece((elements & start) >> network >> reduced(build), data)

    @ar.arrow
    def step(x: Any, state: Any) -> Any:
        return change(state), join(x if kind == "scan" else element.block(x), state)

    scan = ar.Scan(step, initial_state_from_input=True, reverse=reverse)
    return Piece((elements & start) >> scan >> reduced(build), data)


@production
def woven(build: Build, depth: int) -> Piece:
    """Sequences of sequences, each inner one with what belongs to it, as in the weave module."""
    inner, own = build.vector(depth), build.vector(depth)
    join, change = build.join(2), build.change()
    data = st.tuples(st.lists(st.lists(inner.data, max_size=3), max_size=3), st.lists(own.data, max_size=3))
    sequences = ar.GetItem(0) >> ar.Map(ar.Map(inner.block))
    owned = ar.GetItem(1) >> ar.Map(own.block)
    with_own = (ar.GetItem(0) & ar.GetItem(1) >> ar.Broadcast()) >> ar.ZipWith(join)
    kind = build.one_of("sum", "fold", "outputs")
    if kind == "sum":
        last: Any = with_own >> ar.Sum()
    elif kind == "fold":
        last = with_own >> ar.Fold(build.join(2), ar.Zeros([WIDTH]))
    else:
        last = with_own >> ar.Map(change) >> ar.RNN(lstm(build)) >> ar.GetItem(0) >> ar.Sum()
    return Piece((sequences & owned) >> ar.ZipWith(last, strict=False) >> ar.Sum(), data)


@production
def attended(build: Build, depth: int) -> Piece:
    """Attention within a sequence; of several sequences, each within itself."""
    element = build.vector(depth)
    data = st.lists(element.data, max_size=4)
    block = ar.Map(element.block) >> heads(build)
    if build.one_of(False, True):
        block = block >> heads(build)
    last = build.one_of(ar.Sum(), ar.Fold(build.join(2), ar.Zeros([WIDTH])), ar.Reverse() >> ar.Sum())
    if build.one_of(True, False):
        return Piece(block >> last, data)
    return Piece(ar.Map(block >> last) >> heads(build) >> ar.Sum(), st.lists(data, max_size=3))


@production
def placed(build: Build, depth: int) -> Piece:
    """Elements at other places: shifted ones, windows, convolutions, and one at a computed place."""
    element = build.vector(depth)
    data = st.lists(element.data, max_size=4)
    block = ar.Map(element.block)
    kind = build.one_of("shift", "window", "convolution", "place")
    if kind == "place":
        dtype = build.one_of("int32", "int64")
        at = ar.Function(lambda x: ar.ops.cast(ar.ops.argmax(x), dtype))
        where = build.vector(depth)
        pair = ar.GetItem(0) >> block & ar.GetItem(1) >> where.block >> at
        return Piece(pair >> ar.At(default=build.one_of(0, 0.25)), st.tuples(data, where.data))
    if kind == "shift":
        moved = ar.Shift(build.one_of(1, -1, 2), default=build.one_of(None, 0.5))
        return Piece(block >> (ar.Identity() & moved) >> ar.ZipWith(build.join(2)) >> ar.Sum(), data)
    padding, stride = build.one_of("same", "valid", "causal", 1), build.one_of(1, 2)
    if kind == "window":
        windows = ar.Window(3, padding=padding, stride=stride, dilation=build.one_of(1, 2))
        return Piece(block >> windows >> ar.Map(ar.Function(lambda x: x.mean(axis=0))) >> ar.Sum(), data)
    key = ("convolution", padding, stride)
    filters = build.layer(key, lambda: ar.Conv1d(WIDTH, 3, stride=stride, padding=padding))
    return Piece(block >> filters >> ar.Sum(), data)


@production
def crossed(build: Build, depth: int) -> Piece:
    """Each element of a sequence with all elements of another, a Broadcast of which stands beside it."""
    other = build.vector(depth)
    all_of, memory = st.lists(other.data, max_size=3), ar.GetItem(1) >> ar.Map(other.block)
    kind = build.one_of("attention", "heads", "places")
    if kind == "places":
        places = st.lists(st.lists(st.integers(-1, 3), max_size=3), max_size=3)
        wanted = ar.GetItem(0) >> ar.Map(ar.Map(ar.Scalar("int32")))
        at = ar.At(default=build.one_of(0, 0.25))
        each_place = (ar.GetItem(1) >> ar.Broadcast() & ar.GetItem(0)) >> ar.ZipWith(at)
        last = each_place >> build.one_of(ar.Sum(), heads(build) >> ar.Sum())
        pair = (wanted & memory >> ar.Broadcast()) >> ar.ZipWith(last)
        return Piece(pair >> ar.Sum(), st.tuples(places, all_of))
    one = build.vector(depth)
    each, first = st.lists(one.data, max_size=3), ar.GetItem(0) >> ar.Map(one.block)
    if kind == "heads":
        last = ar.Function(parts.headed)
    else:
        beside = (ar.GetItem(1) & ar.GetItem(0) >> ar.Broadcast()) >> ar.Zip()
        last = beside >> ar.Attention(ar.Function(parts.dot), ar.GetItem(0), default=0.0)
    pair = (first & memory >> ar.Broadcast()) >> ar.ZipWith(last)
    return Piece(pair >> build.one_of(ar.Sum(), heads(build) >> ar.Sum()), st.tuples(each, all_of))


@production
def relocated(build: Build, depth: int) -> Piece:
    """Integers, numbers and matrices of a sequence at other places, before a layer reads them."""
    kind = build.one_of("integers", "pairs", "numbers", "matrices", "one integer")
    if kind in ("integers", "pairs", "one integer"):
        dtype, data = build.one_of("int32", "int64"), st.lists(words, max_size=4)
        table = build.layer("embedding", lambda: ar.Embedding(WORDS, WIDTH))
        read = ar.Map(ar.Scalar(dtype))
        if kind == "integers":
            moved = ar.Shift(build.one_of(1, -1), default=build.one_of(None, WORDS - 1))
            return Piece(
                read >> moved >> ar.Map(table) >> build.one_of(heads(build) >> ar.Sum(), ar.Sum()), data
            )
        if kind == "pairs":
            two = ar.Window(2, padding=build.one_of("causal", "valid", "same"))
            return Piece(read >> two >> ar.Map(table >> ar.Function(parts.means)) >> ar.Sum(), data)
        pair = ar.GetItem("of") >> read & ar.GetItem("at") >> ar.Scalar(dtype)
        inside = st.lists(words, min_size=1, max_size=4).flatmap(
            lambda xs: st.integers(0, len(xs) - 1).map(lambda at: {"of": xs, "at": at})
        )
        return Piece(pair >> ar.At() >> table, inside)
    element = build.vector(depth)
    data = st.lists(element.data, max_size=4)
    if kind == "numbers":
        windows = ar.Window(WIDTH, padding="same", default=build.one_of(None, 0.5))
        scored = ar.Map(element.block >> build.score()) >> windows
        return Piece(scored >> ar.Map(build.change()) >> ar.Sum(), data)
    square = ar.Map(element.block >> ar.Function(lambda x: ar.ops.outer(x, ar.ops.tanh(x))))
    moved = build.one_of(ar.Shift(-1, default=0.25), ar.Shift(1)) >> ar.Map(ar.Function(parts.multiplied))
    return Piece(square >> moved >> ar.Sum(), data)


def heads(build: Build, causal: bool | None = None) -> Any:
    """A layer from a sequence of vectors to such a sequence."""
    causal = build.one_of(False, True) if causal is None else causal
    bias, count = build.one_of(True, False), build.one_of(1, WIDTH)
    key = ("heads", causal, bias, count)
    return build.layer(key, lambda: ar.MultiHeadAttention(count, causal=causal, bias=bias))


def reduced(build: Build) -> Any:
    """A block from the outputs and the last state of a network to a vector."""
    kind = build.one_of("outputs", "state", "reversed")
    outputs = ar.GetItem(0)
    if kind == "outputs":
        return outputs >> ar.Sum()
    if kind == "reversed":
        return outputs >> ar.Reverse() >> ar.Fold(build.join(2), ar.Zeros([WIDTH]))
    # the state is (h, c), or h alone
    pair = ar.GetItem(1) & outputs >> ar.Sum()
    return pair >> ar.Concat(flatten=True) >> ar.Function(parts.first_and_last)


@production
def gated(build: Build, depth: int) -> Piece:
    """Cells of a recurrent network."""
    element = build.vector(depth)
    data = st.lists(element.data, max_size=4)
    if build.one_of("gru", "lstm") == "gru":
        dropout, after = build.one_of(0.0, build.dropout), build.one_of(False, True)
        cell = build.layer(
            ("gru", after, dropout), lambda: ar.GRUCell(WIDTH, reset_after=after, dropout=dropout)
        )
        return Piece(ar.Map(element.block) >> ar.RNN(cell) >> ar.GetItem(1), data)
    cell = lstm(build)
    if build.one_of(False, True):
        gru = build.layer("upper", lambda: ar.GRUCell(WIDTH))
        cell = build.layer("stack", lambda: ar.Stacked(cell, gru))
    # a Fold hands (state, element), a cell takes (x, state)
    step = (ar.GetItem(1) & ar.GetItem(0)) >> cell
    return Piece(ar.Map(element.block) >> ar.Fold(step, ar.Zeros(cell.state)) >> ar.GetItem(0), data)


@production
def zipped(build: Build, depth: int) -> Piece:
    """Sequences side by side, of one length or as long as the shortest."""
    a, b, join = build.vector(depth), build.vector(depth), build.join(2)
    strict = build.one_of(True, False)
    if strict:
        data: Any = st.lists(st.tuples(a.data, b.data), max_size=3).map(_columns)
    else:
        data = st.tuples(st.lists(a.data, max_size=3), st.lists(b.data, max_size=3))
    read = ar.GetItem(0) >> ar.Map(a.block) & ar.GetItem(1) >> ar.Map(b.block)
    kind = build.one_of("tensors", "objects", "mixed", "columns")
    if kind == "tensors":
        return Piece(read >> ar.ZipWith(join, strict=strict) >> ar.Sum(), data)
    pair = (ar.GetItem(0) >> a.block & ar.GetItem(1) >> b.block) >> join
    if kind == "columns":
        return Piece(ar.Zip(strict=strict) >> ar.Map(pair) >> ar.Sum(), data)
    if kind == "objects":
        return Piece((ar.GetItem(0) & ar.GetItem(1)) >> ar.ZipWith(pair, strict=strict) >> ar.Sum(), data)
    mixed = (ar.GetItem(0) & ar.GetItem(1) >> ar.Map(b.block)) >> ar.Zip(strict=strict)
    return Piece(mixed >> ar.Map((ar.GetItem(0) >> a.block & ar.GetItem(1)) >> join) >> ar.Sum(), data)


def _columns(rows: list[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    return [row[0] for row in rows], [row[1] for row in rows]
