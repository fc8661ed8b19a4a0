"""`Broadcast`, `Length`, `Slice`, `NGrams`, `Nth`: what they refuse, and how they print."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import pytest

import arrows as ar
from tests.agree import agree

NUMBERS = ar.Map(ar.Scalar(name="x"))


def floats(values: Any) -> list[float]:
    return [float(value) for value in values]


# ------------------------------------------------------------------------------------------ Broadcast


def test_an_endless_sequence_is_no_result_of_a_model() -> None:
    with pytest.raises(ar.ArrowTypeError, match=r"Broadcast\(float32\)"):
        ar.compile(ar.Scalar() >> ar.Broadcast())
    shown = (ar.Scalar("int32") >> ar.Broadcast()).eval(3)
    assert int(shown.element) == 3


# ------------------------------------------------------------------------------------------ Length


def test_a_length_is_a_number_and_a_named_one_no_input() -> None:
    mean = (NUMBERS >> ar.Sum() & ar.Length("float32", name="n")) >> ar.Function(lambda s, n: s / (n + 1))
    agree(mean, [[1, 2, 3], []], inputs=["x"])
    with pytest.raises(ar.ArrowValueError, match="no input is named 'n'"):
        ar.compile(mean).value_and_grad([[1]], inputs=["n"])
    looked_up = ar.Length() >> ar.Embedding(3, 2) >> ar.Function(lambda v: v.sum())
    agree(looked_up, [[], [1], [1, 2]])
    with pytest.raises(ar.InputError, match=r"example 1: .*index 3 is out of range"):
        ar.compile(looked_up)([[1], [1, 2, 3]])


# ------------------------------------------------------------------------------------------ Nth


@pytest.mark.parametrize(
    ("block", "example", "reason"),
    [
        (ar.Nth() >> ar.Scalar(), ([1, 2], 2), r"[0]: there is no element 2 in a list of 2"),
        (ar.Nth() >> ar.Scalar(), ([1, 2], "a"), "expected an integer as the place of an element, got 'a'"),
        (ar.Nth() >> ar.Scalar(), ([1, 2], slice(1)), "expected an integer as the place"),
        (ar.Nth() >> ar.Scalar(), ({0: 1}, 0), "expected a list or another sequence, got a dict of 1"),
        (ar.Nth() >> ar.Scalar(), 5, "expected the pair of a sequence and a place, got 5"),
        (ar.Nth() >> ar.Scalar(), ([1, None], 1), "[0] > [1]: expected a number, got None"),
        (
            (ar.GetItem(0) >> NUMBERS & ar.GetItem(1)) >> ar.Nth(),
            ([1], -2),
            "there is no element -2 in a list of 1",
        ),
        (ar.Length(), 5, "expected something with a length, got 5"),
        (ar.Length(), iter([1]), "expected something with a length, got a value of type list_iterator"),
        (ar.Length("uint8"), [0] * 300, "the length 300 does not fit uint8 (0 to 255)"),
        (ar.Slice(stop=1) >> NUMBERS, 5, "expected a list or another sequence that has slices, got 5"),
        (ar.NGrams(2) >> ar.Length(), {"a": 1}, "expected a list or another sequence that has slices"),
    ],
)
def test_what_does_not_fit_is_reported_with_its_place(block: Any, example: Any, reason: str) -> None:
    with pytest.raises(ar.InputError) as caught:
        block.eval(example)
    assert reason in str(caught.value)
    with pytest.raises(ar.InputError) as caught:
        ar.compile(block)([example])
    assert reason in str(caught.value)


def test_they_print_as_they_are_written_and_pickle() -> None:
    texts = {
        "Broadcast() >> NGrams(2)": ar.Broadcast() >> ar.NGrams(2),
        "Slice(start=1, step=-2)": ar.Slice(start=1, step=-2),
        "Length() & Length('float64')": ar.Length() & ar.Length("float64"),
        "Nth(name='chosen')": ar.Nth(name="chosen"),
    }
    for text, block in texts.items():
        assert repr(block) == repr(pickle.loads(pickle.dumps(block))) == text
    assert ar.NGrams(3).label == "NGrams(3)"
    assert ar.Slice(stop=2).label == "Slice(stop=2)"


UNEVEN = r"the sequences have different lengths: item {} has {}, and item {} more"


@pytest.mark.parametrize(
    ("block", "example", "text"),
    [
        (ar.Zip() >> ar.Map(ar.GetItem(0) >> ar.Scalar()), ([1, 2], [3]), UNEVEN.format(1, "1 element", 0)),
        (
            ar.Record({"a": NUMBERS, "b": NUMBERS}) >> ar.ZipWith(ar.GetItem(0)),
            {"a": [], "b": [1]},
            UNEVEN.format("'a'", "0 elements", "'b'"),
        ),
        (
            (ar.GetItem(0) >> NUMBERS & ar.GetItem(1) & ar.Zeros([]) >> ar.Broadcast())
            >> ar.ZipWith(ar.GetItem(0)),
            ([1, 2], itertools.count()),
            UNEVEN.format(0, "2 elements", 1),
        ),
    ],
)
def test_sequences_side_by_side_have_one_length(block: Any, example: Any, text: str) -> None:
    model = ar.compile(block)
    for run in (lambda: model([example]), lambda: model.eval(example), lambda: model.prepare([example])):
        with pytest.raises(
            ar.InputError, match=text + r"(.|\n)*hint  with strict=False the result ends with"
        ):
            run()
