"""`GetItem`, `Nth`, `Length` and `Unroll`: access to single elements, and their number."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from arrows.combinators import Fan, Item, Length, NoItem, Unroll
from arrows.inference.explain import refused
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.reasons import items_of, name_of, problem
from arrows.inference.rules import (
    Misfit,
    TypeRule,
    explain_mixed_items,
    is_no_object,
    sequence_of,
    spread_elements,
    structure_of,
    type_words,
)
from arrows.typesys import ArrowTypeError
from arrows.typesys import types as T
from arrows.typesys.terms import Clash, TypeVariable, compound, find, ground, labels_of, lost_by, notation
from arrows.typesys.unify import Solver
from arrows.typesys.walks import parts

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def constrain_item(inference: Inference, occurrence: Occurrence) -> None:
    inference.expect(ItemRule(occurrence, inference), occurrence.input)


def constrain_nth(inference: Inference, occurrence: Occurrence) -> None:
    inference.expect(NthRule(occurrence), occurrence.input)


def constrain_length(inference: Inference, occurrence: Occurrence) -> None:
    assert isinstance(occurrence.form, Length)
    inference.solver.assign(occurrence.output, inference.floats(occurrence.form.type), occurrence)
    inference.solver.add(LengthRule(occurrence), occurrence.input)


def constrain_unroll(inference: Inference, occurrence: Occurrence) -> None:
    inference.solver.add(UnrollRule(occurrence), occurrence.input)


# Items by key


class ItemRule(TypeRule):
    """`GetItem`: waits until the structure of its input is known.

    It runs again when the input loses labels, since what it takes of it may lose them too.
    """

    __slots__ = ("inference", "taken")

    def __init__(self, occurrence: Occurrence, inference: Inference) -> None:
        super().__init__(occurrence)
        self.inference = inference
        self.taken = False  # whether its result is an item or a slice of a tuple

    def run(self, solver: Solver) -> None:
        form = self.occurrence.form
        assert isinstance(form, Item)
        v = find(self.occurrence.input)
        if v.head is None:
            return
        if self.done:
            if self.taken:
                self._lose_labels(solver, v)
            return
        self.done = True
        if isinstance(v.head, T.Input):
            solver.assign(self.occurrence.output, v.head, self.occurrence)
            return
        if form.default is not NoItem.ERROR:
            raise Misfit(
                f"default= stands for what a Python object does not have, and the input is {type_words(v)}",
                "leave default out: the type says which items there are",
            )
        structure = structure_of(v)
        if structure == "tuple":
            self._run_on_tuple(solver, v)
            self.taken = True
        elif structure == "sequence":
            self._run_on_sequence(solver, v)
        elif structure == "broadcast":
            if not _is_endless_slice(form.key):
                raise Misfit(
                    "an endless sequence has no items to take, since all its elements are the same",
                    f"drop the {form.kind}",
                )
            solver.unify(self.occurrence.output, v)
        else:
            hint = "take items before the object is read into a tensor; to read two of them, use f & g"
            if isinstance(form.key, (int, slice)):
                hint = f"inside a function a tensor has items: ar.Function(lambda x: x[{_index(form.key)}])"
            raise Misfit(f"{v.head} has no items", hint if isinstance(v.head, T.Tensor) else "")

    def _run_on_tuple(self, solver: Solver, v: TypeVariable) -> None:
        occurrence, form = self.occurrence, self.occurrence.form
        assert isinstance(form, Item)
        # `view` makes a variable for each item of a ground tuple, of which there may be thousands.
        count = len(v.head.items) if isinstance(v.head, T.Tuple) else len(solver.view(v).args)
        if form.arity is not None and form.arity != count:
            raise Misfit(
                f"{form.arity} items are expected, and the tuple has {count}", f"take it apart into {count}"
            )
        if isinstance(form.key, slice):
            args = solver.view(v).args[form.key]
            labels, lost = _sliced(v, form.key)
            solver.bind(occurrence.output, "tuple", args, labels, occurrence, None, lost)
            return
        known = v.head if isinstance(v.head, T.Tuple) else _keyed(v, count)
        place = form.place(known)
        if place is None:
            raise _no_item(self.inference, occurrence, known)
        if isinstance(v.head, T.Tuple) and not v.head.items[place].labelled:
            # The item is ground: `view` need not make variables for all items.
            solver.assign(occurrence.output, v.head.items[place], v.origin, v.via)
        else:
            solver.unify(occurrence.output, solver.view(v).args[place])

    def _lose_labels(self, solver: Solver, v: TypeVariable) -> None:
        """Passes on the labels that the input has lost by now."""
        form = self.occurrence.form
        assert isinstance(form, Item)
        if isinstance(form.key, slice):
            solver.join_labels(self.occurrence.output, *_sliced(v, form.key))
        elif isinstance(v.head, T.Tuple) and (place := form.place(v.head)) is not None:
            solver.assign(self.occurrence.output, v.head.items[place], v.origin, v.via)

    def _run_on_sequence(self, solver: Solver, v: TypeVariable) -> None:
        form = self.occurrence.form
        assert isinstance(form, Item)
        if isinstance(form.key, slice):
            solver.unify(self.occurrence.output, v)
        elif isinstance(form.key, int):
            solver.unify(self.occurrence.output, solver.view(v).args[0])
        else:
            raise Misfit(
                f"an element of a sequence is taken by its index, not by {form.key!r}",
                f"to take the item of every element, use ar.Map(ar.GetItem({form.key!r}))",
            )

    @property
    def inside(self) -> TypeVariable | None:
        form = self.occurrence.form
        assert isinstance(form, Item)
        return self.occurrence.output if form.arity is None else None

    def default(self, solver: Solver) -> bool:
        occurrence, form = self.occurrence, self.occurrence.form
        assert isinstance(form, Item)
        v, out = find(occurrence.input), find(occurrence.output)
        if v.head is not None:
            return False
        if form.arity is not None and is_no_object(out):  # a parameter of an arrow with several
            items = [out if i == form.key % form.arity else TypeVariable() for i in range(form.arity)]
            solver.bind(v, "tuple", items, None, occurrence, None)
            return True
        if not isinstance(form.key, slice) or structure_of(out) != "sequence":
            return False
        solver.unify(v, out)
        return True


def check_item(inference: Inference, occurrence: Occurrence) -> None:
    """Refuses a key that the tuple has lost, because the places that give the tuple differ in their keys."""
    form, t = occurrence.form, ground(occurrence.input)
    assert isinstance(form, Item)
    if isinstance(t, T.Tuple) and not isinstance(form.key, slice) and form.place(t) is None:
        raise refused(occurrence, _no_item(inference, occurrence, t))


def check_keys(inference: Inference) -> None:
    """Refuses keys that tuples have lost: what was taken by them may be why other types do not fit.

    Raises:
        ArrowTypeError: it names the first `GetItem` by such a key.
    """
    for occurrence in inference.occurrences:
        form, v = occurrence.form, find(occurrence.input)
        if not isinstance(form, Item) or isinstance(form.key, slice) or not lost_by(v.head):
            continue
        t = _keyed(v, len(items_of(v)))
        if form.place(t) is None and any(form.key in labels for labels in t.lost):
            raise refused(occurrence, _no_item(inference, occurrence, t))


def _keyed(v: TypeVariable, count: int) -> T.Tuple:
    """Returns a tuple with the keys that the one at `v` has, whatever its items are."""
    return T.Tuple((T.Void(),) * count, labels_of(v.head), lost_by(v.head))


def _sliced(v: TypeVariable, key: slice) -> tuple[T.Labels | None, frozenset[T.Labels]]:
    labels, lost = labels_of(v.head), lost_by(v.head)
    return (None if labels is None else labels[key]), frozenset(each[key] for each in lost)


def _no_item(inference: Inference, occurrence: Occurrence, t: T.Tuple) -> Misfit:
    """Says that a tuple has no such item, or not one for sure."""
    form = occurrence.form
    assert isinstance(form, Item)
    key, count = form.key, len(t.items)
    if any(key in labels for labels in t.lost):
        sides = _sources(inference, t.lost)
        same = (
            not isinstance(key, int)
            and len({labels.index(key) if key in labels else None for labels in t.lost}) == 1
        )
        so = "what they become has none" if same else f"{key!r} is not the same item of all"
        return Misfit(
            f"the tuples that meet here have different keys, so {so}: {', and '.join(sides)}",
            "give them the same keys in the same order, or take the item before they meet"
            + ("" if isinstance(key, int) else "; or take it by position"),
        )
    if isinstance(key, int):
        items = "no items" if count == 0 else f"items 0 to {count - 1}" if count > 1 else "one item, 0"
        return Misfit(f"there is no item {key}: the tuple has {items}")
    if t.labels is None:
        return Misfit(
            f"there is no item {key!r}: the tuple has no keys",
            "take it by position, or make the tuple with ar.Record({...}), which keeps keys",
        )
    close = difflib.get_close_matches(str(key), [str(label) for label in t.labels], 1)
    return Misfit(
        f"there is no item {key!r}: the keys are {', '.join(map(repr, t.labels))}",
        f"did you mean {close[0]!r}?" if close else "",
    )


def _sources(inference: Inference, lost: frozenset[T.Labels]) -> list[str]:
    """Writes the keys of tuples that meet, each with the block that gives them, in their order."""
    found: dict[T.Labels, str] = {}
    for occurrence in inference.occurrences:
        form, trace = occurrence.form, occurrence.trace
        given = [form.labels] if isinstance(form, Fan) else []
        if trace is not None and trace.output.labelled:
            given = [part.labels for part in parts(trace.output) if isinstance(part, T.Tuple)]
        for labels in given:
            if labels in lost:
                found.setdefault(labels, f" of {name_of(occurrence)} at {form.site}")
    order = [*found, *sorted(lost - found.keys(), key=repr)]
    sides = [f"({', '.join(map(repr, labels))}){found.get(labels, '')}" for labels in order[:3]]
    return sides if len(sides) > 1 else [*sides, "another that has others or none"]


def _is_endless_slice(key: object) -> bool:
    """Whether a slice of an endless sequence is endless itself."""
    return isinstance(key, slice) and key.stop is None and (key.start or 0) >= 0 and (key.step or 1) > 0


def _index(key: int | slice) -> str:
    """Writes an index as it stands between brackets."""
    if isinstance(key, int):
        return str(key)
    words = ["" if x is None else str(x) for x in (key.start, key.stop, key.step)]
    return ":".join(words if key.step is not None else words[:2])


# Elements by number


class NthRule(TypeRule):
    """`Nth`: waits until the structure of the sequence is known."""

    __slots__ = ("indexed", "watching")

    def __init__(self, occurrence: Occurrence) -> None:
        super().__init__(occurrence)
        self.watching = False
        self.indexed = False

    def run(self, solver: Solver) -> None:
        occurrence = self.occurrence
        v = find(occurrence.input)
        if self.done or v.head is None:
            return
        if isinstance(v.head, T.Input):
            self.done = True
            solver.assign(occurrence.output, v.head, occurrence)
            return
        pair = solver.view(v).args if structure_of(v) == "tuple" else None
        if pair is None or len(pair) != 2:
            actual = type_words(v) if pair is None else f"a tuple of {len(pair)}"
            raise Misfit(
                f"Nth takes the pair of a sequence and an index, and it gets {actual}",
                "put them side by side first: (f & ar.GetItem('index')) >> ar.Nth(); "
                "for an index that never changes use ar.GetItem(2)",
            )
        if not self.indexed:
            self.indexed = True
            place = CoercionPlace(occurrence, 1, _explain_index)
            solver.coerce(pair[1], TypeVariable(T.Input(), occurrence), place)
        sequence = find(pair[0])
        if sequence.head is None:
            if not self.watching:
                self.watching = True
                solver.add(self, sequence)
            return
        self.done = True
        if structure_of(sequence) == "broadcast":
            raise Misfit(
                "item 0 is endless, and all its elements are the same", "drop the Broadcast and the Nth"
            )
        if not isinstance(sequence.head, T.Input) and not compound(sequence.head):
            raise Misfit(
                f"item 0 is {sequence.head}, which has no elements",
                "inside a function a tensor has items: ar.Function(lambda x, i: ar.ops.pick(x, i))"
                if isinstance(sequence.head, T.Tensor)
                else "",
            )
        place = CoercionPlace(occurrence, 0, explain_mixed_items)
        spread_elements(solver, sequence, occurrence.output, place)

    def default(self, solver: Solver) -> bool:
        occurrence = self.occurrence
        v = find(occurrence.input)
        if v.head is None and is_no_object(occurrence.output):
            pair = [solver.make("sequence", [occurrence.output]), TypeVariable(T.Input(), occurrence)]
            solver.bind(v, "tuple", pair, None, occurrence, None)
            return True
        pair = solver.view(v).args if structure_of(v) == "tuple" else []
        return len(pair) == 2 and sequence_of(solver, occurrence, pair[0], occurrence.output)


def _explain_index(place: CoercionPlace, clash: Clash) -> ArrowTypeError:
    """Explains why a value cannot be the index of `Nth`."""
    return problem(
        f"cannot use {notation(clash.left)} as the index of {name_of(place.owner)}",
        place.owner,
        "an index must be a Python object, since it is read before any tensor is computed",
        "for an index that is computed, or read into a tensor: ar.At() in place of ar.Nth(); else leave it "
        "as it comes from the input: ar.GetItem('index'), without a Scalar after it",
    )


# All elements


class LengthRule(TypeRule):
    """`Length`: its input must have elements, and an end."""

    __slots__ = ()

    def run(self, solver: Solver) -> None:
        v = find(self.occurrence.input)
        if self.done or v.head is None:
            return
        self.done = True
        if structure_of(v) == "broadcast":
            raise Misfit("an endless sequence has no length")
        if not isinstance(v.head, T.Input) and not compound(v.head):
            hint = "inside a function a tensor has a shape: ar.Function(lambda x: x * x.shape[0])"
            raise Misfit(
                f"Length counts elements, and {v.head} has none", hint if isinstance(v.head, T.Tensor) else ""
            )


class UnrollRule(TypeRule):
    """`Unroll`: makes a tuple of a fixed number of elements."""

    __slots__ = ()

    def run(self, solver: Solver) -> None:
        form = self.occurrence.form
        assert isinstance(form, Unroll)
        v = find(self.occurrence.input)
        if self.done or v.head is None:
            return
        self.done = True
        kind, length, structure = form.kind, form.length, structure_of(v)
        if isinstance(v.head, T.Input):
            read = f"read it whole: ar.Tensor([{length}, ...]), or its elements first: ar.Map(ar.Vector(n))"
            raise Misfit(f"{kind} joins tensors, and the input is a Python object", read)
        if not structure:
            raise Misfit(f"{kind} joins the elements of a sequence, and {v.head} has none")
        if structure == "broadcast":
            raise Misfit(
                "an endless sequence has no length",
                f"zip it with a sequence first, and use {kind} on the result",
            )
        args = solver.view(v).args
        if structure == "sequence":
            solver.bind(self.occurrence.output, "tuple", [args[0]] * length, None, self.occurrence, None)
            return
        if len(args) != length:
            raise Misfit(f"{length} elements are expected, and the tuple has {len(args)} items")
        solver.unify(self.occurrence.output, v)
