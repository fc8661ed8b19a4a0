"""`Broadcast`, `Length`, `Slice`, `NGrams`, `Nth`: what they refuse, and how they print."""

from __future__ import annotations

import pickle

import pytest

import arrows as ar
from tests.agree import agree

NUMBERS = ar.Map(ar.Scalar(name="x"))


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


def test_the_element_at_a_place() -> None:
    """The engine and the reference take it by one function."""
    examples = [{"of": [1, 2, 3], "at": 1}, {"of": [4, 5], "at": -1}]
    assert agree((ar.GetItem("of") >> NUMBERS & ar.GetItem("at")) >> ar.Nth(), examples, inputs=["x"]) == [
        2,
        5,
    ]
    assert ar.Nth().eval(("tree", True)) == "r"


def test_they_print_as_they_are_written_and_pickle() -> None:
    texts = {
        "Broadcast() >> NGrams(2)": ar.Broadcast() >> ar.NGrams(2),
        "Slice(start=1, step=-2)": ar.Slice(start=1, step=-2),
        "Length() & Length('float64')": ar.Length() & ar.Length("float64"),
        "Nth(name='chosen')": ar.Nth(name="chosen"),
        "Concat(-1, flatten=True)": ar.Concat(-1, flatten=True),
        "RNN(GRUCell(4), initial_state_from_input=True, reverse=True)": ar.RNN(
            ar.GRUCell(4), initial_state_from_input=True, reverse=True
        ),
    }
    for text, block in texts.items():
        assert repr(block) == repr(pickle.loads(pickle.dumps(block))) == text
    assert ar.NGrams(3).label == "NGrams(3)"
    assert ar.Slice(stop=2).label == "Slice(stop=2)"
