"""Communicators of mpi4py's shape among threads of one process, so that tests need no MPI."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any


class Job:
    """What the threads of a job share: what each has put there last, and which of them have ended it."""

    def __init__(self, size: int) -> None:
        self.slots: list[Any] = [None] * size
        self.ended: list[int] = []
        self.barrier = threading.Barrier(size)


class Comm:
    """One rank of a job."""

    def __init__(self, job: Job, rank: int) -> None:
        self._job, self.rank = job, rank
        self.calls: list[str] = []

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return len(self._job.slots)

    def _exchange(self, call: str, value: Any) -> list[Any]:
        self.calls.append(call)
        self._job.slots[self.rank] = call, copy.deepcopy(value)
        self._job.barrier.wait(200)
        slots = list(self._job.slots)
        self._job.barrier.wait(200)
        assert {name for name, _ in slots} == {call}, slots  # MPI would wait for ever, or mix them up
        return [copy.deepcopy(value) for _, value in slots]

    def allgather(self, value: Any) -> list[Any]:
        return self._exchange("allgather", value)

    def bcast(self, value: Any) -> Any:
        return self._exchange("bcast", value)[0]

    def Allreduce(self, buffer: Any, total: Any) -> None:
        buffers = self._exchange("Allreduce", buffer)
        # MPI moves bytes: what differs in type or size would come out as other numbers.
        assert len({(own.dtype, own.shape) for own in buffers}) == 1 and buffer.dtype == total.dtype
        total[...] = sum(buffers)

    def Abort(self, status: int) -> None:
        self._job.ended.append(self.rank)
        self._job.barrier.abort()


def run(size: int, work: Callable[[Comm], Any]) -> tuple[list[Any], list[int]]:
    """What `work` returns, or the error that it raises, on each rank; and which ranks have ended the job."""
    job, outcomes = Job(size), [None] * size

    def body(rank: int) -> None:
        try:
            outcomes[rank] = work(Comm(job, rank))
        except BaseException as error:  # noqa: BLE001
            outcomes[rank] = error

    threads = [threading.Thread(target=body, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes, job.ended
