"""Planning settles, once for each model, everything that does not depend on data.

A `Plan` groups a lowered expression's sites into *operations*, gives their outputs *slabs* of rows, and
orders them in *strata*.  The room also settles the parameters and their names, the
parts of the loss, and the named inputs.
"""

from __future__ import annotations

from arrows.engine.planning.differentiation import (
    LossCheck,
    LossWeights,
    SupportsStep,
    check_output,
    input_names,
    parse_loss,
    read_sites,
)
from arrows.engine.planning.layer_names import LayerNames, layer_name, named_parameters
from arrows.engine.planning.operations import (
    ApplyOperation,
    CarriedOperation,
    ElementOperation,
    Operation,
    ReadOperation,
    StreamOperation,
)
from arrows.engine.planning.parameters import GrowingParams, Params, make_params
from arrows.engine.planning.plan import SCHEDULES, Plan, moving_slabs, receiving_slabs
from arrows.engine.planning.slabs import check_slab_types

__all__ = [
    "SCHEDULES",
    "ApplyOperation",
    "CarriedOperation",
    "ElementOperation",
    "GrowingParams",
    "LayerNames",
    "LossCheck",
    "LossWeights",
    "Operation",
    "Params",
    "Plan",
    "ReadOperation",
    "StreamOperation",
    "SupportsStep",
    "check_output",
    "check_slab_types",
    "input_names",
    "layer_name",
    "make_params",
    "moving_slabs",
    "named_parameters",
    "parse_loss",
    "read_sites",
    "receiving_slabs",
]
