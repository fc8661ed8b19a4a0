"""Productions that read an object, or ignore it."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

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
    leaf,
    numbers,
    production,
    vectors,
    words,
)


@leaf
def read(build: Build, depth: int) -> Piece:
    return Piece(ar.Vector(WIDTH, name=build.name("vector")), vectors)


@leaf
def scalar(build: Build, depth: int) -> Piece:
    weights = np.linspace(-1, 1, WIDTH, dtype="float32")
    return Piece(ar.Scalar(name=build.name("scalar")) >> ar.Function(lambda x: x * weights), numbers)


@leaf
def embedded(build: Build, depth: int) -> Piece:
    dtype = build.one_of("int32", "int64")
    table = build.layer("embedding", lambda: ar.Embedding(WORDS, WIDTH))
    if build.one_of("one", "two") == "one":
        return Piece(ar.Scalar(dtype) >> table, words)
    two = st.lists(words, min_size=2, max_size=2)
    return Piece(ar.Vector(2, dtype) >> table >> ar.Function(parts.means), two)


@leaf
def one_hot(build: Build, depth: int) -> Piece:
    """A unit vector, of an integer or of one of some things."""
    kind = build.one_of("first", "range", "list", "others")
    dtype = build.one_of("float32", "int32", "float64")
    if kind == "first":
        block: Any = ar.OneHot(WIDTH, dtype=dtype)
        data: Any = st.integers(0, WIDTH - 1)
    elif kind == "range":
        block, data = ar.OneHot(-1, WIDTH - 1, dtype), st.integers(-1, WIDTH - 2)
    else:
        block = ar.OneHotFromList(["noun", ("a", "pair"), None], dtype, strict=kind == "list")
        data = st.sampled_from(["noun", ("a", "pair"), None, *(["verb"] if kind == "others" else [])])
    return Piece(block >> ar.Function(parts.to_float), data)


@leaf
def constant(build: Build, depth: int) -> Piece:
    value = ar.Constant(np.linspace(0, 1, WIDTH, dtype="float32"))
    trained = build.layer("constant", lambda: ar.Constant([0.5, -0.25, 1.0], trainable=True))
    number = build.layer("number", lambda: ar.Constant(0.75, trainable=True)) >> ar.Function(parts.spread)
    return Piece(build.one_of(ar.Zeros([WIDTH]), value, trained, number), anything)


@dataclass
class Fields:
    """An object whose field holds what is read."""

    of: Any


class Named(NamedTuple):
    """A tuple whose items have names."""

    before: Any
    of: Any


@production
def fields(build: Build, depth: int) -> Piece:
    """Records over dataclasses, NamedTuples and dicts, beside constants."""
    piece, join = build.vector(depth), build.join(2)
    kind = build.one_of("dict", "dataclass", "named", "object")
    made = {
        "dict": lambda x: {"of": x},
        "dataclass": Fields,
        "named": lambda x: Named(None, x),
        "object": lambda x: SimpleNamespace(of=x),
    }[kind]
    data = piece.data.map(made)
    use = build.one_of("record", "field", "input")
    if use == "field":
        return Piece(ar.GetItem("of") >> piece.block, data)
    if use == "input":
        classes = {"dict": dict, "dataclass": Fields, "named": Named, "object": None}
        known = ar.Input(classes[kind])
        field = known.get(lambda x: x["of"] if kind == "dict" else x.of)
        return Piece(known >> field >> piece.block, data)
    constant = build.one_of(ar.Zeros([WIDTH]), ar.Constant([0.5, 1.0, -1.0]))
    return Piece(ar.Record({"of": piece.block, "fixed": constant}) >> join, data)


@production
def converted(build: Build, depth: int) -> Piece:
    """Other element types and shapes, on their way to a vector of float32."""
    kind = build.one_of("float64", "bool", "uint8", "matrix", "empty")
    if kind == "matrix":
        rows = st.lists(st.lists(numbers, min_size=WIDTH, max_size=WIDTH), min_size=2, max_size=2)
        return Piece(ar.Tensor([2, WIDTH]) >> ar.Function(parts.means), rows)
    if kind == "empty":
        block = ar.Record({"none": ar.Vector(0), "some": ar.Vector(WIDTH)}) >> ar.Concat()
        return Piece(block, st.fixed_dictionaries({"none": st.just([]), "some": vectors}))
    values = {"float64": st.floats(-2, 2), "bool": st.booleans(), "uint8": st.integers(0, 3)}[kind]
    data = st.lists(values, min_size=WIDTH, max_size=WIDTH)
    return Piece(ar.Vector(WIDTH, kind) >> ar.Function(parts.to_float), data)


@production
def transformed(build: Build, depth: int) -> Piece:
    piece = build.vector(depth)
    second = parts.watched(lambda x: x[1])
    return Piece(ar.InputTransform(second) >> piece.block, st.tuples(anything, piece.data))
