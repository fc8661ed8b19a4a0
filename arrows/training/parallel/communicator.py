"""What data-parallel training asks of the ranks' network, and MPI as that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from arrows.ops.arrays import HostArray
from arrows.training.arguments import described
from arrows.training.parallel.launcher import require_connected
from arrows.typesys import ArrowTypeError


class Communicator(Protocol):
    """Connects the processes of a job, which are numbered from 0.

    All ranks call the same methods in the same order.

    Attributes:
        rank: the number of this process.
        size: how many processes there are.
    """

    rank: int
    size: int

    def start_sum(self, buffer: HostArray) -> Callable[[], object]:
        """Begins to add up a buffer of numbers over all ranks, in place.

        Returns:
            A function that waits until it is done; the buffer may not be touched before.
        """

    def gather(self, array: HostArray, counts: Sequence[int]) -> HostArray:
        """The rows of all ranks, in the order of the ranks.

        Args:
            array: the rows of this rank.
            counts: how many each rank has.
        """

    def gather_numbers(self, numbers: HostArray) -> HostArray:
        """The numbers of all ranks, ``int64[size, n]``; each rank has as many."""

    def gather_texts(self, text: str) -> list[str]:
        """The texts of all ranks."""

    def broadcast(self, content: bytes) -> bytes:
        """The content that rank 0 has."""

    def abort(self, reason: str) -> None:
        """Ends all processes of the job."""


class MpiCommunicator:
    """A communicator of mpi4py.

    Args:
        comm: `MPI.COMM_WORLD`, or another one of its class.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())

    def start_sum(self, buffer: HostArray) -> Callable[[], object]:
        from mpi4py import MPI

        request = self._comm.Iallreduce(MPI.IN_PLACE, buffer)
        wait: Callable[[], object] = request.Wait
        return wait

    def gather(self, array: HostArray, counts: Sequence[int]) -> HostArray:
        rows = np.empty((sum(counts), *array.shape[1:]), array.dtype)
        width = int(np.prod(array.shape[1:], dtype=np.int64))
        self._comm.Allgatherv(np.ascontiguousarray(array), [rows, [count * width for count in counts]])
        return rows

    def gather_numbers(self, numbers: HostArray) -> HostArray:
        gathered = np.empty((self.size, len(numbers)), np.int64)
        self._comm.Allgather(np.ascontiguousarray(numbers, np.int64), gathered)
        return gathered

    def gather_texts(self, text: str) -> list[str]:
        texts: list[str] = self._comm.allgather(text)
        return texts

    def broadcast(self, content: bytes) -> bytes:
        # A count of MPI has 31 bits, and states of runs may be larger.
        size = self._comm.bcast(len(content), root=0)
        buffer = np.frombuffer(content, np.uint8).copy() if self.rank == 0 else np.empty(size, np.uint8)
        for first in range(0, size, 1 << 30):
            self._comm.Bcast(buffer[first : first + (1 << 30)], root=0)
        return buffer.tobytes()

    def abort(self, reason: str) -> None:
        print(f"rank {self.rank} of {self.size}: {reason}", file=sys.stderr, flush=True)
        self._comm.Abort(1)


def as_communicator(comm: Any) -> Communicator:
    """The argument `comm` of `train` as a communicator.

    Raises:
        ArrowTypeError: it is none.
        ArrowValueError: it is all processes that MPI sees, and these are not those that were started.

    >>> as_communicator(4)
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowTypeError: train: comm must be a communicator such as MPI.COMM_WORLD, not 4
    """
    if isinstance(comm, type):
        pass
    elif all(hasattr(comm, name) for name in ("Get_rank", "Get_size", "Iallreduce", "Abort")):
        from mpi4py import MPI

        if comm == MPI.COMM_WORLD:
            require_connected(comm)
        return MpiCommunicator(comm)
    elif all(hasattr(comm, name) for name in ("rank", "size", "start_sum", "gather_texts", "abort")):
        own: Communicator = comm
        return own
    raise ArrowTypeError(f"train: comm must be a communicator such as MPI.COMM_WORLD, not {described(comm)}")
