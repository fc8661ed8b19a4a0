"""`arrows predict`: order, formats, places of errors, what is skipped, pictures, and whom to trust."""

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
from arrows.cli.predict import draw
from arrows.data import CLASSES, TAGS, parse_tree
from arrows.models import sentiment, tagger
from tests.model_files import builders_of_tests as builders

ROOT = Path(__file__).resolve().parents[2]
TRUST = ["--trust", "tests"]
BUILDER = ["--builder", f"{builders.__file__}:scorer"]
LINES = [["good", "film"], ["bad"], ["unheard", "of"], ["film"]] * 5
BAD = '["good"]\n\n[1]\n{"a": \n["bad"]\n[null]\n["film"]\n'


@pytest.fixture(scope="module")
def model() -> ar.Model:
    return ar.compile(builders.scorer(ar.Vocabulary(["good", "bad", "film"]), ["up", "down"], size=3), seed=2)


@pytest.fixture
def folder(model: ar.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with models of three kinds, and lines for the first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT)])
    ar.save_model(model, tmp_path / "m")
    judge = ar.compile(sentiment(ar.Vocabulary(["good"]), size=2).judge)
    ar.save_model(judge, tmp_path / "trees", metadata={"classes": json.dumps(CLASSES)})
    tags = ar.compile(tagger(ar.Vocabulary(["trees"]), ar.Vocabulary(["t"]), size=4).judge)
    ar.save_model(tags, tmp_path / "tags", metadata={"classes": json.dumps(TAGS)})
    (tmp_path / "x.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in LINES), encoding="utf-8")
    return tmp_path


def told(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["predict", *arguments])
    return status, *capsys.readouterr()


def predict(capsys: Any, *arguments: str) -> tuple[int, list[Any], str]:
    status, out, err = told(capsys, *arguments)
    return status, [json.loads(line) for line in out.splitlines()], err


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))


@pytest.mark.parametrize("how", [[*TRUST, "--batch-size", "1"], [*TRUST, "--batch-size", "3"], BUILDER])
def test_results_are_those_of_the_model_in_order(how, folder, model, capsys):
    status, rows, err = predict(capsys, "m", "x.jsonl", *how, "--device", "fake")
    assert (status, err) == (0, "")
    np.testing.assert_allclose(np.array(rows, "float32"), model(LINES), rtol=1e-6)


def test_compressed_files_and_standard_input(folder, capsys, monkeypatch):
    content = (folder / "x.jsonl").read_bytes()
    _, rows, _ = predict(capsys, "m", "x.jsonl", *TRUST)
    (folder / "x.jsonl.gz").write_bytes(gzip.compress(content))
    assert predict(capsys, "m", "x.jsonl.gz", *TRUST) == (0, rows, "")
    for more in ([], ["-"]):
        stdin(monkeypatch, content)
        assert predict(capsys, "m", *more, *TRUST) == (0, rows, "")
    monkeypatch.setattr(sys, "stdin", None)
    closed = "arrows predict: standard input is closed; name a file of examples\n"
    assert predict(capsys, "m", *TRUST)[2] == closed


def test_output_goes_to_a_file_whole_or_not_at_all(folder, capsys):
    assert predict(capsys, "m", "x.jsonl", *TRUST, "--output", "y.jsonl") == (0, [], "")
    whole, there = (folder / "y.jsonl").read_bytes(), sorted(os.listdir(folder))
    assert whole.count(b"\n") == len(LINES)
    with (folder / "x.jsonl").open("a") as file:
        file.write("3\n")
    assert predict(capsys, "m", "x.jsonl", *TRUST, "--output", "y.jsonl")[0] == 2
    for output in ("m", "x.jsonl", "trees"):
        before = (folder / output).read_bytes()
        assert predict(capsys, "m", "x.jsonl", *TRUST, "--errors", "skip", "--output", output)[0] == 2
        assert (folder / output).read_bytes() == before
    assert (folder / "y.jsonl").read_bytes() == whole and sorted(os.listdir(folder)) == there


@pytest.mark.parametrize("batch", ["1", "2", "9"])
def test_an_error_names_the_line_and_comes_after_the_results_before_it(batch, folder, capsys):
    (folder / "bad.jsonl").write_text(BAD, encoding="utf-8")
    status, rows, err = predict(capsys, "m", "bad.jsonl", *TRUST, "--batch-size", batch)
    assert status == 2 and len(rows) == 1
    assert err.startswith("arrows predict: bad.jsonl:3: example 1: [0]: expected a text, got int")
    status, rows, err = predict(capsys, "m", "bad.jsonl", *TRUST, "--batch-size", batch, "--errors", "skip")
    assert status == 0 and len(rows) == 3
    lines = [line for line in err.splitlines() if line.startswith("skipped: ")]
    assert sorted(line.split(":")[2] for line in lines) == ["3", "4", "6"]
    assert err.endswith("6 examples: 3 skipped\n")


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


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["m", "x.jsonl"], "nothing is imported by a name from a file; give the function"),
        (["m", "x.jsonl", "--trust", "test"], "nothing is imported by a name from a file"),
        (["m", "x.jsonl", "--builder", "nowhere.py:scorer"], "no such file: nowhere.py"),
        (["m", "x.jsonl", "--builder", f"{builders.__file__}"], "names no function; it looks like FILE.py:"),
        (["m", "x.jsonl", "--builder", f"{builders.__file__}:scorers"], "has no name scorers"),
        (["nowhere", "x.jsonl"], "No such file"),
        (["m", "nowhere.jsonl", *TRUST], "No such file"),
        (["x.jsonl", "x.jsonl"], "is no safetensors file to read"),
        (["m", "x.jsonl", *TRUST, "--format", "csv"], "was not fitted to a table"),
        (["m", "x.jsonl", *TRUST, "--show"], "--show needs a model with the metric scores"),
        (["trees", "x.jsonl", "--show"], "x.jsonl:1: example 0: bare_tree: expected something with"),
        (["trees", "x.jsonl", "--format", "trees"], "x.jsonl:1:"),
    ],
)
def test_requests_that_cannot_be_met(arguments, error, folder, capsys):
    status, rows, err = predict(capsys, *arguments)
    assert (status, rows) == (2, []) and error in err and err.startswith("arrows predict: ")


def test_trees_are_read_with_labels_and_without_and_drawn(folder, capsys, monkeypatch):
    (folder / "t.trees").write_bytes(b"((not a\xc2\xa0\x1bb) film)\n(2 (2 so) (2 good))\n")
    status, rows, _ = predict(capsys, "trees", "t.trees")
    assert status == 0 and all(row["class"] in CLASSES and 0.2 <= row["probability"] <= 1 for row in rows)
    (folder / "t.jsonl").write_text('{"left": {"word": "so"}, "right": {"word": "good"}}\n', encoding="utf-8")
    assert predict(capsys, "trees", "t.jsonl")[1] == rows[1:]
    out = told(capsys, "trees", "t.trees", "--show")[1]
    lines = out.splitlines()
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 4, 4, 2, 0, 0, 2, 2, 0]
    assert (
        lines[3].endswith("  a\u00a0\\x1bb")
        and lines[6] == f"{rows[1]['class']} {rows[1]['probability']:.2f}"
    )
    stdin(monkeypatch, b"(so good)\n")
    assert told(capsys, "trees", "--format", "trees", "--show")[1] == "\n".join(lines[6:]) + "\n"


def test_sentences_are_read_as_words_and_in_conllu(folder, capsys, monkeypatch):
    stdin(monkeypatch, "\ufeffTrees grow\r\n\n  t \n".encode())
    status, rows, _ = predict(capsys, "tags", "--format", "words")
    assert status == 0 and [len(row) for row in rows] == [2, 1] and rows[0][0]["class"] in TAGS
    words = "".join("\t".join([str(n), word, *"_" * 8]) + "\n" for n, word in enumerate(["Trees", "grow"], 1))
    (folder / "s.conllu").write_text(f"{words}\n", encoding="utf-8")
    assert predict(capsys, "tags", "s.conllu")[1] == rows[:1]
    (folder / "s.conllu").write_text("1\ttree\n", encoding="utf-8")
    assert "s.conllu:1: expected 10 columns" in predict(capsys, "tags", "s.conllu")[2]


def test_deep_trees_are_drawn_in_lines_of_bounded_length():
    depth = 3000
    tree = parse_tree("(a " * depth + "b" + ")" * depth)
    lines = list(draw(tree, np.zeros((2 * depth + 1, 5)), CLASSES))
    assert len(lines) == 2 * depth + 1 and max(map(len, lines)) < 200
    assert lines[-1].lstrip().startswith(f"[{depth}] ")


@pytest.mark.nightly
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
        assert process.stdout.read() == "" and process.wait() == 0
