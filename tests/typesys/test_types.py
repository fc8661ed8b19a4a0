"""The type language: equality, notation, short-hands, pickling."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arrows.typesys import ArrowTypeError, ArrowValueError, types as T
from arrows.typesys.unify import of_type, readable

LEAVES = st.sampled_from(
    [T.Input(), T.Void(), T.Tensor(()), T.Tensor((3,)), T.Tensor((2, 0), "int64"), T.Tensor((), "bool")]
)


def _tuples(items: st.SearchStrategy[T.Type]) -> st.SearchStrategy[T.Type]:
    plain = st.lists(items, max_size=3).map(T.Tuple)
    labelled = st.lists(items, max_size=3).map(lambda xs: T.Tuple(xs, tuple("abc"[: len(xs)])))
    return plain | labelled | items.map(T.Sequence) | items.map(T.Broadcast)


TYPES = st.recursive(LEAVES, _tuples, max_leaves=12)


def strip(t: T.Type) -> T.Type:
    if isinstance(t, T.Tuple):
        return T.Tuple([strip(x) for x in t.items])
    return type(t)(strip(t.element)) if isinstance(t, (T.Sequence, T.Broadcast)) else t


@given(TYPES, TYPES)
def test_equality_is_notation_without_labels(a: T.Type, b: T.Type) -> None:
    assert (a == b) == (str(strip(a)) == str(strip(b)))
    if a == b:
        assert hash(a) == hash(b)
    assert strip(a) == a and hash(strip(a)) == hash(a)


@given(TYPES)
def test_copies_are_equal_and_keep_labels(t: T.Type) -> None:
    for twin in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t), copy.copy(t)):
        assert twin == t and str(twin) == str(t)


@given(TYPES)
def test_what_passes_where_an_input_is_wanted(t: T.Type) -> None:
    def pure(t: T.Type) -> bool:
        if isinstance(t, (T.Tuple, T.Sequence)):
            return all(pure(c) for c in t.children)
        return isinstance(t, T.Input)

    assert readable(of_type(t)) == pure(t)


@given(TYPES)
def test_float_types(t: T.Type) -> None:
    u = T.with_float(t, "float64")
    assert [x.shape for x in T.leaves(u)] == [x.shape for x in T.leaves(t)]
    assert all(x.dtype != "float32" for x in T.leaves(u))
    assert T.with_float(u, "float32") == T.with_float(t, "float32")


@pytest.mark.parametrize(
    ("short", "text"),
    [
        ([3], "float32[3]"),
        ([], "float32"),
        ([3, "int32"], "int32[3]"),
        ([2, 3, np.float64], "float64[2, 3]"),
        ("int32", "int32"),
        (np.int64, "int64"),
        (np.dtype("float16"), "float16"),
        ((), "()"),
        (([3],), "(float32[3],)"),
        (([3], ("int32", [])), "(float32[3], (int32, float32))"),
        (T.Input(), "Input"),
        (T.Sequence(T.Void()), "Sequence(Void)"),
    ],
)
def test_short_hands(short: Any, text: str) -> None:
    assert str(T.as_type(short)) == text
    assert T.as_type(T.as_type(short)) == T.as_type(short)


BAD = [None, 3, {}, "float31", "str", [1.5], [True], ["int32", 3], object, str, ([3], None), [[3]], [None]]


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_what_is_no_type(bad: Any) -> None:
    with pytest.raises(ArrowTypeError):
        T.as_type(bad)


def test_bad_types() -> None:
    with pytest.raises(ArrowTypeError, match="item 1"):
        T.Tuple((T.Input(), 3))  # type: ignore[arg-type]
    with pytest.raises(ArrowTypeError, match="element"):
        T.Sequence(3)  # type: ignore[arg-type]
    with pytest.raises(ArrowValueError, match="negative"):
        T.Tensor((-1,))
    with pytest.raises(ArrowValueError, match="twice"):
        T.Tuple((T.Void(), T.Void()), ("a", "a"))
    with pytest.raises(ArrowValueError, match="labels"):
        T.Tuple((T.Void(),), ("a", "b"))


def test_types_are_immutable() -> None:
    for t in (T.Input(), T.Tensor((3,)), T.Tuple(()), T.Sequence(T.Void())):
        with pytest.raises(AttributeError):
            t.shape = (4,)  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            t.anything = 4  # type: ignore[attr-defined]


def test_sequences_and_broadcasts_differ() -> None:
    assert T.Sequence(T.Void()) != T.Broadcast(T.Void())
    assert not isinstance(T.Broadcast(T.Void()), T.Sequence)


def test_shared_parts_cost_nothing() -> None:
    a: T.Type = T.Tensor(())
    b: T.Type = T.Tensor(())
    for _ in range(200):  # 2**200 leaves
        a, b = T.Tuple((a, a)), T.Tuple((b, b))
    assert a == b and pickle.loads(pickle.dumps(a)) == a
    assert len(T.notation(a, 50)) < 1000
