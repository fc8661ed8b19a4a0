"""The machine: the threads of matrix products, and the description that goes with every measured figure.

OpenBLAS picks its kernels by processor. A variable in the environment can pin it to kernels of half the
speed, so processes that measure start without such variables (`unpinned`). The name of the kernel in use
comes from the loaded library, since the build does not know it.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from threadpoolctl import ThreadpoolController

from arrows.typesys import ArrowTypeError, ArrowValueError

# Environment variables that pin OpenBLAS to a kernel or to cache sizes, whatever the processor is.
PINS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def unpinned(environment: Mapping[str, str]) -> dict[str, str]:
    """Copies an environment without the variables that pin the BLAS.

    >>> unpinned({"OPENBLAS_CORETYPE": "Haswell", "HOME": "/root"})
    {'HOME': '/root'}
    """
    return {name: value for name, value in environment.items() if name not in PINS}


MOST_THREADS = 1024
"""More than any machine that NumPy's products run on; libraries crash when asked for far more."""


def set_threads(count: int) -> None:
    """Sets the number of threads that NumPy's matrix products use in this process from now on.

    Two threads make a large product almost twice as fast. A small product gains nothing. Beside other busy
    processes its threads wait for each other, which makes the training of a small model several times slower.

    Args:
        count: at least 1.

    Raises:
        ArrowTypeError: `count` is not an integer.
        ArrowValueError: `count` is below 1, or above 1024.

    Warns:
        RuntimeWarning: NumPy's library for matrix products (Apple's Accelerate, say) does not allow it.

    >>> import arrows as ar
    >>> ar.set_threads(1)
    """
    value: object = count
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ArrowTypeError(f"the number of threads must be an integer, not {value!r}")
    if int(value) < 1:
        raise ArrowValueError(f"the number of threads must be at least 1, not {value}")
    if int(value) > MOST_THREADS:
        raise ArrowValueError(
            f"the number of threads must be at most {MOST_THREADS:,}, not {value}; "
            f"this machine has {cores()} cores"
        )
    libraries = _products().lib_controllers
    for library in libraries:
        library.set_num_threads(int(value))
    if not libraries:
        warnings.warn(
            "the threads of NumPy's library for matrix products cannot be set",
            RuntimeWarning,
            stacklevel=2,
        )


@contextmanager
def limited_to(count: int) -> Iterator[None]:
    """Limits NumPy's matrix products to `count` threads inside a `with` block, where that is possible.

    >>> with limited_to(1):
    ...     threads() == 1 or not settable()
    True
    """
    with _products().limit(limits=count):
        yield


def threads() -> int:
    """The number of threads that a large product may use.

    >>> threads() >= 1
    True
    """
    return max((library.num_threads for library in _products().lib_controllers), default=cores())


def settable() -> bool:
    """Whether the number of threads can be set.

    >>> settable() in (True, False)
    True
    """
    return bool(_products().lib_controllers)


def _products() -> ThreadpoolController:
    """The controller of those libraries for matrix products that this process has loaded so far."""
    return ThreadpoolController().select(user_api="blas")


def cores() -> int:
    """The number of processors that this process may use.

    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def show_config(file: TextIO | None = None) -> None:
    """Prints what this installation computes with, and warns of what slows it down.

    The lines name the processor, the BLAS with its kernel and threads, the measured peak of a float32 product
    (an upper bound for every other figure), and say whether numba and CuPy are installed.

    Args:
        file: where to print; standard output by default.

    Example:
        >>> import arrows as ar
        >>> ar.show_config()  # doctest: +SKIP
        AMD EPYC, 2 cores; Python 3.11.7, NumPy 2.4.6
        scipy-openblas 0.3.31 SkylakeX; float32 products: 94 GFLOP/s on 1, 194 GFLOP/s on 2 threads
        numba: not installed; CuPy: not installed
    """
    machine = describe()
    extras = (("numba", "numba"), ("CuPy", "cupy"))
    there = [
        f"{name}: {'installed' if importlib.util.find_spec(module) else 'not installed'}"
        for name, module in extras
    ]
    for line in summary(machine):
        print(line, file=file)
    print("; ".join(there), file=file)
    for warning in slowdowns(machine):
        print(f"warning: {warning}", file=sys.stderr if file is None else file)


def _kernel() -> str:
    """The name of the kernel in use, such as `SkylakeX`; empty where the library does not tell it."""
    kernels = (getattr(library, "architecture", None) for library in _products().lib_controllers)
    return next(filter(None, kernels), "")


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
