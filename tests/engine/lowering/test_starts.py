"""Networks whose start comes from the input; choices after a block; tensors joined along any axis."""

from __future__ import annotations

import pickle

import pytest

import arrows as ar

START = ar.GetItem("from") >> ar.Scalar(name="s")
STEP = ar.Function(lambda x, total: (total * x, total + x))


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


# ------------------------------------------------------------------------------------------ Concat


def test_they_print_as_they_are_written_and_pickle() -> None:
    cell = ar.GRUCell(4)
    texts = {
        "RNN(GRUCell(4), initial_state_from_input=True, reverse=True)": ar.RNN(
            cell, initial_state_from_input=True, reverse=True
        ),
        "Concat(-1, flatten=True)": ar.Concat(-1, flatten=True),
    }
    for text, block in texts.items():
        assert repr(block) == repr(pickle.loads(pickle.dumps(block))) == text
