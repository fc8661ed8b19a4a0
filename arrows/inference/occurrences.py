"""Occurrences: blocks on values, and the records that inference keeps about them.

An occurrence is a block on one value. A block that stands at several places and reads the same value there is
one occurrence, unless it has an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrows.combinators import (
    AnyBlock,
    Choice,
    Pipe,
    Read,
    Reference,
    Shared,
    Token,
    Transform,
    parts_first,
)
from arrows.inference.typed import Knot, Path, Typed
from arrows.typesys import ArrowTypeError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.terms import Clash, Var

if TYPE_CHECKING:
    from arrows.ops import Trace


ASSUMED = object()
"""The cause of a root input that nothing fixes; inference takes it to be a Python object."""


class Occurrence:
    """One occurrence of a block while its types are inferred.

    Attributes:
        form: the block.
        input, output: the type variables of its input and result; the variable of its input is the value that
            it reads.
        path: the first place where it stands.
        places: the number of places where it stands.
        entered: whether its rule has begun.
        outer: the occurrence that it is a part of, at the first place; None for the root.
        edge: the edge over which its input comes; None where that is the input of `outer`.
        parts: the occurrences of its parts.
        trace: for an `Apply`, what it computes, once the input type is ground.
        knot: for a `Reference`, the occurrence at which its recursion begins.
        first: for a layer that stands in several places, its first occurrence.
    """

    __slots__ = (
        "edge", "entered", "first", "form", "input", "knot", "outer", "output", "parts", "path", "places",
        "trace",
    )  # fmt: skip

    def __init__(
        self,
        form: AnyBlock,
        input: Var,
        output: Var,
        path: Path,
        outer: Occurrence | None = None,
        edge: Edge | None = None,
    ) -> None:
        self.form = form
        self.input = input
        self.output = output
        self.path = path
        self.outer = outer
        self.edge = edge
        self.places = 1
        self.entered = False
        self.parts: list[Occurrence] = []
        self.trace: Trace | None = None
        self.knot: Occurrence | None = None
        self.first: Occurrence | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Leave:
    """An entry of the worklist: here the walk leaves a recursive block, or a group of them.

    Attributes:
        tokens: the tokens of these blocks.
    """

    tokens: list[Token]


# Not frozen: a frozen one takes four times as long to make, and there is one for nearly each occurrence.
@dataclass(slots=True, eq=False)
class Edge:
    """An edge of the expression: in a form, a value passes to a part of it, or from a part.

    Attributes:
        owner: the occurrence of the form.
        index: the index of the part to which the value goes, or from which it comes.
        explain: makes the error for a value that cannot pass here.
        call: the line of the user's code that makes the value pass, if the form was made at another line.
    """

    owner: Occurrence
    index: int
    explain: Callable[[Edge, Clash], ArrowTypeError]
    call: SourceLine | None = None

    @property
    def part(self) -> Occurrence:
        """The part to which the value goes, or from which it comes."""
        return self.owner.parts[self.index]

    @property
    def site(self) -> SourceLine:
        """The line of the user's code that makes the value pass."""
        return self.call or self.owner.form.site


@dataclass(frozen=True, slots=True, eq=False)
class Contradiction:
    """What an occurrence says of its own input or result is not what flows there.

    Attributes:
        occurrence: the occurrence.
        own: the type that it says.
        reads: whether it says so of its input; else of its result.
    """

    occurrence: Occurrence
    own: Var
    reads: bool


# Repeated blocks


def blocks_with(root: AnyBlock, wanted: Callable[[AnyBlock], bool]) -> set[int]:
    """Returns the identities of the blocks for which `wanted` holds, and of all blocks that contain them.

    A reference contains what its definition contains.

    Example:
        >>> import arrows as ar
        >>> score = ar.Scalar() >> ar.Metric("loss")
        >>> both = score & ar.Void()
        >>> identities = blocks_with(both, lambda block: block.effect)
        >>> id(score) in identities, id(both) in identities, id(score.parts[0]) in identities
        (True, True, False)
    """
    blocks = parts_first(root)
    outer: dict[int, list[int]] = {}
    for block in blocks:
        inside = list(block.parts)
        if isinstance(block, Reference):
            inside += [block.definition] if block.definition is not None else []
        for part in inside:
            outer.setdefault(id(part), []).append(id(block))
    todo = [id(block) for block in blocks if wanted(block)]
    identities: set[int] = set()
    while todo:
        identity = todo.pop()
        if identity not in identities:
            identities.add(identity)
            todo.extend(outer.get(identity, ()))
    return identities


def outermost_first(root: Occurrence) -> list[Occurrence]:
    """Lists all occurrences, each once and before its parts, in the order of the expression."""
    order: list[Occurrence] = []
    seen: set[int] = set()
    todo = [(root, False)]
    while todo:
        occurrence, parts_done = todo.pop()
        if parts_done:
            order.append(occurrence)
        elif id(occurrence) not in seen:
            seen.add(id(occurrence))
            todo.append((occurrence, True))
            todo.extend((part, False) for part in occurrence.parts)
    return order[::-1]


def count_places(occurrences: Sequence[Occurrence]) -> int:
    """Counts the occurrences that there would be if each place had its own; each comes before its parts."""
    counts: dict[int, int] = {}
    for occurrence in reversed(occurrences):
        counts[id(occurrence)] = 1 + sum(counts[id(part)] for part in occurrence.parts)
    return counts[id(occurrences[0])]


# Definitions that refer to one another


class Components:
    """Strongly connected components of the graph in which a block leads to its parts, and a reference to its
    definition.

    The search runs when a component is first asked for. It uses an explicit stack (Tarjan 1972), since an
    expression may be deeper than Python's own stack.

    Example:
        >>> import arrows as ar
        >>> a, b = ar.fix(lambda a, b: (ar.GetItem(0) >> b, ar.GetItem(1) >> a))
        >>> components = Components()
        >>> components.of(a.definition) == components.of(b.definition) == components.of(a)
        True
        >>> components.of(ar.Map(a)) == components.of(a)
        False
    """

    def __init__(self) -> None:
        self._component: dict[int, int] = {}
        self._visited: dict[int, int] = {}
        self._kept: list[AnyBlock] = []  # keeps the blocks alive, so that no other object gets their `id`

    def of(self, block: AnyBlock) -> int:
        """The number of a block's component."""
        if id(block) not in self._component:
            self._search(block)
        return self._component[id(block)]

    def _search(self, root: AnyBlock) -> None:
        visited: dict[int, int] = self._visited
        low: dict[int, int] = {}
        path: list[AnyBlock] = []
        todo: list[tuple[AnyBlock, list[AnyBlock]]] = []

        def enter(block: AnyBlock) -> None:
            visited[id(block)] = low[id(block)] = len(visited)
            self._kept.append(block)
            path.append(block)
            definition = block.definition
            todo.append((block, [*block.parts, *([definition] if definition is not None else [])]))

        enter(root)
        while todo:
            block, rest = todo[-1]
            number = id(block)
            if rest:
                other = rest.pop()
                if id(other) not in visited:
                    enter(other)
                elif id(other) not in self._component:  # it is on the path
                    low[number] = min(low[number], visited[id(other)])
                continue
            todo.pop()
            if todo:
                above = id(todo[-1][0])
                low[above] = min(low[above], low[number])
            if low[number] == visited[number]:
                while True:
                    member = path.pop()
                    self._component[id(member)] = visited[number]
                    if member is block:
                        break


class Groups:
    """The tokens of the recursive blocks that are being walked, those of one component together.

    Most expressions have one recursive block, whose component nobody need know.
    """

    def __init__(self) -> None:
        self._open: list[list[Token]] = []  # those entered last come last
        self._by_component: dict[int, list[Token]] = {}
        self._components = Components()

    def of(self, token: Token) -> list[Token] | None:
        """The group that a new token belongs to, if it is open."""
        if not self._open:
            return None
        if not self._by_component:
            self._by_component[self._component(self._open[0])] = self._open[0]
        return self._by_component.get(self._component([token]))

    def enter(self, token: Token) -> list[Token]:
        """Opens the group of a token."""
        self._open.append([token])
        if len(self._open) > 1:
            self._by_component[self._component([token])] = self._open[-1]
        return self._open[-1]

    def leave(self, group: list[Token]) -> None:
        """Closes the group that was opened last."""
        last = self._open.pop()  # not within the assertion, which `python -O` leaves out
        assert last is group
        if self._by_component:
            del self._by_component[self._component(group)]

    def _component(self, group: list[Token]) -> int:
        definition = group[0].definition
        assert definition is not None
        return self._components.of(definition)


# The typed tree


def build_typed(
    occurrences: Sequence[Occurrence], types: Sequence[tuple[T.Type, T.Type]], inner: AbstractSet[int]
) -> Typed:
    """Builds the typed tree from occurrences, each before its parts, with the types of input and result.

    What reads a Python object has the input `Input`, whatever container of objects flows in.
    `inner` has the identities of the knots that nothing outside of their component enters.
    """
    typed: dict[int, Typed] = {}
    knots = {id(x): Knot(x.form.label, outer=id(x) not in inner) for x in occurrences if x.knot is x}
    for x, (input, output) in zip(reversed(occurrences), reversed(types), strict=True):
        parts = tuple([typed[id(part)] for part in x.parts])
        knot = knots[id(x.knot)] if x.knot is not None else None
        if reads_object(x.form):
            input = T.Input()
        elif isinstance(x.form, Pipe) and parts:
            input = parts[0].input
        typed[id(x)] = Typed(
            form=x.form,
            input=input,
            output=output,
            parts=() if knot is not None else parts,
            trace=x.trace,
            knot=knot,
            path=x.path,
            places=x.places,
        )
        if knot is not None and x.knot is x:
            knot.tie(typed[id(x)], parts[0])
    return typed[id(occurrences[0])]


def reads_object(form: AnyBlock) -> bool:
    """Whether a block reads its input as a Python object."""
    return isinstance(form, (Read, Transform, Shared)) or (
        isinstance(form, Choice) and form.key_block is None
    )
