"""The tables from core form to the functions of inference.

A new core form adds its functions to the file of its family, and its rows to these tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from arrows import combinators as core
from arrows.combinators import AnyBlock
from arrows.inference import apply, choice_and_recursion, effects, elements, folds, maps, wiring
from arrows.inference.occurrences import Occurrence

if TYPE_CHECKING:
    from arrows.inference.infer import Inference

FormFunction: TypeAlias = Callable[["Inference", Occurrence], None]

CONSTRAINTS: dict[type[AnyBlock], FormFunction] = {
    core.Pipe: wiring.constrain_pipe,
    core.Fan: wiring.constrain_fan,
    core.Graph: wiring.constrain_graph,
    core.Choice: choice_and_recursion.constrain_choice,
    core.Fix: choice_and_recursion.constrain_fix,
    core.Reference: choice_and_recursion.constrain_reference,
    core.Map: maps.constrain_map,
    core.Zip: maps.constrain_zip,
    core.Broadcast: maps.constrain_broadcast,
    core.Fold: folds.constrain_fold,
    core.Reduce: folds.constrain_reduce,
    core.Scan: folds.constrain_scan,
    core.Item: elements.constrain_item,
    core.Nth: elements.constrain_nth,
    core.Length: elements.constrain_length,
    core.Unroll: elements.constrain_unroll,
    core.Apply: apply.constrain_apply,
    core.Constant: apply.constrain_constant,
    core.Read: apply.constrain_read,
    core.Transform: apply.constrain_transform,
    core.Metric: effects.constrain_metric,
    core.Tap: effects.constrain_tap,
    core.Shared: effects.constrain_shared,
}
"""For each core form, the function that makes the constraints of an occurrence and enters its parts."""

FINAL_CHECKS: dict[type[AnyBlock], FormFunction] = {
    core.Graph: wiring.check_graph,
    core.Choice: choice_and_recursion.check_choice,
    core.Fold: folds.check_fold,
    core.Item: elements.check_item,
    core.Apply: apply.finish_apply,
    core.Constant: apply.check_constant,
    core.Metric: effects.check_metric,
    core.Tap: effects.check_tap,
}
"""For some core forms, a last check, which runs when all types are ground.

Raises:
    ArrowTypeError: the check fails.
"""
