"""A data-parallel run for tests under mpirun: prints the parameters and losses of rank 0 as JSON.

mpi_run.py CHECKPOINT [resume | kill | raise]: the last two happen to rank 1 in the middle of step 20.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import numpy as np
from mpi4py import MPI

import arrows as ar
from arrows.training import Adam, Checkpoint, train
from tests.training.models import sequences, word_sums


def meeting(model: Any, fate: str) -> Any:
    """The model, to which something happens."""
    step = model.train_step

    def train_step(*arguments: Any, **keywords: Any) -> Any:
        if model.step == 19 and MPI.COMM_WORLD.rank == 1:
            if fate == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if fate == "raise":
                raise ValueError("rank 1 is ill")
        return step(*arguments, **keywords)

    model.train_step = train_step
    return model


def main(checkpoint: str, fate: str = "") -> None:
    examples, model = sequences(60), ar.compile(word_sums(), float_type="float64")
    history = train(
        meeting(model, fate), examples, Adam(0.01, clip_norm=1.0), epochs=4, batch_size=8, progress=False,
        comm=MPI.COMM_WORLD, checkpoint=Checkpoint(checkpoint, every=3, resume=fate == "resume"),
        evaluate=lambda: {"steps": model.step}, evaluate_every=4,
    )  # fmt: skip
    if MPI.COMM_WORLD.rank == 0:
        params = np.concatenate([array.ravel() for array in model.params.values()]).tolist()
        print(json.dumps([*params, *(epoch.loss for epoch in history)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
