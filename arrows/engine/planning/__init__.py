"""Planning settles, once for each model, everything that does not depend on data.

A `Plan` groups a lowered expression's sites into *operations*, gives their outputs *slabs* of rows, and
orders them in *strata*.  The room also settles the parameters and their names, the
parts of the loss, and the named inputs.
"""

from __future__ import annotations

from arrows.engine.planning.differentiation import LossCheck as LossCheck
from arrows.engine.planning.differentiation import LossWeights as LossWeights
from arrows.engine.planning.differentiation import SupportsStep as SupportsStep
from arrows.engine.planning.differentiation import check_output as check_output
from arrows.engine.planning.differentiation import input_names as input_names
from arrows.engine.planning.differentiation import parse_loss as parse_loss
from arrows.engine.planning.differentiation import read_sites as read_sites
from arrows.engine.planning.layer_names import LayerNames as LayerNames
from arrows.engine.planning.layer_names import layer_name as layer_name
from arrows.engine.planning.layer_names import named_parameters as named_parameters
from arrows.engine.planning.layer_names import owned_parameters as owned_parameters
from arrows.engine.planning.operations import Operation as Operation
from arrows.engine.planning.parameters import GrowingParams as GrowingParams
from arrows.engine.planning.parameters import Params as Params
from arrows.engine.planning.parameters import make_params as make_params
from arrows.engine.planning.plan import SCHEDULES as SCHEDULES
from arrows.engine.planning.plan import Plan as Plan
from arrows.engine.planning.plan import moving_slabs as moving_slabs
from arrows.engine.planning.plan import receiving_slabs as receiving_slabs
from arrows.engine.planning.slabs import check_slab_types as check_slab_types
