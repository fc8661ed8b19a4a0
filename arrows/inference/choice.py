"""`Choice`: a key picks one of several cases, which must give one type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.combinators import Choice
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.reasons import last_of, meet, name_of
from arrows.inference.wiring import InputCoercion
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError
from arrows.typesys.terms import Clash, TypeVariable, find

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def constrain_choice(inference: Inference, choice: Occurrence) -> None:
    form = choice.form
    assert isinstance(form, Choice)
    solver = inference.solver
    first_case = 0
    if form.key_block is None:
        solver.assign(choice.input, T.Input(), choice)
    else:
        first_case = 1
        place = KeyInputCoercion(choice, 0)
        key = inference.enter(choice, form.key_block, choice.input, place, "key", value=choice.value)
        solver.coerce(key.output, TypeVariable(T.Input()), KeyCoercion(choice, 0))
    keys = ["not None", "None"] if form.kind == "Optional" else [repr(key) for key in form.keys]
    for i, (key_text, block) in enumerate(zip(keys, form.cases, strict=True), first_case):
        case = inference.enter(choice, block, choice.input, CaseCoercion(choice, i), f"case {key_text}")
        solver.coerce(case.output, choice.output, ResultCoercion(choice, i))


class KeyInputCoercion(InputCoercion):
    """The input of a choice passes to its key."""

    __slots__ = ()

    @property
    def role(self) -> str:
        return "the key"


class KeyCoercion(CoercionPlace):
    """The key picks the case."""

    __slots__ = ()

    def explain(self, clash: Clash) -> ArrowTypeError:
        key = last_of(self.part)
        return meet(
            f"cannot choose by {name_of(key)} in {name_of(self.owner)}",
            key,
            None,
            clash.left,
            clash.right,
            self.part,
            right_name="a key",
            hint="a key must be a Python object, since it is read before any tensor is computed: "
            "choose by a field of the input",
        )


class CaseCoercion(InputCoercion):
    """The input of a choice passes to one of its cases."""

    __slots__ = ()

    @property
    def role(self) -> str:
        return _case_words(self.part, self.index)


class ResultCoercion(CoercionPlace):
    """What a case gives is what the choice gives."""

    __slots__ = ()

    def explain(self, clash: Clash) -> ArrowTypeError:
        choice, case, parts = self.owner, self.part, self.owner.parts
        cases = (j for j, part in enumerate(parts) if part is not case and part.path.word.startswith("case"))
        other = next(cases, self.index)
        output = find(parts[other].output)
        return meet(
            f"cannot choose between {_case_words(parts[other], other)} and {_case_words(case, self.index)} "
            f"of {name_of(choice)}",
            last_of(parts[other]),
            last_of(case),
            output if output.head is not None else choice.output,
            case.output,
            choice,
            results=True,
            hint="every case must give the same type: add a step to one of them",
        )


def _case_words(case: Occurrence, index: int) -> str:
    return case.path.word or f"case {index}"
