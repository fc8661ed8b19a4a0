"""From a checked block and examples to numbers and gradients: plan, lower, merge, execute, differentiate."""

from __future__ import annotations

from arrows.engine.compile import compile, evaluate
from arrows.engine.device import Device
from arrows.engine.model import Model
from arrows.engine.running import BatchMemoryError
from arrows.engine.scheduling import Batch, Bucketed, ByNodes, Prepared
from arrows.engine.values import Ragged, to_numpy

__all__ = [
    "Batch",
    "BatchMemoryError",
    "Bucketed",
    "ByNodes",
    "Device",
    "Model",
    "Prepared",
    "Ragged",
    "compile",
    "evaluate",
    "to_numpy",
]
