"""Rules that wait for a type: their base class, and the helpers that rules about containers share.

The solver runs a rule again whenever a type that the rule watches becomes better known.
"""

from __future__ import annotations

from arrows.combinators import Map, Zip
from arrows.inference.hints import NOTHING, network_result
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.reasons import explain_moved, first_of, items_of, name_of, problem, refused_by_part
from arrows.typesys import ArrowTypeError
from arrows.typesys import types as T
from arrows.typesys.coercion import Coercion, moved_key
from arrows.typesys.terms import Clash, Constraint, Struct, TypeVariable, compound, find, kind_of, notation
from arrows.typesys.unify import Solver


class Misfit(ArrowTypeError):
    """A form cannot take its input.

    A misfit has one sentence. `explain.refused` turns it into the whole message when the types around the
    form are known.

    Attributes:
        reason: the reason, in one sentence.
        hint: the obvious repair; empty if there is none.
    """

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class TypeRule(Constraint):
    """A typing rule for one occurrence.

    Attributes:
        occurrence: the occurrence.
        done: whether there is nothing left to do.
    """

    __slots__ = ("done", "occurrence")

    def __init__(self, occurrence: Occurrence) -> None:
        super().__init__()
        self.occurrence = occurrence
        self.done = False

    def default(self, solver: Solver) -> bool:
        """Decides that an open input is a sequence, if its elements are known; returns whether it decided."""
        return False


class ContainerRules:
    """The rules of forms that go over a container.

    If nothing else says what a container is, and its elements are known, it is taken to be a sequence. Rules
    are asked from the last to the first, because the inside of a form often settles the types around it, and
    the end of a chain those before it. Rules that could not decide are asked again after another one did,
    since they may have waited for its answer.
    """

    def __init__(self) -> None:
        self._pending: list[TypeRule] = []
        self._asked: list[TypeRule] = []
        self._progress = False

    def add(self, rule: TypeRule) -> None:
        """Adds a rule that is asked when no other constraint makes progress."""
        self._pending.append(rule)

    def ask_again(self) -> None:
        """Asks all rules once more, because some type has become known."""
        self._progress = True

    def settle(self, solver: Solver) -> bool:
        """Settles one container; returns whether there was one to settle."""
        while True:
            while self._pending:
                rule = self._pending.pop()
                if rule.done:
                    continue
                self._asked.append(rule)
                if rule.default(solver):
                    self._progress = True
                    return True
            if not self._progress:
                return False
            self._progress = False
            self._pending, self._asked = self._asked[::-1], []


def object_reader(root: TypeVariable) -> object:
    """Returns the occurrence that reads the open root input as a Python object; None if there is none.

    If there is such a reader, the input is a Python object from the start. Types then flow forward from the
    input, and a contradiction shows at the place where the two sides meet.
    """
    todo, seen = [find(root)], {id(find(root))}
    while todo:
        v = todo.pop()
        for constraint in v.watch:
            reader = constraint.right if isinstance(constraint, Coercion) else constraint.inside
            if reader is None:
                continue
            reader = find(reader)
            if isinstance(reader.head, T.Input):
                return reader.origin
            if reader.head is None and id(reader) not in seen:
                seen.add(id(reader))
                todo.append(reader)
    return None


def open_part(root: TypeVariable) -> TypeVariable | None:
    """Returns the first part of the root input that is still open; None if there is none."""
    todo, seen = [find(root)], set()
    while todo:
        v = todo.pop()
        if v.head is None:
            return v
        if isinstance(v.head, Struct) and id(v) not in seen:
            seen.add(id(v))
            todo.extend(find(arg) for arg in reversed(v.head.args))
    return None


def is_no_object(v: TypeVariable) -> bool:
    """Whether elements of this type prove that their container is no Python object."""
    head = find(v).head
    return head is not None and not isinstance(head, T.Input)


def structure_of(v: TypeVariable) -> str:
    """Returns `tuple`, `sequence` or `broadcast`; empty while `v` is open, or if its type has no parts."""
    return v.head.kind if isinstance(v.head, Struct) else kind_of(v.head) or ""


def type_words(v: TypeVariable) -> str:
    """Writes a type; `a sequence` if its elements are open."""
    return str(v.head) if isinstance(v.head, T.Type) else "a sequence"


def sequence_of(
    solver: Solver, occurrence: Occurrence, container: TypeVariable, element: TypeVariable
) -> bool:
    """Makes an open container a sequence if its elements are no Python objects; returns whether it did."""
    if find(container).head is not None or not is_no_object(element):
        return False
    solver.bind(container, "sequence", [element], None, occurrence, None)
    return True


def spread_elements(solver: Solver, v: TypeVariable, element: TypeVariable, place: CoercionPlace) -> bool:
    """Passes the elements of the container `v` to `element`; returns whether the container is endless.

    Raises:
        Misfit: `v` has no elements.
    """
    kind = place.owner.form.kind
    if isinstance(v.head, T.Input):
        solver.coerce(TypeVariable(T.Input(), v.origin), element, place)
        return False
    if not compound(v.head):
        raise Misfit(
            f"{kind} goes over the elements of a sequence, and {v.head} has none",
            _without_map(place.owner, element)
            if isinstance(v.head, T.Tensor) and isinstance(place.owner.form, Map)
            else "",
        )
    struct = solver.view(v)
    if struct.kind == "tuple" and not struct.args:
        raise Misfit(f"an empty tuple has no elements, so {kind} cannot know their type")
    for arg in struct.args:
        solver.coerce(arg, element, place)
    return struct.kind == "broadcast"


def _without_map(occurrence: Occurrence, element: TypeVariable) -> str:
    if isinstance(find(element).head, T.Input):
        return f"{occurrence.form.label} reads a Python list itself: leave out the block that reads it first"
    return "apply the block to it directly, without Map"


class StartRule(TypeRule):
    """`Fold`, `RNN` and `Scan` with `start_from_input`: the input is the pair of a sequence and a start."""

    __slots__ = ("pair",)

    def __init__(self, occurrence: Occurrence, container: TypeVariable, start: TypeVariable) -> None:
        super().__init__(occurrence)
        self.pair = [container, start]

    def run(self, solver: Solver) -> None:
        v = find(self.occurrence.input)
        if self.done or v.head is None:
            return
        self.done = True
        items = solver.view(v).args if structure_of(v) == "tuple" else None
        if items is None or len(items) != 2:
            actual = type_words(v) if items is None else f"a tuple of {len(items)}"
            raise Misfit(
                f"with start_from_input it takes the pair of a sequence and a start, and it gets {actual}",
                "put them side by side first: (sequence & start) >> "
                f"ar.{self.occurrence.form.kind}(..., start_from_input=True)",
            )
        for part, item in zip(self.pair, items, strict=True):
            solver.unify(part, item)

    def default(self, solver: Solver) -> bool:
        if find(self.occurrence.input).head is not None or not any(is_no_object(v) for v in self.pair):
            return False
        solver.bind(self.occurrence.input, "tuple", self.pair, None, self.occurrence, None)
        return True


def explain_element(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why an element cannot pass to the block that a form applies to each."""
    owner = place.owner
    if structure_of(find(owner.input)) == "tuple":
        return explain_mixed_items(place, clash)
    block = name_of(first_of(place.part))
    attempt = f"cannot give the elements to {block}, the block of {name_of(owner)}"
    return refused_by_part(place, clash, attempt, "an element")


def explain_mixed_items(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why the items of a tuple cannot be the elements: their types differ."""
    owner = place.owner
    moved = moved_key(find(clash.left).head) if isinstance(find(clash.right).head, T.Input) else None
    if moved is not None:
        return problem(
            f"cannot go over {notation(owner.input)} with {name_of(owner)}", owner, *explain_moved(*moved)
        )
    containers = [find(owner.input), *(items_of(owner.input) if isinstance(owner.form, Zip) else [])]
    likely = next((words for v in containers if (words := network_result(v)) != NOTHING), NOTHING)
    return problem(
        f"cannot go over {notation(owner.input)} with {name_of(owner)}",
        owner,
        likely[0]
        or "a tuple has elements only if all its items have one type, "
        f"and here they are {notation(clash.right)} and {notation(clash.left)}",
        likely[1] or "take the items one by one: ar.Record or ar.GetItem",
    )
