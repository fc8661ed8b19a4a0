"""The description of the machine that goes with every measured figure.

A variable in the environment can pin OpenBLAS to kernels of half the speed, so processes that measure start
without such variables (`unpinned`). The name of the kernel in use comes from the loaded library, since the
build does not know it.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from arrows.machine import PINS, cores, limited_to, settable, threads


def unpinned(environment: Mapping[str, str]) -> dict[str, str]:
    """Copies an environment without the variables that pin the BLAS.

    >>> unpinned({"OPENBLAS_CORETYPE": "Haswell", "HOME": "/root"})
    {'HOME': '/root'}
    """
    return {name: value for name, value in environment.items() if name not in PINS}


def gemm_peak(size: int = 1024, runs: int = 9) -> float:
    """Median GFLOP/s of a float32 product of two `size` x `size` matrices, on the current number of threads.

    >>> gemm_peak(64, 3) > 0
    True
    """
    random = np.random.default_rng(0)
    a, b = random.random((2, size, size), np.float32)
    out, seconds = np.empty_like(a), []
    for _ in range(runs + 1):
        start = time.perf_counter()
        np.matmul(a, b, out=out)
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / statistics.median(seconds[1:]) / 1e9


def describe() -> dict[str, Any]:
    """Describes the machine: the first line of every result file.

    Returns:
        `cpu`, `cores`, `system`, `python`, `numpy`, `blas` (of each library: name, version, kernel, threads),
        `gemm_gflops` by number of threads, and `load` (the system's load average of the last minute).

    >>> sorted(describe())
    ['blas', 'cores', 'cpu', 'gemm_gflops', 'load', 'numpy', 'python', 'system']
    """
    before, peaks = threads(), {}
    for count in sorted({1, before}) if settable() else [before]:
        with limited_to(count):
            peaks[str(count)] = round(gemm_peak(), 1)
    known = ("internal_api", "version", "architecture", "num_threads")
    return {
        "cpu": _cpu(),
        "cores": cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": [
            {name: blas.get(name) for name in known}
            for blas in threadpool_info()
            if blas["user_api"] == "blas"
        ],
        "gemm_gflops": peaks,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
