"""A communicator among threads of one process, so that tests need no MPI."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Job:
    """What the threads of a job share.

    Attributes:
        size: how many there are.
        slots: what each has put there last.
        reasons: why ranks have ended the job.
    """

    size: int
    slots: list[Any] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.slots = [None] * self.size
        self.barrier = threading.Barrier(self.size)


class ThreadCommunicator:
    """One rank of a job of threads; see `Communicator`."""

    def __init__(self, job: Job, rank: int) -> None:
        self._job, self.rank, self.size = job, rank, job.size
        self.calls: list[str] = []

    def _exchange(self, call: str, value: Any) -> list[Any]:
        self.calls.append(call)
        self._job.slots[self.rank] = call, value
        self._job.barrier.wait(20)
        slots = list(self._job.slots)
        self._job.barrier.wait(20)
        assert {name for name, _ in slots} == {call}, slots  # MPI would wait for ever, or mix them up
        return [value for _, value in slots]

    def start_sum(self, buffer: Any) -> Callable[[], None]:
        buffers = self._exchange("sum", buffer.copy())
        assert len({(own.dtype, own.shape) for own in buffers}) == 1, [own.dtype for own in buffers]
        total = sum(buffers)

        def wait() -> None:
            buffer[...] = total

        return wait

    def gather(self, array: Any, counts: Sequence[int]) -> Any:
        arrays = self._exchange("gather", array.copy())
        assert [len(own) for own in arrays] == list(counts)
        # MPI moves bytes: what differs in type or in the shape of a row would come out as other numbers.
        assert len({(own.dtype, own.shape[1:]) for own in arrays}) == 1, [own.dtype for own in arrays]
        return np.concatenate(arrays)

    def gather_numbers(self, numbers: Any) -> Any:
        return np.stack(self._exchange("numbers", np.array(numbers, np.int64)))

    def gather_texts(self, text: str) -> list[str]:
        return self._exchange("texts", text)

    def broadcast(self, content: bytes) -> bytes:
        first: bytes = self._exchange("broadcast", content)[0]
        return first

    def abort(self, reason: str) -> None:
        self._job.reasons.append(reason)
        self._job.barrier.abort()


def run(size: int, work: Callable[[ThreadCommunicator], Any]) -> tuple[list[Any], list[str]]:
    """What `work` returns, or the error that it raises, on each rank; and why ranks have ended the job."""
    job, outcomes = Job(size), [None] * size

    def body(rank: int) -> None:
        try:
            outcomes[rank] = work(ThreadCommunicator(job, rank))
        except BaseException as error:  # noqa: BLE001
            outcomes[rank] = error

    threads = [threading.Thread(target=body, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes, job.reasons
