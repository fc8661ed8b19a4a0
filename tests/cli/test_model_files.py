"""Damaged models and run states, and those of strangers, through the command line: one line, and status 2."""

from __future__ import annotations

import json
import os
import random
import stat
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import cli
from arrows.cli.model_files import restore_tagger
from arrows.cli.train_tagger import TAGGER_SIZES
from arrows.data import format_tree, generate
from arrows.model_files import read_model_file
from arrows.models import Lexicon, lexicon_tagger
from arrows.safetensors_file import read_file, write_file
from arrows.training.saving.existing import MODEL_KEY as KEY
from arrows.typesys.errors import ArrowValueError
from tests.profile import NIGHTLY
from tests.training.saving.damage import dropped, places, put, resaved, safetensors

SMALL = ["--state-size", "3", "--embedding-size", "2", "--epochs", "2", "--batch-size", "8"]
posix = pytest.mark.skipif(os.name != "posix", reason="special files of POSIX")


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    for seed, name in enumerate(("train", "dev", "test")):
        lines = "".join(format_tree(tree) + "\n" for tree in generate(8, seed=seed, words=(1, 4)))
        (folder / f"{name}.txt").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def trained(trees, tmp_path_factory):
    """A trained model and the state of its run, after one epoch of two."""
    path = tmp_path_factory.mktemp("trained") / "m"
    assert train(trees, path, "--epochs", "1") == 0
    return path


def train(trees: Path, path: Any, *more: Any) -> int:
    arguments = ["train", "sentiment", "--data", trees, *SMALL, "--save", path, *more]
    return cli.main([str(argument) for argument in arguments])


def predict(path: Path, trees: Path) -> int:
    return cli.main(["predict", "sentiment", str(path), str(trees / "test.txt")])


def one_line(capsys: Any, status: int, program: str = "arrows predict sentiment: ") -> str:
    """Asserts that a command has refused its work in one line without control characters."""
    out, err = capsys.readouterr()
    assert status == 2 and not out
    assert err.startswith(program) and err.count("\n") == 1 and len(err) < 1000, err
    assert err[:-1].isprintable()
    return err


def refused(capsys: Any, status: int) -> str:
    """Asserts that a model is refused in a few lines without control characters."""
    out, err = capsys.readouterr()
    assert status == 2 and not out and err.startswith("arrows predict sentiment: ")
    assert err.count("\n") < 25 and all(line.isprintable() and len(line) < 1100 for line in err.splitlines())
    return err


# ---------------------------------------------------------------------------------------- predict: models


def test_damaged_models(trained, trees, tmp_path, capsys):
    whole = trained.read_bytes()
    chosen = random.Random(5)
    path = tmp_path / "m"
    for _ in range(400 if NIGHTLY else 25):
        damaged = bytearray(whole)
        bit = chosen.randrange(8 * len(whole))
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        one_line(capsys, predict(path, trees))
        path.write_bytes(whole[: chosen.randrange(len(whole))])
        one_line(capsys, predict(path, trees))
    for content in (b"", b"\0" * 8, b"[" * 4096, b"\xff" * 4096):
        path.write_bytes(content)
        one_line(capsys, predict(path, trees))


def rewritten(
    trained: Path, path: Path, change: dict[str, Any], arrays: dict[str, Any] | None = None
) -> Path:
    """The model's file with other arguments (...: without), its checksums right."""
    its, texts = read_file(trained)
    fields = json.loads(texts[KEY])
    arguments = fields["arguments"] | change
    fields["arguments"] = {name: value for name, value in arguments.items() if value is not ...}
    write_file(path, its if arrays is None else arrays, texts | {KEY: json.dumps(fields)})
    return path


LIES: dict[str, dict[str, Any]] = {
    "a size of 30 GB": {"size": 20000},
    "a size of more than all memory": {"size": 99999999},
    "a size beyond 64 bits": {"size": 2**70},
    "another embedding": {"embedding": 20000},
    "a negative size": {"size": -3},
    "a size of nothing": {"size": 0},
    "truth as a size": {"size": True},
    "a fraction": {"size": 3.5},
    "a text": {"size": "\x1b[31mred"},
    "many classes": {"classes": 10**9},
    "a list of sizes": {"size": [3]},
    "no size": {"size": ...},
    "no vocabulary": {"vocabulary": ...},
    "a nested vocabulary": {"vocabulary": {"a": {"b": 1}}},
    "a list of words": {"vocabulary": ["a"]},
    "a number as a vocabulary": {"vocabulary": 3},
    "large numbers of words": {"vocabulary": {"a": 2**70}},
    "negative numbers of words": {"vocabulary": {"a": -1}},
    "number 0": {"vocabulary": {"a": 0}},
    "truth as a number": {"vocabulary": {"a": True}},
    "a fraction as a number": {"vocabulary": {"a": 1.0}},
    "a gap": {"vocabulary": {"a": 1, "b": 3}},
    "a table of 34 GB": {"vocabulary": {"a": 2**33}},
    "fewer words": {"vocabulary": {"a": 1}},
    "none": {"vocabulary": {}},
    "a word that steers": {"vocabulary": {"\x1b]0;owned\x07": 5}},
    "another argument": {"\x1b[31m": 5},
}


@pytest.mark.parametrize("kind", LIES)
def test_models_of_strangers(kind, trained, trees, tmp_path, capsys):
    path = rewritten(trained, tmp_path / "m", LIES[kind])
    tracemalloc.start()
    refused(capsys, predict(path, trees))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e7


def test_a_giant_that_agrees_with_itself(trained, trees, tmp_path, capsys, monkeypatch):
    """Texts and header agree on large tables, which are a hole in the file."""
    arrays, texts = read_file(trained)
    fields = json.loads(texts[KEY])
    fields["arguments"]["embedding"] = 1_000_000
    content: dict[str, Any] = {"__metadata__": {**texts, KEY: json.dumps(fields)}}
    place = 0
    for name, array in arrays.items():
        shape = list(array.shape)
        if name == "embed/weight":
            shape = [shape[0], 1_000_000]
        if name == "cell/weight":
            shape = [1_000_000 + shape[0] - 2, shape[1]]
        size = 4 * int(np.prod(shape))
        content[name] = {"dtype": "F32", "shape": shape, "data_offsets": [place, place + size]}
        place += size
    (tmp_path / "m").write_bytes(safetensors(content))
    try:
        os.truncate(tmp_path / "m", (tmp_path / "m").stat().st_size + place)
    except OSError:
        pytest.skip("this file system has no sparse files")
    sysconf = os.sysconf
    monkeypatch.setattr(os, "sysconf", lambda name: 1 if name == "SC_PHYS_PAGES" else sysconf(name))
    err = refused(capsys, predict(tmp_path / "m", trees))
    assert "GB of numbers, and this machine" in err or "whose block has changed since" in err


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F16", "I32", "\x1b[31m"])
def test_other_element_types(dtype, trained, trees, tmp_path, capsys):
    whole = trained.read_bytes()
    end = 8 + int.from_bytes(whole[:8], "little")
    content = json.loads(whole[8:end])
    content["__metadata__"] = {
        k: t for k, t in content["__metadata__"].items() if not k.startswith("arrows.")
    }
    content["classify/bias"]["dtype"] = dtype
    (tmp_path / "m").write_bytes(safetensors(content, whole[end:]))
    one_line(capsys, predict(tmp_path / "m", trees))


@pytest.mark.parametrize("change", ["less", "more", "other", "shape"])
def test_arrays_of_strangers(change, trained, trees, tmp_path, capsys):
    arrays, _ = read_file(trained)
    if change == "less":
        del arrays["cell/weight"]
    elif change == "more":
        arrays["\x1b[31m" + "x" * 1000] = np.ones(1)
    elif change == "shape":
        arrays["classify/bias"] = np.ones(3, "float32")
    else:
        arrays = {f"w{i}": np.ones(1) for i in range(100)}
    path = rewritten(trained, tmp_path / "m", {}, arrays)
    assert "does not fit the block of arrows.models.sentiment:sentiment" in refused(
        capsys, predict(path, trees)
    )


@posix
def test_what_is_no_file_is_no_model(trees, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null"), Path("/dev/zero"), tmp_path / "nowhere"):
        one_line(capsys, predict(path, trees))


def test_a_tagger_of_a_stranger(tmp_path):
    model = ar.compile(lexicon_tagger({"trees": 1}, {"t": 1, "r": 2}, **dict.fromkeys(TAGGER_SIZES, 2)).judge)
    path = tmp_path / "m"
    ar.save_model(model, path)
    assert restore_tagger(path)[1] == Lexicon({"trees": 1}, {"t": 1, "r": 2})
    lies: list[Any] = [
        {name: value} for name in ("words", "characters") for value in (..., "", 3, [], None, {"a": 2**70})
    ]
    lies += [{size: value} for size in TAGGER_SIZES for value in (..., 0, -1, 2.5, True, 20000, 2**70, [2])]
    for change in lies:
        tracemalloc.start()
        with pytest.raises(ArrowValueError, match=str(tmp_path / "lie")):
            restore_tagger(rewritten(path, tmp_path / "lie", change))
        assert tracemalloc.get_traced_memory()[1] < 3e7
        tracemalloc.stop()


# -------------------------------------------------------------------------------------- train: run states


def resumed(trees: Path, trained: Path, folder: Path, state: bytes, capsys: Any) -> str:
    """Asserts that a state is refused in one line, and that no file has changed."""
    path = folder / "m"
    path.write_bytes(trained.read_bytes())
    (folder / "m.state").write_bytes(state)
    capsys.readouterr()
    status = train(trees, path, "--resume")
    out, err = capsys.readouterr()
    assert status == 2 and out.count("\n") == 1, out  # what it has read
    assert err.count("\n") == 1 and err[:-1].isprintable() and len(err) < 1000, err
    assert err.startswith(f"arrows train sentiment: {path}.state")
    assert path.read_bytes() == trained.read_bytes() and (folder / "m.state").read_bytes() == state
    assert sorted(os.listdir(folder)) == ["m", "m.state"]
    return err


def test_damaged_run_states(trees, trained, tmp_path, capsys):
    whole = trained.with_name("m.state").read_bytes()
    chosen = random.Random(5)
    for _ in range(200 if NIGHTLY else 12):
        damaged = bytearray(whole)
        bit = chosen.randrange(8 * len(whole))
        damaged[bit // 8] ^= 1 << bit % 8
        resumed(trees, trained, tmp_path, bytes(damaged), capsys)
        resumed(trees, trained, tmp_path, whole[: chosen.randrange(len(whole))], capsys)


def test_run_states_of_strangers(trees, trained, tmp_path, capsys):
    state, lie = trained.with_name("m.state"), tmp_path / "lie"
    numbers = json.loads(read_file(state)[1]["arrows.run"])
    paths = [path for path in places(numbers) if path and path[0] not in ("metadata", "unnamed", "began")]
    chosen = random.Random(7)
    folder = tmp_path / "work"
    folder.mkdir()
    for path in paths if NIGHTLY else chosen.sample(paths, 15):
        for value in ([1], {"a": []}) if NIGHTLY else ([1],):
            if value == [1] and path[-1] == "history":
                value = [3]
            resaved(state, lie, lambda _, numbers, path=path, value=value: put(numbers, path, value))
            resumed(trees, trained, folder, lie.read_bytes(), capsys)
    for name in ("steps", "counts", "progress", "metadata", "optimizer", "version"):
        resaved(state, lie, lambda _, numbers, name=name: dropped(numbers, (name,)))
        assert f"{name!r} is missing" in resumed(trees, trained, folder, lie.read_bytes(), capsys)
    for name, value in (("position", -7), ("position", 9), ("batch_size", 0), ("epoch", -1)):
        resaved(state, lie, lambda _, n, name=name, value=value: put(n, ("progress", name), value))
        assert f"progress.{name} is" in resumed(trees, trained, folder, lie.read_bytes(), capsys)
    resaved(state, lie, lambda _, numbers: put(numbers, ("learning_rate",), float("nan")))
    assert "learning_rate is nan" in resumed(trees, trained, folder, lie.read_bytes(), capsys)


# --------------------------------------------------------------------------- where files are written


@posix
@pytest.mark.parametrize("command", ["train", "demo", "show"])
def test_places_that_cannot_be_written_to_are_known_at_once(command, trees, tmp_path, capsys, monkeypatch):
    (tmp_path / "model.py").write_text(
        "import arrows as ar\nm = ar.Vector(3) >> ar.FC(2)\n", encoding="utf-8"
    )
    (tmp_path / "there").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to-pipe").symlink_to("pipe")
    monkeypatch.chdir(tmp_path)
    words = {
        "there": "this is a folder",
        ".": "this is a folder",
        "": "this is a folder",
        "pipe": "a device, a pipe or a socket",
        "to-pipe": "a device, a pipe or a socket",
        "/dev/null": "a device, a pipe or a socket",
        "nowhere/m": "no such folder",
    }
    for path, why in words.items():
        if command == "train":
            status = train(trees, path)
        elif command == "demo":
            status = cli.main(["demo", "--examples", "9", "--epochs", "1", "--save", path])
        else:
            status = cli.main(["show", "model.py", "--format", "text", "--output", path])
        name = "arrows train sentiment: " if command == "train" else f"arrows {command}: "
        assert why in one_line(capsys, status, name)
    assert sorted(os.listdir()) == ["model.py", "pipe", "there", "to-pipe"]
    assert stat.S_ISFIFO(os.lstat("pipe").st_mode) and stat.S_ISCHR(os.lstat("/dev/null").st_mode)


def test_a_state_that_is_a_folder_is_known_at_once(trees, tmp_path, capsys):
    (tmp_path / "m.state").mkdir()
    assert "m.state" in one_line(capsys, train(trees, tmp_path / "m"), "arrows train sentiment: ")
    assert os.listdir(tmp_path) == ["m.state"]


@posix
def test_models_and_pictures_are_written_through_links(trees, tmp_path, capsys):
    (tmp_path / "far").mkdir()
    for name in ("m", "m.state", "picture.txt"):
        (tmp_path / name).symlink_to(f"far/{name}")
    (tmp_path / "far" / "m").write_bytes(b"old")
    (tmp_path / "far" / "m").chmod(0o640)
    assert train(trees, tmp_path / "m", "--overwrite") == 0
    (tmp_path / "model.py").write_text(
        "import arrows as ar\nm = ar.Vector(3) >> ar.FC(2)\n", encoding="utf-8"
    )
    assert cli.main(["show", str(tmp_path / "model.py"), "--output", str(tmp_path / "picture.txt")]) == 0
    assert sorted(os.listdir(tmp_path / "far")) == ["m", "m.state", "m.state.1", "picture.txt"]
    assert (tmp_path / "m").is_symlink() and read_model_file(tmp_path / "far" / "m").part == "judge"
    assert stat.S_IMODE((tmp_path / "far" / "m").stat().st_mode) == 0o640
    assert "FC(2)" in (tmp_path / "far" / "picture.txt").read_text(encoding="utf-8")


def test_a_picture_that_cannot_be_written_leaves_the_old_one(tmp_path, capsys, monkeypatch):
    (tmp_path / "model.py").write_text(
        "import arrows as ar\nm = ar.Vector(3) >> ar.FC(2)\n", encoding="utf-8"
    )
    (tmp_path / "m.txt").write_text("old", encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    status = cli.main(["show", str(tmp_path / "model.py"), "--output", str(tmp_path / "m.txt")])
    assert "No space left on device" in one_line(capsys, status, "arrows show: ")
    assert (tmp_path / "m.txt").read_text(encoding="utf-8") == "old"
    assert sorted(set(os.listdir(tmp_path)) - {"__pycache__"}) == ["m.txt", "model.py"]


# --------------------------------------------------------------------------- runs that end in NaN


def test_a_run_that_ends_in_nan_keeps_the_good_model(trees, trained, tmp_path, capsys):
    path = tmp_path / "m"
    path.write_bytes(trained.read_bytes())
    path.with_name("m.state").write_bytes(trained.with_name("m.state").read_bytes())
    worse = ["--optimizer", "sgd", "--learning-rate", "1e38", "--batch-size", "1"]
    with np.errstate(all="ignore"):
        status = train(trees, path, *worse, "--overwrite")
    err = capsys.readouterr().err
    line = [line for line in err.splitlines() if line.startswith("arrows train")]
    assert status == 1 and len(line) == 1 and "Traceback" not in err, err
    assert "epoch 1, step " in line[0] and "the loss is inf: " in line[0], line
    assert path.read_bytes() == trained.read_bytes()
    assert path.with_name("m.state").read_bytes() == trained.with_name("m.state").read_bytes()


def test_vectors_that_overflow_are_refused_before_the_training(trees, tmp_path, capsys):
    (tmp_path / "v").write_text("film 1 2\nnot 1e39 3\nthe 1 2\n", encoding="utf-8")
    status = train(trees, tmp_path / "m", "--vectors", tmp_path / "v")
    err = one_line(capsys, status, "arrows train sentiment: ")
    assert err.endswith("v:2:5: expected a number that float32 can hold, got '1e39'\n")
    assert os.listdir(tmp_path) == ["v"]
