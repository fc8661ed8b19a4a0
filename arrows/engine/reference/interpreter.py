"""The walk of a typed expression over one example, and what each core form means there.

A meaning says in which order the parts run, what they hand on, and how they fail.  What a tensor *is* is left
to a `Semantics`: the reference computes arrays, a program on the fly records calls.  The walk remembers what
has run, says where an example does not fit, and always ends.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import count, repeat
from typing import Any, NoReturn, Protocol, TypeAlias

from arrows import combinators as core
from arrows.combinators import (
    Apply,
    Choice,
    Graph,
    InferredZeros,
    Item,
    Loop,
    NoItem,
    Nth,
    Read,
    Source,
    Unfit,
    Zip,
    core_form,
    take,
    take_of,
    take_or_default,
    without_zero,
)
from arrows.engine.values import (
    OPTIONAL,
    ExamplePath,
    IteratorReplay,
    LeafError,
    Recursion,
    describe,
    describe_error,
    describe_key,
    each,
    explain_no_element,
    explain_no_item,
    hint_for_item,
    is_of_users,
    nth,
    trampoline,
)
from arrows.inference import Knot, Typed
from arrows.ops import IndexOutOfRange, ShapeError
from arrows.typesys import ArrowValueError, InputError, input_message, types as T


class Semantics(Protocol):
    """What a tensor is, in one walk; side outputs are ignored unless a class takes them in.

    Values of the walk: a `Tensor` is whatever the methods give; a `Tuple` is a tuple, a `Sequence` a list,
    `Void` None, an `Input` the Python object, an endless sequence an `Endless`.
    """

    def constant(self, typed: Typed) -> Any:
        """The value of a `Constant` (of `typed.output`)."""

    def read(self, typed: Typed, leaf: object) -> Any:
        """The tensor that a `Read` makes of a Python object; raises `LeafError` if it does not fit."""

    def apply(self, typed: Typed, value: Any) -> Any:
        """What an `Apply` computes of a value of `typed.input`: a value of `typed.output`."""

    def collect(self, typed: Typed, value: Any) -> None:
        """Takes in a side output."""
        return


@dataclass(eq=False, repr=False, slots=True)
class Endless:
    """An endless sequence: one element, again and again.

    >>> Endless(3)
    Endless(3)
    """

    element: Any

    def __repr__(self) -> str:
        return f"Endless({self.element!r})"


MAX_NODES = 10**7
# An endless recursion must end before memory does: a level of recursion holds a few generators, some 2 KB.
_LEVELS = 500_000

Located: TypeAlias = tuple[Any, ExamplePath]
"""A value of the walk, and the place in the example that it was taken from."""


def most_levels(max_nodes: int) -> int:
    """How deep calls of recursive blocks may nest, if there may be `max_nodes` of them: one rule for
    everything that walks over an example.

    >>> most_levels(1000), most_levels(10**7), most_levels(10**8)
    (1000, 500000, 5000000)
    """
    return min(max_nodes, max(_LEVELS, max_nodes // 20))


def too_many(most: int, unit: str = "nodes") -> str:
    """The reason why an example with more nodes is refused."""
    return f"endless: more than {most:,} {unit}; raise max_nodes if it is meant"


class Walk:
    """One walk over one example.  It keeps its own stack, so expressions and data may be as deep as memory
    allows.

    Args:
        semantics: what tensors are.
        number: the example's place in its batch, for messages.
        max_nodes: as in `interpret`.

    Attributes:
        active: the calls of recursive blocks that have begun and not ended: knot, input, and its place.
        check_at: the number of active calls at which the walk next looks for a cycle.
        repeated: the results, by identity of the occurrence, of occurrences that stand at several places.
            What runs again (an element, a call) has results of its own.
        shared_results: for each `Shared`, type and object, the object and the result; None while it runs.
        case_numbers: by identity of a `Choice`, the number of the case of each key.
    """

    def __init__(
        self,
        semantics: Semantics,
        number: int | None,
        max_nodes: int,
    ) -> None:
        self.semantics = semantics
        self.number = number
        self.max_nodes = max_nodes
        self.max_levels = most_levels(max_nodes)
        self.nodes = 0
        self.calls = 0
        self.active: list[tuple[Knot, Any, ExamplePath]] = []
        self.check_at = 2
        self.repeated: dict[int, Located] = {}
        self.shared_results: dict[tuple[int, T.Type, int], tuple[object, Located | None]] = {}
        self.case_numbers: dict[int, dict[Hashable, int]] = {}
        self.replay = IteratorReplay()

    def visit(self, typed: Typed, value: Any, path: ExamplePath) -> Located | Recursion[Located]:
        """What an occurrence gives for a value at `path`; ask for it by `yield walk.visit(...)`."""
        if typed.places == 1:
            return _meaning(typed)(self, typed, value, path)
        if id(typed) in self.repeated:
            return self.repeated[id(typed)]
        return self._visit_first(typed, value, path)

    def _visit_first(self, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
        result: Located = yield _meaning(typed)(self, typed, value, path)
        self.repeated[id(typed)] = result
        return result

    def count_node(self, typed: Typed) -> None:
        self.nodes += 1
        if self.nodes > self.max_nodes:
            self._endless(typed, self.max_nodes, "nodes")

    def count_call(self, typed: Typed) -> None:
        """Counts a call of a recursive block that has just been put on `active`."""
        self.calls += 1
        if self.calls > self.max_nodes:
            self._endless(typed, self.max_nodes, "calls of recursive blocks")
        if len(self.active) > self.max_levels:
            self._endless(typed, self.max_levels, "levels of recursion")

    def elements(
        self, typed: Typed, type: T.Type, value: Any, path: ExamplePath, *, whole: bool = True
    ) -> Iterator[Any]:
        """Goes over the elements of a sequence of the walk, or of any object that can be iterated.

        `whole` says that all elements will be asked for, so that too many can be refused before the first.
        """
        if not isinstance(type, T.Input):
            yield from value
            return
        if whole and _length(value) > self.max_nodes:
            self._too_long(typed, path)
        try:
            elements = self.replay(value)
        except Exception as error:  # noqa: BLE001 (an object's own __iter__ may raise anything)
            hint = OPTIONAL if value is None else ""
            self.fail(typed, path, f"expected a sequence, got {describe(value)}", error, hint)
        for number in count():
            try:
                element = next(elements)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001 (the user's own iterator)
                self.fail(typed, path, describe_error(error), error)
            if number >= self.max_nodes:
                self._too_long(typed, path)
            yield element

    def fail(
        self, typed: Typed, path: ExamplePath, reason: str, cause: BaseException | None, hint: str = ""
    ) -> NoReturn:
        """Raises the `InputError`: what does not fit, where in the example, and which block wanted it.

        A traceback shows the cause too where code of the user raised it: it says at which line.
        """
        form = typed.form
        short = not form.parts or form.name is not None  # the label of what has parts prints them all
        block = form.label if short else form.kind
        text = input_message(self.number, str(path), reason, block, form.site, hint)
        raise InputError(text) from (cause if is_of_users(cause) else None)

    def _too_long(self, typed: Typed, path: ExamplePath) -> NoReturn:
        self.fail(typed, path, too_many(self.max_nodes, "elements"), None)

    def _endless(self, typed: Typed, most: int, unit: str) -> NoReturn:
        path = self.active[-1][2] if self.active else ExamplePath()
        self.fail(typed, path, too_many(most, unit), None)


Meaning: TypeAlias = Callable[[Walk, Typed, Any, ExamplePath], Located | Recursion[Located]]
"""What a core form gives for a value that stands at a place: at once, or after visits that it yields."""


def _length(value: Any) -> int:
    """How many elements an object says that it has; 0 if it does not say."""
    try:
        return len(value)
    except Exception:  # noqa: BLE001 (an object's own __len__ may raise anything; to iterate over it tells)
        return 0


# Which blocks run, and on what


def pipe(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    for part in typed.parts:
        value, path = yield walk.visit(part, value, path)
    return value, path


def fan(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    return _together((yield each(walk.visit(part, value, path) for part in typed.parts)), path)


def graph(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    form = typed.form
    assert isinstance(form, Graph)
    wires: list[Located] = [(value, path)]
    for node, part in zip(form.nodes, typed.parts, strict=True):
        wires.append((yield walk.visit(part, *(yield _read(node.source, wires, path)))))
    result: Located = yield _read(form.result, wires, path)
    return result


def _read(source: Source, wires: list[Located], path: ExamplePath) -> Recursion[Located]:
    """The value of a source: that of a wire, or a tuple of sources' values."""
    if isinstance(source, int):
        return wires[source]
    return _together((yield each(_read(item, wires, path) for item in source)), path)


def _together(items: list[Located], path: ExamplePath) -> Located:
    """A tuple put together at `path` from values that stand below it."""
    return tuple(item for item, _ in items), path.joined(tuple(place for _, place in items))


def choice(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    form = typed.form
    assert isinstance(form, Choice)
    cases = list(typed.parts)
    if form.key is None:
        selector = cases.pop(0)
        key, _ = yield walk.visit(selector, value, path)
    else:
        try:
            key = form.key(value)
        except Exception as error:  # noqa: BLE001 (user code: all is reported with its place)
            raised = f"the key function raised {describe_error(error)}"
            walk.fail(typed, path, str(error) if isinstance(error, Unfit) else raised, error)
    numbers = walk.case_numbers.get(id(form))
    if numbers is None:
        numbers = walk.case_numbers[id(form)] = {key: i for i, key in enumerate(form.keys)}
    try:
        case = cases[numbers[key]]
    except Exception as error:  # noqa: BLE001 (a key's own __hash__ or __eq__ may raise anything)
        keys = ", ".join(map(describe_key, form.keys[:8])) + (", ..." if len(form.keys) > 8 else "")
        walk.fail(typed, path, f"there is no case for the key {describe_key(key)}; there are {keys}", error)
    result: Located = yield walk.visit(case, value, path)
    return result


def call(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    knot = typed.knot
    assert knot is not None
    if knot.fix is typed and knot.outer:
        path = path.named(knot.name)
    walk.active.append((knot, value, path))
    walk.count_call(typed)
    if len(walk.active) >= walk.check_at:
        _find_cycle(walk, typed)
        walk.check_at *= 2  # so that all checks together cost no more than the last one
    outer, walk.repeated = walk.repeated, {}
    result: Located = yield walk.visit(knot.body, value, path)
    walk.repeated = outer
    walk.active.pop()
    return result


def _find_cycle(walk: Walk, typed: Typed) -> None:
    """A knot entered again on the very objects that it is busy with never ends, for functions are pure."""
    seen: dict[tuple[int, tuple[int, ...]], ExamplePath] = {}
    for knot, value, path in walk.active:
        key = (id(knot), _identity(knot.input, value))
        if key in seen:
            first = str(seen[key]) or "the root"
            walk.fail(typed, path, f"endless: the recursion is back at the value of {first}", None)
        seen[key] = path


def _identity(type: T.Type, value: Any) -> tuple[int, ...]:
    """What can steer a recursion: the objects in a value and the lengths of its sequences; no tensor can."""
    numbers = []
    todo = [(type, value)]
    while todo:
        type, value = todo.pop()
        if isinstance(type, T.Input):
            numbers.append(id(value))
        elif isinstance(type, T.Tuple):
            todo.extend(zip(type.items, value, strict=True))
        elif isinstance(type, T.Sequence):
            numbers.append(len(value))
            todo.extend((type.element, element) for element in value)
    return tuple(numbers)


def shared(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    (part,) = typed.parts
    # By block, not by place: a block that stands in two places is one memo, if it has one type in both.
    key = (id(typed.form), typed.output, id(value))
    if key not in walk.shared_results:
        # The object is kept, so that no other object gets its identity meanwhile.
        walk.shared_results[key] = (value, None)
        outer, walk.repeated = walk.repeated, {}
        result: Located = yield walk.visit(part, value, path)
        walk.repeated = outer
        walk.shared_results[key] = (value, result)
        return result
    _, finished = walk.shared_results[key]
    if finished is None:
        walk.fail(typed, path, "the data is cyclic: this object contains itself", None)
    return finished


# What goes over a sequence, or picks from it


def map_elements(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    (part,) = typed.parts
    if isinstance(value, Endless):
        element, _ = yield walk.visit(part, value.element, path)
        return Endless(element), path
    results, outer = [], walk.repeated
    for i, element in enumerate(walk.elements(typed, typed.input, value, path)):
        walk.repeated = {}
        result, _ = yield walk.visit(part, element, path.child(i))
        results.append(result)
    walk.repeated = outer
    return results, path


def zip_columns(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    if isinstance(typed.input, T.Input):
        columns = [
            walk.elements(typed, T.Input(), column, path.child(i), whole=False)
            for i, column in enumerate(walk.elements(typed, typed.input, value, path))
        ]
        return _rows(walk, typed, columns, path), ExamplePath(path.parent, path.step)
    assert isinstance(typed.input, T.Tuple)
    places = tuple((path.child(i), not isinstance(x, Endless)) for i, x in enumerate(value))
    here = ExamplePath(path.parent, path.step, columns=places)
    if all(isinstance(column, Endless) for column in value):
        return Endless(tuple(column.element for column in value)), here
    columns = [
        repeat(column.element)
        if isinstance(column, Endless)
        else walk.elements(typed, type, column, path.child(i), whole=False)
        for i, (type, column) in enumerate(zip(typed.input.items, value, strict=True))
    ]
    return _rows(walk, typed, columns, path), here


def _rows(walk: Walk, typed: Typed, columns: list[Iterator[Any]], path: ExamplePath) -> list[tuple[Any, ...]]:
    """The rows of columns, which end with the shortest, unless they must be of one length."""
    assert isinstance(typed.form, Zip)
    if not typed.form.strict:
        return list(zip(*columns, strict=False))
    rows: list[tuple[Any, ...]] = []
    finite = [i for i, column in enumerate(columns) if not isinstance(column, repeat)]
    while True:
        row = [next(column, _END) for column in columns]
        over = [i for i in finite if row[i] is _END]
        if len(over) == len(finite):
            return rows
        if over:
            first, second = over[0], next(i for i in finite if i not in over)
            names = typed.input.labels if isinstance(typed.input, T.Tuple) else None
            a, b = (f"item {i if names is None else repr(names[i])}" for i in (first, second))
            count = f"{len(rows)} element{'s' * (len(rows) != 1)}"
            reason = f"the sequences have different lengths: {a} has {count}, and {b} more"
            walk.fail(typed, path, reason, None, typed.form.uneven)
        rows.append(tuple(row))


_END = object()


def broadcast(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Located:
    return Endless(value), path


def reduce(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Recursion[Located]:
    """A balanced tree of pairs, level by level; an odd last element waits for the next level."""
    combine, default = typed.parts
    elements = walk.elements(typed, typed.input, value, path)
    level: list[Located] = [(element, path.child(i)) for i, element in enumerate(elements)]
    if not level:
        if isinstance(default.form, InferredZeros) and without_zero(typed.output) is not None:
            zero = f"no zero of {typed.output} to give instead"
            walk.fail(typed, path, f"there are no elements to reduce, and {zero}", None)
        result: Located = yield walk.visit(default, None, path)
        return result
    outer = walk.repeated
    while len(level) > 1:
        above: list[Located] = []
        for (left, left_path), (right, right_path) in zip(level[::2], level[1::2], strict=False):
            walk.repeated = {}
            above.append((yield walk.visit(combine, (left, right), path.joined((left_path, right_path)))))
        level = above + level[len(level) // 2 * 2 :]
    walk.repeated = outer
    return level[0]


def loop(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
    form = typed.form
    assert isinstance(form, Loop)
    step, start = typed.parts
    container, first, first_path = typed.input, None, path
    if form.initial_state_from_input:
        assert isinstance(container, T.Tuple)
        container, (value, first) = container.items[0], value
        path, first_path = path.child(0), path.child(1)
    state, state_path = yield walk.visit(start, first, first_path)
    elements = list(enumerate(walk.elements(typed, container, value, path)))
    outputs, outer, turn = [], walk.repeated, -1 if form.folds else 1
    for i, element in reversed(elements) if form.reverse else elements:
        walk.repeated = {}
        below = path.child(i)
        pair, paths = (element, state)[::turn], (below, state_path)[::turn]
        result, state_path = yield walk.visit(step, pair, below.joined(paths))
        if form.by_state:
            output, state = result[0] if isinstance(start.output, T.Tuple) else result, result
        else:
            output, state = result
            state_path = state_path.items[1] if state_path.items is not None else state_path
        outputs.append(output)
    walk.repeated = outer
    if form.folds:
        return state, path
    return (outputs[::-1] if form.reverse else outputs, state), path.joined((path, path))


def item(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    form = typed.form
    assert isinstance(form, Item)
    key = form.key
    if isinstance(typed.input, T.Broadcast):  # all elements of an endless sequence are the same
        return value, path
    if isinstance(typed.input, T.Tuple):
        if isinstance(key, slice):
            return value[key], path if path.items is None else path.joined(path.items[key])
        place = form.place(typed.input)
        assert place is not None
        return value[place], path.child(key if path.items is None else place)
    try:
        if form.default is not NoItem.ERROR:
            return take_or_default(value, key, form.default), path.child(key)
        if form.arity is None:
            return take(value, key), path.child(key)
        taken = take_of(value, key, form.arity)
        return (tuple(taken), path) if isinstance(key, slice) else (taken, path.child(key))
    except Unfit as error:
        walk.fail(typed, path, str(error), error)
    except Exception as error:  # noqa: BLE001 (an object's own __getitem__ may raise anything)
        walk.fail(typed, path, explain_no_item(value, key, error), error, hint_for_item(value, key))


def nth_element(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    try:
        elements, place = value[0], value[1]
    except Exception as error:  # noqa: BLE001 (an object's own __getitem__ may raise anything)
        walk.fail(typed, path, f"expected the pair of a sequence and a place, got {describe(value)}", error)
    assert isinstance(typed.form, Nth)
    try:
        return nth(elements, place, typed.form.from_end), path.child(0).child(place)
    except Exception as error:  # noqa: BLE001 (as above)
        where = path.child(0 if typed.form.from_end else 1)
        walk.fail(typed, where, explain_no_element(elements, place, error), error)


def group_by(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    assert isinstance(typed.input, T.Tuple)
    elements, places, groups = (
        list(walk.elements(typed, type, part, path.child(i)))
        for i, (type, part) in enumerate(zip(typed.input.items, value, strict=True))
    )
    if len(elements) != len(places):
        walk.fail(typed, path, f"there are {len(elements)} elements, and {len(places)} places", None)
    result: list[list[Any]] = [[] for _ in groups]
    for i, (element, place) in enumerate(zip(elements, places, strict=True)):
        try:
            nth(result, place, False).append(element)
        except Exception as error:  # noqa: BLE001 (an object's own __index__ may raise anything)
            walk.fail(typed, path.child(1).child(i), explain_no_element(groups, place, error), error)
    return result, ExamplePath(path.parent, path.step)


# What runs on tensors


def apply(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    walk.count_node(typed)
    form = typed.form
    assert isinstance(form, Apply)
    if form.no_elements and isinstance(typed.input, T.Sequence) and not value:
        walk.fail(typed, path, form.no_elements, None)
    try:
        return walk.semantics.apply(typed, value), path
    except ArrowValueError:  # a parameter or a kernel is wrong, not the example
        raise
    except (ArithmeticError, LookupError, ShapeError, ValueError) as error:
        reason, hint = describe_error(error), ""
        if isinstance(error, IndexOutOfRange):
            reason, hint = out_of_range(typed, error)
        walk.fail(typed, path, reason, None, hint)


def out_of_range(typed: Typed, error: IndexOutOfRange) -> tuple[str, str]:
    """Makes the reason and the hint for an index that is out of range, of a layer inside too."""
    form, trace = typed.form, typed.trace
    assert isinstance(form, Apply) and trace is not None
    tables = {id(owner): owner for owner, spec, _ in trace.parameters if spec.shape[:1] == (error.size,)}
    layers = [owner for owner in tables.values() if isinstance(owner, Apply)]
    if len(layers) != 1 or layers[0] is form:
        return form.out_of_range(error)
    reason, hint = layers[0].out_of_range(error)
    return f"{layers[0].label} ({layers[0].site}): {reason}", hint


def constant(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Located:
    if typed.trace is not None:
        walk.count_node(typed)
    return walk.semantics.constant(typed), path


def read(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Located:
    form, result = typed.form, value
    assert isinstance(form, Read)
    if form.function is not None:
        try:
            result = form.function(value)
        except Unfit as error:
            walk.fail(typed, path, str(error), error)
        except Exception as error:  # noqa: BLE001 (user code: all is reported with its place)
            no_length = f"expected something with a length, got {describe(value)}"
            walk.fail(typed, path, no_length if form.counts else describe_error(error), error)
    if isinstance(typed.output, T.Input):
        return result, path
    walk.count_node(typed)
    try:
        return walk.semantics.read(typed, result), path
    except LeafError as error:
        if form.counts:
            walk.fail(typed, path, f"the length {error}", error)
        walk.fail(typed, path, str(error), error, error.hint)


def side_output(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    walk.count_node(typed)
    walk.semantics.collect(typed, value)
    return None if isinstance(typed.output, T.Void) else value, path


# The table

MEANINGS: dict[type[core.AnyBlock], Meaning] = {
    core.Pipe: pipe,
    core.Fan: fan,
    core.Graph: graph,
    core.Choice: choice,
    core.Reference: call,
    core.Map: map_elements,
    core.Zip: zip_columns,
    core.Broadcast: broadcast,
    core.Loop: loop,
    core.Reduce: reduce,
    core.Item: item,
    core.Nth: nth_element,
    core.GroupBy: group_by,
    core.Apply: apply,
    core.Constant: constant,
    core.Read: read,
    core.SideOutput: side_output,
    core.Shared: shared,
}
"""For each core form, what it gives for a value."""


def _meaning(typed: Typed) -> Meaning:
    return MEANINGS.get(type(typed.form)) or MEANINGS[core_form(typed.form)]


def interpret(
    typed: Typed,
    example: object,
    semantics: Semantics,
    number: int | None = None,
    max_nodes: int = MAX_NODES,
) -> Any:
    """Walks a typed expression over one example.

    Args:
        typed: the expression.
        example: a value of `typed.input`.
        semantics: what tensors are; it says what values of the walk, such as the result, look like.
        number: the example's place in its batch, for messages.
        max_nodes: how many blocks may run on tensors, or how many calls of recursive blocks there may be,
            before the walk counts as endless.

    Raises:
        InputError: the example does not fit, a user's function failed on it (its error is chained), or there
            is no end to it.
    """
    result = Walk(semantics, number, max_nodes).visit(typed, example, ExamplePath())
    value, _ = result if isinstance(result, tuple) else trampoline(result)
    return value
