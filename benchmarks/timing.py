"""Times systems in turns, so that whatever slows the machine for a while slows all of them."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import partial

import numpy as np

from arrows import machine
from benchmarks.datasets import Ints
from benchmarks.report import Result
from benchmarks.systems import System

SLOW = 8  # a system without batching gets this many times fewer batches a run
UNBATCHED = {"one-by-one", "torch-one-by-one", "alone"}


def interleaved(
    systems: Mapping[str, Callable[[], object]],
    runs: int,
    *,
    threads: Mapping[str, int] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Runs every system once without counting, then in rounds, each of which begins with another system.

    Garbage is collected before each run and not within, so that no system pays for what another left behind.
    A system that `threads` does not name runs with the number that is set; tests pass a `clock` of their own.
    Returns the seconds of each system's runs, in the order of the rounds.
    """
    before, names = machine.threads(), list(systems)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    was_enabled = gc.isenabled()
    try:
        for round_ in range(-1, runs):
            first = round_ % len(names)
            for name in names[first:] + names[:first]:
                gc.collect()
                gc.disable()
                with limited_to((threads or {}).get(name, before)):
                    start = clock()
                    systems[name]()
                    elapsed = clock() - start
                if was_enabled:
                    gc.enable()
                if round_ >= 0:
                    seconds[name].append(elapsed)
    finally:
        if was_enabled:
            gc.enable()
    return seconds


def best_threads(systems: Mapping[str, Callable[[], object]], runs: int = 3) -> dict[str, int]:
    """The number of threads, one or all, with which each system is faster; if it is fixed, that number."""
    most = machine.threads()
    choices = sorted({1, most}) if machine.settable() else [most]
    best = {}
    for name, system in systems.items():
        times = {}
        for count in choices if len(choices) > 1 else []:
            times[count] = min(interleaved({name: system}, runs, threads={name: count})[name])
        best[name] = min(times, key=times.__getitem__) if times else choices[0]
    return best


@contextmanager
def limited_to(count: int) -> Iterator[None]:
    """Sets the number of threads of NumPy's BLAS, and of PyTorch where it has been imported, for a while."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 0
    if torch:
        torch.set_num_threads(count)
    try:
        with machine.limited_to(count):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)


def repeats(run: Callable[[], object], seconds: float, most: int = 512) -> int:
    """How many runs take about `seconds`, judged by one run after a first that does not count."""
    run()
    start = time.perf_counter()
    run()
    return max(1, min(most, round(seconds / max(time.perf_counter() - start, 1e-9))))


def random_batches(
    random: np.random.Generator, system: System, first: Ints, examples: int, seconds: float
) -> list[Ints]:
    """Random batches, each as large as `first`: as many as a system runs in about `seconds`."""
    count = repeats(partial(system, first, 0), seconds)
    return [random.integers(0, examples, len(first)) for _ in range(max(2, count))]


def measure(
    bench: str,
    config: Mapping[str, object],
    systems: Mapping[str, System],
    batches: Sequence[Sized],
    *,
    rounds: int,
    unit: str = "trees/s",
    wait: Callable[[], object] = lambda: None,
) -> Iterator[Result]:
    """Runs all batches by each system in turns, each with the number of threads that suits it.

    Those without batching get fewer batches a run, unless a batch is one example. A run ends with `wait`, by
    which a GPU finishes its work. A result has the seconds of a batch, and the examples a second under the
    name `unit`.

    >>> results = measure("b", {}, {"arrows": lambda batch, number: sum(batch)}, [[1, 2]], rounds=1)
    >>> [result.system for result in results]
    ['arrows']
    """
    size = len(batches[0])
    counts = {name: len(batches) for name in systems}
    if size > 1:
        counts |= dict.fromkeys(UNBATCHED & counts.keys(), max(1, len(batches) // SLOW))

    def task(name: str) -> Callable[[], None]:
        def runs() -> None:
            for number, batch in enumerate(batches[: counts[name]]):
                systems[name](batch, number)
            wait()

        return runs

    tasks = {name: task(name) for name in systems}
    threads = best_threads(tasks, 1 if rounds <= 5 else 2)
    for name, seconds in interleaved(tasks, rounds, threads=threads).items():
        a_batch = [s / counts[name] for s in seconds]
        figures = {unit: size / float(np.median(a_batch)), "threads": threads[name], "batches": counts[name]}
        yield Result(bench, config, name, a_batch, figures)
