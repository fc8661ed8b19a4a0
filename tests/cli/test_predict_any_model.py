"""`arrows predict MODEL FILE.jsonl`: order, places of errors, what is skipped, streams, and whom to trust."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import cli
from arrows.cli.predict.any_model import as_json
from tests.model_files import builders_of_tests as builders

ROOT = Path(__file__).resolve().parents[2]
TRUST = ["--trust", "tests"]
BUILDER = ["--builder", f"{builders.__file__}:scorer"]
LINES = [["good", "film"], ["bad"], ["unheard", "of"], ["film"]] * 5


@pytest.fixture(scope="module")
def model() -> ar.Model:
    return ar.compile(builders.scorer(ar.Vocabulary(["good", "bad", "film"]), ["up", "down"], size=3), seed=2)


@pytest.fixture
def folder(model: ar.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT)])
    ar.save_model(model, tmp_path / "m")
    (tmp_path / "x.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in LINES), encoding="utf-8")
    return tmp_path


def predict(capsys: Any, *arguments: str) -> tuple[int, list[Any], str]:
    status = cli.main(["predict", *arguments])
    out, err = capsys.readouterr()
    return status, [json.loads(line) for line in out.splitlines()], err


@pytest.mark.parametrize(("value", "kind"), [(3, "int"), (None, "NoneType"), (True, "bool")])
def test_a_value_that_is_no_tree(value, kind):
    model = ar.compile(ar.models.sentiment({"good": 1}, size=2).judge)
    (refused,) = model.predict([value], errors="return")
    assert refused.details.reason == f"expected a tree, which is a dict, got {kind}"


@pytest.mark.parametrize("how", [TRUST, BUILDER])
@pytest.mark.parametrize("batch", ["1", "3", "256"])
def test_results_are_those_of_the_model_in_order(how, batch, folder, model, capsys):
    status, rows, err = predict(capsys, "m", "x.jsonl", *how, "--batch-size", batch)
    assert (status, err) == (0, "")
    np.testing.assert_allclose(np.array(rows, "float32"), model(LINES), rtol=1e-6)


def test_compressed_files_and_standard_input(folder, capsys, monkeypatch):
    content = (folder / "x.jsonl").read_bytes()
    _, rows, _ = predict(capsys, "m", "x.jsonl", *TRUST)
    (folder / "x.jsonl.gz").write_bytes(gzip.compress(content))
    assert predict(capsys, "m", "x.jsonl.gz", *TRUST) == (0, rows, "")
    for more in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        assert predict(capsys, "m", *more, *TRUST) == (0, rows, "")
    monkeypatch.setattr(sys, "stdin", None)
    assert predict(capsys, "m", *TRUST)[2] == (
        "arrows predict: [Errno 9] standard input is closed; name a file of examples\n"
    )


def test_output_goes_to_a_file_whole_or_not_at_all(folder, capsys):
    assert predict(capsys, "m", "x.jsonl", *TRUST, "--output", "y.jsonl") == (0, [], "")
    whole = (folder / "y.jsonl").read_bytes()
    assert whole.count(b"\n") == len(LINES)
    with (folder / "x.jsonl").open("a") as file:
        file.write("3\n")
    assert predict(capsys, "m", "x.jsonl", *TRUST, "--output", "y.jsonl")[0] == 2
    assert (folder / "y.jsonl").read_bytes() == whole
    assert sorted(os.listdir(folder)) == ["m", "x.jsonl", "y.jsonl"]


BAD = '["good"]\n\n[1]\n{"a": \n["bad"]\n[null]\n["film"]\n'


@pytest.mark.parametrize("batch", ["1", "2", "9"])
def test_an_error_names_the_line_and_comes_after_the_results_before_it(batch, folder, capsys):
    (folder / "bad.jsonl").write_text(BAD, encoding="utf-8")
    status, rows, err = predict(capsys, "m", "bad.jsonl", *TRUST, "--batch-size", batch)
    assert status == 2 and len(rows) == 1
    assert err.startswith("arrows predict: bad.jsonl:3: [0]: expected a text, got int")


def test_lines_may_be_skipped_and_are_told(folder, capsys):
    (folder / "bad.jsonl").write_text(BAD, encoding="utf-8")
    status, rows, err = predict(capsys, "m", "bad.jsonl", *TRUST, "--errors", "skip")
    assert status == 0 and len(rows) == 3
    lines = [line for line in err.splitlines() if line.startswith("skipped: ")]
    assert sorted(line.split(":")[2] for line in lines) == ["3", "4", "6"]
    assert err.endswith("6 examples: 3 skipped\n")
    assert not (set("\x1b\x07") & set(err))


@pytest.mark.parametrize("errors", ["stop", "skip"])
def test_a_file_that_is_cut_off_gives_what_came_before_and_ends_with_an_error(errors, folder, capsys):
    content = gzip.compress(b"".join(b'["good", "w%d"]\n' % n**9 for n in range(20_000)))
    (folder / "cut.jsonl.gz").write_bytes(content[: len(content) // 2])
    status, rows, err = predict(capsys, "m", "cut.jsonl.gz", *TRUST, "--errors", errors)
    assert status == 2 and 5000 < len(rows) < 15_000
    assert err.startswith(f"arrows predict: cut.jsonl.gz:{len(rows) + 1}: ") and "cut off" in err


def test_numbers_that_json_does_not_have(folder, capsys):
    ar.save_model(ar.compile(builders.reader(1)), "r")
    (folder / "n.jsonl").write_text("1\n1e300\n2.5\n", encoding="utf-8")
    status, rows, err = predict(capsys, "r", "n.jsonl", *TRUST, "--errors", "skip")
    assert status == 0 and rows in ([1.0, None, 2.5], [1.0, 2.5]), err
    assert as_json(float("inf")) == ("null", False) and as_json(np.array([1, 2])) == ("[1, 2]", True)
    assert as_json({"a": [np.array([np.nan]), (True, "é")]}) == ('{"a": [[null], [true, "\\u00e9"]]}', False)


def test_nothing_is_imported_by_the_name_in_the_file(folder, capsys):
    status, rows, err = predict(capsys, "m", "x.jsonl")
    assert (status, rows) == (2, [])
    assert "name the function, --builder FILE.py:scorer, or trust its package, --trust tests" in err
    assert predict(capsys, "m", "x.jsonl", "--trust", "test")[0] == 2
    assert "give --builder or --trust" in predict(capsys, "m", "x.jsonl", *TRUST, *BUILDER)[2]


@pytest.mark.parametrize(
    ("builder", "error"),
    [
        ("nowhere.py:scorer", "no such file: nowhere.py"),
        (str(builders.__file__), "names no function; it looks like FILE.py:FUNCTION"),
        (f"{builders.__file__}:scorers", "has no name scorers"),
        (f"{builders.__file__}:__doc__", "is no function but of the type str"),
        (f"{builders.__file__}:plain", "whose arguments are (size: "),
    ],
)
def test_builders_that_are_none(builder, error, folder, capsys):
    status, rows, err = predict(capsys, "m", "x.jsonl", "--builder", builder)
    assert (status, rows) == (2, []) and error in err


def test_files_that_are_none(folder, capsys):
    assert "No such file" in predict(capsys, "nowhere", "x.jsonl", *TRUST)[2]
    assert "No such file" in predict(capsys, "m", "nowhere.jsonl", *TRUST)[2]
    assert "is not a whole safetensors file" in predict(capsys, "x.jsonl", "x.jsonl", *TRUST)[2]


def test_models_of_this_package_need_no_trust(folder, capsys):
    ar.save_model(ar.compile(ar.models.sentiment({"good": 1}, size=2).judge), "s")
    (folder / "t.jsonl").write_text('{"word": "good"}\n', encoding="utf-8")
    status, rows, _ = predict(capsys, "s", "t.jsonl")
    assert status == 0 and len(rows[0]) == 5


def test_a_pipe_gets_each_batch_at_once(folder):
    """Results come while the other end of the pipe is still open."""
    command = [sys.executable, "-m", "arrows", "predict", "m", "-", *TRUST, "--batch-size", "2"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(2):
            process.stdin.write('["good"]\n["bad"]\n')
            process.stdin.flush()
            assert [len(json.loads(process.stdout.readline())) for _ in range(2)] == [2, 2]
        process.stdin.close()
        assert process.stdout.read() == "" and process.wait(20) == 0


def test_help_comes_without_a_kind(capsys):
    for words in (["predict", "--help"], ["predict", "model", "--help"], ["--threads", "1", "predict", "-h"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        assert ended.value.code == 0 and "MODEL" in capsys.readouterr().out
