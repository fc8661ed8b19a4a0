"""The state of a run in a file: the round trip, states that do not fit, and how the loop treats them."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from arrows.engine.device import get_device
from arrows.ops import RowSparse
from arrows.safetensors_file import read_file
from arrows.training import (
    SGD,
    Adadelta,
    Adam,
    Epoch,
    Optimizer,
    Progress,
    RMSprop,
    load_state,
    save,
    save_state,
)
from arrows.typesys.errors import ArrowTypeError, ArrowValueError

DEVICES = ["cpu", "fake", pytest.param("cuda", marks=pytest.mark.gpu)]


def model_of(device: str = "cpu", **more: Any) -> Any:
    place = get_device(device)
    arrays = {"a:b/w": np.zeros((4, 2), np.float32), "fc/b": np.zeros(3)}
    params = {name: place.to_device(array) for name, array in arrays.items()}
    return SimpleNamespace(params=params, device=place, **more)


def steps(model: Any, optimizer: Any, numbers: range) -> None:
    up = model.device.to_device
    for number in numbers:
        random = np.random.default_rng(number)
        values = up(random.normal(size=(3, 2)).astype(np.float32))
        grads = {"a:b/w": RowSparse(up(random.integers(0, 4, 3)), values, (4, 2))}
        if number % 2:
            grads["fc/b"] = up(random.normal(size=3))
        optimizer.step(model, grads)


def bits(model: Any, optimizer: Any) -> dict[str, bytes]:
    found = {name: model.device.to_numpy(array).tobytes() for name, array in model.params.items()}
    if optimizer.averages is not None:
        with optimizer.use_averages(model):
            found |= {f"mean {n}": model.device.to_numpy(a).tobytes() for n, a in model.params.items()}
    return found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("average", [None, 1.0, 0.9])
@pytest.mark.parametrize(
    "kind",
    [lambda **k: SGD(0.1, momentum=0.5, **k), Adam, RMSprop, Adadelta],
    ids=["momentum", "adam", "rmsprop", "adadelta"],
)
def test_a_run_that_goes_on_in_another_process_ends_with_the_same_bits(device, average, kind, tmp_path):
    make = lambda: kind(rates={"fc/*": 0.5}, average=average)  # noqa: E731
    model, optimizer = model_of(device), make()
    steps(model, optimizer, range(7))
    halfway, first = model_of(device), make()
    steps(halfway, first, range(4))
    save_state(tmp_path / "run", halfway, first)
    again, second = model_of(device), make()
    steps(again, second, range(20, 23))  # what it had is replaced
    live = dict(again.params)
    load_state(str(tmp_path / "run"), again, second)
    assert all(again.params[name] is array for name, array in live.items()) and second.steps == 4
    steps(again, second, range(4, 7))
    assert bits(again, second) == bits(model, optimizer)
    assert os.listdir(tmp_path) == ["run"]


def test_progress_texts_rate_and_the_model_s_step_come_back(tmp_path):
    history = [Epoch(1, 0.1 + 0.2, 2.0, 5.0, {"dev": float("nan")}, best=True)]
    run = Progress(3, 25, 100, 2, 50, 1 / 3, 0.5, history)
    model, optimizer = model_of(step=17, seed=3), SGD(0.1)
    optimizer.learning_rate = 0.01
    save_state(tmp_path / "run", model, optimizer, run, {"words": "é ∆"})
    other, fresh = model_of(step=0, seed=3), SGD(0.1)
    found, texts = load_state(tmp_path / "run", other, fresh)
    assert repr(found) == repr(run)
    assert texts == {"words": "é ∆"} and other.step == 17 and fresh.learning_rate == 0.01


def test_a_learning_rate_that_was_changed_is_told(tmp_path):
    optimizer = Adam(0.1)
    optimizer.learning_rate = 0.5
    assert "learning_rate=0.5" in repr(optimizer) and optimizer.rates_text == "0.5"
    for rate in (-1, float("nan"), float("inf"), "0.1", None):
        with pytest.raises((ArrowValueError, ArrowTypeError), match="Adam: learning_rate"):
            optimizer.learning_rate = rate
    assert optimizer.learning_rate == 0.5
    save_state(tmp_path / "run", model_of(), optimizer)
    fresh, same, other = Adam(0.1), Adam(0.1), Adam(0.1)
    same.learning_rate, other.learning_rate = 0.5, 0.4
    # As it was made, the rate is what it was changed to; another rate is the user's wish.
    for optimizer_now, expected in ((fresh, 0.5), (same, 0.5), (other, 0.4), (Adam(0.3), 0.3)):
        load_state(tmp_path / "run", model_of(), optimizer_now)
        assert optimizer_now.learning_rate == expected
    optimizer.learning_rate = 2  # a whole number is no other rate
    save_state(tmp_path / "run", model_of(), optimizer)
    load_state(tmp_path / "run", model_of(), fresh := Adam(0.1))
    assert fresh.learning_rate == 2


def test_rules_of_other_kinds_tell_their_rate_too(tmp_path):
    class Descent:
        learning_rate, weight_decay, slots = 0.1, 0.0, {}

        def __repr__(self):
            return "Descent()"

        def update(self, xp, parameter, gradient, state, scratch, *, rate, step):
            parameter -= rate * gradient

    optimizer = Optimizer(Descent())
    assert repr(optimizer) == "Optimizer(Descent(), clip_norm=None)"
    optimizer.learning_rate = 0.5
    assert repr(optimizer) == "Optimizer(Descent(), clip_norm=None, learning_rate=0.5)"
    assert optimizer.settings == "Optimizer(Descent(), clip_norm=None)"
    save_state(tmp_path / "run", model_of(), optimizer)
    load_state(tmp_path / "run", model_of(), fresh := Optimizer(Descent()))
    assert fresh.learning_rate == 0.5


def test_what_does_not_fit_is_said_and_changes_nothing(tmp_path):
    path = tmp_path / "run"
    saved = model_of(seed=1)
    saved.params["fc/b"][...] = 9
    save_state(path, saved, Adam(0.1))
    model, same = model_of(seed=1), Adam(0.1)
    save(model, tmp_path / "parameters")
    larger = SimpleNamespace(params={"a:b/w": np.zeros((4, 3), np.float32)}, device=get_device("cpu"))
    for what, (m, o), words in [
        (
            path,
            (model, Adam(0.1, beta1=0.8)),
            "saved  Adam(.|\n)*beta1=0.9(.|\n)*given  Adam.*beta1=0.8",
        ),
        (path, (model, SGD(0.1)), "the state of another optimizer"),
        (path, (model, Adam(0.1, average=1.0)), "given .*average=1.0"),
        (path, (larger, same), r"'a:b/w': float32\[4, 2\] in the file, float32\[4, 3\] in the model"),
        (path, (model_of(seed=2), same), "is the state of a model with seed 1; this model has seed 2"),
        (tmp_path / "parameters", (model, same), "is not the state of a training run"),
    ]:
        with pytest.raises(ArrowValueError, match=words):
            load_state(what, m, o)
    (tmp_path / "cut").write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ArrowValueError, match="not a whole safetensors file"):
        load_state(tmp_path / "cut", model, same)
    assert (model.params["fc/b"] == 0).all() and same.steps == 0


def test_damaged_and_later_files(tmp_path):
    model, optimizer = model_of(), SGD(0.1, momentum=0.5)
    steps(model, optimizer, range(2))
    path = tmp_path / "run"
    save_state(path, model, optimizer)

    arrays, texts = read_file(path)
    save_file(arrays | {"slot:velocity:fc/b": np.zeros(2)}, tmp_path / "slot", texts)
    with pytest.raises(ArrowValueError, match=r"damaged: 'velocity' of 'fc/b' is float64\[2\]"):
        load_state(tmp_path / "slot", model, optimizer)
    arrays.pop("slot:velocity:fc/b")
    save_file(arrays, tmp_path / "less", texts)
    with pytest.raises(ArrowValueError, match="damaged: the state of 'fc/b' is none, and should be velocity"):
        load_state(tmp_path / "less", model, optimizer)
    later = {"arrows.run": json.dumps(json.loads(texts["arrows.run"]) | {"version": 2})}
    save_file(arrays, tmp_path / "later", later)
    with pytest.raises(ArrowValueError, match="another version"):
        load_state(tmp_path / "later", model, optimizer)


def test_metadata_must_be_text(tmp_path):
    with pytest.raises(ArrowValueError, match="'epoch': 3 is not"):
        save_state(tmp_path / "run", model_of(), SGD(0.1), metadata={"epoch": 3})  # type: ignore[dict-item]
    assert os.listdir(tmp_path) == []
