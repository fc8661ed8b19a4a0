"""The MPI job that a command runs in, if `mpirun` or `mpiexec` has started it on several ranks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from arrows.typesys.errors import MissingExtraError

# Open MPI and MPICH (with its relatives of Intel and Cray) tell each process so how many there are.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")


def in_job() -> bool:
    """Whether this process is one of several that `mpirun` has started."""
    return any(os.environ.get(name, "").isdecimal() and int(os.environ[name]) > 1 for name in _SIZES)


def world() -> Any:
    """`MPI.COMM_WORLD` for `arrows.training.train`; None outside of a job.

    Raises:
        MissingExtraError: pip install 'arrows[mpi]'.
    """
    if not in_job():
        return None
    try:
        from mpi4py import MPI
    except ModuleNotFoundError as error:
        raise MissingExtraError("the ranks of a job train together by mpi4py", "mpi", error.name) from None
    return MPI.COMM_WORLD


def is_first() -> bool:
    """Whether this process prints and writes: rank 0 of a job, or the only process."""
    comm = world()
    return comm is None or int(comm.Get_rank()) == 0


@contextmanager
def first_prints() -> Iterator[None]:
    """A context in which only the first rank of a job writes to standard output."""
    if is_first():
        yield
    else:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            yield
