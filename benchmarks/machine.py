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
from threadpoolctl import ThreadpoolController

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
        `cpu`, `cores`, `system`, `python`, `numpy`, `blas` (name, version, kernel, threads), `gemm_gflops` by
        number of threads, `load` (the system's load average of the last minute), and `pins`, those variables
        of `PINS` that are set nevertheless.

    >>> sorted(describe())
    ['blas', 'cores', 'cpu', 'gemm_gflops', 'load', 'numpy', 'pins', 'python', 'system']
    """
    built: Any = np.show_config(mode="dicts")
    library = built.get("Build Dependencies", {}).get("blas", {})
    before, peaks = threads(), {}
    for count in sorted({1, before}) if settable() else [before]:
        with limited_to(count):
            peaks[str(count)] = round(gemm_peak(), 1)
    return {
        "cpu": _cpu(),
        "cores": cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": {
            "name": library.get("name", ""),
            "version": library.get("version", ""),
            "kernel": _kernel(),
            "threads": before,
        },
        "gemm_gflops": peaks,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "pins": {name: os.environ[name] for name in PINS if name in os.environ},
    }


def summary(machine: Mapping[str, Any]) -> list[str]:
    """Formats a description of a machine as a few lines.

    Args:
        machine: the result of `describe`.

    >>> blas = {"name": "openblas", "version": "0.3", "kernel": "Haswell", "threads": 2}
    >>> machine = {"cpu": "a CPU", "cores": 2, "python": "3.12", "numpy": "2.0", "blas": blas}
    >>> print("\\n".join(summary(machine | {"gemm_gflops": {"1": 90.0, "2": 170.0}})))
    a CPU, 2 cores; Python 3.12, NumPy 2.0
    openblas 0.3 Haswell; float32 products: 90.0 GFLOP/s on 1, 170.0 GFLOP/s on 2 threads
    """
    blas = machine["blas"]
    peaks = ", ".join(f"{peak} GFLOP/s on {n}" for n, peak in machine["gemm_gflops"].items())
    return [
        f"{machine['cpu']}, {machine['cores']} cores; Python {machine['python']}, NumPy {machine['numpy']}",
        f"{blas['name']} {blas['version']} {blas['kernel']}; float32 products: {peaks} threads",
    ]


def slowdowns(machine: Mapping[str, Any]) -> list[str]:
    """Reasons why figures measured now may be lower than the machine allows.

    >>> slowdowns({"load": 0.1, "pins": {"OPENBLAS_CORETYPE": "Haswell"}})
    ['OPENBLAS_CORETYPE=Haswell pins the BLAS to one kernel; unset it unless you mean that']
    """
    reasons = []
    if (machine["load"] or 0) > 0.5:
        reasons.append(f"the machine is busy (load {machine['load']}); figures may be low")
    for name, value in machine["pins"].items():
        reasons.append(f"{name}={value} pins the BLAS to one kernel; unset it unless you mean that")
    return reasons


def _kernel() -> str:
    """The name of the kernel in use, such as `SkylakeX`; empty where the library does not tell it."""
    kernels = (
        getattr(library, "architecture", None)
        for library in ThreadpoolController().select(user_api="blas").lib_controllers
    )
    return next(filter(None, kernels), "")


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
