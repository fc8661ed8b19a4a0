"""An old checkout of the package against this one: the same tasks in two processes that take turns.

Both processes run the tasks of this checkout (`benchmarks.tasks`) and differ only in the package that they
import. They stay alive and run one task at a time, so that whatever slows the machine for a while slows
both.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from arrows.typesys.errors import ArrowValueError
from benchmarks.machine import unpinned
from benchmarks.report import Result

NAME = "pair"
ROOT = Path(__file__).resolve().parents[1]
SECONDS = 0.1  # about how long a process works before the other takes its turn

# The benchmarks are imported before the package's checkout is put first: that may have benchmarks of its own.
START = """
import sys
sys.path[:0] = [sys.argv[1]]
import benchmarks
sys.path[:0] = [sys.argv[2]]
from benchmarks.tasks import serve
serve(*sys.argv[2:])
"""


def run(
    *,
    quick: bool = False,
    data: Path | None = None,
    old: Path,
    bench: str,
    threads: int | None = None,
    rounds: int | None = None,
) -> Iterator[Result]:
    """Measures each task of a benchmark in both checkouts; `arrows` is this one.

    `new/old` is the ratio of the medians, below 1 where this checkout is faster; `low`, `middle` and `high`
    are the quartiles of the rounds' own ratios, which suffer less where other programs run. Matrix products
    use one thread by default, as the times vary least then.

    Raises:
        ArrowValueError: `old` is no checkout of the package, or a process fails.
    """
    if not (old / "arrows" / "__init__.py").is_file():
        raise ArrowValueError(f"{old} holds no package arrows: name a checkout of the repository")
    rounds = rounds or (15 if quick else 31)
    with (
        Worker(old, bench, quick=quick, data=data, threads=threads or 1) as before,
        Worker(ROOT, bench, quick=quick, data=data, threads=threads or 1) as after,
    ):
        workers = {"old": before, "arrows": after}
        if before.tasks != after.tasks:
            raise ArrowValueError("the processes have different tasks: is numba there for one of them only?")
        counts = {task: max(1, round(SECONDS / max(before.time(task, 1), 1e-6))) for task in before.tasks}
        seconds: dict[tuple[str, str], list[float]] = {}
        for task in before.tasks:
            after.time(task, 1)
        for number in range(rounds):
            for task, count in counts.items():
                # Who comes first changes from round to round, as the second may meet a warmer cache.
                for system in sorted(workers, reverse=bool(number % 2)):
                    seconds.setdefault((task, system), []).append(workers[system].time(task, count) / count)
    for task in counts:
        old_runs, new_runs = seconds[task, "old"], seconds[task, "arrows"]
        ratios = [new / before for before, new in zip(old_runs, new_runs, strict=True)]
        figures = dict(zip(("low", "middle", "high"), statistics.quantiles(ratios, n=4), strict=True))
        figures["new/old"] = statistics.median(new_runs) / statistics.median(old_runs)
        config = {"bench": bench, "mode": task}
        yield Result(NAME, config, "arrows", new_runs, figures)
        yield Result(NAME, config, "old", old_runs)


class Worker:
    """A process that imports the package of one checkout and runs `tasks` when told to (`tasks.serve`)."""

    def __init__(self, checkout: Path, bench: str, *, quick: bool, data: Path | None, threads: int) -> None:
        pinned = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        arguments = [str(ROOT), str(checkout.resolve()), bench, "quick" if quick else "", str(data or "")]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, *arguments],
            env=unpinned(os.environ) | pinned,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.tasks: list[str] = json.loads(self._answer())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def time(self, task: str, count: int) -> float:
        """Seconds that a task takes, run `count` times."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([task, count]) + "\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate()
            raise ArrowValueError(f"the process has ended with status {self._process.returncode}")
        return line
