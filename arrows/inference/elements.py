"""`GetItem`, `Nth`, `Length` and `Unroll`: access to single elements, and their number."""

from __future__ import annotations

import difflib
from collections.abc import Hashable
from typing import TYPE_CHECKING

from arrows.combinators import Fan, Item, Length, NoItem, Unroll
from arrows.inference.explain import refused
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.reasons import name_of, problem
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
from arrows.typesys.terms import Clash, TypeVariable, compound, find, ground, labels_of, notation
from arrows.typesys.unify import Solver

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def constrain_item(inference: Inference, occurrence: Occurrence) -> None:
    inference.expect(ItemRule(occurrence), occurrence.input)


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
    """`GetItem`: waits until the structure of its input is known."""

    __slots__ = ()

    def run(self, solver: Solver) -> None:
        form = self.occurrence.form
        assert isinstance(form, Item)
        v = find(self.occurrence.input)
        if self.done or v.head is None:
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
            struct, places = solver.view(v), range(count)[form.key]
            labels = tuple(struct.labels[i] for i in places) if struct.labels is not None else None
            args = [struct.args[i] for i in places]
            solver.bind(occurrence.output, "tuple", args, labels, occurrence, None)
            return
        place = v.head.place(form.key) if isinstance(v.head, T.Tuple) else None
        if place is None:
            place = self._position(v, form.key, count)
        item = v.head.items[place] if isinstance(v.head, T.Tuple) else None
        if item is not None and not item.labelled:
            # The item is ground, with no labels to drop later: `view` need not make variables for all items.
            solver.assign(occurrence.output, item, v.origin, v.via)
        else:
            solver.unify(occurrence.output, solver.view(v).args[place])

    @staticmethod
    def _position(v: TypeVariable, key: Hashable, count: int) -> int:
        labels = labels_of(v.head)
        try:
            return position(key, labels, count)
        except Misfit as error:
            source = v.origin.form if isinstance(v.origin, Occurrence) else None
            if labels is None and isinstance(source, Fan) and source.labels is not None:
                error.reason = (
                    f"there is no item {key!r}: the blocks that give this tuple have different keys"
                )
                error.hint = "keys are kept where all blocks have the same keys in the same order"
            raise

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
    if not isinstance(t, T.Tuple) or isinstance(form.key, slice) or t.place(form.key) is not None:
        return
    try:
        position(form.key, t.labels, len(t.items))
    except Misfit as error:
        error.reason += "; the blocks that give this tuple have different keys, so it has none"
        raise refused(occurrence, error) from None


def position(key: Hashable, labels: tuple[Hashable, ...] | None, count: int) -> int:
    """Finds the position of a tuple's item, by label first, then by number.

    Raises:
        Misfit: there is no such item.
    """
    if labels is not None and key in labels:
        return labels.index(key)
    if isinstance(key, int):
        if -count <= key < count:
            return key % count
        items = "no items" if count == 0 else f"items 0 to {count - 1}" if count > 1 else "one item, 0"
        raise Misfit(f"there is no item {key}: the tuple has {items}")
    if labels is None:
        raise Misfit(
            f"there is no item {key!r}: the tuple has no keys",
            "take it by position, or make the tuple with ar.Record({...}), which keeps keys",
        )
    close = difflib.get_close_matches(str(key), [str(label) for label in labels], 1)
    raise Misfit(
        f"there is no item {key!r}: the keys are {', '.join(map(repr, labels))}",
        f"did you mean {close[0]!r}?" if close else "",
    )


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
