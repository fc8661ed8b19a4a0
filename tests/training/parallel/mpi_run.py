"""A data-parallel run for tests under mpirun: prints the result of rank 0 as JSON.

mpi_run.py CHECKPOINT [resume | kill | raise | interrupt | terminate | end]

With kill to terminate, that happens to rank 1 in the middle of step 20; with end, all ranks get SIGTERM while
rank 0 evaluates after step 20.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

import numpy as np
from mpi4py import MPI

import arrows as ar
from arrows.training import Adam, train


def meeting(model: Any, fate: str) -> Any:
    """The model, to which something happens."""
    step = model.train_step

    def train_step(*arguments: Any, **keywords: Any) -> Any:
        if model.step == 19 and MPI.COMM_WORLD.rank == 1:
            if fate == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if fate == "interrupt":
                signal.raise_signal(signal.SIGINT)
            if fate == "terminate":
                signal.raise_signal(signal.SIGTERM)
            if fate == "raise":
                raise ValueError("rank 1 is ill")
        return step(*arguments, **keywords)

    model.train_step = train_step
    return model


def main(checkpoint: str, fate: str = "") -> None:
    random = np.random.default_rng(3)
    examples = [random.integers(0, 20, random.integers(0, 7)).tolist() for _ in range(60)]
    words = ar.Embedding(20, 5, name="words") >> ar.FC(4, name="fc") >> ar.Dropout(0.3)
    score = ar.Map(ar.Scalar("int32") >> words) >> ar.Sum()
    model = ar.compile(score >> ar.Function(lambda v: ((v - 1.0) ** 2).sum()), float_type="float64")

    def evaluate() -> dict[str, float]:
        if model.step == 20 and fate == "end":
            os.kill(os.getppid(), signal.SIGTERM)  # of mpirun, as a batch system sends it
            time.sleep(60)
        return {"steps": model.step}

    history = train(
        meeting(model, fate), examples, Adam(0.01, clip_norm=1.0), epochs=4, batch_size=8, progress=False,
        comm=MPI.COMM_WORLD, checkpoint_path=checkpoint, checkpoint_every=3, resume=fate == "resume",
        evaluate=evaluate, evaluate_every=4,
    )  # fmt: skip
    if MPI.COMM_WORLD.rank == 0:
        params = {name: array.tolist() for name, array in model.params.items()}
        print(json.dumps({"params": params, "losses": [epoch.loss for epoch in history]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
