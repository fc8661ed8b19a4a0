"""The MPI job that a command runs in, if `mpirun`, `mpiexec` or `srun` has started it on several ranks."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout

from arrows.engine.device import Device, get_device
from arrows.training import world
from arrows.training.parallel import launched
from arrows.typesys import ArrowValueError
from arrows.typesys.errors import MissingExtraError


def in_job() -> bool:
    """Whether this process is one of several that a launcher has started."""
    return launched()[0] > 1


def is_first() -> bool:
    """Whether this process prints and writes: rank 0 of a job, or the only process."""
    comm = world()
    return comm is None or int(comm.Get_rank()) == 0


def own_device(device: Device) -> Device:
    """The device of this rank: of the ranks of a machine, each takes the next GPU, from the first one on.

    Args:
        device: what the command line says; a GPU with a number, and the CPU, are all ranks' device.
    """
    comm = world()
    if comm is None or device.name != "cuda":
        return device
    from mpi4py import MPI

    number = int(comm.Split_type(MPI.COMM_TYPE_SHARED).Get_rank())
    try:
        return get_device(f"cuda:{number}")
    except RuntimeError:  # the launcher shows each rank a GPU of its own, or there are fewer GPUs than ranks
        return device


def finished(work: Callable[[], int]) -> int:
    """Runs a command, and returns its exit status; ends the whole job if it fails on this rank.

    The other ranks would wait for this one for ever, and this one for them before it exits.
    """
    try:
        status = work()
    except BaseException:
        if in_job():
            traceback.print_exc()
            _abort(1)
        raise
    if status and in_job():
        _abort(status)
    return status


def _abort(status: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        comm = world()
    except (ArrowValueError, MissingExtraError):  # there is no job to end
        return
    comm.Abort(status)


@contextmanager
def first_prints() -> Iterator[None]:
    """A context in which only the first rank of a job writes to standard output."""
    if is_first():
        yield
    else:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            yield
