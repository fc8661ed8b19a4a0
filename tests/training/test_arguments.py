"""Wrong calls of training functions: their messages, and that nothing has changed then."""

from __future__ import annotations

import re

import numpy as np
import pytest

import arrows as ar
from arrows.training import (
    SGD,
    Adam,
    Checkpoint,
    Progress,
    load,
    load_state,
    save,
    save_state,
    schedules,
    train,
)
from arrows.typesys.errors import ArrowTypeError, ArrowValueError

A_RATE = "a number or a schedule such as schedules.cosine(0.01, 1000)"
DATA = [[1.0, 2.0], [3.0, 4.0]]
BLOCK = ar.Vector(2) >> ar.FC(1, name="fc") >> ar.Function(lambda y: y[0] ** 2)
TRAIN = "train(model, examples, optimizer): "


@pytest.fixture
def model():
    return ar.compile(BLOCK)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: train(m, DATA, Adam), TRAIN + "optimizer must be one such as Adam(0.001), not the class"),
        (lambda m: train(DATA, m, Adam()), TRAIN + "model must be what ar.compile returns, not a value of"),
        (lambda m: train(BLOCK, DATA, Adam()), "compile it first: ar.compile(block)"),
        (lambda m: train(m, 5, Adam()), "expected a list of examples, got int"),
        (lambda m: train(m, DATA, Adam(), batch_size=1.5), "whole number, or ByNodes(...) or Bucketed(...)"),
        (lambda m: train(m, DATA, Adam(), epochs=None), "train: epochs must be a whole number, not None"),
        (lambda m: Checkpoint("x", every=0.5), "Checkpoint: every must be a whole number, not 0.5"),
        (lambda m: Checkpoint(3), "Checkpoint: path must be a path, not a value of the type int"),
        (lambda m: train(m, DATA, Adam(), evaluate={"accuracy": 1.0}), "train: evaluate must be a function"),
        (lambda m: save("f", m), "save(model, path): model must be what ar.compile returns, not 'f'"),
        (lambda m: save(m, 3), "save(model, path): path must be a path, not a value of the type int"),
        (lambda m: load("f", m), "load(model, path): model must be what ar.compile returns, not 'f'"),
        (lambda m: save_state("f", m, Adam), "save_state(path, model, optimizer): optimizer must be one"),
        (lambda m: load_state(m, "f", Adam()), "load_state(path, model, optimizer): model must be what"),
        (lambda m: Adam().step({"w": np.ones(2)}, m), "step(model, grads): model must be what ar.compile"),
        (lambda m: Adam().step(m, m.value_and_grad(DATA)), "after the loss, not a value of the type tuple"),
        (
            lambda m: Adam().step(m, {"fc/bias": None}),
            "the gradient of 'fc/bias' must be an array of the device 'cpu'",
        ),
        (lambda m: Adam("0.1"), f"Adam: learning_rate must be {A_RATE}, not '0.1'"),
        (lambda m: Adam(m.params), "Adam(learning_rate) takes no parameters: train(model, examples"),
        (lambda m: Adam(schedules.cosine), f"{A_RATE}, not a value of the type function"),
        (lambda m: Adam(rates={"*": "0.1"}), f"rates['*'] must be {A_RATE}, not '0.1'"),
        (lambda m: Adam(beta_1="0.9"), "Adam: beta_1 must be a number, not '0.9'"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_named(call, words, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = {name: array.copy() for name, array in model.params.items()}
    with pytest.raises(ArrowTypeError, match=re.escape(words)):
        call(model)
    assert all((array == before[name]).all() for name, array in model.params.items())
    assert not list(tmp_path.iterdir())


def test_arguments_out_of_their_range(model):
    with pytest.raises(ArrowValueError, match="train: seed is"):
        train(model, DATA, Adam(), seed=-1, progress=False)


def test_numbers_of_numpy_are_numbers(model, tmp_path):
    history = train(
        model,
        DATA,
        Adam(np.float32(0.125), beta_1=np.array(0.5), clip_norm=np.float64(1)),
        epochs=np.int64(2),
        batch_size=np.int32(1),
        seed=np.int64(3),
        checkpoint=Checkpoint(tmp_path / "run", every=np.int64(1), keep=np.int64(2)),
        progress=False,
    )
    assert len(history) == 2
    progress, _ = load_state(
        tmp_path / "run", model, Adam(np.float32(0.125), beta_1=np.array(0.5), clip_norm=np.float64(1))
    )
    assert (progress.seed, progress.batch_size) == (3, 1)
    assert isinstance(progress, Progress)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-0.5, "its rate after 1 steps is -0.5, and should be at least 0"),
        (float("nan"), "its rate after 1 steps is nan, and should be at least 0"),
    ],
)
@pytest.mark.parametrize("own", [False, True])
def test_a_schedule_that_gives_no_rate_is_refused_before_anything_changes(value, words, own, model):
    def falling(steps):
        return 0.1 if steps < 1 else value

    optimizer = SGD(0.1, rates={"fc/*": falling}) if own else SGD(falling, momentum=0.5)
    model.train_step(DATA, optimizer)
    before = {name: array.copy() for name, array in model.params.items()}
    with pytest.raises(ArrowValueError, match="the schedule .*falling.* " + words):
        model.train_step(DATA, optimizer)
    assert optimizer.steps == 1
    assert all((array == before[name]).all() for name, array in model.params.items())


@pytest.mark.parametrize("value", [None, "0.1", [0.1]])
def test_a_schedule_that_gives_no_number_is_refused(value, model):
    with pytest.raises(
        ArrowTypeError, match=r"the schedule .*: its rate after 0 steps must be a number, not"
    ):
        train(model, ["nothing is prepared"], Adam(lambda steps: value), progress=False)
