"""The walk of a typed expression over one example, and the table of what each core form means there.

A meaning says in which order the parts run, what they hand on, and how they fail.  What a tensor *is* is left
to a `Semantics`: the reference computes arrays, a program on the fly records calls.
"""

from __future__ import annotations

from typing import Any

from arrows import combinators as core
from arrows.engine.reference import apply, control_flow, sequences
from arrows.engine.reference.walk import MAX_NODES, Meaning, Semantics, Walk
from arrows.inference import Typed

MEANINGS: dict[type[core.AnyBlock], Meaning] = {
    core.Pipe: control_flow.pipe,
    core.Fan: control_flow.fan,
    core.Graph: control_flow.graph,
    core.Choice: control_flow.choice,
    core.Reference: control_flow.call,
    core.Map: sequences.map_elements,
    core.Zip: sequences.zip_columns,
    core.Broadcast: sequences.broadcast,
    core.Loop: sequences.loop,
    core.Reduce: sequences.reduce,
    core.Item: sequences.item,
    core.Nth: sequences.nth_element,
    core.GroupBy: sequences.group_by,
    core.Apply: apply.apply,
    core.Constant: apply.constant,
    core.Read: apply.read,
    core.SideOutput: apply.side_output,
    core.Shared: control_flow.shared,
}
"""For each core form, what it gives for a value."""


def interpret(
    typed: Typed,
    example: object,
    semantics: Semantics,
    number: int | None = None,
    max_nodes: int = MAX_NODES,
) -> Any:
    """Walks a typed expression over one example.

    Args:
        typed: the expression.
        example: a value of `typed.input`.
        semantics: what tensors are; it says what values of the walk, such as the result, look like.
        number: the example's place in its batch, for messages.
        max_nodes: how many blocks may run on tensors, or how many calls of recursive blocks there may be,
            before the walk counts as endless.

    Raises:
        InputError: the example does not fit, a user's function failed on it (its error is chained), or there
            is no end to it.
    """
    return Walk(MEANINGS, semantics, typed, number, max_nodes).run(example)
