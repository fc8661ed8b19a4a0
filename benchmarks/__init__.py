"""Benchmarks: `python -m benchmarks NAME`.

Each gives medians of interleaved runs, and the machine that they were measured on.
"""

from __future__ import annotations

NAMES = ("treelstm", "iclr", "bilstm", "bilstm-char", "growth", "host", "infer", "steps", "onthefly", "pair")

__all__ = ["NAMES"]
