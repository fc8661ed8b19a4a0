"""The command line: its output, its streams, and its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arrows import cli
from arrows.cli import demo
from arrows.typesys.errors import ArrowValueError
from arrows.version import __version__

ROOT = Path(__file__).resolve().parents[2]


def arrows(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m arrows` with warnings as errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "arrows", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_version():
    assert arrows("--version").stdout == f"arrows {__version__}\n"


def test_help_lists_the_commands():
    done = arrows("--help")
    assert done.returncode == 0 and not done.stderr
    assert "demo" in done.stdout and "bench" in done.stdout


@pytest.mark.parametrize("kind", ["model", "sentiment", "tagger"])
def test_each_command_that_predicts_has_a_usage_of_its_own(kind, capsys):
    with pytest.raises(SystemExit):
        cli.main(["predict", kind, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: arrows predict {kind} [-h]")
    with pytest.raises(SystemExit):
        cli.main(["predict", "--help"])
    assert "arrows predict model --help" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["demo", "--epochs", "-1"], "expected a whole number from 0, got '-1'"),
        (["demo", "--epochs", "few"], "expected a whole number from 0, got 'few'"),
    ],
)
def test_wrong_requests_exit_with_2(arguments, words, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert words in capsys.readouterr().err


def test_a_tree_that_is_none_is_one_line_and_trains_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo", "(very good)", "((not good) film"]) == 2
    out, err = capsys.readouterr()
    assert err == "arrows demo: tree 2:1:17: the text ends, but the bracket opened at 1:1 is not closed\n"
    assert not out and not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (FileNotFoundError(2, "no such folder", "x/y"), 2, "arrows demo: [Errno 2] no such folder: 'x/y'\n"),
        (ArrowValueError("bad size"), 2, "arrows demo: bad size\n"),
        (KeyboardInterrupt(), 130, "arrows demo: interrupted\n"),
    ],
)
def test_errors_of_the_request_are_one_line(error, status, line, capsys, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(demo, "demonstrate", fail)
    assert cli.main(["demo"]) == status
    assert capsys.readouterr().err == line


def test_errors_of_the_program_are_not_hidden(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(demo, "demonstrate", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["demo"])


def test_options_of_the_demo_arrive(monkeypatch):
    seen = {}
    monkeypatch.setattr(demo, "demonstrate", lambda trees, **options: seen.update(options, trees=trees))
    assert (
        cli.main(["demo", "a", "(b c)", "--examples", "10", "--epochs", "2", "--seed", "3", "--save", "m"])
        == 0
    )
    assert seen == {"trees": ["a", "(b c)"], "examples": 10, "epochs": 2, "seed": 3, "path": Path("m")}


def test_bench_names_the_command_that_measures(capsys):
    assert cli.main(["bench", "treelstm", "--quick", "--json", "my file"]) == 2
    assert "python -m benchmarks treelstm --quick --json 'my file'\n" in capsys.readouterr().err
