"""Spreads work over processes: each takes chunks of the examples and sends arrays back.

Processes are forked: they inherit the model and the examples, neither of which need pickle. `multiprocessing`
and `concurrent.futures` are imported when processes are asked for, so that `import arrows` stays quick.
"""

from __future__ import annotations

import operator
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.errors import Message

Done = TypeVar("Done")

# With fewer examples, starting a process and sending its results costs more than it saves.
_FEWEST = 256

_worker: dict[str, Callable[[slice], Any]] = {}  # the task of a worker, which need not be pickled


def checked_processes(processes: Any) -> int:
    """A number of processes.

    Raises:
        ArrowValueError: it is no positive integer.

    >>> checked_processes(2)
    2
    """
    try:
        number = 0 if isinstance(processes, bool) else operator.index(processes)
    except TypeError:
        number = 0
    if number < 1:
        raise ArrowValueError(f"processes must be a positive integer, not {processes!r}")
    return number


def chunk_size(count: int, most: int, processes: int) -> int:
    """How many of so many things a chunk has: several chunks a process, because examples differ in size."""
    return most if processes == 1 else min(max(-(-count // (4 * processes)), _FEWEST), most)


def map_chunks(
    task: Callable[[slice], Done], count: int, most: int, processes: int, size: int | None = None
) -> list[Done]:
    """Does a task for all of `count` things, chunk by chunk, in forked processes if that is safe.

    It is on Linux, while no other thread runs that could hold a lock which a process would wait for. An
    example that does not fit is an error of its process, which this one raises. What goes wrong otherwise in
    a process (a result that cannot be pickled, a process that was killed) is done again in this one, so that
    it fails as it does without processes, or does not.

    Args:
        task: does a chunk. Its result has to be pickled, the task itself need not be.
        count: of all things; of none there is one empty chunk.
        most: the most of a chunk.
        processes: how many to use.
        size: how many things a chunk has, if that is settled.

    >>> map_chunks(lambda chunk: chunk.stop - chunk.start, 1000, 400, processes=1)
    [400, 400, 200]
    >>> map_chunks(lambda chunk: chunk.stop - chunk.start, 900, 400, processes=1)
    [400, 500]
    """
    size = size or chunk_size(count, most, processes)
    number = max(-(-count // size), 1)
    if size < most:  # few for so many processes: none waits long for another
        chunks = [slice(a, z) for a, z in pairwise(count * n // number for n in range(number + 1))]
    else:
        number -= (
            0 < 2 * (count % size) < size and number > 1
        )  # a short rest joins the chunk before, as in `blocks`
        chunks = [slice(n * size, (n + 1) * size) for n in range(number - 1)]
        chunks.append(slice((number - 1) * size, count))
    done: list[Done] = []
    if processes > 1 and number > 1 and sys.platform == "linux" and not _others_run():
        try:
            _collect(task, chunks, min(processes, number), done)
        except InputError:
            raise
        except Exception:  # noqa: BLE001 (what is missing is done below)
            pass
    done.extend(map(task, chunks[len(done) :]))
    return done


def _others_run() -> bool:
    """Whether there are other threads than progress bars have."""
    current = threading.current_thread()
    return any(t is not current and not type(t).__module__.startswith("tqdm") for t in threading.enumerate())


def _collect(task: Callable[[slice], Done], chunks: list[slice], processes: int, done: list[Done]) -> None:
    """Fills `done`, in order, as far as all goes well."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("fork"), _take, (task,))
    try:
        with warnings.catch_warnings():
            # Python warns of a fork beside threads. The only threads here are BLAS's, which handles forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            results = pool.map(_do, chunks)
        for result in results:
            if isinstance(result, HandedBack):
                raise result.error
            done.append(result)
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()  # an interrupt does not wait for chunks under way
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class HandedBack:
    """An error about an example, on its way from a worker.

    Attributes:
        text: what it says, with its parts.
        cause: the error that caused it; None if there is none, or if it cannot be pickled.
    """

    text: Message
    cause: BaseException | None

    @property
    def error(self) -> InputError:
        """The error as it was raised in the worker."""
        error = InputError(self.text)
        error.__cause__ = self.cause
        return error


def handing_back(task: Callable[[], Done]) -> Done | HandedBack:
    """Does a task in a worker; an example that does not fit is a result, so that nobody reads it again."""
    try:
        return task()
    except InputError as error:
        cause = error.__cause__
        try:
            pickle.loads(pickle.dumps(cause))
        except Exception:  # noqa: BLE001 (whatever it holds)
            cause = None
        return HandedBack(error.details, cause)


def _take(task: Callable[[slice], Any]) -> None:
    _worker["task"] = task
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the worker ends silently, since the parent reports
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(chunk: slice) -> Any:
    return handing_back(partial(_worker["task"], chunk))
