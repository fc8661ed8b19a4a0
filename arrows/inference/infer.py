"""Inference: from a block to its typed tree.

Three passes, none of which recurses. The first walks the expression and starts, for every occurrence of a
block, the rule of its form, which says how the types of its input, its parts and its result belong together.
The variable of a part's input is that of the value that it reads, so an edge needs no equation. The second
pass settles what the rules left open (`typesys.unify`): types flow both ways, and a function is traced as
soon as its input has no open part. The third builds the typed tree.

An occurrence is a block on a value. If the same block object stands at several places and reads the same
value there, it is one occurrence, unless it has an effect: a `Metric`, a `Tap`, a random operation. Each case
of a choice, each element and each body of a recursion has values of its own.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import partial

from arrows.combinators import AnyBlock, Token, as_block, core_form
from arrows.inference.elements import check_keys
from arrows.inference.messages import contradiction, failure, still_open, too_large
from arrows.inference.rules import CHECKS, RULES, check_parameters
from arrows.inference.typed import (
    ASSUMED,
    Edge,
    Occurrence,
    Path,
    Traces,
    Typed,
    blocks_with,
    build_typed,
    outermost_first,
)
from arrows.typesys import (
    FORWARD,
    INPUT,
    INPUT_OBJECT,
    MAX_PARTS,
    OBJECT,
    REST,
    ArrowTypeError,
    ArrowValueError,
    Cause,
    Clash,
    Rule,
    Solver,
    Variable,
    find,
    gc_paused,
    inside,
    of_type,
    tuple_of,
    types as T,
)

# At most so many occurrences in an expression: their inference takes seconds and a gigabyte.
_MOST_OCCURRENCES = 500_000


def infer(block: object, input_type: object = None, *, float_type: str | None = None) -> Typed:
    """Finds the types of a block, and of everything inside it.

    Nothing is computed: functions are traced on shapes, and no array is made.

    Args:
        block: a block, or what stands for one.
        input_type: the type of the input, or a short-hand for one, if it is to be assumed; a root input that
            stays open is `Input`.
        float_type: every floating element type of the block becomes this one.

    Returns:
        The typed tree; `str` of it prints the expression as a tree with types.

    Raises:
        ArrowTypeError: the block is ill-typed, or something stays open; the text says where and why.

    Source: Damas and Milner, "Principal type-schemes for functional programs" (1982), without generalisation:
    every occurrence of a block is typed by itself, and recursion is monomorphic.

    Example:
        >>> import arrows as ar
        >>> ar.infer(ar.Map(ar.Scalar()) >> ar.Sum()).output
        float32
    """
    root = as_block(block, "the block to infer")
    assumed = None if input_type is None else T.as_type(input_type)
    with gc_paused():
        inference = Inference(root, float_type)
        typed = inference.infer(assumed)
        traced = ((id(x.form), x.trace) for x in inference.occurrences if inference.repeats and x.trace)
        random = {form for form, trace in traced if trace.dropout_key is not None}  # they draw numbers
        if not random:
            return typed
        # Each place of a random block draws numbers of its own, so it has an occurrence of its own.
        return Inference(root, float_type, random, inference.traces).infer(assumed)


def _path(parent: Occurrence | None, form: AnyBlock, word: str) -> Path:
    if form.name is not None and form.parts:
        word = f"{word} > {form.name}" if word else form.name
    return Path(parent.path if parent is not None else None, word)


class Inference:
    """The state of one inference.

    Args:
        root: the block.
        float_type: see `infer`.
        apart: identities of blocks that get an occurrence at each place, besides those with an effect.
        traces: the traces of an earlier run.

    Attributes:
        occurrences: all occurrences, each before its parts.
        repeats: whether any occurrence stands at several places.
        knots: for the token of each recursive block that is open, in the order in which the walk entered it,
            its place in this order and its occurrence.
        recursions: the recursive blocks around the place of the walk, from the outside in: each with its
            place among the knots, and with that of the first knot that its inside refers to.
        todo: the occurrences to walk; None where the walk leaves a recursive block.
        inner: the identities of knots that nothing outside of their component enters.
        containers: for the variable of each container, those of the elements that a form reads of it.
        side_outputs: for each side output, whether it passes and its key: its type and its first occurrence.
        keyed: for the identity of the labels of a tuple and their number, a tuple type with these labels.
    """

    def __init__(
        self,
        root: AnyBlock,
        float_type: str | None,
        apart: AbstractSet[int] = frozenset(),
        traces: Traces | None = None,
    ) -> None:
        self.root = root
        self.float_type = float_type
        self.apart = apart
        self.repeats = False
        self.solver = Solver()
        self.occurrences: list[Occurrence] = []
        self.todo: list[Occurrence | None] = []
        self.knots: dict[int, tuple[int, Occurrence]] = {}
        self.recursions: list[tuple[Occurrence, int, int]] = []
        self.inner: set[int] = set()
        self.traces = traces or Traces(float_type)
        self.containers: list[tuple[Variable, Variable]] = []
        self.side_outputs: dict[tuple[bool, str], tuple[T.Type, Occurrence]] = {}
        self.keyed: dict[tuple[int, int], T.Tuple] = {}
        self._by_value: dict[tuple[int, int], Occurrence] = {}  # by block and by the value that it reads
        self._tuples: dict[tuple[int, ...], Variable] = {}
        self._effects: set[int] | None = None

    def infer(self, input: T.Type | None) -> Typed:
        """Runs the three passes and returns the typed tree; see the function `infer`."""
        self._build(input)
        self._solve(self.occurrences[0], input_assumed=input is not None)
        return self._finish()

    # First pass

    def _build(self, input: T.Type | None) -> None:
        """Makes the occurrences of the expression and starts their rules."""
        todo = self.todo
        root = Occurrence(self.root, Variable(), Variable(), _path(None, self.root, ""))
        todo.append(root)
        if input is not None:
            assumed = self.floats(input)
            root.input = of_type(assumed, Cause(None, says=assumed))
        while todo:
            occurrence = todo.pop()
            if occurrence is None:  # here the walk leaves the recursive block that it entered last
                self._leave_recursion()
                continue
            if occurrence.entered:
                continue
            occurrence.entered = True
            self.occurrences.append(occurrence)
            if len(self.occurrences) > _MOST_OCCURRENCES:
                raise too_large(occurrence, f"{_MOST_OCCURRENCES:,} places")
            mark = len(todo)
            try:
                rule = RULES[core_form(occurrence.form)](self, occurrence, occurrence.form)
            except (ArrowTypeError, ArrowValueError) as error:
                self.solver.failures.append((occurrence, error))
            else:
                if rule is not None:
                    self.solver.run(rule, occurrence)
            # A form enters its parts in order, and the worklist pops the last first.
            todo[mark:] = todo[mark:][::-1]
        if self.repeats:
            self.occurrences = outermost_first(root)

    def enter(
        self,
        parent: Occurrence,
        form: AnyBlock,
        input: Variable,
        edge: Edge | None,
        word: str,
        output: Variable | None = None,
    ) -> Occurrence:
        """Adds the part `form` to `parent`; reuses the occurrence of the same block on the same value.

        `input` is the type of the value that it reads, which comes over `edge`; without one it is the input
        of `parent`. `output` is the type of its result, where a variable of it is there already.
        """
        key = id(form), id(input)
        part = self._by_value.get(key)
        if part is None or self._stands_alone(form):
            path = _path(parent, form, word)
            part = Occurrence(form, input, output or Variable(), path, parent, edge or parent.edge)
            self._by_value[key] = part
        else:
            self.repeats = True
            part.places += 1
            if output is not None:
                self.solver.unify(part.output, output)
            if not part.entered:  # the worklist has it for a later place
                part.path = _path(parent, form, word)
                part.outer, part.edge = parent, edge or parent.edge
        parent.parts.append(part)
        self.todo.append(part)
        return part

    # What rules say

    def gives(self, occurrence: Occurrence, own: T.Type | Variable, reads: bool = False) -> None:
        """Says of which type the result of an occurrence is, or what it `reads`."""
        if isinstance(own, T.Type):
            own = of_type(own, Cause(occurrence, reads, own))
        try:
            self.solver.unify(occurrence.input if reads else occurrence.output, own)
        except Clash as clash:
            self.solver.failures.append(contradiction(occurrence, own, reads, clash))

    def reads_object(self, v: Variable, occurrence: Occurrence, edge: Edge | None) -> None:
        """Says that an occurrence reads `v` as a Python object, which comes over `edge`."""
        if find(v).con is not INPUT:
            rule = self.solver.be_object(v, Cause(occurrence, reads=True, says=INPUT))
            self.solver.run(rule, edge or occurrence)

    def tuple_of(self, items: list[Variable]) -> Variable:
        """Returns the tuple of some values: the same variable for the same values."""
        key = tuple(map(id, items))
        if key not in self._tuples:
            self._tuples[key] = tuple_of(items)
        return self._tuples[key]

    def _stands_alone(self, form: AnyBlock) -> bool:
        """Whether a block gets an occurrence of its own at each place."""
        if self._effects is None:  # computed late: most expressions repeat no block, and never need it
            self._effects = blocks_with(self.root, lambda block: block.effect or id(block) in self.apart)
        return id(form) in self._effects

    # Knots whose definitions refer to one another are a strongly connected component. All stay open until
    # the walk leaves the first of them, so that it enters no definition twice (Tarjan 1972).

    def open_knot(self, token: Token) -> Occurrence | None:
        """The occurrence at which a recursion began that refers to itself here; None if it begins here."""
        if id(token) not in self.knots:
            return None
        place, knot = self.knots[id(token)]
        around, own, first = self.recursions[-1]
        self.recursions[-1] = around, own, min(first, place)
        return knot

    def enter_recursion(self, token: Token, knot: Occurrence) -> None:
        """Opens a knot; the walk leaves it when it has been through what stands inside."""
        place = len(self.knots)
        self.knots[id(token)] = place, knot
        self.recursions.append((knot, place, place))
        self.todo.append(None)

    def _leave_recursion(self) -> None:
        knot, place, first = self.recursions.pop()
        if first < place:
            self.inner.add(id(knot))
            around, own, before = self.recursions[-1]
            self.recursions[-1] = around, own, min(before, first)
        else:
            while len(self.knots) > place:
                self.knots.popitem()

    def floats(self, t: T.Type) -> T.Type:
        """Replaces the floating element types of a type by `float_type`, if that is given."""
        return t if self.float_type is None else T.with_float(t, self.float_type)

    # Second pass

    def _solve(self, root: Occurrence, input_assumed: bool) -> None:
        """Settles what the rules left open.

        Types that stay open are decided one at a time, the most certain first; then the rules go on.

        Raises:
            ArrowTypeError: the types contradict one another.
        """
        solver = self.solver
        solver.drain()
        if not input_assumed:
            if (reader := self._object_reader(root.input)) is not None:
                # Something reads the input as a Python object. So it is one from the start: types then flow
                # forward from it, and a contradiction shows where the two sides meet.
                solver.make_object(root.input, reader)
                solver.drain()
            solver.run(self._assumed(root.input), root)
        for reference in self.occurrences:  # what a recursion passes to itself, after what enters it
            knot = reference.knot
            if knot is not None and knot is not reference:
                solver.join(reference.input, knot.parts[0].input, reference.edge or reference)
        solver.drain()
        while not solver.failures and solver.decide():
            solver.drain()
        if solver.failures:
            # An error shows all that is known, and what is read as an object.
            while solver.decide([FORWARD, OBJECT]):
                solver.drain()
            check_parameters(self.occurrences)
            check_keys(self)
            raise failure(self, *solver.failures[0])
        if not input_assumed:  # keys came back from what it meets: no block gave the input any
            solver.drop_labels(root.input)

    def _assumed(self, input: Variable) -> Rule:
        """What nothing fixes of the root input is a Python object."""
        rank = INPUT_OBJECT
        for part in inside(input):
            yield part, partial(self.solver.make_object, part, Cause(ASSUMED)), rank
            rank = REST

    def _object_reader(self, root: Variable) -> Cause | None:
        """Returns who reads the open root input, or its elements, as a Python object; None if nobody does."""
        containers = {id(find(element)): find(container) for container, element in self.containers}
        for v, reader in self.solver.readers:
            v = find(v)
            while v is not find(root) and id(v) in containers:
                v = containers.pop(id(v))
            if v is find(root) and v.con is None:
                return reader
        return None

    # Third pass

    def _finish(self) -> Typed:
        """Runs the last checks and builds the typed tree.

        Raises:
            ArrowTypeError: a type stays open, or a last check fails.
        """
        types: list[tuple[T.Type, T.Type]] = []
        for occurrence in self.occurrences:
            input, output = self.solver.ground(occurrence.input), self.solver.ground(occurrence.output)
            if input is None or output is None:
                error = still_open(self)
                error.unresolved = True
                raise error
            if output.width > MAX_PARTS:
                raise too_large(occurrence, f"{MAX_PARTS:,} parts in a type")
            types.append((input, output))
        check_keys(self)
        for occurrence in self.occurrences:
            if (check := CHECKS.get(core_form(occurrence.form))) is not None:
                check(self, occurrence, occurrence.form)
        check_parameters(self.occurrences)
        return build_typed(self.occurrences, types, self.inner)
