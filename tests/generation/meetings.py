"""Productions in which tuples with keys meet: in a choice, a recursion, the state of a fold, as elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.build import WIDTH, Build, Data, Piece, production

Keys = tuple[Any, ...] | None

SAME: tuple[tuple[Keys, Keys], ...] = (
    (("a", "b"), ("a", "b")),
    ((0, 1), (0, 1)),
    ((5, 1), (5, 1)),
    (None, None),
)
"""The keys of two tuples that meet, where they are the same."""

DIFFERENT: tuple[tuple[Keys, Keys], ...] = (
    (("a", "b"), ("b", "a")),
    (("a", "b"), ("a", "c")),
    (("a", "b"), None),
    (None, ("a", "b")),
    ((0, 1), (5, 6)),
    ((5, 6), None),
    ((5, 6), (7, 8)),
    (("a", 2), ("a", 1)),
)

MEETINGS = ("choice", "optional", "recursion", "fold", "scan", "elements", "reduced", "inside", "copied")


def as_number(x: Any) -> Any:
    """One integer of a vector."""
    return ops.cast(ops.sum(ops.tanh(x)) * 2.0, "int32")


def doubled(x: Any) -> Any:
    return x * 2.0 - 0.5


def with_number(x: Any, n: Any) -> Any:
    return ops.tanh(x + ops.cast(n, "float32") * 0.125)


def with_vector(x: Any, y: Any) -> Any:
    return ops.tanh(x - y * 0.25)


class Meeting:
    """Two ways to make a pair with keys of a vector, and what takes its items where both meet.

    Attributes:
        sides: blocks from a vector to a pair; the keys of the pairs may differ.
        whole: from what both give to a vector.
    """

    def __init__(self, build: Build, keys: tuple[Keys, Keys]) -> None:
        self.build, self.keys = build, keys
        self.other = build.one_of(as_number, doubled)
        self.sides = tuple(self._side(each) for each in keys)
        self.whole = self._whole()

    def _side(self, keys: Keys) -> Any:
        first, second = ar.Function(parts.bell), ar.Function(self.other)
        kind = self.build.one_of("arrow", "function", "record")
        if kind == "function":
            if keys is None:
                return ar.Function(lambda x: (parts.bell(x), self.other(x)))
            return ar.Function(lambda x: dict(zip(keys, (parts.bell(x), self.other(x)), strict=True)))
        if keys is None:
            return first & second
        if kind == "record":  # a Record reads these keys: so it stands on a tuple that has them
            pair = ar.arrow(lambda x: dict(zip(keys, (first(x), second(x)), strict=True)))
            return pair >> ar.Record({key: ar.Identity() for key in keys})
        return ar.arrow(lambda x: dict(zip(keys, (first(x), second(x)), strict=True)))

    def take(self, place: int) -> Any:
        """A block from the pair, whichever side made it, to one of its items."""
        mine, other = self.keys
        ways = [
            ar.arrow([lambda x, _y: x, lambda _x, y: y][place]),
            ar.GetItem(slice(place, place + 1)) >> ar.arrow(lambda pair: ar.unpack(pair, 1)[0]),
        ]
        if mine == other and mine is not None:
            ways.append(ar.GetItem(mine[place]))
        for position in (place, place - 2):
            if all(k is None or position not in k or k.index(position) == place for k in self.keys):
                ways.append(ar.GetItem(position))
        return self.build.one_of(*ways)

    def _whole(self) -> Any:
        function = with_number if self.other is as_number else with_vector
        return (self.take(0) & self.take(1)) >> ar.Function(function)


def meeting(build: Build, piece: Piece, kind: str, met: Meeting) -> tuple[Any, Data]:
    """A block that gives the pair of either side, and the objects that it reads."""
    one, two = met.sides
    f = piece.block
    if kind == "choice":
        cases = {0: f >> one, 1: f >> two}
        data = st.fixed_dictionaries({"kind": st.sampled_from([0, 1]), "of": piece.data})
        return ar.OneOf(lambda x: x["kind"], {k: ar.GetItem("of") >> case for k, case in cases.items()}), data
    if kind == "optional":
        none = build.one_of(ar.Zeros([WIDTH]) >> two, *([None] if met.keys[0] == met.keys[1] else []))
        return ar.Optional(ar.GetItem(0) >> f >> one, none), st.none() | st.tuples(piece.data)
    if kind == "recursion":

        def chain(me: Any) -> Any:
            rest = ar.GetItem("next") >> me >> met.whole
            deeper = (ar.GetItem("x") >> f & rest) >> ar.Function(parts.product) >> two
            cases = [(True, ar.GetItem("x") >> f >> one), (False, deeper)]
            return ar.OneOf(parts.ends, cases if build.one_of(True, False) else cases[::-1])

        return ar.fix(chain), st.lists(piece.data, min_size=1, max_size=3).map(parts.linked)
    many = st.lists(piece.data, max_size=3)
    state = ar.GetItem(0) >> met.whole
    step = (state & ar.GetItem(1)) >> ar.Function(parts.product)
    if kind == "fold":
        return ar.Map(f) >> ar.Fold(step >> two, ar.Zeros([WIDTH]) >> one), many
    if kind == "scan":
        swapped = (ar.GetItem(1) & ar.GetItem(0)) >> step
        network = ar.Scan(swapped & swapped >> two, ar.Zeros([WIDTH]) >> one)
        return ar.Map(f) >> network >> ar.GetItem(1), many
    if kind == "reduced":
        pair = (ar.GetItem(0) >> met.whole & ar.GetItem(1) >> met.whole) >> ar.Function(parts.product)
        return ar.Map(f >> one) >> ar.Reduce(pair >> two, ar.Zeros([WIDTH]) >> one), many
    if kind == "elements":
        both = f >> ar.AllOf(one, two)
        sides = both >> ar.Map(build.one_of(ar.Identity(), ar.Pipe(ar.Identity(), ar.Identity())))
        return sides >> ar.Fold(ar.GetItem(1), ar.Zeros([WIDTH]) >> two), piece.data
    if kind == "inside":
        first, data = meeting(build, piece, "choice", met)
        return ar.AllOf(first) >> ar.GetItem(0), data
    # The pair goes on in a tuple, whose parts are all known when it meets another.
    cases = {0: (f >> one) & ar.Zeros([]), 1: (f >> two) & ar.Zeros([])}
    block = ar.OneOf(lambda x: x["kind"], {k: ar.GetItem("of") >> case for k, case in cases.items()})
    data = st.fixed_dictionaries({"kind": st.sampled_from([0, 1]), "of": piece.data})
    return block >> ar.GetItem(0), data


def keys_that_meet(build: Build) -> tuple[Keys, Keys]:
    """The keys of two tuples: the same, permuted, partly others, numbers."""
    return build.one_of(*SAME, *DIFFERENT)  # type: ignore[no-any-return]


@production
def records_that_meet(build: Build, depth: int) -> Piece:
    """Pairs meet whose keys are the same or not; items are taken behind, by what means the same on both."""
    met = Meeting(build, keys_that_meet(build))
    block, data = meeting(build, build.vector(depth), build.one_of(*MEETINGS), met)
    return Piece(block >> met.whole, data)


@production
def records_that_become_objects(build: Build, depth: int) -> Piece:
    """A record of raw objects goes where one object is wanted, which has its items by position alone."""
    first, second = build.vector(depth), build.vector(depth)
    keys = build.one_of(("a", "b"), ("b", "a"), (0, 1), (-2, 5), (np.int64(5), np.int64(1)), ("a", 1.0))
    record = ar.Record({key: ar.Identity() for key in keys})
    again = ar.InputTransform(lambda x: [x[key] for key in keys])
    whole = build.one_of(
        record >> ar.InputTransform(parts.itself),
        ar.OneOf(lambda x: len(x) > 2, {True: again, False: record >> ar.Input(tuple)}),
        ar.OneOf(lambda x: len(x) > 2, {True: record, False: ar.AllOf(*map(ar.GetItem, keys))}),
        ar.AllOf(record) >> ar.Map(ar.InputTransform(parts.itself)) >> ar.GetItem(0),
    )
    one, two = first.block, second.block
    apart = build.one_of(
        ar.Record((one, two)),
        ar.arrow(lambda x, y: (one(x), two(y))),
        ar.GetItem(-2) >> one & ar.GetItem(np.int64(1)) >> two,
    )
    data = st.fixed_dictionaries(dict(zip(keys, (first.data, second.data), strict=True)))
    more = data.map(lambda x: {**x, "more": None})
    return Piece(whole >> apart >> ar.Function(parts.product), data | more)


@production
def records_that_are_read_before(build: Build, depth: int) -> Piece:
    """Items are taken by key before pairs meet whose keys differ; then only a position tells them."""
    met = Meeting(build, build.one_of(*DIFFERENT))
    piece = build.vector(depth)

    def read(side: Any, keys: Keys) -> Any:
        known = met.take(0) if keys is None else ar.GetItem(keys[0])
        again = (side >> known & ar.Identity()) >> ar.Function(parts.largest)
        return again >> side

    met.sides = tuple(read(side, keys) for side, keys in zip(met.sides, met.keys, strict=True))
    block, data = meeting(build, piece, build.one_of(*MEETINGS), met)
    return Piece(block >> met.whole, data)
