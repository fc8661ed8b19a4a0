"""Reads examples in workers: forked processes, or those of any `concurrent.futures.Executor`.

Forked processes inherit the model's reader and the examples, neither of which need pickle. Any other worker,
an MPI rank or one of a Dask cluster, gets the block and some examples, and compiles the block once; threads
share the model's reader. All send wirings back, or the error of an example. Executors are imported when they
are asked for, so that `import arrows` stays quick.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.lowering import lower
from arrows.engine.planning import Plan
from arrows.engine.reading.example_reader import CHUNK, ExampleReader, blocks
from arrows.engine.reading.wiring import Wirings
from arrows.engine.reference import Explainer
from arrows.inference import infer
from arrows.ops import Parameter
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError, Message, message

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

# With fewer examples, starting a process and sending its results costs more than it saves.
_FEWEST = 256
_SENT = 256  # examples that a worker of an executor gets at once
_FEWEST_PENDING = 8  # chunks that are under way, if the executor does not say how many workers it has

Task: TypeAlias = Callable[[], Wirings]


def read_by_processes(reader: ExampleReader, examples: Iterable[object], processes: int) -> Iterator[Wirings]:
    """Reads examples in forked processes, and yields their wirings in order.

    That is safe on Linux, while no other thread runs that could hold a lock which a process would wait for.
    Elsewhere, and where the examples are few, this process reads.

    Raises:
        InputError: an example does not fit.
        ArrowValueError: a process ended, or cannot send its wirings.
    """
    if processes == 1 or sys.platform != "linux" or _others_run():
        yield from reader.read_chunks(examples)
        return
    first = 0
    for block in blocks(examples, 4 * processes * CHUNK):
        # Several chunks a process, because examples differ in size.
        chunks = min(len(block) // _FEWEST, 4 * processes)
        if chunks < 2:
            yield from reader.read_chunks(block, first)
        else:
            cuts = pairwise(len(block) * n // chunks for n in range(chunks + 1))
            with _forked(min(processes, chunks), (reader, block, first)) as executor:
                tasks = ((partial(_read_inherited, a, z), first + a, first + z - 1) for a, z in cuts)
                yield from _in_order(executor, tasks, chunks)
        first += len(block)


def read_by_executor(
    executor: Executor, reader: ExampleReader, examples: Iterable[object]
) -> Iterator[Wirings]:
    """Reads examples in an executor's workers, and yields their wirings in order.

    A few chunks a worker are under way at a time.

    Args:
        executor: the executor.
        reader: the model's.
        examples: any number of them.

    Raises:
        InputError: an example does not fit.
        ArrowTypeError: the block, or an example, cannot be pickled.
        ArrowValueError: a worker failed otherwise, or the executor takes no work.
    """
    from concurrent.futures import ThreadPoolExecutor

    threads = isinstance(executor, ThreadPoolExecutor)
    explain, schedule = reader.explain, reader.plan.schedule
    block = explain.typed.form, explain.float_type, schedule, reader.max_nodes, reader.description
    sent = b"" if threads else _pickled(block, "the block")

    def tasks() -> Iterator[tuple[Task, int, int]]:
        first = 0
        for chunk in blocks(examples, _SENT):
            last = first + len(chunk) - 1
            if threads:
                yield partial(reader.read_chunk, chunk, first), first, last
            else:
                packed = _pickled(chunk, f"one of the examples {first} to {last}")
                yield partial(_read_sent, sent, packed, first), first, last
            first = last + 1

    count = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None)
    workers = max(count, _FEWEST_PENDING) if isinstance(count, int) else _FEWEST_PENDING
    return _in_order(executor, tasks(), 2 * workers)


def _in_order(executor: Executor, tasks: Iterable[tuple[Task, int, int]], most: int) -> Iterator[Wirings]:
    """The results of tasks, each with its first and last example; at most so many are under way."""
    pending: deque[tuple[Future[Wirings | _HandedBack], int, int]] = deque()

    def result() -> Wirings:
        future, first, last = pending.popleft()
        with _refused(first, last):
            read = future.result()
        if isinstance(read, tuple):
            raise InputError(read[0]) from read[1]
        return read

    try:
        for task, first, last in tasks:
            with _refused(first, last):  # the executor was shut down, or a worker has died
                pending.append((executor.submit(_handing_back, task), first, last))
            if len(pending) >= most:
                yield result()
        while pending:
            yield result()
    finally:
        for future, _, _ in pending:
            future.cancel()


@contextmanager
def _refused(first: int, last: int) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise ArrowValueError(
            message(
                f"cannot prepare the examples {first} to {last} in other processes",
                reason=f"{type(error).__name__}: {error}",
                hint="workers need this version of arrows, and the modules that the block's functions are "
                "from; without processes= and executor=, this process reads",
            )
        ) from error


def checked_executor(executor: Any) -> Executor:
    """An executor.

    Raises:
        ArrowTypeError: it is something else.
    """
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise ArrowTypeError(
            "prepare: executor must be a concurrent.futures.Executor, such as ProcessPoolExecutor(4), "
            f"not {executor!r}"
        )
    checked: Executor = executor
    return checked


def _pickled(value: object, name: str) -> bytes:
    """Pickles by cloudpickle where it is installed, since it takes lambdas and what a script defines."""
    has_cloudpickle = importlib.util.find_spec("cloudpickle") is not None
    pickler = importlib.import_module("cloudpickle" if has_cloudpickle else "pickle")
    try:
        content: bytes = pickler.dumps(value)
    except Exception as error:
        hint = "cloudpickle also takes lambdas and functions of a script: pip install 'arrows[cloudpickle]'"
        if has_cloudpickle:
            hint = (
                "what functions hold (locks, open files, models) cannot go to another process: let them open "
                "it when they are called, or prepare without an executor"
            )
        raise ArrowTypeError(
            message(
                "cannot prepare examples in an executor",
                reason=f"{name} cannot be pickled: {type(error).__name__}: {error}",
                hint=hint,
            )
        ) from error
    return content


# ---------------------------------------------------------------------------------- what a worker does


_HandedBack: TypeAlias = tuple[Message, BaseException | None]
"""An error about an example, on its way from a worker: what it says, and what caused it, if that can go."""


def _handing_back(task: Task) -> Wirings | _HandedBack:
    """Does a task in a worker; an example that does not fit is a result."""
    try:
        return task()
    except InputError as error:
        cause = error.__cause__
        try:
            pickle.loads(pickle.dumps(cause))
        except Exception:  # noqa: BLE001 (whatever it holds)
            cause = None
        return error.details, cause


_latest: dict[bytes, ExampleReader] = {}  # a worker keeps the reader of the last model


def _no_values(owner: object, parameter: Parameter) -> HostArray:
    """A parameter in a worker: an index is in range or not, whatever is in the table."""
    return np.zeros(parameter.shape, parameter.dtype)


def _read_sent(sent: bytes, examples: bytes, first: int) -> Wirings:
    reader = _latest.get(sent)
    if reader is None:
        block, float_type, schedule, max_nodes, description = pickle.loads(sent)
        typed = infer(block, float_type=float_type)
        explain = Explainer(typed, _no_values, max_nodes, float_type)
        reader = ExampleReader(Plan(lower(typed), schedule), max_nodes, explain)
        if reader.description != description:
            raise RuntimeError("this worker has another version of arrows, or of the modules of the block")
        _latest.clear()
        _latest[sent] = reader
    return reader.read_chunk(pickle.loads(examples), first)


# --------------------------------------------------------------------------------------- forked processes


Inherited: TypeAlias = tuple[ExampleReader, list[object], int]
"""What a forked process reads with, unpickled: the reader, examples, and the number of the first."""

_inherited: list[Inherited] = []


def _read_inherited(start: int, stop: int) -> Wirings:
    reader, examples, first = _inherited[0]
    return reader.read_chunk(examples[start:stop], first + start)


@contextmanager
def _forked(processes: int, inherited: Inherited) -> Iterator[Executor]:
    """So many forked processes, which end with the context."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    before = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(processes, multiprocessing.get_context("fork"), _begin, (inherited,))
    try:
        with warnings.catch_warnings():
            # Python warns of a fork beside threads. The only threads here are BLAS's, which handles forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            executor.submit(os.getpid)  # the first task starts all processes
        yield executor
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()  # an interrupt does not wait for chunks under way
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _begin(inherited: Inherited) -> None:
    _inherited[:] = [inherited]
    inherited[0].explain.parameter = _no_values  # those on a GPU cannot be read in a forked process
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the worker ends silently, since the parent reports
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _others_run() -> bool:
    """Whether there are other threads than progress bars have."""
    current = threading.current_thread()
    return any(t is not current and not type(t).__module__.startswith("tqdm") for t in threading.enumerate())
