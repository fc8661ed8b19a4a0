"""Types from text: printed types are read back, and text that is not a type is refused with a reason."""

from __future__ import annotations

import contextlib
import string

import pytest
from hypothesis import given, strategies as st

from arrows.typesys import ArrowTypeError, types as T
from arrows.typesys.parse import parse_type

SHAPES = st.lists(st.integers(0, 300), max_size=3).map(tuple)
LEAVES = st.one_of(
    st.just(T.Input()), st.just(T.Void()), st.builds(T.Tensor, SHAPES, st.sampled_from(sorted(T.DTYPES)))
)
TYPES = st.recursive(
    LEAVES,
    lambda items: st.one_of(
        st.lists(items, max_size=3).map(T.Tuple),
        items.map(T.Sequence),
        items.map(T.Broadcast),
    ),
    max_leaves=12,
)


@given(TYPES)
def test_what_is_printed_is_read_back(t):
    read = parse_type(str(t))
    assert read == t
    assert str(read) == str(t)


@given(TYPES)
def test_blanks_do_not_matter(t):
    text = str(t)
    for mark in ",()[]":
        text = text.replace(mark, f" {mark}\n")
    assert parse_type(f"  {text} ") == t


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("float32[300]", T.Tensor((300,))),
        ("[3]", T.Tensor((3,))),
        ("[]", T.Tensor(())),
        ("[2, 3, 'int32']", T.Tensor((2, 3), "int32")),
        ("['int64']", T.Tensor((), "int64")),
        ("(Input, float32)", T.Tuple((T.Input(), T.Tensor(())))),
        ("Sequence(int32)", T.Sequence(T.Tensor((), "int32"))),
        ("()", T.Tuple(())),
        ("(Void,)", T.Tuple((T.Void(),))),
        ("(Input)", T.Input()),
    ],
)
def test_notation(text, type):
    assert parse_type(text) == type


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is not in the notation of types"),
        ("float", "float is not a type"),
        ("float32[3", "it is not in the notation of types: '[' was never closed"),
        ("float32[3] int32", "it is not in the notation of types"),
        ("float32[-3]", "a size must not be negative: -3"),
        ("float32[3, 'int32']", "a size must be an integer, not 'int32'"),
        ("[3, 'number']", "unknown element type 'number'"),
        ("(Input,, Void)", "it is not in the notation of types"),
        ("(a: Input)", "it is not in the notation of types"),
        ("(<x>: Void)", "it is not in the notation of types"),
        ("Sequence int32", "it is not in the notation of types"),
        ("Sequence(int32, int32)", "Sequence(int32, int32) is not a type"),
        ("(" * 5000, "it is not in the notation of types"),
    ],
)
def test_what_is_no_type_is_refused(text, words):
    with pytest.raises(ArrowTypeError) as caught:
        parse_type(text)
    assert words in str(caught.value)
    assert str(caught.value).startswith("cannot read ")


@given(st.text(alphabet=string.printable + "()[]:,'", max_size=20))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(ArrowTypeError):
        parse_type(text)
