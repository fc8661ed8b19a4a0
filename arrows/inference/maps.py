"""`Map`, `Zip` and `Broadcast`: blocks that treat every element by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.combinators import AnyBlock
from arrows.inference.occurrences import Edge, Occurrence
from arrows.inference.reasons import name_of
from arrows.inference.rules import (
    Misfit,
    as_sequence,
    explain_element,
    explain_mixed_items,
    spread,
)
from arrows.typesys import (
    ENDLESS,
    FINITE,
    INPUT,
    Cause,
    Rule,
    Var,
    find,
    kind_of,
    notation,
    sequence_of,
    tuple_of,
    types as T,
)

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def map_(inference: Inference, occurrence: Occurrence, form: AnyBlock) -> Rule:
    element, end = Var(), Var()
    edge = Edge(occurrence, 0, explain_element)
    part = inference.enter(occurrence, form.parts[0], element, edge, "element")
    inference.gives(occurrence, sequence_of(part.output, end, Cause(occurrence)))
    yield occurrence.input, as_sequence(inference, occurrence, occurrence.input, element)
    inference.solver.unify(end, spread(inference, occurrence.input, element, edge))


def zip_(inference: Inference, occurrence: Occurrence, form: AnyBlock) -> Rule:
    yield occurrence.input
    v = find(occurrence.input)
    if v.con is INPUT:
        inference.gives(occurrence, sequence_of(Var(INPUT, cause=v.cause), cause=Cause(occurrence)))
        return
    if kind_of(v) != "tuple":
        zipped = name_of(occurrence) if form.name else f"ar.{name_of(occurrence)}"
        raise Misfit(
            f"{form.kind} takes a tuple of sequences, and it gets {notation(v)}",
            f"put the sequences side by side first: (f & g) >> {zipped}",
        )
    columns = v.args
    if not columns:
        raise Misfit("there are no sequences in an empty tuple")
    elements: list[Var] = [Var() for _ in columns]

    yield from columns
    ends = []
    edge = Edge(occurrence, 0, explain_mixed_items)
    for i, (column, element) in enumerate(zip(columns, elements, strict=True)):
        column = find(column)
        if isinstance(column.con, T.Type) and column.con is not INPUT:
            raise Misfit(
                f"item {i} is {column.con}, which has no elements",
                "to put one value beside every element, repeat it with ar.Broadcast: g >> ar.Broadcast()",
            )
        ends.append(spread(inference, column, element, edge))
    yield from ends
    endless = all(find(end).con == ENDLESS for end in ends)
    rows = sequence_of(tuple_of(elements), Var(ENDLESS if endless else FINITE), Cause(occurrence))
    inference.gives(occurrence, rows)


def broadcast(inference: Inference, occurrence: Occurrence, form: AnyBlock) -> None:
    inference.gives(occurrence, sequence_of(occurrence.input, Var(ENDLESS), Cause(occurrence)))
