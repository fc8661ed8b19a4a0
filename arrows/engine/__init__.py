"""From a checked block and examples to numbers and gradients: plan, lower, merge, execute, differentiate."""

from __future__ import annotations

from arrows.engine.compile import compile as compile
from arrows.engine.compile import evaluate as evaluate
from arrows.engine.device import Device as Device
from arrows.engine.model import Model as Model
from arrows.engine.running import BatchMemoryError as BatchMemoryError
from arrows.engine.scheduling import Batch as Batch
from arrows.engine.scheduling import Bucketed as Bucketed
from arrows.engine.scheduling import ByNodes as ByNodes
from arrows.engine.scheduling import Prepared as Prepared
from arrows.engine.values import Ragged as Ragged
from arrows.engine.values import to_numpy as to_numpy
