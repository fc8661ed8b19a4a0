"""PyTorch, where it is installed: a benchmark can do without, and nothing else asks for it.

>>> from benchmarks.baselines.pytorch import installed
>>> installed == (torch is not None)
True
"""

from __future__ import annotations

import importlib
from typing import Any

torch: Any
functional: Any
try:
    torch = importlib.import_module("torch")
    functional = importlib.import_module("torch.nn.functional")
except ImportError:
    torch = functional = None

installed: bool = torch is not None
