"""What a model means: one example at a time, node by node, on the functions as they are written.

`evaluate` is what the engine is measured against; `Block.eval` runs it.
`interpret` walks an example by the meanings of the forms and leaves it to a `Semantics` what a tensor is.
An `Explainer` says what is wrong with an example that the fast reader refuses.
`draw_keys` says on what random numbers depend.
"""

from arrows.engine.reference.array_semantics import (
    ArraySemantics as ArraySemantics,
    Explainer as Explainer,
    assemble as assemble,
    draw_keys as draw_keys,
    drawing_occurrences as drawing_occurrences,
    evaluate as evaluate,
    node_keys as node_keys,
    parameters as parameters,
    unwrap as unwrap,
)
from arrows.engine.reference.interpreter import (
    MAX_NODES as MAX_NODES,
    Semantics as Semantics,
    interpret as interpret,
    most_levels as most_levels,
    out_of_range as out_of_range,
    too_many as too_many,
)
