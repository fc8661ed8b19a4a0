"""Work spread over processes: each takes chunks of the examples and sends arrays back."""

from __future__ import annotations

import multiprocessing
import signal
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from arrows.typesys.errors import ArrowValueError

Done = TypeVar("Done")

# Another process is not worth its start and its answers for fewer.
_FEWEST = 128

_worker: dict[str, Callable[[slice], Any]] = {}  # the task of a worker, which need not be pickled


def spread(task: Callable[[slice], Done], count: int, most: int, processes: int) -> list[Done]:
    """Does a task for all of `count` things, chunk by chunk, in forked processes if the system can fork.

    What goes wrong in another process (an example that does not fit, a result that cannot be pickled, a
    process that was killed) is done again in this one, so that it fails as it does without processes, or
    does not.

    Args:
        task: does a chunk. Its result has to be pickled, the task itself need not be.
        count: of all things; of none there is one empty chunk.
        most: the most of a chunk.
        processes: how many to use.

    Raises:
        ArrowValueError: `processes` is no positive integer.

    >>> spread(lambda chunk: chunk.stop - chunk.start, 1000, 400, processes=1)
    [400, 400, 200]
    """
    if isinstance(processes, bool) or not isinstance(processes, int) or processes < 1:
        raise ArrowValueError(f"processes must be a positive integer, not {processes!r}")
    size = most
    if processes > 1:  # several chunks each, for examples differ in size
        size = min(max(count // (4 * processes), _FEWEST), most)
    chunks = [slice(start, min(start + size, count)) for start in range(0, max(count, 1), size)]
    done: list[Done] = []
    if processes > 1 and len(chunks) > 1 and "fork" in multiprocessing.get_all_start_methods():
        with warnings.catch_warnings(), suppress(Exception):
            # The threads that Python warns of are those of BLAS, which a worker does not use.
            warnings.simplefilter("ignore", DeprecationWarning)
            pool = ProcessPoolExecutor(processes, multiprocessing.get_context("fork"), _take, (task,))
            try:
                done.extend(pool.map(_do, chunks))
            finally:
                pool.shutdown(cancel_futures=True)
    done.extend(map(task, chunks[len(done) :]))
    return done


def _take(task: Callable[[slice], Any]) -> None:
    _worker["task"] = task
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for the results is interrupted


def _do(chunk: slice) -> Any:
    return _worker["task"](chunk)
