"""From a checked block and examples to numbers and gradients: plan, lower, merge, execute, differentiate."""

from __future__ import annotations

from arrows.engine.compile import compile as compile, evaluate as evaluate
from arrows.engine.device import Device as Device
from arrows.engine.model import Model as Model
from arrows.engine.running import BatchMemoryError as BatchMemoryError
from arrows.engine.scheduling import (
    Batch as Batch,
    ByNodes as ByNodes,
    Prepared as Prepared,
)
from arrows.engine.values import Ragged as Ragged, to_numpy as to_numpy
