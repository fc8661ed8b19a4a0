"""What the launcher of a job tells each process that it starts."""

from __future__ import annotations

import os
from typing import Any

from arrows.typesys import ArrowValueError
from arrows.typesys.errors import MissingExtraError

# How many processes there are.  MPICH's variable is that of its relatives of Intel and Cray, too, and of
# `srun --mpi=pmi2`; where `mpirun` runs under Slurm, the first one that is there counts.
_SIZES = {"OMPI_COMM_WORLD_SIZE": "mpirun", "PMI_SIZE": "mpiexec", "SLURM_STEP_NUM_TASKS": "srun"}


def launched() -> tuple[int, str]:
    """How many processes a launcher has started, and its name; 1 and "" if none has."""
    for variable, name in _SIZES.items():
        value = os.environ.get(variable, "")
        if value.isdecimal():
            return int(value), name
    return 1, ""


def world() -> Any:
    """What `train(comm=)` wants of a program that may run alone or under `mpirun`, `mpiexec` or `srun`.

    Returns:
        `MPI.COMM_WORLD` of mpi4py, if a launcher has started several processes; else None.

    Raises:
        MissingExtraError: pip install 'arrows[mpi]'.
        ArrowValueError: the launcher and MPI do not belong together, so that each process would be alone.

    >>> comm = world()
    >>> first = comm is None or comm.Get_rank() == 0  # which alone should print and write
    """
    if launched()[0] == 1:
        return None
    try:
        from mpi4py import MPI
    except ModuleNotFoundError as error:
        raise MissingExtraError("the ranks of a job train together by mpi4py", "mpi", error.name) from None
    require_connected(MPI.COMM_WORLD)
    return MPI.COMM_WORLD


def require_connected(world: Any) -> None:
    """Refuses a job whose processes do not see each other: each would train a model of its own.

    Args:
        world: `MPI.COMM_WORLD`.

    Raises:
        ArrowValueError: it says which launcher and which MPI do not go together.
    """
    from mpi4py import MPI

    size, name = launched()
    if size > 1 and int(world.Get_size()) == 1:
        library = MPI.Get_library_version().partition("\n")[0].partition(", package")[0].strip(" \0")
        other = "srun --mpi=pmix (or pmi2), or " if name == "srun" else ""
        raise ArrowValueError(
            f"train: {name} has started {size} processes, and to MPI each of them is alone: mpi4py runs on "
            f"{library}, which does not know this {name}. Use {other}the mpirun that belongs to it"
        )
