"""The typing rules of forms that take elements (`Item`, `Nth`, `GroupBy`), treat every element alike (`Map`,
`Zip`, `Broadcast`), go over them in order or two by two (`Loop`, `Reduce`), or read objects (`Read`).
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from arrows.combinators import AnyBlock, InferredZeros, Item, Loop, NoItem, Nth, Read
from arrows.inference.messages import (
    Misfit,
    last_of,
    meet,
    name_of,
    network_result,
    no_object,
    passes,
    problem,
    refused,
    side_of,
)
from arrows.inference.typed import Edge, Occurrence
from arrows.typesys import (
    ENDLESS,
    FINITE,
    INPUT,
    VOID,
    ArrowTypeError,
    Cause,
    Clash,
    Default,
    Keys,
    Rule,
    Variable,
    differing_labels,
    find,
    items_of,
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


# Containers, as the rules read them


def is_no_object(v: Variable) -> bool:
    """Whether elements of this type prove that their container is no Python object."""
    con = find(v).con
    return con is not None and con is not INPUT


def items(v: Variable, count: int, takes: str, hint: str) -> list[Variable]:
    """The items of a tuple of so many, which `takes` describes.

    Raises:
        Misfit: it is something else.
    """
    found = items_of(v)
    if kind_of(v) == "tuple" and len(found) == count:
        return found
    actual = f"a tuple of {len(found)}" if kind_of(v) == "tuple" else notation(v)
    raise Misfit(f"{takes}, and it gets {actual}", hint)


def as_sequence(
    inference: Inference, occurrence: Occurrence, container: Variable, element: Variable
) -> Default:
    """Decides that an open container is a sequence, if its elements are no Python objects."""

    def decide() -> bool:
        if not is_no_object(element):
            return False
        inference.solver.unify(container, sequence_of(element, cause=Cause(occurrence, reads=True)))
        return True

    inference.containers.append((container, element))
    return decide


def spread(inference: Inference, v: Variable, element: Variable, edge: Edge) -> Variable:
    """Passes the elements of the container `v` to `element`; returns whether it ends, which may be open.

    Raises:
        Misfit: `v` has no elements.
    """
    v, solver, kind = find(v), inference.solver, edge.owner.form.kind
    if v.con is INPUT:
        solver.join(Variable(INPUT, cause=v.cause), element, edge)
        return Variable(FINITE)
    if isinstance(v.con, T.Type):
        hint = "Map reads a Python list itself: leave out the block that reads it first, or leave out the Map"
        hint = hint if kind == "Map" and isinstance(v.con, T.Tensor) else ""
        raise Misfit(f"{kind} goes over the elements of a sequence, and {v.con} has none", hint)
    if not v.args:
        raise Misfit(f"an empty tuple has no elements, so {kind} cannot know their type")
    for part in parts_of(v):
        solver.join(part, element, edge)
    return Variable(FINITE) if kind_of(v) == "tuple" else v.args[1]


def until_end(
    inference: Inference,
    container: Variable,
    element: Variable,
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


# Items by key


def item(inference: Inference, occurrence: Occurrence, form: Item[Any, Any]) -> Rule:
    if form.of_objects:
        inference.reads_object(occurrence.input, occurrence, Edge(occurrence, 0, _explain_places))
    inference.containers.append((occurrence.input, occurrence.output))
    yield occurrence.input, _container_of_item(inference, occurrence, form)
    v = find(occurrence.input)
    if v.con is INPUT:
        # The item of a pair that `f * g` takes apart is an object for the reason that the pair is one.
        inference.gives(occurrence, INPUT if form.arity is None else Variable(INPUT, cause=v.cause))
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


def _item_of_tuple(inference: Inference, occurrence: Occurrence, form: Item[Any, Any], v: Variable) -> None:
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
        items = [out if i == form.key % form.arity else Variable() for i in range(form.arity)]
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


def _keyed(inference: Inference, v: Variable) -> T.Tuple:
    """Returns a tuple with the keys that the one at `v` has, whatever its items are: one for all that ask."""
    labels, count = labels_of(v), len(v.args)
    key = id(labels), count  # its tuple keeps the labels alive
    if key not in inference.keyed:
        inference.keyed[key] = T.Tuple((T.Void(),) * count, labels)
    return inference.keyed[key]


def _no_item(form: Item[Any, Any], v: Variable) -> Misfit:
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
    element = Variable()
    inference.reads_object(places, occurrence, Edge(occurrence, 1, _explain_places))
    for i, container, item in ((0, elements, element), (2, groups, Variable())):
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


# Every element alike


def map_(inference: Inference, occurrence: Occurrence, form: AnyBlock) -> Rule:
    element, end = Variable(), Variable()
    edge = Edge(occurrence, 0, explain_element)
    part = inference.enter(occurrence, form.parts[0], element, edge, "element")
    inference.gives(occurrence, sequence_of(part.output, end, Cause(occurrence)))
    yield occurrence.input, as_sequence(inference, occurrence, occurrence.input, element)
    inference.solver.unify(end, spread(inference, occurrence.input, element, edge))


def zip_(inference: Inference, occurrence: Occurrence, form: AnyBlock) -> Rule:
    yield occurrence.input
    v = find(occurrence.input)
    if v.con is INPUT:
        inference.gives(occurrence, sequence_of(Variable(INPUT, cause=v.cause), cause=Cause(occurrence)))
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
    elements: list[Variable] = [Variable() for _ in columns]

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
    rows = sequence_of(tuple_of(elements), Variable(ENDLESS if endless else FINITE), Cause(occurrence))
    inference.gives(occurrence, rows)


def broadcast(inference: Inference, occurrence: Occurrence, form: AnyBlock) -> None:
    inference.gives(occurrence, sequence_of(occurrence.input, Variable(ENDLESS), Cause(occurrence)))


# Folds


def reduce(inference: Inference, reduce: Occurrence, form: AnyBlock) -> None:
    combine, default = form.parts
    inference.solver.run(_elements(inference, reduce, reduce.input, reduce.output), reduce)
    neighbours = tuple_of([reduce.output, reduce.output])
    combined = inference.enter(reduce, combine, neighbours, Edge(reduce, 0, _explain_neighbours), "combine")
    edge = Edge(reduce, 1, _explain_default_input)
    defaulted = inference.enter(reduce, default, Variable(VOID), edge, "default")
    inference.solver.join(combined.output, reduce.output, Edge(reduce, 0, _explain_reduced))
    inference.solver.join(defaulted.output, reduce.output, Edge(reduce, 1, _explain_reduced))


def loop(inference: Inference, loop: Occurrence, form: Loop[Any, Any]) -> None:
    solver = inference.solver
    element, state, output = Variable(), loop.output if form.folds else Variable(), Variable()
    if not form.folds:
        inference.gives(loop, tuple_of([sequence_of(output, cause=Cause(loop)), state], cause=Cause(loop)))
    container, first, edge = loop.input, Variable(VOID), Edge(loop, 1, _explain_start_input)
    if form.initial_state_from_input:
        container, first = Variable(), Variable()
        inference.solver.run(_container_and_start(inference, loop, container, first), loop)
    inference.solver.run(_elements(inference, loop, container, element), loop)
    explain_pair = _explain_fold_pair if form.folds else _explain_pair
    pair = tuple_of([state, element] if form.folds else [element, state])
    step = inference.enter(loop, form.parts[0], pair, Edge(loop, 0, explain_pair), form.cell_word)
    start = inference.enter(loop, form.parts[1], first, edge, "initial_state")
    solver.join(start.output, state, Edge(loop, 1, _explain_state))
    result = state if form.by_state else tuple_of([output, state])
    solver.join(step.output, result, Edge(loop, 0, _explain_state))
    if form.by_state and not form.folds:
        inference.solver.run(_output(inference, state, output), loop)


def _container_and_start(
    inference: Inference, fold: Occurrence, container: Variable, start: Variable
) -> Rule:
    """`initial_state_from_input`: the input is the pair of a sequence and an initial state."""
    yield fold.input
    takes = "with initial_state_from_input it takes the pair of a sequence and an initial state"
    again = f"ar.{fold.form.kind}(..., initial_state_from_input=True)"
    hint = f"put them side by side first: (sequence & state) >> {again}"
    for part, item in zip((container, start), items(fold.input, 2, takes, hint), strict=True):
        inference.solver.unify(part, item)


def _elements(inference: Inference, fold: Occurrence, container: Variable, element: Variable) -> Rule:
    """`Loop` and `Reduce`: passes the elements of the container to the step."""
    endless = (
        f"an endless sequence has no last element, so {fold.form.kind} would never end",
        "zip it with a sequence, and go over the result",
    )
    return until_end(inference, container, element, Edge(fold, 0, explain_element), endless=endless)


def _output(inference: Inference, state: Variable, output: Variable) -> Rule:
    """`RNN`: the output is the state, or the first item of a state that is a tuple."""
    yield state
    inference.solver.unify(output, next(iter(items_of(state)), state))


_explain_pair = passes(
    "cannot give (element, state) to {part}, the {role} of {owner}",
    "(element, state)",
    "the {role} of {a} takes a pair: the next element, and the state so far",
)
_explain_fold_pair = passes(
    "cannot give (state, element) to {part}, the {role} of {owner}",
    "(state, element)",
    "the {role} of {a} takes a pair: the state so far, and the next element",
)
_explain_start_input = passes(
    "cannot start {owner} from {part}",
    "initial state of {a}",
    "the initial state of {a} gets no input: use ar.Zeros(type) or ar.Constant(value)",
)
_explain_neighbours = passes(
    "cannot give (element, element) to {part}, the combine of {owner}",
    "(element, element)",
    "the combine of a Reduce takes a pair of elements: two neighbours",
)
_explain_default_input = passes(
    "cannot use {part} as the default of {owner}",
    "without elements",
    "the default of a Reduce gets no input: use ar.Zeros(type) or ar.Constant(value)",
)


def _explain_reduced(edge: Edge, clash: Clash) -> ArrowTypeError:
    """Explains why the result of the combining block or of the default cannot be that of the `Reduce`."""
    reduce, last = edge.owner, last_of(edge.part)
    return meet(
        f"cannot reduce with {name_of(last)}",
        None,
        last,
        reduce.output,
        edge.part.output,
        reduce,
        results=True,
        left_name="an element",
        left_site=reduce.form.site,
        hint="the default of a Reduce must have the type of its elements"
        if edge.index
        else "a Reduce gives the type of its elements; use a Fold to get another type",
    )


def _explain_state(edge: Edge, clash: Clash) -> ArrowTypeError:
    """Explains why the result of the initial state or of the step cannot be the state of a `Loop`."""
    form, (step, start) = edge.owner.form, edge.owner.parts
    assert isinstance(form, Loop)
    first, result, last = find(start.output), find(step.output), last_of(step)
    if not form.folds and not form.by_state and result.con is not None:
        items = items_of(result)
        if len(items) != 2:
            return problem(
                f"cannot scan with {name_of(last)}",
                step,
                f"the step of a Scan must give a pair, an output and the next state, not {notation(result)}",
                "for a cell that gives its state alone use ar.RNN(cell)",
                side_of(last),
            )
        result = items[1]
    if first.con is None or result.con is None:
        first, result = clash.left, clash.right
    given = "zeros of its state" if isinstance(start.form, InferredZeros) else ""
    given = "item 1 of its input" if form.initial_state_from_input else given
    return meet(
        f"cannot {'fold' if form.folds else 'scan'} with {name_of(last)} from "
        + (given or name_of(last_of(start))),
        None if given else last_of(start),
        last,
        first,
        result,
        edge.owner,
        results=True,
        left_name=given,
        left_site=form.site,
        hint="the initial state and every step must be of the same type",
    )
