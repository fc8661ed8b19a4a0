"""`Choice` and `Reference`: cases and recursive blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrows.combinators import Choice, Reference
from arrows.inference.occurrences import Edge, Occurrence
from arrows.inference.reasons import SELECT, explain_input, last_of, meet, name_of, passes, problem
from arrows.inference.typed import case_names
from arrows.typesys import INPUT, ArrowTypeError, Cause, Clash, Side, Var, find, of_type

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


# Choice


def choice(inference: Inference, choice: Occurrence, form: Choice[Any, Any]) -> None:
    first_case, value = 0, choice.input
    if form.key_block is None:
        inference.reads_object(choice.input, choice, choice.edge)
        value = Var(INPUT, cause=Cause(choice, reads=True))
    else:
        first_case = 1
        edge = Edge(choice, 0, _explain_key_input)
        key = inference.enter(choice, form.key_block, choice.input, edge, "key")
        inference.reads_object(key.output, choice, Edge(choice, 0, _explain_key))
    for i, (name, block) in enumerate(zip(case_names(form), form.cases, strict=True), first_case):
        # Each case reads a value of its own: what one case computes must not stand for the same block in
        # another case, which runs for other examples.
        own = Var()
        inference.solver.unify(own, value)
        word = f"case {name.removeprefix('case ')}"
        case = inference.enter(choice, block, own, Edge(choice, i, _explain_case), word)
        inference.solver.join(case.output, choice.output, Edge(choice, i, _explain_result))


_explain_key_input = explain_input("the key")
_explain_case = explain_input("{role}")


_explain_key = passes(
    "cannot choose by {part} in {owner}",
    result="a key",
    hint="a key must be a Python object, since it is read before any tensor is computed: "
    f"choose by a field of the input; {SELECT}",
)


def _explain_result(edge: Edge, clash: Clash) -> ArrowTypeError:
    """Explains why the result of a case cannot become the result of the choice."""
    choice, case, parts = edge.owner, edge.part, edge.owner.parts
    cases = (j for j, part in enumerate(parts) if part is not case and part.path.word.startswith("case"))
    other = next(cases, edge.index)
    output = find(parts[other].output)
    return meet(
        f"cannot choose between {parts[other].path.word} and {case.path.word} of {name_of(choice)}",
        last_of(parts[other]),
        last_of(case),
        output if output.con is not None else choice.output,
        case.output,
        choice,
        results=True,
        hint="every case must give the same type: add a step to one of them",
    )


# Recursion


def reference(inference: Inference, reference: Occurrence, form: Reference[Any, Any]) -> None:
    token, solver = form.token, inference.solver
    knot = inference.open_knot(token)
    if knot is not None:
        reference.knot = knot
        inference.gives(reference, knot.output)
        return
    if token.definition is None:
        raise _undefined(reference)
    reference.knot = reference  # the first occurrence of a reference is its knot
    path = reference.path
    path.word = f"{path.word} > {token.name}" if path.word else token.name
    input = Var()  # what the entrance and the references have in common
    if token.input is not None:
        declared = inference.floats(token.input)
        input = of_type(declared, Cause(reference, reads=True, says=declared))
    if token.output is not None:
        inference.gives(reference, inference.floats(token.output))
    solver.join(reference.input, input, reference.edge or reference)
    inference.containers.append((reference.input, input))
    part = inference.enter(reference, token.definition, input, None, "")
    solver.join(part.output, reference.output, Edge(reference, 0, _explain_body))
    inference.enter_recursion(token, reference)


_explain_body = passes(
    "cannot type the recursion {owner}",
    result="{owner}, as used inside",
    hint="the body must give the type that its references are used with, and that was declared if one was",
)


def _undefined(reference: Occurrence) -> ArrowTypeError:
    """Makes the error for a reference that has no definition."""
    token = reference.form.token
    assert token is not None
    reason = f"it was declared at {token.site}, and nothing says yet what it stands for"
    hint = "resolve a declaration before it is used; of ar.fix, use the block that it returns"
    side = Side(token.name, "? -> ?", reference.form.site)
    return problem(f"cannot use the recursive block {token.name}", reference, reason, hint, side)
