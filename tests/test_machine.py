"""Threads of NumPy's matrix products: set for good, for a while, and by the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import arrows as ar
from arrows import cli, machine
from arrows.cli import check, demo, train_command
from arrows.cli.predict import sentiment as predict_sentiment
from benchmarks import timing

settable = pytest.mark.skipif(not machine.settable(), reason="the threads of this BLAS cannot be set")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    with machine.limited_to(machine.threads()):
        yield


@settable
def test_threads_are_set_from_now_on() -> None:
    for count in (2, 1, 2):
        ar.set_threads(count)
        assert machine.threads() == count


@settable
def test_threads_are_set_for_a_while() -> None:
    ar.set_threads(2)
    with machine.limited_to(1):
        assert machine.threads() == 1
    assert machine.threads() == 2


@settable
def test_threads_are_put_back_after_an_error() -> None:
    ar.set_threads(2)
    with pytest.raises(KeyError), machine.limited_to(1):
        raise KeyError(machine.threads())
    assert machine.threads() == 2


@settable
def test_the_library_is_told_and_not_only_asked() -> None:
    """Asks NumPy's own library in a new process, whose environment sets another number of threads."""
    code = "import arrows as ar, threadpoolctl as t; ar.set_threads(3); print(t.threadpool_info())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'num_threads': 3" in done.stdout


@pytest.mark.parametrize(
    ("count", "error", "text"),
    [
        (0, ar.ArrowValueError, "at least 1, not 0"),
        (-1, ar.ArrowValueError, "at least 1, not -1"),
        (1.0, ar.ArrowTypeError, "an integer, not 1.0"),
        (True, ar.ArrowTypeError, "an integer, not True"),
        ("2", ar.ArrowTypeError, "an integer, not '2'"),
    ],
)
def test_what_is_no_number_of_threads(count: Any, error: type[Exception], text: str) -> None:
    before = machine.threads()
    with pytest.raises(error, match=text):
        ar.set_threads(count)
    assert machine.threads() == before


class Without:
    """Stands for a process whose libraries are unknown, as where NumPy uses Apple's Accelerate."""

    def select(self, **_: Any) -> Any:
        return self

    def limit(self, **_: Any) -> Any:
        return machine.ThreadpoolController().select(user_api="no such interface").limit(limits=1)

    lib_controllers: tuple[Any, ...] = ()


def test_without_a_library_that_is_known_threads_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_products", Without)
    assert (machine.threads(), machine.settable()) == (machine.cores(), False)
    with pytest.warns(RuntimeWarning, match="threads .* cannot be set"):
        ar.set_threads(1)
    assert timing.best_threads({"a": lambda: None}) == {"a": machine.cores()}
    assert machine.describe()["blas"]["kernel"] == ""


@settable
def test_a_command_runs_on_as_many_threads_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def run(*_: Any) -> int:
        seen.append(machine.threads())
        return 0

    monkeypatch.setattr(check, "run", run)
    for count in ("1", "2"):
        assert cli.main(["--threads", count, "check", "model.py"]) == 0
    ar.set_threads(2)
    assert cli.main(["check", "model.py"]) == 0
    assert seen == [1, 2, 2] and machine.threads() == 2


@settable
@pytest.mark.parametrize("given", [1, 2])
def test_models_of_the_commands_run_on_one_thread_unless_told(
    given: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """`note` stands for the work of each command: it notes the threads and ends the command."""
    seen = []

    def note(*_: Any, **__: Any) -> Any:
        seen.append(machine.threads())
        raise ar.InputError("seen")

    monkeypatch.setattr(predict_sentiment, "judged", note)
    monkeypatch.setattr(predict_sentiment, "restore_sentiment", lambda path, device: None)
    monkeypatch.setattr(train_command, "train", note)
    monkeypatch.setattr(demo, "train", note)
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.txt").write_text("(3 good)\n", encoding="utf-8")
        row = "\t".join(["1", "a", "a", "NOUN", *"______"])
        (tmp_path / f"{part}.conllu").write_text(f"{row}\n\n", encoding="utf-8")
    commands = [
        ["predict", "sentiment", "m", str(tmp_path / "dev.txt")],
        ["train", "sentiment", "--data", str(tmp_path), "--save", str(tmp_path / "m")],
        ["train", "tagger", "--data", str(tmp_path), "--save", str(tmp_path / "m")],
        ["demo", "--save", str(tmp_path / "m")],
    ]
    ar.set_threads(2)
    option = [] if given == 1 else ["--threads", str(given)]
    for command in commands:
        assert cli.main([*option, *command]) == 2
    assert seen == [given] * 4 and machine.threads() == 2


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "two", "1_0", "\uff11"])
def test_an_option_that_is_no_number_of_threads(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([f"--threads={text}", "check", "model.py"])
    assert caught.value.code == 2
    assert f"expected a whole number from 1, got {text!r}" in capsys.readouterr().err


def test_far_too_many_threads_are_refused() -> None:
    with pytest.raises(
        ar.ArrowValueError, match=r"must be at most 1,024, not 1000000000; this machine has \d+ core"
    ):
        ar.set_threads(10**9)


def test_threads_may_follow_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("arrows.cli.command_line.set_threads", asked.append)
    for words in (["demo", "--threads", "1", "(good film"], ["--threads", "1", "demo", "(good film"]):
        assert cli.main(words) == 2
    assert asked == [1, 1]
