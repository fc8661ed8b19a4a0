"""The process that `benchmarks.pair` starts for a checkout: it runs tasks when told to, and times them."""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path

import arrows
from benchmarks.tasks import TASKS


def serve(checkout: str, bench: str, quick: str, data: str) -> None:
    """Prints the names of the tasks, then the seconds of each line `[task, count]` of standard input.

    Args:
        checkout: the folder whose package is to be measured.
        bench: a name in `TASKS`.
        quick: empty, or any word for fewer sizes.
        data: a folder with data, or empty.

    >>> serve("../old", "host", "quick", "")  # doctest: +SKIP
    """
    assert Path(arrows.__file__).is_relative_to(checkout), f"{arrows.__file__} is not of {checkout}"
    tasks = TASKS[bench](quick=bool(quick), data=Path(data) if data else None)
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
