"""`python -m benchmarks NAME`: measures in a process whose environment does not fix the BLAS's threads."""

from __future__ import annotations

import os
import sys

from arrows.cli import exit_status
from arrows.machine import PINS
from benchmarks.command import main, parser
from benchmarks.machine import unpinned

if __name__ == "__main__":
    options = parser().parse_args()
    if any(name in os.environ for name in PINS):
        # OpenBLAS reads these variables when NumPy is imported, so only a new process is free of them.
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks", *sys.argv[1:]], unpinned(os.environ))
    sys.exit(exit_status("benchmarks", lambda: main(options)))
