"""Parameters and the state of a run in files: round trips, files that do not fit, layers without names."""

from __future__ import annotations

import json
import os
import re
import signal
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import arrows as ar
from arrows.engine.device import get_device
from arrows.ops import RowSparse
from arrows.storage import CHECKSUM, read_arrays, write_arrays
from arrows.training import (
    SGD,
    Adam,
    Checkpoint,
    Epoch,
    Progress,
    RMSprop,
    load,
    load_state,
    read_metadata,
    save,
    save_state,
    train,
)
from arrows.training.saving import RUN
from arrows.typesys.errors import ArrowTypeError, ArrowValueError
from tests.marks import CUDA

DEVICES = ["cpu", "fake", CUDA]


def model_of(device: str = "cpu", **arrays: Any) -> Any:
    place = get_device(device)
    return SimpleNamespace(params={n: place.to_device(np.array(a)) for n, a in arrays.items()}, device=place)


# ------------------------------------------------------------------------------------------- parameters

ARRAYS = {
    "FC_1/weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "FC_1/bias": np.float64(0.5),
    "none": np.zeros((0, 3), np.float32),
    "columns": np.arange(6.0).reshape(2, 3).T,
}


@pytest.mark.parametrize("device", DEVICES)
def test_round_trip_restores_every_bit_and_the_metadata(device, tmp_path):
    model = model_of(device, **ARRAYS)
    live = dict(model.params)
    save(model, tmp_path / "m.safetensors", {"epoch": "3", "words": "é ∆"})
    for array in model.params.values():
        array[...] = 7
    assert load(model, str(tmp_path / "m.safetensors")) == {"epoch": "3", "words": "é ∆"}
    assert read_metadata(tmp_path / "m.safetensors") == {"epoch": "3", "words": "é ∆"}
    for name, array in model.params.items():
        assert array is live[name]
        np.testing.assert_array_equal(model.device.to_numpy(array), ARRAYS[name])
    assert os.listdir(tmp_path) == ["m.safetensors"]


def test_a_file_that_does_not_fit_names_each_parameter_and_changes_nothing(tmp_path):
    path = tmp_path / "m.safetensors"
    save(model_of(a=np.zeros(2), w=np.zeros((2, 3)), t=np.zeros(1, np.float32), old=np.zeros(())), path)
    model = model_of(a=np.ones(2), w=np.ones((2, 4)), t=np.ones(1), new=np.ones((5, 1)))
    with pytest.raises(ArrowValueError) as caught:
        load(model, path)
    assert str(caught.value).splitlines() == [
        f"{path} does not fit the model:",
        "  'w': float64[2, 3] in the file, float64[2, 4] in the model",
        "  't': float32[1] in the file, float64[1] in the model",
        "  'new': not in the file, float64[5, 1] in the model",
        "  'old': float64 in the file, not in the model",
    ]
    assert all((array == 1).all() for array in model.params.values())


def test_a_stranger_s_file_fills_no_screen(tmp_path):
    model = model_of(w=np.ones(4, np.float32))
    names = ["\x1b]0;owned\x07", "a" * 5000, "\u202egnp", *(f"w{n}" for n in range(3, 500))]
    save_file({name: np.zeros(2, np.float32) for name in names}, tmp_path / "m")
    with pytest.raises(ArrowValueError) as caught:
        load(model, tmp_path / "m")
    assert all(line.isprintable() and len(line) < 300 for line in str(caught.value).splitlines())
    assert str(caught.value).endswith("\n  and 481 more")
    header = json.dumps({"w": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}).encode()
    (tmp_path / "m").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(ArrowValueError, match=r"m is no safetensors file to read: .*bfloat16"):
        load(model, tmp_path / "m")


def test_what_cannot_be_saved_or_loaded_leaves_what_was_there(tmp_path):
    path, model = tmp_path / "m", model_of(w=np.ones(3))
    save(model, path)
    before, model.params["w"][...] = path.read_bytes(), 2
    for texts, words in (
        ({"epoch": 3}, "'epoch': 3 is not"),
        ({"x": "\ud800"}, "surrogates not allowed"),
        ({"arrows.x": "1"}, r"keys that begin with 'arrows\.' are reserved"),
    ):
        for write in (save, lambda model, path, texts: save_state(path, model, SGD(0.1), metadata=texts)):
            with pytest.raises(ArrowValueError, match=words):
                write(model, path if write is save else tmp_path / "run", texts)  # type: ignore[operator]
    for use in (save, load):
        with pytest.raises(ArrowValueError, match=rf"{use.__name__}\(model, path\): path names no file"):
            use(model, "")
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["m"]
    path.write_bytes(before[:-1] + b"\1")
    with pytest.raises(ArrowValueError, match=f"^{re.escape(str(path))} is damaged"):
        load(model, path)
    assert (model.params["w"] == 2).all()


def test_a_run_and_a_model_are_told_apart(tmp_path):
    block = ar.Vector(2) >> ar.FC(1, name="fc") >> ar.Function(lambda y: y[0] ** 2)
    model, optimizer = ar.compile(block), SGD(0.1)
    train(model, [[1.0, 2.0]], optimizer, checkpoint=Checkpoint(tmp_path / "run"), progress=False)
    save(model, tmp_path / "m")
    with pytest.raises(ArrowValueError, match=r"run is the state of a run: load_state\("):
        load(model, tmp_path / "run")
    with pytest.raises(ArrowValueError, match="m is not the state of a run"):
        load_state(tmp_path / "m", model, optimizer)
    told = r"cannot save a model at .*\n.*the state of a run, written .*: 1 of 1 epochs,\s+1 steps, loss"
    with pytest.raises(ArrowValueError, match=told):
        save(model, tmp_path / "run")
    told = r"cannot save the state of a run at .*\n.*there is parameters, written "
    with pytest.raises(ArrowValueError, match=told):
        save_state(tmp_path / "m", model, optimizer)


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_an_interrupt_comes_before_or_after_loading_and_not_between(device, tmp_path):
    """Ctrl-C while the first of two parameters is set waits for the second."""
    model = model_of(device, a=np.ones(2), b=np.ones(2))
    save(model, tmp_path / "m")
    for array in model.params.values():
        array[...] = 0

    class Interrupted(dict[str, Any]):
        came = False

        def __getitem__(self, name: str) -> Any:
            if not self.came:
                self.came = True
                signal.raise_signal(signal.SIGINT)
            return super().__getitem__(name)

    model.params = Interrupted(model.params)
    with pytest.raises(KeyboardInterrupt):
        load(model, tmp_path / "m")
    for name in ("a", "b"):
        assert model.device.to_numpy(dict.__getitem__(model.params, name)).tolist() == [1, 1]


# --------------------------------------------------------------------------------- layers without names


def layers(name_mu: str | None = None, name_sigma: str | None = None) -> Any:
    return ar.Vector(3) >> ar.FC(4), ar.FC(2, name=name_mu), ar.FC(2, name=name_sigma)


def saved(path: Path) -> ar.Model:
    x, mu, sigma = layers()
    model = ar.compile(x >> (mu >> ar.Function(ar.ops.tanh) & sigma))
    with pytest.warns(UserWarning, match="^FC_2, FC_3: these layers have the same shapes") as caught:
        save(model, path)
    assert caught[0].filename == __file__
    return model


def test_layers_that_may_have_changed_places_are_not_loaded_until_they_have_names(tmp_path):
    model = saved(tmp_path / "m")
    x, mu, sigma = layers()
    other = ar.compile(x >> (sigma & mu >> ar.Function(ar.ops.tanh)), seed=1)
    before = {name: array.copy() for name, array in other.params.items()}
    with pytest.raises(ArrowValueError) as caught:
        load(other, tmp_path / "m")
    text = " ".join(str(caught.value).split())
    assert "m: the layers FC_2, FC_3 may have changed places" in text
    assert "they have the same shapes and no names" in text and "name='FC_2'" in text
    assert all((array == before[name]).all() for name, array in other.params.items())
    x, mu, sigma = layers("FC_2", "FC_3")
    other = ar.compile(x >> (sigma & mu >> ar.Function(ar.ops.tanh)), seed=1)
    load(other, tmp_path / "m")
    for found, expected in zip(other([[1, 2, 3]]), reversed(model([[1, 2, 3]])), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_same_expression_takes_them_wherever_it_is_made(tmp_path):
    model = saved(tmp_path / "m")
    x, mu, sigma = layers()
    made_elsewhere = ar.compile(x >> (mu >> ar.Function(ar.ops.tanh) & sigma), seed=1)
    assert load(made_elsewhere, tmp_path / "m") == read_metadata(tmp_path / "m") == {}
    np.testing.assert_array_equal(made_elsewhere([[1, 2, 3]])[0], model([[1, 2, 3]])[0])
    save_file(load_file(tmp_path / "m"), tmp_path / "bare")  # by another program
    load(ar.compile(x >> (sigma & mu)), tmp_path / "bare")


def test_layers_of_other_shapes_or_names_may_stand_in_other_expressions(tmp_path):
    x, mu, sigma = layers("mu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(ar.compile(x >> (mu & sigma)), tmp_path / "m")
        save(ar.compile(ar.Vector(3) >> ar.FC(2) >> ar.FC(3)), tmp_path / "sizes")
    add = ar.Function(lambda a, b: ar.ops.sum(a) + ar.ops.sum(b))
    load(ar.compile(x >> (mu & sigma) >> add), tmp_path / "m")
    load(ar.compile(ar.Vector(3) >> ar.FC(2) >> ar.Function(ar.ops.tanh) >> ar.FC(3)), tmp_path / "sizes")


def test_the_state_of_a_run_notices_it_too(tmp_path):
    x, mu, sigma = layers()
    save_state(tmp_path / "run", ar.compile(x >> (mu & sigma)), SGD(0.1))
    load_state(tmp_path / "run", ar.compile(x >> (mu & sigma), seed=0), SGD(0.1))
    with pytest.raises(ArrowValueError, match="the layers FC_2, FC_3 may have changed places"):
        load_state(tmp_path / "run", ar.compile(x >> (sigma & mu >> ar.Function(ar.ops.tanh))), SGD(0.1))


# ---------------------------------------------------------------------------------- the state of a run


def run_of(device: str = "cpu", **more: Any) -> Any:
    model = model_of(device, **{"a:b/w": np.zeros((4, 2), np.float32), "fc/b": np.zeros(3)})
    vars(model).update(more)
    return model


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
    [lambda **k: SGD(0.1, momentum=0.5, **k), Adam, RMSprop],
    ids=["momentum", "adam", "rmsprop"],
)
def test_a_run_that_goes_on_in_another_process_ends_with_the_same_bits(device, average, kind, tmp_path):
    make = lambda: kind(rates={"fc/*": 0.5}, average=average)  # noqa: E731
    model, optimizer = run_of(device), make()
    steps(model, optimizer, range(7))
    halfway, first = run_of(device), make()
    steps(halfway, first, range(4))
    save_state(tmp_path / "run", halfway, first)
    again, second = run_of(device), make()
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
    model, optimizer = run_of(step=np.int64(17), seed=3), SGD(0.1)
    optimizer.learning_rate = 0.01
    save_state(tmp_path / "run", model, optimizer, run, {"words": "é ∆"})
    other, fresh = run_of(step=0, seed=3), SGD(0.1)
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
    save_state(tmp_path / "run", run_of(), optimizer)
    same, other = Adam(0.1), Adam(0.1)
    same.learning_rate, other.learning_rate = 0.5, 0.4
    # As it was made, the rate is what it was changed to; another rate is the user's wish.
    for optimizer_now, expected in ((Adam(0.1), 0.5), (same, 0.5), (other, 0.4), (Adam(0.3), 0.3)):
        load_state(tmp_path / "run", run_of(), optimizer_now)
        assert optimizer_now.learning_rate == expected


def test_what_does_not_fit_is_said_and_changes_nothing(tmp_path):
    path = tmp_path / "run"
    saved = run_of(seed=1)
    steps(saved, optimizer := Adam(0.1), range(2))
    save_state(path, saved, optimizer)
    model, same = run_of(seed=1), Adam(0.1)
    larger = run_of(seed=1)
    larger.params["a:b/w"] = np.zeros((4, 3), np.float32)
    for m, o, words in [
        (model, Adam(0.1, beta_1=0.8), r"optimizer: Adam.*beta_1=0.9.* in the saved state, Adam.*beta_1=0.8"),
        (model, SGD(0.1), r"optimizer: Adam\(.* in the saved state, SGD\(.* now"),
        (model, Adam(0.1, average=1.0), r" average=1.0.* now"),
        (larger, same, r"'a:b/w': float32\[4, 2\] in the file, float32\[4, 3\] in the model"),
        (run_of(seed=2), same, "seed of the model: 1 in the saved state, 2 now"),
    ]:
        with pytest.raises(ArrowValueError, match=words):
            load_state(path, m, o)
    averaged = Adam(0.1, average=0.9)
    with averaged.use_averages(model), pytest.raises(ArrowValueError, match="while averages stand in for"):
        load_state(path, model, averaged)
    assert (model.params["fc/b"] == 0).all() and same.steps == 0 and os.listdir(tmp_path) == ["run"]


def test_damaged_states_and_those_of_other_programs_are_refused(tmp_path):
    path, bad = tmp_path / "run", tmp_path / "bad"
    model, optimizer = run_of(), SGD(0.1, momentum=0.5)
    steps(model, optimizer, range(2))
    save_state(path, model, optimizer)
    whole, (arrays, texts) = path.read_bytes(), read_arrays(path)
    for place in range(0, len(whole), 41):
        bad.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ArrowValueError, match=str(bad)):
            load_state(bad, run_of(), SGD(0.1, momentum=0.5))
    texts.pop(CHECKSUM)
    save_file(arrays, bad, texts)
    with pytest.raises(ArrowValueError, match="another program, or another version"):
        load_state(bad, model, optimizer)
    run = json.loads(texts[RUN])
    for text in ("", "[", "null", "{}", *(json.dumps(run | {k: None}) for k in ("version", "progress"))):
        write_arrays(bad, arrays, {RUN: text})
        with pytest.raises(ArrowValueError, match=f"{bad} cannot be read: "):
            load_state(bad, model, optimizer)
    arrays.pop("slot:velocity:fc/b")
    write_arrays(bad, arrays, texts)
    with pytest.raises(ArrowValueError, match="the state of another optimizer, without 'velocity:fc/b'"):
        load_state(bad, model, optimizer)
