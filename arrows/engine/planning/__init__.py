"""Planning settles, once for each model, everything that does not depend on data.

A `Plan` groups a lowered expression's sites into *operations*, gives their outputs *slabs* of rows, and
orders them in *strata*.  The room also settles the parameters and their names, the
parts of the loss, and the named inputs.
"""

from __future__ import annotations

from arrows.engine.planning.differentiation import (
    LossCheck as LossCheck,
    LossWeights as LossWeights,
    SupportsStep as SupportsStep,
    check_output as check_output,
    input_names as input_names,
    parse_loss as parse_loss,
    read_sites as read_sites,
)
from arrows.engine.planning.parameters import (
    GrowingParams as GrowingParams,
    LayerNames as LayerNames,
    Params as Params,
    layer_name as layer_name,
    make_params as make_params,
    named_parameters as named_parameters,
    owned_parameters as owned_parameters,
)
from arrows.engine.planning.plan import (
    SCHEDULES as SCHEDULES,
    Operation as Operation,
    Plan as Plan,
    check_slab_types as check_slab_types,
    moving_slabs as moving_slabs,
    receiving_slabs as receiving_slabs,
)
