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
LABELS = st.recursive(
    st.text(max_size=6)
    | st.integers(-5, 5)
    | st.none()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.binary(max_size=3),
    lambda inside: st.tuples(inside, inside),
    max_leaves=3,
)


@st.composite
def labelled(draw, items):
    found = draw(st.lists(items, max_size=3))
    labels = draw(st.lists(LABELS, min_size=len(found), max_size=len(found), unique=True))
    return T.Tuple(found, tuple(labels) if labels else None)


TYPES = st.recursive(
    LEAVES,
    lambda items: st.one_of(
        st.lists(items, max_size=3).map(T.Tuple),
        labelled(items),
        items.map(T.Sequence),
        items.map(T.Broadcast),
    ),
    max_leaves=12,
)


def labels(t: T.Type) -> list[object]:
    todo, found = [t], []
    while todo:
        t = todo.pop()
        if isinstance(t, T.Tuple):
            found.append(t.labels)
        todo.extend(t.children)
    return found


@given(TYPES)
def test_what_is_printed_is_read_back(t):
    read = parse_type(str(t))
    assert read == t
    assert str(read) == str(t) and labels(read) == labels(t)


@given(TYPES)
def test_blanks_do_not_matter(t):
    text = str(t)
    if not any(mark in text for mark in "'\""):
        for mark in ",:()[]":
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
        ("(1: Void, 'a b': ())", T.Tuple((T.Void(), T.Tuple(())), (1, "a b"))),
        ("(Input)", T.Input()),
        ("(class: Void, None: Input)", T.Tuple((T.Void(), T.Input()), ("class", None))),
        ("((0, 1): Void, Input: Void,)", T.Tuple((T.Void(), T.Void()), ((0, 1), "Input"))),
    ],
)
def test_notation(text, type):
    assert parse_type(text) == type
    assert labels(parse_type(text)) == labels(type)


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
        ("(Input, a: Void)", "some items of a tuple have labels, and others have none"),
        ("(a: Input, a: Void)", "a label appears twice"),
        ("(a: Input)", "a tuple of one item has a comma: (left: T,)"),
        ("(<x>: Void)", "it is not in the notation of types"),
        ("(b: )", "it is not in the notation of types"),
        ("Sequence int32", "it is not in the notation of types"),
        ("Sequence(int32, int32)", "Sequence(int32, int32) is not a type"),
        ("(]: Void)", "it is not in the notation of types"),
        ("([]: Void,)", "it is not in the notation of types"),
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
