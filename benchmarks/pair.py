"""An old checkout of the package against this one: the same tasks in two processes that take turns.

Both processes run the benchmarks of this checkout and differ only in the package that they import, so the
tasks use only names of the package that do not change: what `import arrows`, `arrows.data`, `arrows.models`
and `arrows.training` offer to users. The processes stay alive and run one task at a time, so that whatever
slows the machine for a while slows both.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from benchmarks import growth, host, iclr, infer, onthefly, ports, taggers, treelstm
from benchmarks.machine import unpinned
from benchmarks.report import Result
from benchmarks.task import Setting

TASKS = {
    "treelstm": treelstm.tasks,
    "iclr": iclr.tasks,
    "bilstm": taggers.bilstm,
    "bilstm-char": taggers.bilstm_char,
    "attention": taggers.attention,
    "growth": growth.tasks,
    "onthefly": onthefly.tasks,
    "ports": ports.tasks,
    "host": host.tasks,
    "infer": infer.tasks,
}
"""Benchmark -> the function that makes its tasks."""
ROOT = Path(__file__).resolve().parents[1]
SECONDS = 0.1  # about how long a process works before the other takes its turn

# The benchmarks are imported before the package's checkout is put first: that may have benchmarks of its own.
START = """
import sys
sys.path[:0] = [sys.argv[1]]
import benchmarks
sys.path[:0] = [sys.argv[2]]
from benchmarks.pair import serve
serve(*sys.argv[2:])
"""


def run(setting: Setting, old: Path, bench: str, threads: int | None = None) -> Iterator[Result]:
    """Measures each task of a benchmark in both checkouts; `arrows` is this one.

    `new/old` is the ratio of the medians, below 1 where this checkout is faster; `low`, `middle` and `high`
    are the quartiles of the rounds' own ratios, which suffer less where other programs run. Matrix products
    use one thread by default, as the times vary least then.

    Raises:
        ArrowValueError: `old` is no checkout of the package, or a process fails.
    """
    if not (old / "arrows" / "__init__.py").is_file():
        raise ar.ArrowValueError(f"{old} holds no package arrows: name a checkout of the repository")
    rounds = {"full": 31, "quick": 15, "tiny": 2}[setting.scale]
    with (
        worker(old, bench, setting, threads or 1) as (tasks, before),
        worker(ROOT, bench, setting, threads or 1) as (same_tasks, after),
    ):
        if tasks != same_tasks:
            raise ar.ArrowValueError("the processes have different tasks: is numba there for one alone?")
        counts = {task: max(1, round(SECONDS / max(before(task, 1), 1e-6))) for task in tasks}
        seconds: dict[tuple[str, str], list[float]] = {}
        for task in tasks:
            after(task, 1)
        for number in range(rounds):
            for task, count in counts.items():
                # Who comes first changes from round to round, as the second may meet a warmer cache.
                for system, time_of in [("arrows", after), ("old", before)][:: -1 if number % 2 else 1]:
                    seconds.setdefault((task, system), []).append(time_of(task, count) / count)
    for task in counts:
        old_runs, new_runs = seconds[task, "old"], seconds[task, "arrows"]
        ratios = [new / before for before, new in zip(old_runs, new_runs, strict=True)]
        figures = dict(zip(("low", "middle", "high"), statistics.quantiles(ratios, n=4), strict=True))
        figures["new/old"] = statistics.median(new_runs) / statistics.median(old_runs)
        config = {"bench": bench, "mode": task}
        yield Result("pair", config, "arrows", new_runs, figures)
        yield Result("pair", config, "old", old_runs)


@contextmanager
def worker(
    checkout: Path, bench: str, setting: Setting, threads: int
) -> Iterator[tuple[list[str], Callable[[str, int], float]]]:
    """A process that imports the package of one checkout and runs tasks when told to (`serve`).

    Gives the names of its tasks, and what tells the seconds that one takes, run so many times.
    """
    pinned = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    arguments = [str(ROOT), str(checkout.resolve()), bench, setting.scale, str(setting.data or "")]
    with subprocess.Popen(
        [sys.executable, "-P", "-c", START, *arguments],
        env=unpinned(os.environ) | pinned,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        questions, answers = process.stdin, process.stdout

        def answer() -> Any:
            line = answers.readline()
            if not line:
                raise ar.ArrowValueError(f"the process has ended with status {process.wait()}")
            return json.loads(line)

        def seconds(task: str, count: int) -> float:
            questions.write(json.dumps([task, count]) + "\n")
            questions.flush()
            return float(answer())

        yield answer(), seconds


def serve(checkout: str, bench: str, scale: str, data: str) -> None:
    """Prints the names of the tasks, then the seconds that each line `[task, count]` of standard input takes.

    `checkout` is the folder whose package this process has imported; `data` may be empty.
    """
    assert Path(ar.__file__).is_relative_to(checkout), f"{ar.__file__} is not of {checkout}"
    setting = Setting(scale=scale, data=Path(data) if data else None, ours=True)
    tasks = {
        f"{task.title}, {name}": partial(system, task.draw(np.random.default_rng(0)))
        for task in TASKS[bench](setting)
        for name, system in task.systems.items()
        if name in ("arrows", "arrows-jit")
    }
    print(json.dumps(list(tasks)), flush=True)
    for line in sys.stdin:
        name, count = json.loads(line)
        task = tasks[name]
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        for _ in range(count):
            task()
        seconds = time.perf_counter() - start
        gc.enable()
        print(seconds, flush=True)
