"""The command line: options, errors in few lines, threads, streams, and exit status."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arrows import cli
from arrows.cli import demo, exit_status
from arrows.cli.option_types import count, positive, rate, share
from arrows.engine.cuda import device as cuda
from arrows.engine.device.device import shared_device
from arrows.machine import threads
from arrows.typesys.errors import ArrowValueError, NotFiniteError
from arrows.version import __version__
from tests.cli.kit import outcome

ROOT = Path(__file__).resolve().parents[2]


def ended(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    """As `outcome`, also where the parser ends the process."""
    try:
        return outcome(capsys, *arguments)
    except SystemExit as leaving:
        return int(leaving.code or 0), *capsys.readouterr()


def test_help_and_version(capsys):
    assert ended(capsys, "--version") == (0, f"arrows {__version__}\n", "")
    assert all(name in ended(capsys, "--help")[1] for name in ("demo", "check", "show", "fit", "predict"))
    for name in ("demo", "check", "show", "fit", "predict"):
        status, out, _ = ended(capsys, name, "--help")
        assert status == 0 and out.startswith(f"usage: arrows {name} [-h]") and "--threads" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["demo", "--epochs", "-1"], "expected a whole number from 1, got '-1'"),
        (["demo", "--threads", "0"], "expected a whole number from 1, got '0'"),
        (["show", "m.py", "--format", "png"], "invalid choice: 'png'"),
        (["predict", "m", "--device", "gpu"], "expected cpu, cuda, cuda:1 or auto, got 'gpu'"),
    ],
)
def test_wrong_requests_exit_with_2(arguments, words, capsys):
    status, out, err = ended(capsys, *arguments)
    assert (status, out) == (2, "") and words in err


@pytest.mark.parametrize("text", ["inf", "nan", "0x10", "1e", "1,5", "--1", "", "9" * 5000])
def test_what_is_no_number_as_an_option(text):
    for option in (count, positive, share):
        with pytest.raises(Exception, match=r"expected a .*number") as caught:
            option(text)
        assert type(caught.value).__name__ == "ArgumentTypeError" and len(str(caught.value)) < 200
    assert (rate("1e-3"), share("0"), count("0")) == (0.001, 0, 0)


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (FileNotFoundError(2, "no such folder", "x/y"), 2, "[Errno 2] no such folder: 'x/y'"),
        (ArrowValueError("bad size"), 2, "bad size"),
        (ArrowValueError("a\x1bb" + "x" * 5000), 2, "a\\x1bbx"),
        (NotFiniteError("epoch 1, step 1: the loss is nan"), 1, "epoch 1, step 1: the loss is nan"),
        (MemoryError("29.8 GiB"), 1, "out of memory: 29.8 GiB"),
        (KeyboardInterrupt("continue with --resume"), 130, "interrupted; continue with --resume"),
    ],
)
def test_errors_of_the_request_are_one_line(error, status, line, capsys):
    def fail() -> int:
        raise error

    assert exit_status("arrows demo", fail) == status
    err = capsys.readouterr().err
    assert err.startswith(f"arrows demo: {line}") and err.count("\n") == 1 and len(err) < 1200


def test_errors_of_the_program_are_not_hidden(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(demo, "train", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["demo", "--examples", "2"])


def test_commands_run_on_one_thread_unless_told(monkeypatch, capsys):
    seen: list[int] = []

    def note(*_: Any, **__: Any) -> Any:
        seen.append(threads())
        raise ArrowValueError("seen")

    monkeypatch.setattr(demo, "train", note)
    before = threads()
    for more in ([], ["--threads", "2"]):
        assert cli.main(["demo", "--examples", "2", *more]) == 2
    assert seen == [1, 2] and threads() == before


def test_a_machine_without_cuda_says_so_before_anything_is_read(capsys, monkeypatch):
    def missing() -> int:
        raise ImportError(cuda.NO_CUPY)

    monkeypatch.setattr(cuda, "count_gpus", missing)
    shared_device.cache_clear()
    for command in (["predict", "nowhere"], ["fit", "nowhere.csv", "--label", "y"]):
        status, out, err = ended(capsys, *command, "--device", "cuda")
        assert (status, out) == (2, "") and "needs CuPy, which is not installed" in err
        assert err.endswith("--device cpu needs no GPU\n")


@pytest.mark.parametrize("argument", ["\x1b[31m", "\udcff", "x" * 100_000, ""])
def test_odd_arguments_are_spelt_out(argument, tmp_path, capsys):
    for command in (
        ["check", argument],
        ["show", f"{argument}:x"],
        ["predict", argument],
        ["demo", f"({argument}"],
        ["demo", "--save", f"{tmp_path}/nowhere/m{argument}"],
    ):
        status, out, err = ended(capsys, *command)
        assert status == 2 and not out and len(err) < 1500
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202e]", err), ascii(err)


def test_encodings_that_lack_a_character_and_files_with_odd_names(tmp_path, capsys, monkeypatch):
    (tmp_path / "a\x1b.py").write_text(
        "import arrows as ar\nm = ar.Scalar(name='木\u202e\x1b[31m')\n", "utf-8"
    )
    status, out, _ = outcome(capsys, "check", str(tmp_path / "a\x1b.py"))
    assert status == 0 and "\x1b" not in out and r"木\u202e\x1b[31m: Input" in out


@pytest.mark.nightly
@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("arrows check model.py | { read first; }", 141, ""),
        ("arrows predict m trees --format trees | { read first; }", 141, ""),
        ("arrows check model.py >&-", 0, ""),
        ("arrows predict m trees --format trees --show >&-", 0, ""),
        ("arrows check none.py >&- 2>&-", 2, ""),
        ("arrows check none.py >&-", 2, "no such file"),
        ("PYTHONIOENCODING=ascii arrows check odd.py | grep u6728 > found", 0, ""),
        ("arrows demo --examples 9 --epochs 1 >&-", 0, ""),
    ],
)
def test_processes_whose_reader_goes_or_is_not_there(line, status, words, tmp_path):
    text = "import arrows as ar\nm = ar.Vector(2)\nfor _ in range(3000):\n    m = m >> ar.Function(abs)\n"
    (tmp_path / "model.py").write_text(text)
    (tmp_path / "odd.py").write_text("import arrows as ar\nm = ar.Scalar(name='木')\n", encoding="utf-8")
    (tmp_path / "trees").write_text("(good film)\n" * 20_000)
    save = "import arrows as ar; from arrows.models import sentiment; "
    save += "ar.save_model(ar.compile(sentiment(ar.Vocabulary(['good']), size=2).judge), 'm')"
    start = f"arrows() {{ '{sys.executable}' -W error -m arrows \"$@\"; echo $? >status; }}; {line}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", save], cwd=tmp_path, env=environment, check=True)
    done = subprocess.run(
        ["sh", "-c", start],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (tmp_path / "status").read_text() == f"{status}\n", done.stderr
    assert words in done.stderr and "Traceback" not in done.stderr and "Exception" not in done.stderr
