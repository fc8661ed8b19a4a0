"""`model.program`: the programs of a model's operations, as text."""

from __future__ import annotations

import pytest

import arrows as ar
from arrows.models import sentiment
from arrows.typesys import ArrowTypeError, ArrowValueError
from tests.engine.program.verify import verify_program
from tests.engine.program.written import written


def learner() -> ar.Model:
    models = sentiment(ar.Vocabulary(["not", "good"]), size=4, embedding=3)
    return ar.compile(models.learn, loss="loss", jit=False)


def test_programs_of_training_are_shown_where_there_is_a_loss():
    text = str(learner().program())
    programs = [written(part) for part in text.split("\n\n")]
    assert [program.name for program in programs].count("cell") == 2
    assert any(program.region("deferred") for program in programs)
    for program in programs:
        verify_program(program)


def test_programs_of_inference_are_shown_where_there_is_none():
    model = ar.compile(sentiment(ar.Vocabulary(["not"]), size=4).judge, jit=False)
    assert "step_back" not in str(model.program())


def test_layers_are_named_as_their_parameters():
    model = ar.compile(ar.Vector(2) >> ar.FC(3) >> ar.FC(4), jit=False)
    text = str(model.program())
    for name in model.params:
        assert f"parameter {name}\n" in text


def test_operations_are_found_by_name_or_part_of_it():
    model = learner()
    assert {program.name for program in model.program("cell").programs.values()} == {"cell"}
    assert {program.name for program in model.program("Cross").programs.values()} == {"SoftmaxCrossEntropy"}
    message = "no operation is named 'lstm'; there are embed, cell, classify, SoftmaxCrossEntropy"
    with pytest.raises(ArrowValueError, match=message):
        model.program("lstm")
    with pytest.raises(ArrowTypeError, match="the name of an operation must be a text, not 3"):
        model.program(3)  # type: ignore[arg-type]
