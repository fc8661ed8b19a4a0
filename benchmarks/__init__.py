"""Benchmarks: `python -m benchmarks NAME`.

Each reports the medians of interleaved runs, and describes the machine that they ran on.
"""

from __future__ import annotations

NAMES = (
    "treelstm",
    "iclr",
    "bilstm",
    "bilstm-char",
    "attention",
    "growth",
    "host",
    "infer",
    "latency",
    "steps",
    "onthefly",
    "gpu",
    "scaling",
    "pair",
)

__all__ = ["NAMES"]
