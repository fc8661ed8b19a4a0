"""Times systems in turns, so that whatever slows the machine for a while slows all of them."""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

import arrows as ar
from arrows import machine
from benchmarks.datasets import Ints
from benchmarks.report import Result
from benchmarks.task import Task

EFFORT = {"full": (11, 0.5), "quick": (5, 0.2), "tiny": (2, 0.001)}
"""Scale -> how many rounds there are, and about how many seconds a run of `arrows` takes."""
PATIENCE = 10  # all runs of `arrows` together take about so many seconds at most, but for a few rounds
SLOW = 8  # a system without batching gets this many times fewer batches a run
UNBATCHED = {"one-by-one", "torch-one-by-one"}
TOLERANCE = 1e-4  # of float32 losses and results, relative to the largest number


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
    for round_ in range(-1, runs):
        first = round_ % len(names)
        for name in names[first:] + names[:first]:
            with _uncollected(), limited_to((threads or {}).get(name, before)):
                start = clock()
                systems[name]()
                elapsed = clock() - start
            if round_ >= 0:
                seconds[name].append(elapsed)
    return seconds


@contextmanager
def _uncollected() -> Iterator[None]:
    """Collects garbage, and then no more within."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def best_threads(systems: Mapping[str, Callable[[], object]]) -> dict[str, int]:
    """The number of threads, one or all, with which each system is faster; if it is fixed, that number."""
    most = machine.threads()
    choices = sorted({1, most}) if machine.settable() else [most]
    if len(choices) == 1:
        return dict.fromkeys(systems, choices[0])
    trials = {
        name: {count: interleaved({name: system}, 1, threads={name: count})[name] for count in choices}
        for name, system in systems.items()
    }
    return {name: min(times, key=times.__getitem__) for name, times in trials.items()}


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


def measure(
    bench: str, task: Task, scale: str = "full", wait: Callable[[], object] = lambda: None
) -> Iterator[Result]:
    """Runs random batches by each system in turns, each with the number of threads that suits it.

    A run has the batches that `arrows` needs some time for; systems without batching get fewer, unless a
    batch is one example. A run ends with `wait`, by which a GPU finishes its work. A result has the seconds
    of a batch, with what the task counts for a second, and microseconds and megabytes.

    >>> task = Task(config={}, systems={"arrows": lambda batch: len(batch)})
    >>> [result.system for result in measure("b", task, "tiny")]
    ['arrows']
    """
    random = np.random.default_rng(0)
    first = task.draw(random)
    megabytes = first_batches(task, first)
    rounds, seconds = EFFORT[scale]

    def run(name: str, batches: list[Ints]) -> None:
        for batch in batches:
            task.systems[name](batch)
        wait()

    (once,) = interleaved({"arrows": partial(run, "arrows", [first])}, 1)["arrows"]
    many = max(1, min(512, round(seconds / max(once, 1e-9))))
    batches = [task.draw(random) for _ in range(many)]
    slow = UNBATCHED if task.batch > 1 else set()
    counts = {name: max(1, many // SLOW) if name in slow else many for name in task.systems}
    runs = {name: partial(run, name, batches[: counts[name]]) for name in task.systems}
    threads = best_threads(runs)
    rounds = max(min(3, rounds), min(rounds, round(PATIENCE / max(once * many, 1e-9))))
    in_a_batch = task.count or task.batch
    for name, elapsed in interleaved(runs, rounds, threads=threads).items():
        a_batch = [s / counts[name] for s in elapsed]
        one = float(np.median(a_batch)) / in_a_batch
        figures = {f"{task.each}s/s": 1 / one, f"µs/{task.each}": one * 1e6, "MB": megabytes[name]}
        yield Result(bench, task.config, name, a_batch, figures | {"threads": threads[name]})


def first_batches(task: Task, batch: Ints) -> dict[str, float]:
    """Runs a batch by each system; returns the most megabytes of the host that each took for it.

    Raises:
        AssertionError: another system computes something else than `arrows` (in `iclr`, `arrows` on the same
            trees): what differs must not be compared in time.
    """
    megabytes: dict[str, float] = {}
    right: Any = None
    for name, system in task.systems.items():
        tracemalloc.start()
        result = system(batch)
        megabytes[name] = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        if name in ("arrows", "arrows-equal"):
            right = result
        elif name.startswith(("numpy", "manual", "torch", "dynet", "block")):
            expected, found = (np.asarray(_on_host(value)) for value in (right, result))
            error = np.max(np.abs(found - expected)) / np.max(np.abs(expected))
            if not error <= TOLERANCE:
                raise AssertionError(f"{name} and arrows differ by {error:.1e} of the largest number")
    return megabytes


def _on_host(value: Any) -> Any:
    return value.detach().cpu() if hasattr(value, "detach") else ar.to_numpy(value)
