"""What one rank of `python -m benchmarks scaling` measures; rank 0 prints a JSON object a line.

Runs by itself too, on as many ranks and machines as there are:

    mpirun -n 8 --hostfile HOSTS python -m benchmarks.scaling_rank '{"state": 300, "batch": 64}'
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import arrows as ar
from arrows.data import vocabulary
from arrows.machine import set_threads
from arrows.models import sentiment
from arrows.ops import RowSparse
from arrows.ops.arrays import HostArray
from arrows.training import SGD, train
from arrows.training.parallel import Communicator, as_communicator
from arrows.training.parallel.shares import shares
from benchmarks.datasets import load_trees
from benchmarks.systems import RATE

Returned = TypeVar("Returned")
SHARES = (2, 4, 8, 64, 512)  # numbers of ranks whose shares are computed from the trees


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the ranks measure.

    Attributes:
        state: of the Tree-LSTM, and of its embedding.
        batch: trees of a rank in a step.
        steps: how many make a run.
        rounds: runs of each kind.
        messages: bytes of the buffers that are added up.
        data: the folder of the treebank; None: see `load_trees`.
    """

    state: int = 300
    batch: int = 64
    steps: int = 8
    rounds: int = 5
    messages: tuple[int, ...] = tuple(8 * 8**k for k in range(8))
    data: str | None = None


class Watched:
    """A communicator that notes what it waits for and how much it sends; see `Communicator`."""

    def __init__(self, communicator: Communicator) -> None:
        self._communicator = communicator
        self.rank, self.size = communicator.rank, communicator.size
        self.gather_texts, self.broadcast = communicator.gather_texts, communicator.broadcast
        self.abort = communicator.abort
        self.seconds, self.summed, self.gathered = 0.0, 0, 0

    def start_sum(self, buffer: HostArray) -> Callable[[], object]:
        self.summed += buffer.nbytes
        wait = self._timed(lambda: self._communicator.start_sum(buffer))
        return lambda: self._timed(wait)

    def gather(self, array: HostArray, counts: Sequence[int]) -> HostArray:
        self.gathered += array.nbytes
        return self._timed(lambda: self._communicator.gather(array, counts))

    def gather_numbers(self, numbers: HostArray) -> HostArray:
        return self._timed(lambda: self._communicator.gather_numbers(numbers))

    def _timed(self, function: Callable[[], Returned]) -> Returned:
        start = time.perf_counter()
        try:
            return function()
        finally:
            self.seconds += time.perf_counter() - start


def measured(comm: Any, work: Work) -> Iterator[dict[str, Any]]:
    """Measures; each rank gets results, and those of rank 0 are the job's.

    `train`: all ranks train one model, on `batch` trees each.  `apart`: as many processes train a model of
    their own, which is what the machine can do at best.  Seconds are of a step.
    """
    trees, source = load_trees(None if work.data is None else Path(work.data))
    random = np.random.default_rng(0)
    drawn = [trees[k] for k in random.integers(0, len(trees), work.batch * work.steps * comm.Get_size())]
    block = sentiment(vocabulary(trees), size=work.state).learn
    model, own = ar.compile(block, loss="loss"), ar.compile(block, loss="loss")
    watched = Watched(as_communicator(comm))
    size = watched.size
    prepared, alone = model.prepare(drawn), own.prepare(drawn[watched.rank :: size])
    optimizer, another = SGD(RATE), SGD(RATE)
    train(model, prepared, optimizer, batch_size=work.batch * size, comm=watched, progress=False)  # warm up
    train(own, alone, another, batch_size=work.batch, progress=False)
    watched.seconds, watched.summed, watched.gathered = 0.0, 0, 0
    together, apart = [], []
    for number in range(work.rounds):
        settings: dict[str, Any] = {"seed": number, "progress": False}
        comm.Barrier()
        history = train(model, prepared, optimizer, batch_size=work.batch * size, comm=watched, **settings)
        together.append(history[-1].seconds / work.steps)
        comm.Barrier()
        history = train(own, alone, another, batch_size=work.batch, **settings)
        apart.append(max(comm.allgather(history[-1].seconds)) / work.steps)
    steps = work.rounds * work.steps
    config = {"state": work.state, "batch": work.batch, "ranks": size, "trees": source}
    yield {
        "config": {"mode": "train", **config},
        "runs": together,
        "trees_per_s": work.batch * size / float(np.median(together)),
        "nodes_per_tree": float(prepared.nodes.mean()),
        "waiting_s": watched.seconds / steps,
        "dense_bytes": watched.summed // steps,
        "row_bytes": watched.gathered // steps,
    }
    yield {
        "config": {"mode": "apart", **config},
        "runs": apart,
        "trees_per_s": work.batch * size / float(np.median(apart)),
    }
    for number in work.messages if size > 1 else ():
        runs = messages(comm, watched, number, work.rounds)
        yield {"config": {"mode": "all-reduce", "ranks": size, "bytes": number}, "runs": runs}
    if size == 1:
        yield from alone_facts(model, work, drawn, prepared.nodes)


def messages(comm: Any, communicator: Communicator, size: int, rounds: int) -> list[float]:
    """Seconds to add up a buffer of so many bytes of float32."""
    buffer = np.ones(max(1, size // 4), np.float32)
    times = max(1, min(200, 2**22 // size))
    runs = []
    for _ in range(rounds + 1):
        buffer[...] = 1
        comm.Barrier()
        start = time.perf_counter()
        for _ in range(times):
            communicator.start_sum(buffer)()
        runs.append((time.perf_counter() - start) / times)
        np.minimum(buffer, 1.0, out=buffer)
    return runs[1:]


def alone_facts(model: ar.Model, work: Work, trees: list[Any], nodes: HostArray) -> Iterator[dict[str, Any]]:
    """What the model of costs needs besides: uneven shares, updates of rows, and preparing."""
    random = np.random.default_rng(0)
    for ranks in SHARES:
        most = []
        for _ in range(20):
            costs = random.choice(nodes, work.batch * ranks)
            most.append(max(int(costs[own].sum()) for own in shares(costs, ranks)) / costs.sum() * ranks)
        yield {
            "config": {"mode": "shares", "ranks": ranks},
            "runs": [],
            "most_over_mean": float(np.mean(most)),
        }
    name, table = max(model.params.items(), key=lambda item: len(item[1]) if item[1].ndim == 2 else 0)
    for count in (1_000, 20_000):
        rows = random.integers(0, table.shape[0], count)
        values = np.zeros((count, *table.shape[1:]), table.dtype)
        runs = []
        for _ in range(work.rounds + 1):
            gradients = {n: np.zeros_like(a) for n, a in model.params.items() if n != name}
            gradients[name] = RowSparse(rows, values, table.shape)
            start = time.perf_counter()
            SGD(0.0).step(model, gradients)
            runs.append(time.perf_counter() - start)
        config = {"mode": "update", "bytes": int(values.nbytes + rows.nbytes)}
        yield {"config": config, "runs": runs[1:]}
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for number in range(work.rounds):
            start = time.perf_counter()
            model.prepare(trees, cache=Path(folder, str(number)))
            runs.append(time.perf_counter() - start)
        stored, count = Path(folder, "0").stat().st_size, int(nodes.sum())
    yield {
        "config": {"mode": "prepare"},
        "runs": [seconds / count for seconds in runs],
        "bytes_per_node": stored / count,
    }


def main(text: str = "{}") -> None:
    """Measures the work that a JSON object describes; rank 0 prints."""
    from mpi4py import MPI

    set_threads(1)
    comm = MPI.COMM_WORLD
    for result in measured(comm, Work(**json.loads(text))):
        if comm.Get_rank() == 0:
            print(json.dumps(result), flush=True)


def described(work: Work) -> str:
    """The argument of `main`."""
    return json.dumps(asdict(work))


if __name__ == "__main__":
    main(*sys.argv[1:])
