"""Results of every type: what a whole block may give, beyond a vector."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation import meetings, parts
from tests.generation.between import lstm
from tests.generation.build import Build, Piece, words

Result = Callable[[Build, int], Piece]

RESULTS: dict[str, Result] = {}
"""Results that are no loss by themselves; `vector` comes first."""


def result(function: Result) -> Result:
    """Adds a kind of result."""
    RESULTS[function.__name__] = function
    return function


@result
def vector(build: Build, depth: int) -> Piece:
    return build.vector(depth)


@result
def tuples(build: Build, depth: int) -> Piece:
    first = any_result(build, depth - 1)
    second = build.vector(depth - 1)
    block = ar.GetItem(0) >> first.block & ar.GetItem(1) >> second.block & ar.Void()
    return Piece(block, st.tuples(first.data, second.data))


@result
def records(build: Build, depth: int) -> Piece:
    a, b = build.vector(depth - 1), build.vector(depth - 1)
    record = ar.Record({"a": a.block, "z": ar.Zeros(([2], "int32")), "b": b.block})
    return Piece(record, st.fixed_dictionaries({"a": a.data, "b": b.data}))


@result
def sequences(build: Build, depth: int) -> Piece:
    element = build.vector(depth - 1)
    return Piece(ar.Map(element.block), st.lists(element.data, max_size=3))


@result
def ragged(build: Build, depth: int) -> Piece:
    element = build.vector(depth - 1)
    function = build.one_of(parts.scaled, ops.segment_softmax, parts.centred)
    return Piece(ar.Map(element.block) >> ar.Function(function), st.lists(element.data, max_size=3))


@result
def nested(build: Build, depth: int) -> Piece:
    element = any_result(build, depth - 1)
    return Piece(ar.Map(element.block), st.lists(element.data, max_size=2))


@result
def runs(build: Build, depth: int) -> Piece:
    """A sequence of tuples."""
    element = build.vector(depth - 1)
    return Piece(ar.Map(element.block) >> ar.NGrams(2), st.lists(element.data, max_size=4))


@result
def grouped(build: Build, depth: int) -> Piece:
    """Sequences of records with sequences inside: ragged at two levels."""
    element = build.vector(depth - 1)
    record = ar.Map(element.block) >> (ar.Identity() & ar.Sum() & ar.Length("int64") & ar.Void())
    data = st.lists(st.lists(element.data, max_size=3), max_size=3)
    return Piece(build.one_of(ar.Map(record), ar.Map(record) >> ar.Reverse()), data)


@result
def outputs(build: Build, depth: int) -> Piece:
    """All that a network gives."""
    element = build.vector(depth - 1)
    network = ar.Map(element.block) >> ar.RNN(lstm(build), reverse=build.one_of(False, True))
    return Piece(network, st.lists(element.data, max_size=3))


@result
def numbers(build: Build, depth: int) -> Piece:
    """Numbers of every type."""
    dtype = build.one_of("float64", "int8", "uint16", "bool", "float32", "int64")
    value = st.booleans() if dtype == "bool" else st.integers(0, 100)
    return Piece(ar.Map(ar.Tensor([2], dtype)), st.lists(st.tuples(value, value), max_size=3))


@result
def index(build: Build, depth: int) -> Piece:
    return Piece(ar.Scalar(build.one_of("int32", "int64", "uint8")), words)


@result
def met(build: Build, depth: int) -> Piece:
    """A pair with keys, or without where two with other keys meet: as it is, or inside of something."""
    both = meetings.Meeting(build, meetings.keys_that_meet(build))
    kind = build.one_of(*meetings.MEETINGS)
    block, data = meetings.meeting(build, build.vector(depth - 1), kind, both)
    place = build.one_of("alone", "sliced", "beside", "sequence", "tap")
    if place == "sliced":
        return Piece(
            block >> ar.GetItem(build.one_of(slice(None), slice(1, None), slice(None, None, -1))), data
        )
    if place == "beside":
        return Piece(block & block >> both.whole, data)
    if place == "sequence":
        return Piece(ar.Map(block), st.lists(data, max_size=2))
    if place == "tap" and build.effects:
        return Piece(block >> ar.Tap(f"{both.other.__name__} of {both.keys}"), data)
    return Piece(block, data)


def any_result(build: Build, depth: int) -> Piece:
    """A piece of any result type."""
    kinds = [*RESULTS] if depth > 0 else ["vector"]
    return RESULTS[build.one_of(*kinds)](build, depth)
