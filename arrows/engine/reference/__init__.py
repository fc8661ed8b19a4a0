"""What a model means: one example at a time, node by node, on the functions as they are written.

`evaluate` is what the engine is measured against; `Block.eval` runs it.
`interpret` walks an example by the meanings of the forms and leaves it to a `Semantics` what a tensor is.
An `Explainer` says what is wrong with an example that the fast reader refuses.
"""

from arrows.engine.reference.apply import out_of_range as out_of_range
from arrows.engine.reference.array_semantics import (
    ArraySemantics as ArraySemantics,
    assemble as assemble,
    evaluate as evaluate,
    parameters as parameters,
    unwrap as unwrap,
)
from arrows.engine.reference.diagnose import Explainer as Explainer
from arrows.engine.reference.interpreter import interpret as interpret
from arrows.engine.reference.walk import (
    MAX_NODES as MAX_NODES,
    Semantics as Semantics,
    most_levels as most_levels,
    too_many as too_many,
)
