"""Benchmarks: `arrows bench NAME`. Medians of interleaved runs, with the machine they were measured on.

>>> from arrows.bench import NAMES
>>> NAMES
('treelstm', 'iclr', 'bilstm', 'bilstm-char', 'growth', 'host', 'infer', 'steps')
"""

from __future__ import annotations

NAMES = ("treelstm", "iclr", "bilstm", "bilstm-char", "growth", "host", "infer", "steps")

__all__ = ["NAMES"]
