"""Damaged models, and those of strangers, through the command line: one line, and status 2."""

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
from arrows.models import lexicon_tagger, sentiment
from arrows.safetensors_file import read_file, write_file
from arrows.training.saving.existing import MODEL_KEY as KEY
from arrows.typesys.errors import ArrowValueError
from tests.profile import NIGHTLY
from tests.training.saving.damage import safetensors

TAGGER_SIZES = ("size", "embedding", "character_size", "character_embedding")
posix = pytest.mark.skipif(os.name != "posix", reason="special files of POSIX")


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    path = tmp_path_factory.mktemp("trees") / "test.trees"
    path.write_text("(2 (2 not) (3 good))\n(3 good)\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A saved model."""
    path = tmp_path_factory.mktemp("trained") / "m"
    ar.save_model(ar.compile(sentiment({"not": 1, "good": 2}, size=3, embedding=2).judge), path)
    return path


def predict(path: Path, trees: Path) -> int:
    return cli.main(["predict", str(path), str(trees)])


def one_line(capsys: Any, status: int, program: str = "arrows predict: ") -> str:
    """Asserts that a command has refused its work in one line without control characters."""
    out, err = capsys.readouterr()
    assert status == 2 and not out
    assert err.startswith(program) and err.count("\n") == 1 and len(err) < 1000, err
    assert err[:-1].isprintable()
    return err


def refused(capsys: Any, status: int) -> str:
    """Asserts that a model is refused in a few lines without control characters."""
    out, err = capsys.readouterr()
    assert status == 2 and not out and err.startswith("arrows predict: ")
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
    lies: list[Any] = [
        {name: value} for name in ("words", "characters") for value in (..., "", 3, [], None, {"a": 2**70})
    ]
    lies += [{size: value} for size in TAGGER_SIZES for value in (..., 0, -1, 2.5, True, 20000, 2**70, [2])]
    for change in lies:
        tracemalloc.start()
        with pytest.raises(ArrowValueError, match=str(tmp_path / "lie")):
            ar.load_model(rewritten(path, tmp_path / "lie", change))
        assert tracemalloc.get_traced_memory()[1] < 3e7
        tracemalloc.stop()


# --------------------------------------------------------------------------- where files are written


@posix
@pytest.mark.parametrize("command", ["demo", "show"])
def test_places_that_cannot_be_written_to_are_known_at_once(command, tmp_path, capsys, monkeypatch):
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
        if command == "demo":
            status = cli.main(["demo", "--examples", "9", "--epochs", "1", "--save", path])
        else:
            status = cli.main(["show", "model.py", "--format", "text", "--output", path])
        assert why in one_line(capsys, status, f"arrows {command}: ")
    assert sorted(os.listdir()) == ["model.py", "pipe", "there", "to-pipe"]
    assert stat.S_ISFIFO(os.lstat("pipe").st_mode) and stat.S_ISCHR(os.lstat("/dev/null").st_mode)


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
