"""Reads examples in workers: forked processes, or those of any `concurrent.futures.Executor`.

Forked processes inherit the model's reader and the examples, neither of which need pickle. Any other worker,
an MPI rank or one of a Dask cluster, gets the block and some examples, and compiles the block once; threads
share the model's reader. All send wirings back, or the error of an example. Executors are imported when they
are asked for, so that `import arrows` stays quick.
"""

from __future__ import annotations

import importlib.util
import pickle
import signal
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.lowering import lower
from arrows.engine.planning import Plan
from arrows.engine.reading.example_reader import ExampleReader, blocks
from arrows.engine.reading.wiring import Wirings
from arrows.engine.reference import Explainer
from arrows.inference import infer
from arrows.ops import Parameter
from arrows.typesys import ArrowTypeError, ArrowValueError, message

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from multiprocessing.connection import Connection

_SENT = 512  # examples that a worker of an executor gets at once
_INHERITED = 4096  # examples that a forked process reads at most; to fork takes as long as to read some 100
_PENDING = 16  # chunks that are under way in an executor, which does not say how many workers it has

Task: TypeAlias = Callable[[], Wirings]


def read_by_processes(reader: ExampleReader, examples: Iterable[object], processes: int) -> Iterator[Wirings]:
    """Reads examples in forked processes, and yields their wirings in order.

    That is safe on Linux, while no other thread runs that could hold a lock which a process would wait for.
    Elsewhere this process reads.

    Raises:
        InputError: an example does not fit.
        ArrowValueError: a process ended, or cannot send its wirings.
    """
    if processes == 1 or sys.platform != "linux" or _others_run():
        return reader.read_chunks(examples)
    few = len(examples) // (2 * processes) + 1 if isinstance(examples, Sequence) else _INHERITED
    chunks = _numbered(examples, min(few, _INHERITED))
    return _in_order(_Forked, partial(_read_inherited, reader), chunks, processes)


def read_by_executor(
    executor: Executor, reader: ExampleReader, examples: Iterable[object]
) -> Iterator[Wirings]:
    """Reads examples in an executor's workers, and yields their wirings in order.

    Raises:
        InputError: an example does not fit.
        ArrowTypeError: the block, or an example, cannot be pickled.
        Exception: whatever the executor raises, when a worker dies for example.
    """
    from concurrent.futures import ThreadPoolExecutor

    if isinstance(executor, ThreadPoolExecutor):
        return _in_order(executor.submit, reader.read_chunk, _numbered(examples), _PENDING)
    explain = reader.explain
    block = explain.typed.form, explain.float_type, reader.plan.schedule, reader.max_nodes
    sent = _pickled((*block, reader.description))
    chunks = ((_pickled(chunk), first) for chunk, first in _numbered(examples))
    return _in_order(executor.submit, partial(_read_sent, sent), chunks, _PENDING)


def _numbered(examples: Iterable[object], size: int = _SENT) -> Iterator[tuple[list[object], int]]:
    """Chunks of so many examples, and the number of the first of each."""
    first = 0
    for chunk in blocks(examples, size):
        yield chunk, first
        first += len(chunk)


def _in_order(
    submit: Callable[[Task], Future[Wirings] | _Forked],
    read: Callable[..., Wirings],
    chunks: Iterable[tuple[object, int]],
    most: int,
) -> Iterator[Wirings]:
    """What is read of chunks; at most so many are under way."""
    pending: deque[Future[Wirings] | _Forked] = deque()
    try:
        for chunk in chunks:
            pending.append(submit(partial(read, *chunk)))
            if len(pending) >= most:
                yield pending[0].result()
                pending.popleft()
        while pending:
            yield pending[0].result()
            pending.popleft()
    finally:
        for future in pending:
            future.cancel()


def _pickled(value: object) -> bytes:
    """Pickles by cloudpickle where it is installed, since it takes lambdas and what a script defines."""
    has_cloudpickle = importlib.util.find_spec("cloudpickle") is not None
    pickler = importlib.import_module("cloudpickle" if has_cloudpickle else "pickle")
    try:
        content: bytes = pickler.dumps(value)
    except Exception as error:
        raise ArrowTypeError(
            message(
                "cannot prepare examples in an executor",
                reason=f"the block or an example cannot be pickled: {type(error).__name__}: {error}",
                hint="cloudpickle takes lambdas and functions of a script too (pip install "
                "'arrows[cloudpickle]'); nothing takes locks, open files and models: let functions open them",
            )
        ) from error
    return content


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


class _Forked:
    """A task that runs in a forked process; has what `_in_order` asks of a `Future`."""

    def __init__(self, task: Task) -> None:
        import multiprocessing

        context = multiprocessing.get_context("fork")
        self._receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(task, self._receiver, sender), daemon=True)
        with warnings.catch_warnings():
            # Python warns of a fork beside threads. The only threads here are BLAS's, which handles forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        sender.close()

    def result(self) -> Wirings:
        try:
            result = self._receiver.recv()
        except EOFError:
            self._process.join()
            raise ArrowValueError(
                f"a process that read examples ended with exit code {self._process.exitcode}; without "
                "processes= this process reads"
            ) from None
        self._process.join()
        if isinstance(result, Exception):
            raise result
        read: Wirings = result
        return read

    def cancel(self) -> None:
        self._process.kill()  # an interrupt does not wait for chunks under way
        self._process.join()


def _read_inherited(reader: ExampleReader, examples: list[object], first: int) -> Wirings:
    reader.explain.parameter = _no_values  # those on a GPU cannot be read in a forked process
    return reader.read_all(examples, first)


def _run(task: Task, receiver: Connection, sender: Connection) -> None:
    """What a forked process does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # it ends silently, since the parent reports
    receiver.close()  # so that it ends when it sends to a parent that has ended
    try:
        result: object = task()
    except Exception as error:  # noqa: BLE001 (the parent raises it)
        if error.__cause__ is not None:
            error.add_note("".join(traceback.format_exception(error.__cause__)))
        result = error
    sender.send(result)


def _others_run() -> bool:
    """Whether there are other threads than progress bars have."""
    current = threading.current_thread()
    return any(t is not current and not type(t).__module__.startswith("tqdm") for t in threading.enumerate())
