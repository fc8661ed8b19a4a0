"""`Map`, `Zip` and `Broadcast`: blocks that treat every element by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.reasons import name_of
from arrows.inference.rules import (
    Misfit,
    TypeRule,
    explain_element,
    explain_mixed_items,
    is_no_object,
    sequence_of,
    spread_elements,
    structure_of,
    type_words,
)
from arrows.typesys import types as T
from arrows.typesys.terms import Kind, TypeVariable, compound, find
from arrows.typesys.unify import Solver

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def constrain_map(inference: Inference, occurrence: Occurrence) -> None:
    source = TypeVariable()
    element = inference.enter(occurrence, occurrence.form.parts[0], source, None, "element")
    inference.expect(MapRule(occurrence, source, element.output), occurrence.input, occurrence.output)


def constrain_zip(inference: Inference, occurrence: Occurrence) -> None:
    inference.expect(ZipRule(occurrence), occurrence.input)


def constrain_broadcast(inference: Inference, occurrence: Occurrence) -> None:
    inference.solver.bind(occurrence.output, "broadcast", [occurrence.input], None, occurrence, None)


class MapRule(TypeRule):
    """`Map`: passes elements to its block, and makes a sequence of the results."""

    __slots__ = ("linked", "result", "source")

    def __init__(self, occurrence: Occurrence, source: TypeVariable, result: TypeVariable) -> None:
        super().__init__(occurrence)
        self.source = source
        self.result = result
        self.linked = False

    def run(self, solver: Solver) -> None:
        if self.done:
            return
        v, out = find(self.occurrence.input), find(self.occurrence.output)
        if v.head is None:
            # The input may still be a sequence or an endless one, but either way the elements of the output
            # are the results of the block.
            if not self.linked and compound(out.head):
                self.linked = True
                args = solver.view(out).args
                if len(args) == 1:
                    solver.unify(self.result, args[0])
            return
        self.done = True
        endless = spread_elements(solver, v, self.source, CoercionPlace(self.occurrence, 0, explain_element))
        kind: Kind = "broadcast" if endless else "sequence"
        solver.bind(self.occurrence.output, kind, [self.result], None, self.occurrence, None)

    @property
    def inside(self) -> TypeVariable:
        return self.source

    def default(self, solver: Solver) -> bool:
        return sequence_of(solver, self.occurrence, self.occurrence.input, self.source)


class ZipRule(TypeRule):
    """`Zip`: waits until the structures of all items are known."""

    __slots__ = ("watching",)

    def __init__(self, occurrence: Occurrence) -> None:
        super().__init__(occurrence)
        self.watching = False

    def run(self, solver: Solver) -> None:
        occurrence = self.occurrence
        v = find(occurrence.input)
        if self.done or v.head is None:
            return
        if isinstance(v.head, T.Input):
            self.done = True
            element = TypeVariable(v.head, occurrence)
            solver.bind(occurrence.output, "sequence", [element], None, occurrence, None)
            return
        if structure_of(v) != "tuple":
            zipped = name_of(occurrence) if occurrence.form.name else f"ar.{name_of(occurrence)}"
            raise Misfit(
                f"{occurrence.form.kind} takes a tuple of sequences, and it gets {type_words(v)}",
                f"put the sequences side by side first: (f & g) >> {zipped}",
            )
        items = [find(arg) for arg in solver.view(v).args]
        if not items:
            raise Misfit("there are no sequences in an empty tuple")
        if any(item.head is None for item in items):
            if not self.watching:
                self.watching = True
                solver.add(self, *(item for item in items if item.head is None))
            return
        self.done = True
        endless, elements = True, []
        place = CoercionPlace(occurrence, 0, explain_mixed_items)
        for i, item in enumerate(items):
            if not isinstance(item.head, T.Input) and not compound(item.head):
                raise Misfit(
                    f"item {i} is {item.head}, which has no elements",
                    "to put one value beside every element, repeat it with ar.Broadcast: g >> ar.Broadcast()",
                )
            elements.append(TypeVariable())
            endless = spread_elements(solver, item, elements[-1], place) and endless
        kind: Kind = "broadcast" if endless else "sequence"
        solver.bind(occurrence.output, kind, [solver.make("tuple", elements)], None, occurrence, None)

    def default(self, solver: Solver) -> bool:
        v, out = find(self.occurrence.input), find(self.occurrence.output)
        if structure_of(out) != "sequence":
            return False
        result = find(solver.view(out).args[0])
        if structure_of(result) != "tuple":
            return False
        elements = solver.view(result).args
        if v.head is None:
            if not any(is_no_object(element) for element in elements):
                return False
            items = [solver.make("sequence", [element]) for element in elements]
            solver.bind(v, "tuple", items, None, self.occurrence, None)
            return True
        items = solver.view(v).args if structure_of(v) == "tuple" else []
        if len(items) != len(elements):
            return False
        pairs = zip(items, elements, strict=True)
        return any(sequence_of(solver, self.occurrence, item, element) for item, element in pairs)
