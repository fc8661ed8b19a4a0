"""Checkpoints: the round trip, files that do not fit, and writes that go wrong."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.device import get_device
from arrows.training import SGD, Checkpoint, load, read_metadata, save, save_state, train
from arrows.typesys.errors import ArrowValueError


def model_of(device: str = "cpu", **arrays: Any) -> Any:
    place = get_device(device)
    return SimpleNamespace(params={n: place.to_device(np.array(a)) for n, a in arrays.items()}, device=place)


ARRAYS = {
    "FC_1/weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "FC_1/bias": np.float64(0.5),
    "none": np.zeros((0, 3), np.float32),
    "numbers": np.array([1, 2], np.int64),
    "columns": np.arange(6.0).reshape(2, 3).T,
}


@pytest.mark.parametrize("device", ["cpu", "fake", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_round_trip_restores_every_bit_and_the_metadata(device, tmp_path):
    model = model_of(device, **ARRAYS)
    live = dict(model.params)
    save(model, tmp_path / "m.safetensors", {"epoch": "3", "words": "é ∆"})
    for array in model.params.values():
        array[...] = 7
    assert load(model, str(tmp_path / "m.safetensors")) == {"epoch": "3", "words": "é ∆"}
    for name, array in model.params.items():
        assert array is live[name]
        np.testing.assert_array_equal(model.device.to_numpy(array), ARRAYS[name])
    assert os.listdir(tmp_path) == ["m.safetensors"]


def test_a_model_without_parameters_or_metadata(tmp_path):
    save(model_of(), tmp_path / "m")
    assert load(model_of(), tmp_path / "m") == {}


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


@pytest.mark.parametrize("content", [b"", b"not a checkpoint at all", b"\xff" * 64])
def test_a_file_of_another_kind_is_said_to_be_one(content, tmp_path):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ArrowValueError, match="is not a whole safetensors file"):
        load(model_of(w=np.ones(1)), tmp_path / "m")


def test_a_cut_off_file_is_refused_and_changes_nothing(tmp_path):
    model = model_of(w=np.ones(100))
    save(model, tmp_path / "m")
    whole = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(whole[:-8])
    model.params["w"][...] = 2
    with pytest.raises(ArrowValueError, match="is not a whole safetensors file"):
        load(model, tmp_path / "m")
    assert (model.params["w"] == 2).all()


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load(model_of(), tmp_path / "nowhere")
    with pytest.raises(OSError, match="nowhere"):
        save(model_of(w=np.ones(1)), tmp_path / "nowhere" / "m")


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(broken, tmp_path, monkeypatch):
    path = tmp_path / "m"
    save(model_of(w=np.ones(3)), path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="full"):
        save(model_of(w=np.zeros(3)), path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["m"]


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_files_obey_the_umask_and_keep_their_mode(tmp_path):
    before = os.umask(0o027)
    try:
        for path, write in (
            (tmp_path / "m", lambda path: save(model_of(w=np.ones(1)), path)),
            (tmp_path / "run", lambda path: save_state(path, model_of(w=np.ones(1)), SGD(0.1))),
        ):
            write(path)
            assert path.stat().st_mode & 0o777 == 0o640
            path.chmod(0o604)
            write(path)
            assert path.stat().st_mode & 0o777 == 0o604
    finally:
        os.umask(before)


def test_a_path_that_names_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for use in (save, load):
        for path in ("", "a\0b", "a\ud800"):
            with pytest.raises(ArrowValueError, match=rf"{use.__name__}\(model, path\): path names no file"):
                use(model_of(w=np.ones(1)), path)
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        save(model_of(w=np.ones(1)), ".")
    with pytest.raises(ArrowValueError, match=r"read_metadata\(path\): path names no file"):
        read_metadata("")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_an_interrupt_comes_before_or_after_loading_and_not_between(device, tmp_path):
    """Ctrl-C while the first of two parameters is set waits for the second."""
    model = model_of(device, a=np.ones(2), b=np.ones(2))
    save(model, tmp_path / "m")
    for array in model.params.values():
        array[...] = 0

    came: list[str] = []

    class Interrupted(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            if not came:
                came.append(name)
                signal.raise_signal(signal.SIGINT)
            return super().__getitem__(name)

    model.params = Interrupted(model.params)
    with pytest.raises(KeyboardInterrupt):
        load(model, tmp_path / "m")
    for name in ("a", "b"):
        assert model.device.to_numpy(dict.__getitem__(model.params, name)).tolist() == [1, 1]


def test_metadata_must_be_text(tmp_path):
    with pytest.raises(ArrowValueError, match="'epoch': 3 is not"):
        save(model_of(), tmp_path / "m", {"epoch": 3})  # type: ignore[dict-item]
    assert os.listdir(tmp_path) == []


def test_the_state_of_a_run_is_told_from_weights(tmp_path):
    block = ar.Vector(2) >> ar.FC(1, name="fc") >> ar.Function(lambda y: y[0] ** 2)
    model, path = ar.compile(block), tmp_path / "run.state"
    train(model, [[1.0, 2.0]], SGD(0.1), checkpoint=Checkpoint(path), progress=False)
    with pytest.raises(ArrowValueError, match=r"run\.state is the state of a run: load_state\("):
        load(model, path)
