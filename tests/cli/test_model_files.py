"""Damaged models, and places that cannot be written to: a command says so in one line, with status 2."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

import arrows as ar
from arrows import cli
from arrows.storage import read_arrays, write_arrays
from arrows.training.saving import MODEL
from tests.model_files import builders_of_tests as builders

posix = pytest.mark.skipif(os.name != "posix", reason="special files of POSIX")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    ar.save_model(ar.compile(builders.pair(2).judge), tmp_path / "m")
    (tmp_path / "x.jsonl").write_text("[1, 2, 3]\n", encoding="utf-8")
    return tmp_path / "m"


def refused(capsys: Any, *arguments: object, lines: int = 1) -> str:
    """What a command says that refuses its work, without control characters."""
    capsys.readouterr()
    status = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert status == 2 and not out and err.startswith(f"arrows {arguments[0]}: "), err
    assert err.count("\n") <= lines and all(
        line.isprintable() and len(line) < 1000 for line in err.splitlines()
    )
    return str(err)


def predict(path: Path, folder: Path) -> list[object]:
    return ["predict", path, folder / "x.jsonl", "--trust", "tests"]


def test_damaged_models(model, tmp_path, capsys):
    assert cli.main([str(word) for word in predict(model, tmp_path)]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1
    whole, chosen = model.read_bytes(), random.Random(5)
    for _ in range(20):
        damaged = bytearray(whole)
        bit = chosen.randrange(8 * len(whole))
        damaged[bit // 8] ^= 1 << bit % 8
        for content in (bytes(damaged), whole[: chosen.randrange(len(whole))]):
            model.write_bytes(content)
            refused(capsys, *predict(model, tmp_path), lines=6)


def test_models_of_strangers(model, tmp_path, capsys):
    arrays, texts = read_arrays(model)
    fields = json.loads(texts[MODEL])
    for size in (20_000_000_000, 2**70, -3, True, 3.5, "\x1b[31mred", [3], None, {}):
        lie = json.dumps(fields | {"arguments": {"size": size}})
        write_arrays(tmp_path / "lie", arrays, texts | {MODEL: lie})
        assert str(tmp_path / "lie") in refused(capsys, *predict(tmp_path / "lie", tmp_path), lines=6)


@posix
def test_what_is_no_file_is_no_model(model, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null"), Path("/dev/zero"), tmp_path / "nowhere"):
        refused(capsys, *predict(path, tmp_path))
