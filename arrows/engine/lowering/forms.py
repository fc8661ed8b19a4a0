"""The table of the core forms: how lowering writes the code of each.

A new core form has its function in the file of its family, and its row here."""

from __future__ import annotations

from arrows import combinators as core
from arrows.combinators import AnyBlock
from arrows.engine.lowering import apply, control_flow, effects, elements, folds, maps, wiring
from arrows.engine.lowering.expression_writer import Emitter

EMITTERS: dict[type[AnyBlock], Emitter] = {
    core.Pipe: wiring.emit_pipe,
    core.Fan: wiring.emit_fan,
    core.Graph: wiring.emit_graph,
    core.Choice: control_flow.emit_choice,
    core.Fix: control_flow.emit_recursion,
    core.Reference: control_flow.emit_recursion,
    core.Map: maps.emit_map,
    core.Zip: maps.emit_zip,
    core.Broadcast: maps.emit_broadcast,
    core.Fold: folds.emit_fold,
    core.Reduce: folds.emit_reduce,
    core.Scan: folds.emit_scan,
    core.Item: elements.emit_item,
    core.Nth: elements.emit_nth,
    core.Length: elements.emit_length,
    core.Unroll: elements.emit_unroll,
    core.Apply: apply.emit_apply,
    core.Constant: apply.emit_constant,
    core.Read: apply.emit_read,
    core.Transform: apply.emit_transform,
    core.Metric: effects.emit_metric,
    core.Tap: effects.emit_tap,
    core.Shared: effects.emit_shared,
}
"""For each core form, the function that writes the code of an occurrence on a value."""
