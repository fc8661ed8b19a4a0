"""Models of strangers, with arguments that lie: a command says so in one line, with status 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import arrows as ar
from arrows import cli
from arrows.storage import read_arrays, write_arrays
from arrows.training.saving import MODEL
from tests.model_files import builders_of_tests as builders


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


def test_models_of_strangers(model, tmp_path, capsys):
    arrays, texts = read_arrays(model)
    fields = json.loads(texts[MODEL])
    for size in (20_000_000_000, 2**70, -3, True, 3.5, "\x1b[31mred", [3], None, {}):
        lie = json.dumps(fields | {"arguments": {"size": size}})
        write_arrays(tmp_path / "lie", arrays, texts | {MODEL: lie})
        assert str(tmp_path / "lie") in refused(capsys, *predict(tmp_path / "lie", tmp_path), lines=6)
