"""dynet: a Tree-LSTM in a process of DyNet's own, whose Python the variable DYNET_PYTHON names."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from arrows import machine
from benchmarks.baselines.buffers import Array
from benchmarks.datasets import Ints
from benchmarks.task import RATE, System

PYTHON = os.environ.get("DYNET_PYTHON")
PROGRAM = Path(__file__).with_name("treelstm_dynet.py")


def tree_lstm(parameters: Mapping[str, Array], trees: list[Any]) -> System:
    """Steps of gradient descent from copies of the parameters; trees as `treelstm_dynet` reads them."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder, "parameters.npz"), **dict(parameters))  # type: ignore[arg-type]
        Path(folder, "trees.json").write_text(json.dumps(trees), encoding="utf-8")
        child = subprocess.Popen(
            [str(PYTHON), PROGRAM, folder, str(RATE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(machine.threads())},
        )
        assert child.stdin is not None
        assert child.stdout is not None
        questions, answers = child.stdin, child.stdout
        if answers.readline() != "ready\n":
            raise RuntimeError(f"{PYTHON} {PROGRAM} ended at once: is DyNet installed there?")

    def step(batch: Ints) -> float:
        questions.write(" ".join(map(str, batch)) + "\n")
        questions.flush()
        return float(answers.readline())

    return step
