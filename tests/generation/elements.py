"""Productions over parts of sequences, over what belongs to all elements, and over other element types."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import arrows as ar
from tests.generation import parts
from tests.generation.build import Build, Piece, anything, production


@production
def broadcast(build: Build, depth: int) -> Piece:
    """One value beside every element: a tensor, or an object that is read at every element anew."""
    element, one, join = build.vector(depth), build.vector(depth), build.join(2)
    data = st.tuples(st.lists(element.data, max_size=4), one.data)
    elements = ar.GetItem(0) >> ar.Map(element.block)
    if build.one_of("tensor", "object") == "tensor":
        rest = ar.GetItem(1) >> one.block >> ar.Broadcast() >> ar.Map(build.change())
        return Piece((elements & rest) >> ar.ZipWith(join) >> ar.Sum(), data)
    pair = (ar.GetItem(0) & ar.GetItem(1) >> one.block) >> join
    rest = ar.GetItem(1) >> ar.Broadcast()
    return Piece((elements & rest) >> ar.ZipWith(pair) >> ar.Sum(), data)


@production
def sliced(build: Build, depth: int) -> Piece:
    """Part of a sequence of tensors, of a Python list, of a tuple."""
    element = build.vector(depth)
    places = (None, 0, 1, -1, 2, -3)
    part = ar.Slice(
        start=build.one_of(*places), stop=build.one_of(*places), step=build.one_of(None, 1, -1, 2, -2)
    )
    kind = build.one_of("tensors", "objects", "tuple")
    if kind == "tuple":
        part = ar.Slice(start=build.one_of(None, 1), step=build.one_of(None, -1))
        three = ar.AllOf(*[ar.GetItem(i) >> element.block for i in range(3)])
        data = st.lists(element.data, min_size=3, max_size=3)
        return Piece(three >> part >> ar.Sum(), data)
    block = ar.Map(element.block) >> part if kind == "tensors" else part >> ar.Map(element.block)
    return Piece(block >> ar.Sum(), st.lists(element.data, max_size=5))


@production
def neighbours(build: Build, depth: int) -> Piece:
    """Runs of elements that stand side by side."""
    element, n = build.vector(depth), build.one_of(2, 1, 3)
    join, data = build.join(n), st.lists(element.data, max_size=5)
    if build.one_of("tensors", "objects") == "tensors":
        runs = ar.Map(element.block) >> ar.NGrams(n) >> ar.Map(join)
        return Piece(runs >> ar.Sum(), data)
    run = ar.AllOf(*[ar.GetItem(i) >> element.block for i in range(n)]) >> join
    return Piece(ar.NGrams(n) >> ar.Map(run) >> ar.Sum(), data)


@production
def nth(build: Build, depth: int) -> Piece:
    """The element at a place that the data says."""
    element = build.vector(depth)
    kind = build.one_of("tensors", "objects", "tuple")

    def placed(elements: list[Any]) -> Any:
        places = st.integers(-len(elements), len(elements) - 1)
        return places.map(lambda place: {"of": elements, "at": place})

    length = {"min_size": 3 if kind == "tuple" else 1, "max_size": 3 if kind == "tuple" else 4}
    data = st.lists(element.data, **length).flatmap(placed)
    if kind == "objects":
        return Piece((ar.GetItem("of") & ar.GetItem("at")) >> ar.Nth() >> element.block, data)
    of: Any = ar.Map(element.block)
    if kind == "tuple":
        of = ar.AllOf(*[ar.GetItem(i) >> element.block for i in range(3)])
    return Piece((ar.GetItem("of") >> of & ar.GetItem("at")) >> ar.Nth(), data)


@production
def counted(build: Build, depth: int) -> Piece:
    """The length of a sequence of tensors, of Python objects, of a tuple, as a number."""
    dtype = build.one_of("int32", "float32", "int64")
    kind = build.one_of("objects", "tensors", "tuple")
    last = ar.Length(dtype) >> ar.Function(parts.spread)
    if kind == "objects":
        return Piece(last, st.lists(anything, max_size=4) | st.text(max_size=3))
    element = build.vector(depth)
    if kind == "tuple":
        return Piece(ar.AllOf(element.block, element.block) >> last, element.data)
    return Piece(ar.Map(element.block) >> last, st.lists(element.data, max_size=4))
