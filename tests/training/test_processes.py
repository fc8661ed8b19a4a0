"""Runs in processes of their own that are killed: the same bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PROGRAM = Path(__file__).with_name("run_to_kill.py")
pytestmark = pytest.mark.nightly


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
    shown, errors = process.communicate()
    assert process.returncode == status, errors
    return shown


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_twenty_deaths_at_random_moments_change_nothing(whole, tmp_path):
    optimizer, expected = whole
    seed = str(np.random.default_rng().integers(2**31))
    shown = finish(start(tmp_path, optimizer, 1, "20", seed)).splitlines()
    last = [int(step) for step in shown[0].split()[1:]]
    assert len(last) == 20 and len(set(last)) > 5, last  # they died at different steps, and went on
    assert result(tmp_path) == expected, (seed, last)
