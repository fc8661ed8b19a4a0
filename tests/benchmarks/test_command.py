"""`python -m benchmarks`: the process it measures in, and its errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import command

ROOT = Path(__file__).resolve().parents[2]


def benchmarks(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m benchmarks` with these variables in its environment."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_measures_without_pins():
    done = benchmarks("steps", "--quick", OPENBLAS_CORETYPE="Prescott")
    assert done.returncode == 0, done.stderr
    assert "OPENBLAS_CORETYPE" not in done.stderr, "a pin would be told"
    assert "Prescott" not in done.stdout


def test_there_is_no_other_benchmark():
    done = benchmarks("nothing")
    assert done.returncode == 2 and "invalid choice: 'nothing'" in done.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file or directory"),
        ("(3 (2 a)", "train.txt:1:9: the text ends, but the bracket opened"),
    ],
)
def test_data_that_cannot_be_read_is_one_line(content, words, tmp_path):
    if content is not None:
        (tmp_path / "train.txt").write_text(content, encoding="utf-8")
    done = benchmarks("treelstm", "--quick", "--data", str(tmp_path))
    assert done.returncode == 2
    assert words in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_threads_are_set_once_a_benchmark_has_imported_its_libraries(monkeypatch):
    order: list[object] = []

    def imported(_: str) -> SimpleNamespace:
        order.append("imported")
        return SimpleNamespace(run=lambda **_: [])

    monkeypatch.setattr(command, "benchmark", imported)
    monkeypatch.setattr(command, "set_threads", order.append)
    assert command.measure(command.parser().parse_args(["infer", "--threads", "1"])) == 0
    assert order == ["imported", 1]
