"""What a figure was measured on: processor, Python, NumPy, its BLAS and threads, peak of a product.

OpenBLAS picks its kernels by processor, and a variable in the environment can pin it to others of half the
speed. Measuring processes are therefore started without such pins (`unpinned`), and what was really used is
asked of the loaded library, not of the build.
"""

from __future__ import annotations

import ctypes
import os
import platform
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

# Variables that tie OpenBLAS to a kernel or to cache sizes, whatever processor it finds.
PINS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def unpinned(environment: Mapping[str, str]) -> dict[str, str]:
    """A copy of an environment without the variables that pin the BLAS.

    >>> unpinned({"OPENBLAS_CORETYPE": "Haswell", "HOME": "/root"})
    {'HOME': '/root'}
    """
    return {name: value for name, value in environment.items() if name not in PINS}


class Blas:
    """The OpenBLAS that this process has loaded: its kernel, and its number of threads, which can be set.

    Where NumPy uses another library, the kernel is unknown and the number of threads is left alone.

    >>> Blas().threads >= 1
    True
    """

    def __init__(self) -> None:
        self._library, self._prefix, self._suffix = _openblas()

    @property
    def kernel(self) -> str:
        """The name of the kernel in use, such as `SkylakeX`; empty where it cannot be asked."""
        ask = self._function("get_corename")
        if ask is None:
            return ""
        ask.restype = ctypes.c_char_p
        return str(ask().decode())

    @property
    def threads(self) -> int:
        """Threads a large product may use."""
        ask = self._function("get_num_threads")
        return int(ask()) if ask is not None else cores()

    @property
    def settable(self) -> bool:
        """Whether the number of threads can be set."""
        return self._function("set_num_threads") is not None

    def set_threads(self, count: int) -> None:
        """Sets the number of threads, where that is possible.

        >>> blas = Blas()
        >>> blas.set_threads(blas.threads)
        """
        set_ = self._function("set_num_threads")
        if set_ is not None:
            set_(ctypes.c_int(count))

    @contextmanager
    def limited_to(self, count: int) -> Iterator[None]:
        """Sets the number of threads for a while, where that is possible.

        >>> blas = Blas()
        >>> with blas.limited_to(1):
        ...     blas.threads == 1 or not blas.settable
        True
        """
        before = self.threads
        self.set_threads(count)
        try:
            yield
        finally:
            self.set_threads(before)

    def _function(self, name: str) -> Any:
        return getattr(self._library, f"{self._prefix}{name}{self._suffix}", None)


def cores() -> int:
    """Processors that this process may use.

    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gemm_peak(size: int = 1024, runs: int = 9) -> float:
    """Median GFLOP/s of one float32 product of two `size` x `size` matrices, with the threads that are set.

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
    """The machine, as the first line of every result file.

    Returns:
        `cpu`, `cores`, `system`, `python`, `numpy`, `blas` (name, version, kernel, threads), `gemm_gflops` by
        number of threads, `load` (the system's load average of the last minute), and `pins`, the pinning
        variables that are set in spite of all.

    >>> sorted(describe())
    ['blas', 'cores', 'cpu', 'gemm_gflops', 'load', 'numpy', 'pins', 'python', 'system']
    """
    blas = Blas()
    built: Any = np.show_config(mode="dicts")
    library = built.get("Build Dependencies", {}).get("blas", {})
    before, peaks = blas.threads, {}
    for threads in sorted({1, before}) if blas.settable else [before]:
        with blas.limited_to(threads):
            peaks[str(threads)] = round(gemm_peak(), 1)
    return {
        "cpu": _cpu(),
        "cores": cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": {
            "name": library.get("name", ""),
            "version": library.get("version", ""),
            "kernel": blas.kernel,
            "threads": before,
        },
        "gemm_gflops": peaks,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "pins": {name: os.environ[name] for name in PINS if name in os.environ},
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@cache
def _openblas() -> tuple[Any, str, str]:
    """The loaded library with the prefix and suffix that its build gave its functions."""
    for path in _candidates():
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for prefix in ("scipy_openblas_", "openblas_"):
            for suffix in ("64_", "_64", ""):
                if hasattr(library, f"{prefix}get_num_threads{suffix}"):
                    return library, prefix, suffix
    return None, "", ""


def _candidates() -> list[Path]:
    if platform.system() == "Linux":
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        loaded = {line.split(maxsplit=5)[5] for line in lines if "openblas" in line.lower()}
        return [Path(path) for path in sorted(loaded)]
    package = Path(np.__file__).parent
    return sorted([*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")])
