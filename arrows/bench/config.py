"""What this installation computes with: `show_config`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from arrows.machine import describe


def lines(machine: Mapping[str, Any]) -> list[str]:
    """The machine in a few lines.

    Args:
        machine: as `arrows.machine.describe` gives it.

    >>> blas = {"name": "openblas", "version": "0.3", "kernel": "Haswell", "threads": 2}
    >>> machine = {"cpu": "a CPU", "cores": 2, "python": "3.12", "numpy": "2.0", "blas": blas}
    >>> print("\\n".join(lines(machine | {"gemm_gflops": {"1": 90.0, "2": 170.0}})))
    a CPU, 2 cores; Python 3.12, NumPy 2.0
    openblas 0.3 Haswell; float32 products: 90.0 GFLOP/s on 1, 170.0 GFLOP/s on 2 threads
    """
    blas = machine["blas"]
    peaks = ", ".join(f"{peak} GFLOP/s on {n}" for n, peak in machine["gemm_gflops"].items())
    return [
        f"{machine['cpu']}, {machine['cores']} cores; Python {machine['python']}, NumPy {machine['numpy']}",
        f"{blas['name']} {blas['version']} {blas['kernel']}; float32 products: {peaks} threads",
    ]


def warnings(machine: Mapping[str, Any]) -> list[str]:
    """What makes this machine slower than it is.

    >>> warnings({"load": 0.1, "pins": {"OPENBLAS_CORETYPE": "Haswell"}})
    ['OPENBLAS_CORETYPE=Haswell ties the BLAS to one kernel; unset it unless it is meant']
    """
    found = []
    if (machine["load"] or 0) > 0.5:
        found.append(f"the machine is busy (load {machine['load']}); figures may be low")
    for name, value in machine["pins"].items():
        found.append(f"{name}={value} ties the BLAS to one kernel; unset it unless it is meant")
    return found


def show_config(file: TextIO | None = None) -> None:
    """Prints what this installation computes with, and warns of what slows it down.

    Processor, BLAS with its kernel and threads, the measured peak of a float32 product (a share of which is
    what any figure can be), and whether numba and CuPy are installed.

    Args:
        file: where to; standard output if not given.

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
    for line in lines(machine):
        print(line, file=file)
    print("; ".join(there), file=file)
    for warning in warnings(machine):
        print(f"warning: {warning}", file=sys.stderr if file is None else file)
