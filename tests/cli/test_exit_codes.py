"""Standard streams that are closed, full or without a reader: no traceback, and the right exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import arrows as ar
from arrows import cli
from arrows.cli import exit_status
from arrows.models import sentiment

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")

ROOT = Path(__file__).resolve().parents[2]
MODEL = "import arrows as ar\nmodel = ar.Vector(3) >> ar.FC(2)\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of blocks, a saved model, and many trees."""
    place = tmp_path_factory.mktemp("streams")
    (place / "model.py").write_text(MODEL, encoding="utf-8")
    (place / "few").write_text("(good film)\n", encoding="utf-8")
    (place / "trees").write_text("(good film)\n" * 20_000, encoding="utf-8")
    numbers = {"good": 1, "film": 2}
    judge = ar.compile(sentiment(numbers, size=4).judge)
    ar.save_model(judge, place / "m")
    return place


def shell(line: str, folder: Path, unbuffered: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs a line of a shell in which `arrows` is the command; warnings are errors."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    if unbuffered:
        environment["PYTHONUNBUFFERED"] = "1"
    start = f"set -e; arrows() {{ '{sys.executable}' -W error -m arrows \"$@\"; }}; cd '{folder}'; "
    environment["PYTHONPATH"] = str(ROOT)
    return subprocess.run(
        ["sh", "-c", start + line], env=environment, capture_output=True, text=True, check=False, timeout=120
    )


CLOSED = [
    (["check", "model.py"], 0, ""),
    (["check", "--json", "model.py"], 0, ""),
    (["check", "none.py"], 2, "no such file"),
    (["show", "model.py"], 0, ""),
    (["--help"], 0, ""),
    (["predict", "sentiment", "m", "few"], 0, ""),
    (["predict", "sentiment", "m", "few", "--show"], 0, ""),
    (["predict", "sentiment", "m"], 2, "[Errno 9] standard input is closed; name a file of examples\n"),
    (["demo", "--examples", "9", "--epochs", "1", "--save", "saved", "--overwrite"], 0, ""),
]


def status_of(arguments: list[str]) -> int:
    try:
        return cli.main(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)


@pytest.mark.parametrize(("arguments", "status", "words"), CLOSED)
@pytest.mark.parametrize("streams", [["stdin", "stdout"], ["stdin", "stdout", "stderr"]])
def test_streams_that_are_closed(
    arguments: list[str],
    status: int,
    words: str,
    streams: list[str],
    folder: Path,
    monkeypatch: Any,
    capsys: Any,
) -> None:
    """Python has None in their place then."""
    monkeypatch.chdir(folder)
    for name in streams:
        monkeypatch.setattr(sys, name, None)
    assert status_of(arguments) == status
    if "stderr" not in streams:
        err = capsys.readouterr().err
        assert words in err if words else "Traceback" not in err


@pytest.mark.parametrize("buffering", [-1, 1])
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "model.py"],
        ["check", "--json", "model.py"],
        ["show", "model.py"],
        ["predict", "sentiment", "m", "few"],
        ["predict", "sentiment", "m", "few", "--show"],
    ],
)
def test_a_disk_that_is_full_is_told(
    arguments: list[str], buffering: int, folder: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(folder)
    with open("/dev/full", "w", buffering=buffering, encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert status_of(arguments) == 2
        monkeypatch.undo()
    assert "[Errno 28] No space left on device\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("arrows check model.py <&- >&- 2>&-", 0, ""),
        ("arrows check none.py 2>/dev/full", 2, ""),
        ("arrows --version >/dev/full", 2, "arrows: [Errno 28] No space left on device\n"),
        ("arrows show /nowhere/f.py:x >&-", 2, "f.py"),
    ],
)
def test_processes_whose_streams_are_closed_or_full(line: str, status: int, words: str, folder: Path) -> None:
    """Nothing is left to flush at the interpreter's exit."""
    done = shell(line, folder)
    assert done.returncode == status, done.stderr
    assert words in done.stderr if words else not done.stderr
    assert done.stderr.count("\n") <= 1


@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_reader_that_goes_ends_a_command_quietly(unbuffered: bool, folder: Path) -> None:
    """`read` takes a line and goes; the shell keeps the status of what wrote."""
    line = "{ set +e; arrows predict sentiment m trees; echo $? >status; } | { read first; }; cat status"
    done = shell(line, folder, unbuffered)
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_training_in_a_process_without_streams_draws_no_progress(folder: Path) -> None:
    code = (
        "import arrows as ar, arrows.training as t\n"
        "model = ar.compile(ar.Vector(2) >> ar.FC(1) >> ar.Function(lambda x: (x * x).sum()))\n"
        "t.train(model, [[1, 2]] * 4, t.Adam(0.1), epochs=2, batch_size=2)\n"
        "t.save(model, 'trained')\n"
    )
    (folder / "run.py").write_text(code, encoding="utf-8")
    done = shell(f"PYTHONPATH='{ROOT}' '{sys.executable}' run.py <&- >&- 2>&-; test -s trained", folder)
    assert done.returncode == 0


def test_encodings_that_lack_a_character(folder: Path) -> None:
    (folder / "odd.py").write_text("import arrows as ar\nm = ar.Scalar(name='木\\u202e')\n", encoding="utf-8")
    done = shell("PYTHONIOENCODING=ascii arrows check odd.py:m", folder)
    assert done.stdout.startswith(r"m  odd.py:2") and r"\u6728\u202e" in done.stdout


def test_memory_that_runs_out_is_one_line(capsys: Any) -> None:
    def work() -> int:
        raise MemoryError("Unable to allocate 29.8 GiB")

    assert exit_status("arrows train", work) == 1
    assert capsys.readouterr().err == "arrows train: out of memory: Unable to allocate 29.8 GiB\n"


def test_long_errors_are_cut(capsys: Any, tmp_path: Path) -> None:
    assert cli.main(["check", str(tmp_path / ("x" * 200_000))]) == 2
    assert len(capsys.readouterr().err) < 1200
