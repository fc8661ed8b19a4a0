"""Wires refuse what they cannot do in words of their own, and answer those who only ask."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows import ops
from arrows.typesys import ArrowTypeError

USES = {
    "tanh": ops.tanh,
    "concat": lambda x: ops.concat([x, x]),
    "softmax": lambda x: ops.softmax(x, axis=0),
    "where": lambda x: ops.where(x, x, 0.0),
    "np.tanh": np.tanh,
    "np.ones * x": lambda x: np.ones(2) * x,
    "np.float32 + x": lambda x: np.float32(2) + x,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_computes_says_to_make_it_a_block(use: Any) -> None:
    def body(x: Any) -> Any:
        return use(x)

    with pytest.raises(
        ArrowTypeError, match=r"(?s)^cannot calculate with a wire at test_wires\.py:\d+\n.*Function"
    ):
        ar.arrow(body)


def test_attributes_are_asked_for_without_harm() -> None:
    seen = []

    @ar.arrow
    def body(x: Any) -> Any:
        seen.append((hasattr(x, "word"), hasattr(x, "__len__"), getattr(x, "rows", 3), callable(x)))
        with pytest.raises(AttributeError, match=r"x\['word'\]"):
            x.word
        copy.copy(x)
        with pytest.raises(AttributeError):
            ar.Wire.__new__(ar.Wire).key
        return x

    assert seen == [(False, False, 3, False)]
    pickle.dumps(body)


class Namesake:
    """Keys that print alike, and are equal only if their numbers are."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return "1"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Namesake) and other.number == self.number

    def __hash__(self) -> int:
        return 0


class Equal(Namesake):
    """Keys that all call themselves equal."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = Namesake.__hash__


class Word(str):
    __slots__ = ()


PLAIN = st.one_of(
    st.sampled_from([0, 1, True, False, 1.0, 0.0, -0.0, "1", "", b"1", None, (1,), ("1",)]),
    st.integers(-3, 3).map(np.int64),
    st.sampled_from(["1", "a"]).map(Word),
    st.lists(st.integers(0, 1), max_size=2),
    st.integers(0, 1).map(Namesake),
    st.integers(0, 1).map(Equal),
)
KEYS = st.one_of(PLAIN, st.builds(slice, PLAIN, PLAIN, PLAIN))


class Echo:
    """A container whose item is the key that it was asked for."""

    def __getitem__(self, key: object) -> list[object]:
        return [key]


def alike(a: Any, b: Any) -> bool:
    """Whether no container could tell the keys apart: one object, equal text or integers, slices of these."""
    if isinstance(a, slice) and isinstance(b, slice):
        return all(map(alike, (a.start, a.stop, a.step), (b.start, b.stop, b.step)))
    a, b = (int(x) if isinstance(x, np.integer) else x for x in (a, b))
    return a is b or (type(a) is type(b) and type(a) in (int, str) and bool(a == b))


@given(st.lists(KEYS, min_size=2, max_size=5))
def test_each_item_is_the_one_of_its_own_key(keys: list[Any]) -> None:
    @ar.arrow
    def items(x: Any) -> Any:
        return tuple(x[key] for key in keys)

    got = items.eval(Echo())
    assert all(alike(key, item[0]) for key, item in zip(keys, got, strict=True)), (keys, got)


READS = st.one_of(
    st.tuples(st.just(None), st.integers(0, 1)),
    st.integers(1, 3).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, min(n, 2) - 1))),
)


@given(st.lists(READS, min_size=1, max_size=4))
def test_unpack_checks_its_count_whatever_was_read_before(reads: list[tuple[int | None, int]]) -> None:
    @ar.arrow
    def body(pair: Any) -> Any:
        return tuple(pair[i] if n is None else ar.unpack(pair, n)[i] for n, i in reads)

    block = (ar.Scalar("int32") & ar.Constant(7, "int32")) >> body
    wrong = [n for n, _ in reads if n not in (None, 2)]
    if wrong:
        with pytest.raises(ArrowTypeError, match=r"(\d) items? (is|are) expected, and the tuple has 2"):
            ar.infer(block)
    else:
        assert [int(x) for x in block.eval(5)] == [(5, 7)[i] for _, i in reads]


@pytest.mark.parametrize(
    "pair", [[1, 2, 3], (1, 2, 3), range(1), np.arange(3), {0: 1, 1: 2, 2: 3}, "123"], ids=repr
)
@pytest.mark.parametrize(
    "block",
    [
        ar.arrow(lambda w: ar.Scalar()(ar.unpack(w, 2)[0])),
        ar.arrow(lambda x, _y: ar.Scalar()(x)),
        ar.Scalar() * ar.Scalar(),
    ],
    ids=["unpack", "parameters", "beside"],
)
def test_a_python_object_is_taken_apart_into_all_of_its_items(block: Any, pair: Any) -> None:
    for run in (block.eval, lambda x: ar.compile(block)([x])):
        with pytest.raises(ar.InputError, match=rf"expected 2 items to take apart, got {len(pair)}"):
            run(pair)


@pytest.mark.parametrize("key", [0, 1, -1, -2])
def test_an_integer_of_numpy_is_an_index(key: int) -> None:
    pair = ar.AllOf(ar.Scalar(), ar.Constant(7.0))
    for before in (pair, ar.Identity(), ar.Map(ar.Scalar())):
        x: Any = 5 if before is pair else [5, 7]
        for block in (ar.GetItem(np.int64(key)), ar.arrow(lambda w: w[np.int8(key)])):
            assert (before >> block).eval(x) == [5, 7][key]


def test_an_item_that_is_read_twice_is_one_wire() -> None:
    @ar.arrow
    def body(x: Any) -> Any:
        return x["a"], x["a"], x[1:], x[1:]

    assert len(body.parts) == 2
