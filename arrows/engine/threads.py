"""Element-wise work on several threads: the rows of one step cut into ranges, one a core.

BLAS spreads matrix products over the cores by itself; NumPy's element-wise functions use one.  They let go of
the interpreter's lock while they run, so threads of this process do.  Handing work over costs some
tens of microseconds, so only steps of many elements are cut (`SMALLEST`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from queue import SimpleQueue

# Fewer element operations than these (rows times elements a row, summed over the kernels) stay on one thread.
SMALLEST = 400_000


def count() -> int:
    """How many threads element-wise work may use.

    The variable ``ARROWS_NUM_THREADS`` says so, else ``OMP_NUM_THREADS``, else the cores that this process
    may run on, at most eight.
    """
    for name in ("ARROWS_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").partition(",")[0]
        if text.isdecimal() and int(text) > 0:
            return int(text)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 8)


Work = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _Job:
    """A range of rows for another thread: what to do, in which context (`np.errstate` is part of it)."""

    work: Work
    start: int
    stop: int
    context: Context
    done: SimpleQueue[BaseException | None]


class Pool:
    """Threads that wait for ranges of rows.

    Args:
        threads: how many work at once, the caller's among them.

    >>> rows = [0] * 10
    >>> def fill(a, z):
    ...     rows[a:z] = [1] * (z - a)
    >>> Pool(3).run(fill, 10)
    >>> sum(rows)
    10
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.forget()

    def forget(self) -> None:
        """Begins anew, without threads: a forked process has none."""
        self._busy = threading.Lock()
        self._jobs: list[SimpleQueue[_Job]] = []

    def run(self, work: Work, rows: int) -> None:
        """Calls ``work(a, z)`` for ranges that make up all ``rows``, side by side; returns when all are done.

        A pool that is busy for another caller leaves all the work to this one's thread.

        Raises:
            BaseException: what ``work`` raised, once every range has ended.
        """
        if self.threads < 2 or not self._busy.acquire(blocking=False):
            work(0, rows)
            return
        done: SimpleQueue[BaseException | None] = SimpleQueue()
        handed = 0
        failed: BaseException | None = None
        try:
            share = -(-rows // self.threads) or 1
            for jobs, a in zip(self._started(), range(share, rows, share), strict=False):
                jobs.put(_Job(work, a, min(a + share, rows), copy_context(), done))
                handed += 1
            work(0, min(share, rows))
        except BaseException as error:  # noqa: BLE001 (raised below: the others write into the same arrays)
            failed = error
        while handed:
            try:
                failed = done.get() or failed
                handed -= 1
            except KeyboardInterrupt as error:
                failed = error
        self._busy.release()
        if failed is not None:
            raise failed

    def _started(self) -> list[SimpleQueue[_Job]]:
        if not self._jobs:
            self._jobs = [SimpleQueue() for _ in range(self.threads - 1)]
            for jobs in self._jobs:
                threading.Thread(target=_serve, args=(jobs,), name="arrows rows", daemon=True).start()
        return self._jobs


def _serve(jobs: SimpleQueue[_Job]) -> None:
    while True:
        job = jobs.get()
        try:
            job.context.run(job.work, job.start, job.stop)
        except BaseException as error:  # noqa: BLE001 (the caller raises it)
            job.done.put(error)
        else:
            job.done.put(None)
        del job  # an idle thread keeps no arrays alive


POOL = Pool(count())
"""The pool of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.forget)
