"""Interrupted and resumed runs: the same numbers, bit for bit, as uninterrupted ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import Adam, Callback, train
from arrows.typesys import ArrowValueError

PROGRAM = Path(__file__).with_name("run_to_kill.py")


def start(folder: Path, optimizer: str, every: int, *resume: str) -> subprocess.Popen[str]:
    files = [folder / "run", folder / "result.npz"]
    return subprocess.Popen(
        [sys.executable, "-W", "error", PROGRAM, *files, optimizer, str(every), *resume],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=PROGRAM.parents[2],
        env={**os.environ, "PYTHONPATH": str(PROGRAM.parents[2])},
    )


def finish(process: subprocess.Popen[str], status: int = 0) -> str:
    shown, errors = process.communicate(timeout=600)
    assert process.returncode == status, errors
    return shown


def cut_off(process: subprocess.Popen[str], step: int, by: int) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if int(line.split()[1]) >= step:
            process.send_signal(by)
            break
    process.communicate(timeout=600)
    assert process.returncode in (-by, 0)  # 0: it was faster than the signal


def result(folder: Path) -> tuple[dict[str, bytes], Any]:
    with np.load(folder / "result.npz") as arrays:
        return (
            {name: arrays[name].tobytes() for name in arrays.files},
            json.loads((folder / "result.npz.json").read_text(encoding="utf-8")),
        )


@pytest.fixture(scope="module", params=["sgd", "adagrad", "adam"])
def whole(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    finish(start(folder, request.param, 50))
    return request.param, result(folder)


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_a_killed_run_goes_on_to_the_same_bits(whole, tmp_path):
    optimizer, expected = whole
    every = {"sgd": 5, "adagrad": 1, "adam": 1}[optimizer]  # 1: it is likely to die while it saves
    first, second = sorted(np.random.default_rng().choice(np.arange(1, 45), 2, replace=False).tolist())
    cut_off(start(tmp_path, optimizer, every), first, signal.SIGKILL)
    cut_off(start(tmp_path, optimizer, every, "resume"), second, signal.SIGKILL)
    shown = finish(start(tmp_path, optimizer, every, "resume"))
    # It went on from a state that had been saved, not from the beginning.
    assert second <= every or "step 1\n" not in shown, (first, second)
    assert result(tmp_path) == expected, (first, second)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_twenty_deaths_at_random_moments_change_nothing(whole, tmp_path):
    optimizer, expected = whole
    seed = str(np.random.default_rng().integers(2**31))
    shown = finish(start(tmp_path, optimizer, 1, "20", seed)).splitlines()
    last = [int(step) for step in shown[0].split()[1:]]
    assert len(last) == 20 and len(set(last)) > 5, last  # they died at different steps, and went on
    assert result(tmp_path) == expected, (seed, last)


@pytest.mark.skipif(os.name != "posix", reason="RLIMIT_FSIZE")
def test_a_disk_that_fills_keeps_the_state_before(whole, tmp_path, monkeypatch):
    optimizer, expected = whole
    monkeypatch.setenv("FULL_AT", "17")
    process = start(tmp_path, optimizer, 3)
    shown, errors = process.communicate(timeout=600)
    assert process.returncode == 1 and "OSError: [Errno 27] File too large" in errors
    assert shown.endswith("step 18\n")
    assert {path.name for path in tmp_path.iterdir()} == {"run", "run.1"}  # nothing half written
    monkeypatch.delenv("FULL_AT")
    assert finish(start(tmp_path, optimizer, 3, "resume")).startswith("step 16\n")
    assert result(tmp_path) == expected


def test_an_interrupted_run_saves_the_step_under_way(whole, tmp_path, monkeypatch):
    optimizer, expected = whole
    monkeypatch.setenv("INTERRUPT_AT", "17")
    shown, errors = start(tmp_path, optimizer, 50).communicate(timeout=600)
    assert shown.endswith("step 16\nstep 17\n") and "KeyboardInterrupt" in errors
    monkeypatch.delenv("INTERRUPT_AT")
    assert finish(start(tmp_path, optimizer, 50, "resume")).startswith("step 18\n")
    assert result(tmp_path) == expected


def states(folder: Path, **more: Any) -> tuple[Any, list[Any]]:
    """A run of four steps, which saves its state after each."""
    model = ar.compile(ar.Vector(1) >> ar.FC(1, name="fc") >> ar.Function(lambda y: (y[0] - 1.0) ** 2))
    settings: dict[str, Any] = {"epochs": 1, "keep_last": 3, "checkpoint_every": 1, **more}
    history = train(
        model, [[1.0], [2.0], [3.0], [4.0]], Adam(0.1), batch_size=1, checkpoint_path=folder / "run",
        progress=False, **settings,
    )  # fmt: skip
    return model, history


def damages(content: bytes) -> dict[str, bytes]:
    flipped = bytearray(content)
    flipped[-1] ^= 1
    return {
        "empty": b"",
        "cut off": content[: len(content) // 2],
        "changed": bytes(flipped),
        "foreign": b"GIF89a",
    }


@pytest.mark.parametrize("damage", ["empty", "cut off", "changed", "foreign"])
def test_the_state_before_is_taken_instead_of_a_damaged_one(tmp_path, damage):
    (tmp_path / "whole").mkdir()
    expected, _ = states(tmp_path / "whole", epochs=2)
    states(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["run", "run.1", "run.2", "whole"]
    path = tmp_path / "run"
    path.write_bytes(damages(path.read_bytes())[damage])
    with pytest.warns(UserWarning, match=r"(?s)run .*goes on from the state before, .*run\.1, at step 4"):
        model, history = states(tmp_path, epochs=2, resume=True)
    assert {name: a.tobytes() for name, a in model.params.items()} == {
        name: a.tobytes() for name, a in expected.params.items()
    }
    assert [epoch.number for epoch in history] == [1, 2]


def test_a_damaged_state_never_takes_the_place_of_a_good_one(tmp_path):
    states(tmp_path, keep_last=2)
    path = tmp_path / "run"
    good = (tmp_path / "run.1").read_bytes()
    path.write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="goes on from"), pytest.raises(ZeroDivisionError):
        states(tmp_path, keep_last=2, epochs=2, resume=True, callbacks=[Fails(at=0)])
    assert (tmp_path / "run.1").read_bytes() == good


class Fails(Callback):
    """Fails after its first step, and before the second state is saved."""

    def __init__(self, at: int) -> None:
        self.at = at

    def after_step(self, step: Any) -> None:
        self.at -= 1
        if self.at < 0:
            raise ZeroDivisionError


def test_no_state_can_be_taken(tmp_path):
    states(tmp_path)
    with pytest.raises(ArrowValueError, match="run is the state of another run:\n  seed: 0 in the saved"):
        states(tmp_path, resume=True, seed=7)
    for name in ("run", "run.1", "run.2"):
        (tmp_path / name).write_bytes(b"damaged")
    before = sorted(path.read_bytes() for path in tmp_path.iterdir())
    with pytest.raises(ArrowValueError, match=r"run .*damaged|run is not"):
        states(tmp_path, resume=True)
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == before


def test_a_new_run_does_not_go_on_from_an_older_one(tmp_path):
    states(tmp_path, seed=1)
    states(tmp_path, seed=2, callbacks=[Fails(at=9)])
    with pytest.raises(ArrowValueError, match="seed: 2 in the saved state, 1 now"):
        states(tmp_path, seed=1, resume=True)


class InterruptsEvaluation(Callback):
    """Ctrl-C while a callback is told of the evaluation after a step."""

    def __init__(self, step: int) -> None:
        self.step, self.seen, self.steps = step, list[int](), list[int]()

    def after_step(self, step: Any) -> None:
        self.steps.append(step.step)

    def after_evaluation(self, evaluation: Any) -> None:
        if evaluation.step == self.step:
            raise KeyboardInterrupt
        self.seen.append(evaluation.step)


def test_an_interrupted_evaluation_loses_no_steps(tmp_path):
    """Within an epoch; the resumed run evaluates anew, so that callbacks are told."""

    def figures() -> dict[str, float]:
        return {"f": 1.0}

    more: dict[str, Any] = {"evaluate": figures, "evaluate_every": 2, "checkpoint_every": 99, "epochs": 2}
    (tmp_path / "whole").mkdir()
    expected, history = states(tmp_path / "whole", **more)
    with pytest.raises(KeyboardInterrupt):
        states(tmp_path, callbacks=[InterruptsEvaluation(6)], **more)
    told = InterruptsEvaluation(0)
    model, again = states(tmp_path, callbacks=[told], resume=True, **more)
    assert told.steps == [7, 8] and told.seen == [6, 8] and again.evaluations == history.evaluations
    assert {name: a.tobytes() for name, a in model.params.items()} == {
        name: a.tobytes() for name, a in expected.params.items()
    }


def test_one_state_is_kept_if_one_is_wanted(tmp_path):
    states(tmp_path, keep_last=1)
    assert os.listdir(tmp_path) == ["run"]
    with pytest.raises(ArrowValueError, match="keep_last is 0"):
        states(tmp_path, keep_last=0)
