"""Programs of models fulfil the rules after each pass, whichever passes are left out, and are read back."""

from __future__ import annotations

import pytest

import arrows as ar
from arrows.engine.program.pipeline import checked_passes, without_passes
from arrows.engine.program.program import Program


@pytest.mark.parametrize("name", ["differentiate", "allocate", "fusion", ""])
def test_a_pass_that_cannot_be_left_out(name):
    with pytest.raises(ar.ArrowValueError, match=f"no pass '{name}' can be left out; these can: fold, "):
        with without_passes("fold", name):
            raise AssertionError("it was left out")


def test_programs_are_made_at_the_first_batch_that_needs_them() -> None:
    passed: list[Program] = []
    words = ar.Map(ar.Scalar("int32") >> ar.Embedding(9, 4)) >> ar.RNN(ar.LSTMCell(5)) >> ar.GetItem(1)
    model = ar.compile(words >> ar.GetItem(0) >> ar.FC([]) >> ar.Function(lambda x: x * x))
    with checked_passes(lambda program, *_: passed.append(program)):
        model([[1, 2], [3]])
        inference = len(passed)
        assert inference > 0
        model([[4, 5, 6, 7], [8, 1], []])
        assert len(passed) == inference
        model.value_and_grad([[1, 2], [3]])
        both = len(passed)
        assert both > inference
        for batch in ([[8] * 20], [[], [1]], [[1, 2], [3], [4] * 9]):
            model.value_and_grad(batch)
            model(batch)
        assert len(passed) == both
