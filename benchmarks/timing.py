"""Times several systems in turns, so that whatever slows the machine for a while slows all of them."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from arrows import machine


def interleaved(
    systems: Mapping[str, Callable[[], object]],
    runs: int,
    *,
    threads: Mapping[str, int] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Runs every system once without counting, then in rounds, each of which begins with another system.

    Garbage is collected before each run and not within, so that no system pays for what another left behind.

    Args:
        systems: name -> what to time.
        runs: rounds that count, at least 1.
        threads: threads of NumPy's BLAS and of PyTorch for each system; those not named run with what is set.
        clock: seconds; for tests.

    Returns:
        Name -> seconds of each run, in the order of the rounds.

    >>> times = interleaved({"a": lambda: None, "b": lambda: None}, runs=3)
    >>> [len(seconds) for seconds in times.values()]
    [3, 3]
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
    """The number of threads, one or all, with which each system is faster: its own best setting.

    Where the number cannot be set, it is what it is.

    >>> set(best_threads({"a": lambda: None}, runs=1)) == {"a"}
    True
    """
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
    """Sets the number of threads of NumPy's BLAS, and of PyTorch where it has been imported, for a while.

    >>> with limited_to(1):
    ...     machine.threads() == 1 or not machine.settable()
    True
    """
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
    """How often something must run, after a first time that does not count, to take about so many seconds.

    >>> repeats(lambda: None, 0.001, most=8)
    8
    """
    run()
    start = time.perf_counter()
    run()
    return max(1, min(most, round(seconds / max(time.perf_counter() - start, 1e-9))))
