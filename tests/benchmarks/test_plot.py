"""Plots of results: a picture if matplotlib is installed, else one clear sentence."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from arrows.cli import exit_status
from arrows.typesys.errors import ArrowValueError
from benchmarks import command, plot
from benchmarks.report import Result

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed"
)
RESULTS = [
    Result("b", {"mode": "train"}, "arrows", [1.0, 2.0]),
    Result("b", {"mode": "train"}, "numpy-hand", [3.0]),
    Result("b", {"mode": "lower"}, "bound", [1e-4]),
]


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(plot.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(command, "describe", lambda: pytest.fail("it measured"))
    options = command.parser().parse_args(["steps", "--plot", "picture.svg"])
    assert exit_status("benchmarks", lambda: command.measure(options)) == 2
    assert capsys.readouterr().err == "benchmarks: --plot needs matplotlib: pip install 'arrows[plot]'\n"


@needs_matplotlib
def test_a_picture_names_tasks_and_systems(tmp_path):
    plot.check(tmp_path / "picture.svg")
    plot.plot(RESULTS, tmp_path / "picture.svg")
    plot.plot(RESULTS[:1], tmp_path / "picture.png")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").count("<path") > 10
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"


@needs_matplotlib
def test_what_cannot_be_written_is_refused_before_measuring(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        plot.check(tmp_path / "nowhere" / "picture.svg")
    with pytest.raises(ArrowValueError, match="svg"):
        plot.check(Path("picture.nothing"))
