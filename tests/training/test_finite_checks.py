"""Training that reaches NaN or infinity: where it stops, its message, and what stays unchanged."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.data import generate
from arrows.engine.planning import SCHEDULES
from arrows.models import sentiment
from arrows.storage import read_arrays as read_file
from arrows.training import SGD, Adam, Checkpoint, NotFiniteError, train
from tests.profile import NIGHTLY
from tests.training.test_train import Bookkeeper

EXP = [[[1.0]], [[0.0]], [[1.0], [300.0]], []]
NAN = [[[1.0]], [[2.0], [np.nan]]]
SQUARE = [[[1.0]], [[1e19], [1e19], [1e19], [1.3e19]]]


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def model_of(function: Any, **more: Any) -> ar.Model:
    """The sum over a sequence of a function of each element, which passes a layer with the weight 1."""
    element = ar.Vector(1) >> ar.FC(1, name="fc") >> ar.Function(lambda v: function(v[0]))
    model = ar.compile(ar.Map(element) >> ar.Sum(), **more)
    model.params["fc/weight"][...] = 1.0
    return model


def bits(model: Any) -> list[bytes]:
    return [ar.to_numpy(array).tobytes() for array in model.params.values()]


def stopped(model: Any, examples: Any, optimizer: Any, **more: Any) -> str:
    """Asserts that training stops, on the CPU in the state before the step; returns the message."""
    before, steps = bits(model), model.step
    with pytest.raises(NotFiniteError) as caught:
        train(model, examples, optimizer, batch_size=len(examples), progress=False, **more)
    if model.device.name == "cpu":
        assert bits(model) == before and model.step == steps and optimizer.steps == 0
    assert "clip_norm= may help" in caught.value.__notes__[0]
    return str(caught.value)


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_first_that_is_not_finite_is_named(schedule, device):
    make = {"schedule": schedule, "device": device}
    here = r"\(test_finite_checks\.py:\d+\)"
    for function, examples, words in [
        (
            ar.ops.exp,
            EXP,
            rf"the loss is inf: what fc >> Function {here} computes of example 2 is not finite",
        ),
        (ar.ops.tanh, NAN, rf"the loss is nan: what Vector {here} reads of example 1 is not finite"),
        (ar.ops.square, SQUARE, rf"the loss is inf: what Sum {here} computes of example 1 is not finite"),
    ]:
        for given in (examples, model_of(function, **make)):
            model = given if isinstance(given, ar.Model) else model_of(function, **make)
            prepared = model.prepare(examples) if given is model else examples
            text = stopped(model, prepared, SGD(0.1))
            if device != "cpu":  # losses are read later
                words = "the loss is (inf|nan); the parameters have gone on since, and are not to be used"
            assert re.fullmatch(rf"epoch 1, step 1: {words}", text), text


def test_a_parameter_that_is_not_finite_is_named_before_operations():
    model = model_of(ar.ops.tanh)
    model.params["fc/bias"][...] = np.inf
    model.params["fc/weight"][...] = np.nan
    text = stopped(model, [[[1.0]]], Adam(0.1))
    assert text == (
        "epoch 1, step 1: the loss is nan: 1 of the 1 numbers of the parameter 'fc/weight' is not finite"
    )


def test_the_step_is_told_by_epoch_and_number():
    model, optimizer = model_of(lambda x: x * x), SGD(1e5)
    before = []
    with pytest.raises(NotFiniteError, match=r"^epoch 2, step 5: the loss is inf: what fc >> Function"):
        train(
            model,
            [[[1.0]], [[1.0]], [[1.0]]],
            optimizer,
            batch_size=1,
            epochs=9,
            progress=False,
            evaluate=lambda: before.append(None) or {},
        )
    assert (
        optimizer.steps == model.step == 4
        and len(before) == 1
        and np.isfinite(model.params["fc/weight"]).all()
    )


def test_with_dropout_the_same_masks_show_where():
    element = (
        ar.Vector(40) >> ar.Dropout(0.5) >> ar.FC(1, name="fc") >> ar.Function(lambda v: ar.ops.exp(v[0]))
    )
    model = ar.compile(element, seed=3)
    model.params["fc/weight"][...] = 1.0
    example = [0.0] * 39 + [100.0]
    examples = [example] * 8  # the large number is dropped of some of them
    text = stopped(model, examples, SGD(0.1))
    dropped = [np.isfinite(float(model([example], training=True, ids=[i])[0])) for i in range(8)]
    assert model.step == 8 and not all(dropped) and any(dropped)
    model.step = 0
    alone = [np.isinf(float(ar.to_numpy(model([example] * 8, training=True))[i])) for i in range(8)]
    assert text.endswith(f"computes of example {alone.index(True)} is not finite")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_in_recursion_the_example_that_is_named_is_not_finite_alone_either(schedule):
    trees, random = generate(30, seed=1), np.random.default_rng(2)
    block = sentiment(ar.Vocabulary.of(ar.data.words(trees)), size=3).learn
    model = ar.compile(block, loss="loss", schedule=schedule)
    table = model.params["embed/weight"]
    first, named = table.copy(), 0
    for _ in range(100 if NIGHTLY else 8):
        table[...] = first
        table[random.integers(len(table), size=3)] = random.choice([np.inf, np.nan, 1.0])
        batch = [trees[i] for i in random.integers(0, len(trees), 6)]
        words = model.first_not_finite(batch)
        alone = [model.first_not_finite([tree]) for tree in batch]
        assert (words is None) == all(told is None for told in alone)
        if words is not None:
            match = re.fullmatch(r"what .* computes of example (\d) is not finite", words)
            assert match is not None and alone[int(match[1])] is not None, words
            named += 1
    assert named > 1


def test_where_nothing_is_learned_memory_that_was_used_again_is_not_blamed():
    step = ar.Function(lambda state, x: ar.ops.exp(state) + x)
    twice = ar.Function(lambda x: x * 2.0, name="twice")
    model = ar.compile(ar.Map(ar.Scalar()) >> ar.Fold(step, ar.Zeros([])) >> twice)
    words = model.first_not_finite([[0.0], [3.0, 4.0, 2.0, 5.0]])
    assert words is not None and "computes of example 1" in words


def spoilt(x: Any) -> Any:
    """0 at 0, with a gradient that is not finite there."""
    return ar.ops.sqrt(x * x)


def test_parameters_that_the_last_step_spoilt_replace_no_good_state(tmp_path):
    """The loss of the step is finite, its gradient is not."""
    model = model_of(spoilt)
    good = [[[1.0]], [[2.0]]]
    train(model, good, SGD(0.001), checkpoint=Checkpoint(tmp_path / "run"), progress=False)
    state = (tmp_path / "run").read_bytes()
    saved: list[Any] = []
    for every in (None, 1):
        model = model_of(spoilt)
        model.params["fc/bias"][...] = 0.0
        with pytest.raises(
            NotFiniteError, match=r"^epoch 1, step 1: after it, 1 of the 1 numbers of the parameter"
        ):
            train(
                model,
                [[[0.0]]],
                SGD(0.001),
                epochs=2,
                checkpoint=Checkpoint(tmp_path / "run", every=every, overwrite=True),
                callbacks=[saved.append],
                evaluate=lambda: {"figure": 1.0},
                progress=False,
            )
        assert (tmp_path / "run").read_bytes() == state and os.listdir(tmp_path) == ["run"] and not saved


def square(x: Any) -> Any:
    return x * x


def test_the_state_of_a_run_that_was_stopped_goes_on_with_other_numbers(tmp_path):
    """The state holds what was before the numbers that are not finite."""
    examples, path = [[[0.1]], [[0.9]]], tmp_path / "run"
    train(model_of(square), examples, SGD(0.1), checkpoint=Checkpoint(path), progress=False)
    how: dict[str, Any] = {"checkpoint": Checkpoint(path, resume=True), "progress": False}
    with pytest.raises(NotFiniteError):
        train(model_of(square), examples, SGD(1e39), epochs=9, **how)
    history = train(model_of(square), examples, SGD(0.1), epochs=9, **how)
    assert len(history) == 9 and all(np.isfinite(array).all() for array in read_file(path)[0].values())


def test_models_of_other_makes_are_stopped_too():
    class Spoilt(Bookkeeper):
        def train_step(self, batch: list[Any], optimizer: Any, check: Any = None) -> Any:
            check(float("nan"))
            return super().train_step(batch, optimizer)

    with pytest.raises(NotFiniteError, match=r"^epoch 1, step 1: the loss is nan\n"):
        train(Spoilt(), [1, 2], SGD(0.1), progress=False)


def test_a_function_of_a_sequence_is_named_with_the_example_of_its_element():
    large = ar.Function(lambda xs: ar.ops.exp(xs * 2.0), name="large")
    model = ar.compile(ar.Map(ar.Scalar()) >> large >> ar.Sum())
    for examples, wanted in (([[0.0] * 3, [1.0], [], [2.0, 99.0]], 3), ([[1.0, 99.0], [99.0]], 0)):
        words = model.first_not_finite(examples)
        assert words is not None and words.startswith("what large ")
        assert words.endswith(f" computes of example {wanted} is not finite")
