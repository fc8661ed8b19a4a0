"""What the rules of the families share: containers, and why a form cannot take its input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.inference.hints import network_result
from arrows.inference.occurrences import Edge, Occurrence
from arrows.inference.reasons import name_of, passes, problem
from arrows.typesys import (
    FINITE,
    INPUT,
    ArrowTypeError,
    Cause,
    Clash,
    Default,
    Message,
    Rule,
    Var,
    find,
    items_of,
    kind_of,
    notation,
    parts_of,
    sequence_of,
    types as T,
)

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


class Misfit(ArrowTypeError):
    """A form cannot take its input, for a reason in one sentence, perhaps with a hint: the obvious repair.

    `explain.refused` turns it into the whole message when the types around the form are known.
    """

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(Message.of(reason, reason=reason, hint=hint))


def is_no_object(v: Var) -> bool:
    """Whether elements of this type prove that their container is no Python object."""
    con = find(v).con
    return con is not None and con is not INPUT


def items(v: Var, count: int, takes: str, hint: str) -> list[Var]:
    """The items of a tuple of so many, which `takes` describes.

    Raises:
        Misfit: it is something else.
    """
    found = items_of(v)
    if kind_of(v) == "tuple" and len(found) == count:
        return found
    actual = f"a tuple of {len(found)}" if kind_of(v) == "tuple" else notation(v)
    raise Misfit(f"{takes}, and it gets {actual}", hint)


def as_sequence(inference: Inference, occurrence: Occurrence, container: Var, element: Var) -> Default:
    """Decides that an open container is a sequence, if its elements are no Python objects."""

    def decide() -> bool:
        if not is_no_object(element):
            return False
        inference.solver.unify(container, sequence_of(element, cause=Cause(occurrence, reads=True)))
        return True

    inference.containers.append((container, element))
    return decide


def spread(inference: Inference, v: Var, element: Var, edge: Edge) -> Var:
    """Passes the elements of the container `v` to `element`; returns whether it ends, which may be open.

    Raises:
        Misfit: `v` has no elements.
    """
    v, solver, kind = find(v), inference.solver, edge.owner.form.kind
    if v.con is INPUT:
        solver.join(Var(INPUT, cause=v.cause), element, edge)
        return Var(FINITE)
    if isinstance(v.con, T.Type):
        hint = "Map reads a Python list itself: leave out the block that reads it first, or leave out the Map"
        hint = hint if kind == "Map" and isinstance(v.con, T.Tensor) else ""
        raise Misfit(f"{kind} goes over the elements of a sequence, and {v.con} has none", hint)
    if not v.args:
        raise Misfit(f"an empty tuple has no elements, so {kind} cannot know their type")
    for part in parts_of(v):
        solver.join(part, element, edge)
    return Var(FINITE) if kind_of(v) == "tuple" else v.args[1]


def until_end(
    inference: Inference,
    container: Var,
    element: Var,
    edge: Edge,
    *,
    what: str = "",
    endless: tuple[str, str],
) -> Rule:
    """Passes the elements of a container that must end to `element`.

    Args:
        inference, container, element: as given.
        edge: over which the elements pass.
        what: what the container is, in words, where the form reads more than it.
        endless: the reason and the hint if it has no end.
    """
    yield container, as_sequence(inference, edge.owner, container, element)
    v = find(container)
    if what and isinstance(v.con, T.Type) and v.con is not INPUT:
        raise Misfit(f"{what} is {v.con}, which has no elements")
    if kind_of(v) != "broadcast":
        end = spread(inference, v, element, edge)
        yield end
        if find(end).con == FINITE:
            return
    raise Misfit(*endless)


_explain_one = passes("cannot give the elements to {part}, the block of {owner}", "an element")


def explain_element(edge: Edge, clash: Clash) -> ArrowTypeError:
    """Explains why an element cannot pass to the block that a form applies to each."""
    owner = edge.owner
    if kind_of(owner.input) == "tuple":
        return explain_mixed_items(edge, clash)
    return _explain_one(edge, clash)


def explain_mixed_items(edge: Edge, clash: Clash) -> ArrowTypeError:
    """Explains why the items of a tuple cannot be the elements: their types differ."""
    owner = edge.owner
    likely = network_result(owner.input)
    return problem(
        f"cannot go over {notation(owner.input)} with {name_of(owner)}",
        owner,
        likely[0]
        or "a tuple has elements only if all its items have one type, "
        f"and here they are {notation(clash.right)} and {notation(clash.left)}",
        likely[1] or "take the items one by one: ar.Record or ar.GetItem",
    )
