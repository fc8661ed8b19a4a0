"""Networks whose start comes from the input; choices after a block; tensors joined along any axis."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import arrows as ar
from tests.agree import agree

START = ar.GetItem("from") >> ar.Scalar(name="s")
STEP = ar.Function(lambda x, total: (total * x, total + x))


def floats(values: Any) -> list[float]:
    return [float(value) for value in values]


# --------------------------------------------------------------------------------- initial_state_from_input


def test_the_place_in_the_example_is_that_of_the_element() -> None:
    objects = (ar.GetItem("of") & START) >> ar.Scan(
        (ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1)) >> STEP, initial_state_from_input=True
    )
    for call in (objects.eval, lambda x: ar.compile(objects)([x])):
        with pytest.raises(ar.InputError, match=r"of > \[1\]: expected a number, got None"):
            call({"of": [1, None], "from": 0})
        with pytest.raises(ar.InputError, match="from: expected a number, got None"):
            call({"of": [1], "from": None})


# ------------------------------------------------------------------------------------------ pre_block


def test_cases_see_the_result_and_the_key_the_input() -> None:
    cases = {True: ar.Identity(), False: ar.Function(lambda x: -x)}
    both = ar.OneOf(lambda x: x > 0, cases, pre_block=ar.Scalar(), name="sign")
    assert floats(agree(both, [3, -4])) == [3, 4]
    assert both.name == "sign"
    with pytest.raises(ar.ArrowTypeError, match="list of blocks, got None"):
        ar.OneOf(lambda x: x > 0, None, pre_block=ar.Scalar())
    drops = ar.OneOf(lambda x: x, [ar.Constant(1.0), ar.Constant(2.0)], pre_block=ar.Void())
    assert floats(agree(drops, [0, 1, True])) == [1, 2, 2]


def test_a_choice_says_what_its_blocks_are_for() -> None:
    twice = ar.Function(lambda x: x * 2.0)
    block = ar.OneOf(ar.GetItem(1), {"a": twice, "b": ar.Zeros([]), "c": twice}, pre_block=ar.Scalar())
    typed = ar.infer(ar.GetItem(0) >> block)
    assert [line.strip().partition(" = ")[0] for line in str(typed).splitlines()[3:]] == [
        "before",
        "key",
        "case 'a'",
        "case 'b'",
        "case 'c'",
    ]


# ------------------------------------------------------------------------------------------ Concat


def test_they_print_as_they_are_written_and_pickle() -> None:
    cell = ar.GRUCell(4)
    texts = {
        "RNN(GRUCell(4), initial_state_from_input=True, reverse=True)": ar.RNN(
            cell, initial_state_from_input=True, reverse=True
        ),
        "OneOf(len, {1: Identity(), 2: Zeros(float32)}, pre_block=GetItem(0) >> Scalar('float32'))": ar.OneOf(
            len, {1: ar.Identity(), 2: ar.Zeros([])}, pre_block=ar.GetItem(0) >> ar.Scalar()
        ),
        "Concat(-1, flatten=True)": ar.Concat(-1, flatten=True),
    }
    for text, block in texts.items():
        assert repr(block) == repr(pickle.loads(pickle.dumps(block))) == text
