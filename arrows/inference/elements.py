"""Forms that take elements (`GetItem`, `Nth`, `GroupBy`), read objects (`Read`), or treat every element alike
(`Map`, `Zip`, `Broadcast`).
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from arrows.combinators import AnyBlock, Item, NoItem, Nth, Read
from arrows.inference.explain import refused
from arrows.inference.occurrences import Edge, Occurrence
from arrows.inference.reasons import name_of, no_object
from arrows.inference.rules import (
    Misfit,
    as_sequence,
    explain_element,
    explain_mixed_items,
    is_no_object,
    items,
    spread,
    until_end,
)
from arrows.typesys import (
    ENDLESS,
    FINITE,
    INPUT,
    Cause,
    Default,
    Keys,
    Rule,
    Var,
    differing_labels,
    find,
    kind_of,
    labels_of,
    notation,
    parts_of,
    sequence_of,
    tuple_of,
    types as T,
)

if TYPE_CHECKING:
    from arrows.inference.infer import Inference

# Items by key


def item(inference: Inference, occurrence: Occurrence, form: Item[Any, Any]) -> Rule:
    if form.of_objects:
        inference.reads_object(occurrence.input, occurrence, Edge(occurrence, 0, _explain_places))
    if form.arity is None:
        inference.containers.append((occurrence.input, occurrence.output))
    yield occurrence.input, _container_of_item(inference, occurrence, form)
    v = find(occurrence.input)
    if v.con is INPUT:
        inference.gives(occurrence, INPUT)
        return
    if form.takes and form.arity is not None:
        hint = "put them side by side first: (f & g) >> block"
        items(v, form.arity, f"{form.kind} takes {form.takes}", hint)
    if form.default is not NoItem.ERROR:
        raise Misfit(
            f"default= stands for what a Python object does not have, and the input is {notation(v)}",
            "leave default out: the type says which items there are",
        )
    if kind_of(v) == "tuple":
        _item_of_tuple(inference, occurrence, form, v)
    elif isinstance(v.con, T.Type):
        hint = "take items before the object is read into a tensor; to read two of them, use f & g"
        if isinstance(form.key, (int, slice)):
            hint = "inside a function a tensor has items: ar.Function(lambda x: x[i])"
        raise Misfit(f"{v.con} has no items", hint if isinstance(v.con, T.Tensor) else "")
    else:
        yield v.args[1]
        if find(v.args[1]).con == ENDLESS:
            raise Misfit(
                "an endless sequence has no items to take, since all its elements are the same",
                f"drop the {form.kind}",
            )
        if isinstance(form.key, slice):
            whole = tuple_of(parts_of(v) * form.arity, cause=Cause(occurrence)) if form.arity else v
            inference.gives(occurrence, whole)
        elif isinstance(form.key, int):
            inference.gives(occurrence, v.args[0])
        else:
            raise Misfit(
                f"an element of a sequence is taken by its index, not by {form.key!r}",
                f"to take the item of every element, use ar.Map(ar.GetItem({form.key!r}))",
            )


def _item_of_tuple(inference: Inference, occurrence: Occurrence, form: Item[Any, Any], v: Var) -> None:
    count = len(v.args)
    if form.arity is not None and form.arity != count:
        raise Misfit(
            f"{form.arity} items are expected, and the tuple has {count}", f"take it apart into {count}"
        )
    if not isinstance(form.key, slice):
        place = form.place(_keyed(inference, v))
        if place is None:
            raise _no_item(form, v)
        inference.gives(occurrence, v.args[place])
        return
    key = form.key

    def sliced() -> Keys:
        parts = [labels and labels[key] for labels in find(v).keys]
        return frozenset(None if part is None or T.moved_label(part) is not None else part for part in parts)

    inference.gives(occurrence, tuple_of(list(v.args[key]), Cause(occurrence), sliced()))
    v.relabelled = [*v.relabelled, lambda: (occurrence.output, sliced())]


def _container_of_item(inference: Inference, occurrence: Occurrence, form: Item[Any, Any]) -> Default:
    """Decides what an item is taken from, if that is clear."""

    def decide() -> bool:
        out = find(occurrence.output)
        if form.arity is None or isinstance(form.key, slice) or not is_no_object(out):
            return False
        # A parameter of an arrow with several.
        items = [out if i == form.key % form.arity else Var() for i in range(form.arity)]
        inference.solver.unify(occurrence.input, tuple_of(items, cause=Cause(occurrence, reads=True)))
        return True

    return decide


def check_keys(inference: Inference) -> None:
    """Refuses keys that tuples have lost: what was taken by them may be why other types do not fit.

    Raises:
        ArrowTypeError: it names the first `GetItem` by such a key.
    """
    for occurrence in inference.occurrences:
        form = occurrence.form
        if not isinstance(form, Item) or isinstance(form.key, slice):
            continue
        v = find(occurrence.input)
        if differing_labels(v) and form.place(_keyed(inference, v)) is None:
            raise refused(occurrence, _no_item(form, v))


def _keyed(inference: Inference, v: Var) -> T.Tuple:
    """Returns a tuple with the keys that the one at `v` has, whatever its items are: one for all that ask."""
    labels, count = labels_of(v), len(v.args)
    key = id(labels), count  # its tuple keeps the labels alive
    if key not in inference.keyed:
        inference.keyed[key] = T.Tuple((T.Void(),) * count, labels)
    return inference.keyed[key]


def _no_item(form: Item[Any, Any], v: Var) -> Misfit:
    """Says that a tuple has no such item, or not one for sure."""
    key, count, labels = form.key, len(v.args), labels_of(v)
    differing = differing_labels(v)
    if any(each and key in each for each in differing):
        words = ", ".join(
            sorted(f"({', '.join(map(repr, each))})" if each else "none" for each in differing)[:3]
        )
        return Misfit(
            f"the tuples that meet here have different keys, so {key!r} is not the same item of all: {words}",
            "give them the same keys in the same order, or take the item before they meet",
        )
    if isinstance(key, int):
        items = "no items" if count == 0 else f"items 0 to {count - 1}" if count > 1 else "one item, 0"
        return Misfit(f"there is no item {key}: the tuple has {items}")
    if labels is None:
        return Misfit(
            f"there is no item {key!r}: the tuple has no keys",
            "take it by position, or make the tuple with ar.Record({...}), which keeps keys",
        )
    close = difflib.get_close_matches(str(key), list(map(str, labels)), 1)
    return Misfit(
        f"there is no item {key!r}: the keys are {', '.join(map(repr, labels))}",
        f"did you mean {close[0]!r}?" if close else "",
    )


# Elements by number


def nth(inference: Inference, occurrence: Occurrence, form: Nth) -> Rule:
    """`Nth`: waits until the structure of the sequence is known."""
    yield occurrence.input
    v = find(occurrence.input)
    if v.con is INPUT:
        inference.gives(occurrence, INPUT)
        return
    pair = items(
        v,
        2,
        "Nth takes the pair of a sequence and an index",
        "put them side by side first: (f & ar.GetItem('index')) >> ar.Nth()",
    )
    inference.reads_object(pair[1], occurrence, Edge(occurrence, 1, _explain_index))
    yield from until_end(
        inference,
        pair[0],
        occurrence.output,
        Edge(occurrence, 0, explain_mixed_items),
        what="item 0",
        endless=("item 0 is endless, and all its elements are the same", "drop the Broadcast"),
    )


def group_by(inference: Inference, occurrence: Occurrence, form: AnyBlock) -> Rule:
    """`GroupBy`: takes elements and groups that end, and gives a sequence of sequences."""
    yield occurrence.input
    kind = form.kind
    takes = f"{kind} takes elements, their places and the groups"
    hint = "put them side by side first: (f & ar.GetItem('places') & groups) >> ar.GroupBy()"
    elements, places, groups = items(occurrence.input, 3, takes, hint)
    element = Var()
    inference.reads_object(places, occurrence, Edge(occurrence, 1, _explain_places))
    for i, container, item in ((0, elements, element), (2, groups, Var())):
        edge = Edge(occurrence, i, explain_mixed_items)
        endless = f"item {i} is endless, and {kind} goes over all of it", "drop the Broadcast"
        yield container, as_sequence(inference, occurrence, container, item)
        if i == 2 and kind_of(container) == "tuple":
            continue  # only the number of groups counts, so items of a tuple may differ
        yield from until_end(inference, container, item, edge, what=f"item {i}", endless=endless)
    inference.gives(occurrence, sequence_of(sequence_of(element), cause=Cause(occurrence)))


_explain_index = no_object(
    "cannot use {type} as the index of {owner}",
    "an index must be a Python object, since it is read before any tensor is computed",
    "for an index that is computed, or read into a tensor: ar.At() in place of ar.Nth(); else leave it "
    "as it comes from the input: ar.GetItem('index'), without a Scalar after it",
)
_explain_places = no_object(
    "cannot use {type} as the places of {owner}",
    "places must be Python objects, since they are read before any tensor is computed",
    "leave them as they come from the input, without a Scalar or a Vector that reads them",
)


# What reads an object, or counts elements


def read(inference: Inference, occurrence: Occurrence, form: Read[Any, Any]) -> Rule | None:
    if not form.counts:
        inference.reads_object(occurrence.input, occurrence, occurrence.edge)
    inference.gives(occurrence, inference.floats(form.type))
    return _counted(occurrence) if form.counts else None


def _counted(occurrence: Occurrence) -> Rule:
    """What is counted must have elements, and an end."""
    yield occurrence.input
    v = find(occurrence.input)
    if isinstance(v.con, T.Type) and v.con is not INPUT:
        hint = "inside a function a tensor has a shape: ar.Function(lambda x: x * x.shape[0])"
        raise Misfit(
            f"Length counts elements, and {v.con} has none", hint if isinstance(v.con, T.Tensor) else ""
        )
    if kind_of(v) in ("sequence", "broadcast"):
        yield v.args[1]
        if kind_of(v) == "broadcast":
            raise Misfit("an endless sequence has no length")


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
