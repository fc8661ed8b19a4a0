"""The tables from core form to the functions of inference.

A new core form adds its functions to the file of its family, and its rows to these tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from arrows import combinators as core
from arrows.combinators import AnyBlock
from arrows.inference import apply, choice_and_recursion, effects, elements, folds, wiring
from arrows.inference.occurrences import Occurrence
from arrows.typesys import Rule

if TYPE_CHECKING:
    from arrows.inference.infer import Inference

FormRule: TypeAlias = Callable[["Inference", Occurrence, Any], "Rule | None"]
FormCheck: TypeAlias = Callable[["Inference", Occurrence, Any], None]

RULES: dict[type[AnyBlock], FormRule] = {
    core.Pipe: wiring.pipe,
    core.Fan: wiring.fan,
    core.Graph: wiring.graph,
    core.Choice: choice_and_recursion.choice,
    core.Reference: choice_and_recursion.reference,
    core.Map: elements.map_,
    core.Zip: elements.zip_,
    core.Broadcast: elements.broadcast,
    core.Loop: folds.loop,
    core.Reduce: folds.reduce,
    core.Item: elements.item,
    core.Nth: elements.nth,
    core.GroupBy: elements.group_by,
    core.Apply: apply.apply,
    core.Constant: apply.constant,
    core.Read: elements.read,
    core.SideOutput: effects.side_output,
    core.Shared: effects.shared,
}
"""For each core form, its typing rule: it enters the parts of an occurrence, and may wait for types."""

CHECKS: dict[type[AnyBlock], FormCheck] = {
    core.Graph: wiring.check_graph,
    core.Constant: apply.check_constant,
    core.SideOutput: effects.check_side_output,
}
"""For some core forms, a last check, which runs when all types are ground.

Raises:
    ArrowTypeError: the check fails.
"""
