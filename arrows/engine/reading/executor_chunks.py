"""Reads examples in the workers of any `concurrent.futures.Executor`: processes, MPI ranks, a Dask cluster.

A worker gets the block and some examples, compiles the block once, and sends wirings back. Threads of this
process need none of that, and share the model's own reader.
"""

from __future__ import annotations

import importlib.util
import pickle
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from arrows.combinators import AnyBlock
from arrows.engine.lowering import lower
from arrows.engine.planning import make_plan
from arrows.engine.reading.example_reader import ExampleReader, blocks
from arrows.engine.reading.example_streams import Chunk
from arrows.engine.reading.process_pool import HandedBack, handing_back
from arrows.engine.reference import Explainer
from arrows.inference import infer
from arrows.ops import Parameter
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

_CHUNK = 256  # examples that a worker gets at once
_FEWEST_PENDING = 8  # chunks that are under way, if the executor does not say how many workers it has


@dataclass(frozen=True, slots=True)
class ReaderRecipe:
    """What a worker makes a reader of.

    Attributes:
        block: what the model was compiled of.
        float_type, schedule, max_nodes: as in `arrows.compile`.
    """

    block: AnyBlock
    float_type: str | None
    schedule: str
    max_nodes: int

    def reader(self) -> ExampleReader:
        """A reader as the model has it, but without parameters."""
        typed = infer(self.block, float_type=self.float_type)
        explain = Explainer(typed, _no_values, self.max_nodes, self.float_type)
        return ExampleReader(make_plan(lower(typed), self.schedule), self.max_nodes, explain)


def _no_values(owner: object, parameter: Parameter) -> HostArray:
    """A parameter in a worker: an index is in range or not, whatever is in the table."""
    return np.zeros(parameter.shape, parameter.dtype)


def read_by_executor(
    executor: Executor, reader: ExampleReader, recipe: ReaderRecipe, examples: Iterable[object]
) -> Iterator[Chunk]:
    """Reads examples in an executor's workers, and yields their wirings in order.

    A few chunks a worker are under way at a time.

    Args:
        executor: the executor.
        reader: the model's, for threads.
        recipe: what workers make a reader of.
        examples: any number of them.

    Raises:
        InputError: an example does not fit.
        ArrowTypeError: the block, or an example, cannot be pickled.
        ArrowValueError: a worker failed otherwise, or the executor takes no work.
    """
    from concurrent.futures import ThreadPoolExecutor

    threads = isinstance(executor, ThreadPoolExecutor)
    sent = b"" if threads else _pickled((recipe, reader.description), "the block")
    pending: deque[tuple[Future[Chunk | HandedBack], int, int]] = deque()
    most = 2 * _workers(executor)
    first = 0
    try:
        for chunk in blocks(examples, _CHUNK):
            last = first + len(chunk) - 1
            packed = b"" if threads else _pickled(chunk, f"one of the examples {first} to {last}")
            try:
                future = (
                    executor.submit(handing_back, partial(reader.read_chunk, chunk, first))
                    if threads
                    else executor.submit(_read, sent, packed, first)
                )
            except Exception as error:  # noqa: BLE001 (it was shut down, or a worker has died)
                _refuse(error, first, last)
            pending.append((future, first, last))
            first += len(chunk)
            if len(pending) >= most:
                yield _result(*pending.popleft())
        while pending:
            yield _result(*pending.popleft())
    finally:
        for future, _, _ in pending:
            future.cancel()


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


def _workers(executor: Executor) -> int:
    count = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None)
    return max(count, _FEWEST_PENDING) if isinstance(count, int) else _FEWEST_PENDING


def _result(future: Future[Chunk | HandedBack], first: int, last: int) -> Chunk:
    try:
        result = future.result()
    except Exception as error:  # noqa: BLE001 (whatever comes from a worker)
        _refuse(error, first, last)
    if isinstance(result, HandedBack):
        raise result.error
    return result


def _refuse(error: Exception, first: int, last: int) -> NoReturn:
    raise ArrowValueError(
        message(
            f"cannot prepare the examples {first} to {last} in the executor",
            reason=f"{type(error).__name__}: {error}",
            hint="workers need this version of arrows, and the modules that the block's functions are from",
        )
    ) from error


def _pickled(value: object, name: str) -> bytes:
    """Pickles by cloudpickle where it is installed, since it takes lambdas and what a script defines."""
    has_cloudpickle = importlib.util.find_spec("cloudpickle") is not None
    try:
        if has_cloudpickle:
            import cloudpickle

            content: bytes = cloudpickle.dumps(value)
            return content
        return pickle.dumps(value)
    except Exception as error:
        hint = (
            "what functions hold (locks, open files, models) cannot go to another process: let them open it "
            "when they are called, or prepare without an executor"
            if has_cloudpickle
            else "cloudpickle also takes lambdas and functions of a script: pip install 'arrows[cloudpickle]'"
        )
        raise ArrowTypeError(
            message(
                "cannot prepare examples in an executor",
                reason=f"{name} cannot be pickled: {type(error).__name__}: {error}",
                hint=hint,
            )
        ) from error


_latest: dict[bytes, ExampleReader] = {}  # a worker keeps the reader of the last model


def _read(sent: bytes, examples: bytes, first: int) -> Chunk | HandedBack:
    """What a worker does."""
    reader = _latest.get(sent)
    if reader is None:
        recipe, description = pickle.loads(sent)
        reader = recipe.reader()
        if reader.description != description:
            raise RuntimeError("this worker has another version of arrows, or of the modules of the block")
        _latest.clear()
        _latest[sent] = reader
    return handing_back(partial(reader.read_chunk, pickle.loads(examples), first))
