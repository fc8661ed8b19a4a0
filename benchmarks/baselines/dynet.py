"""dynet: networks in a process of DyNet's own, whose Python the variable DYNET_PYTHON names."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arrows import machine
from benchmarks.baselines.buffers import Array
from benchmarks.datasets import Ints
from benchmarks.task import RATE, System

PYTHON = os.environ.get("DYNET_PYTHON")
PROGRAM = Path(__file__).with_name("dynet_programs.py")


def system(name: str, parameters: Mapping[str, Array], examples: Sequence[Any]) -> System:
    """Steps of gradient descent of a network of `dynet_programs`, from copies of the parameters."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder, "parameters.npz"), **dict(parameters))  # type: ignore[arg-type]
        Path(folder, "examples.json").write_text(json.dumps(examples), encoding="utf-8")
        child = subprocess.Popen(
            [str(PYTHON), PROGRAM, name, folder, str(RATE)],
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

    def end() -> None:
        questions.close()
        child.wait()
        answers.close()

    weakref.finalize(step, end)
    return step
