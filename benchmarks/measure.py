"""Runs the systems of a task in turns, each with the number of threads that suits it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized

import numpy as np

from benchmarks.report import Result
from benchmarks.systems import System
from benchmarks.timing import best_threads, interleaved

SLOW = 8  # a system without batching gets this many times fewer batches a run


def measure(
    bench: str,
    config: Mapping[str, object],
    systems: Mapping[str, System],
    batches: Sequence[Sized],
    *,
    rounds: int,
    unit: str = "trees/s",
) -> Iterator[Result]:
    """Runs all batches by each system in turns, each with the number of threads that suits it.

    Args:
        bench, config: of the results.
        systems: what runs one batch. `one-by-one` gets fewer batches a run, unless a batch is one example.
        batches: the examples' numbers, or anything with a length that a system understands.
        rounds: runs of each system.
        unit: the name of the figure of examples a second.

    Yields:
        A result for each system: seconds a batch, and examples a second.

    >>> results = measure("b", {}, {"arrows": lambda batch, number: sum(batch)}, [[1, 2]], rounds=1)
    >>> [result.system for result in results]
    ['arrows']
    """
    size = len(batches[0])
    counts = {name: len(batches) for name in systems}
    if "one-by-one" in counts and size > 1:
        counts["one-by-one"] = max(1, len(batches) // SLOW)

    def task(name: str) -> Callable[[], None]:
        def runs() -> None:
            for number, batch in enumerate(batches[: counts[name]]):
                systems[name](batch, number)

        return runs

    tasks = {name: task(name) for name in systems}
    threads = best_threads(tasks, 1 if rounds <= 5 else 2)
    for name, seconds in interleaved(tasks, rounds, threads=threads).items():
        a_batch = [s / counts[name] for s in seconds]
        figures = {unit: size / float(np.median(a_batch)), "threads": threads[name], "batches": counts[name]}
        yield Result(bench, config, name, a_batch, figures)
