"""Errors inside of a block that is made of others: they speak of the block that the user wrote."""

from __future__ import annotations

from arrows.combinators import AnyBlock, Item, Pipe
from arrows.inference.hints import network_result
from arrows.inference.occurrences import Edge, Occurrence
from arrows.inference.reasons import first_of, name_of, reason_and_hint
from arrows.inference.rules import Misfit
from arrows.typesys import ArrowTypeError, ArrowValueError, Clash, notation


def spokesman(occurrence: Occurrence) -> Occurrence:
    """The occurrence of the block that the user wrote: this one, or the derived block whose inside it is."""
    speaker = occurrence
    inside = {id(occurrence.form)}  # the blocks between the speaker and where the walk is
    outer = occurrence.outer
    while outer is not None:
        if _is_derived(outer.form):
            if inside & _given(outer.form):
                return speaker
            speaker, inside = outer, set()
        inside.add(id(outer.form))
        outer = outer.outer
    return speaker


def _is_derived(form: AnyBlock) -> bool:
    return isinstance(form, Pipe) and not form.is_chain


def _given(form: AnyBlock) -> set[int]:
    """The blocks that the user gave to a derived block."""
    return {id(block) for block in form.spelling.blocks}


def misfit(speaker: Occurrence, inner: Occurrence, error: ArrowTypeError | ArrowValueError) -> Misfit:
    """Why a derived block does not take its input, where a block inside raised an error."""
    reason, hint = network_result(speaker.input)
    if reason:
        return Misfit(reason, hint)
    given = notation(speaker.input)
    if isinstance(inner.form, Item) and not inner.form.takes:
        return Misfit(f"{speaker.form.kind} goes over the elements of a sequence, and {given} has none")
    reason, hint = reason_and_hint(error)
    return Misfit(reason.replace(notation(inner.input), given), hint)


def misfit_between(speaker: Occurrence, edge: Edge, clash: Clash, told: ArrowTypeError) -> Misfit | None:
    """Why a derived block does not take its input, where a value cannot pass between two blocks inside.

    Args:
        speaker: the derived block.
        edge: where the value passes.
        clash: what does not fit.
        told: the error that speaks of the blocks inside.

    Returns:
        None if that error names nothing but blocks that the user wrote.
    """
    if told.details.attempt.startswith(("cannot go over", "cannot use")):
        return Misfit(told.details.reason, told.details.hint)
    if told.details.attempt.startswith("cannot compose"):
        left, right, reader = notation(clash.left), notation(clash.right), name_of(first_of(edge.part))
        return Misfit(f"it hands {left} to {reader}, which takes {right}", told.details.hint)
    return None
