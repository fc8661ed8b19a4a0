"""Occurrences: blocks on values, and the records that inference keeps about them.

An occurrence is a block on one value. A block that stands at several places and reads the same value there is
one occurrence, unless it has an effect.

`Traces` remember what the functions of an expression compute while its types are inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set as AbstractSet
from dataclasses import dataclass, field

from arrows import ops
from arrows.combinators import AnyBlock, Apply, Choice, Constant, Pipe, Read, Shared, parts_first
from arrows.inference.typed import Knot, Typed
from arrows.ops import Trace
from arrows.typesys import ArrowTypeError, ArrowValueError, Clash, SourceLine, Var, types as T

ASSUMED = object()
"""The cause of a root input that nothing fixes; inference takes it to be a Python object."""


@dataclass(slots=True, eq=False, repr=False)
class Path:
    """The path from the root of an expression down to an occurrence.

    It prints as `tree > case 'leaf' > step 2 of 3`.

    Attributes:
        parent: the path to the enclosing block; None at the root.
        word: the last element of the path; empty if it needs no words.
    """

    parent: Path | None = None
    word: str = ""

    def __str__(self) -> str:
        words: list[str] = []
        path: Path | None = self
        while path is not None:
            words.append(path.word)
            path = path.parent
        words = [word for word in reversed(words) if word]
        if len(words) > 12:
            words = [*words[:4], f"... {len(words) - 10} more ...", *words[-6:]]
        return " > ".join(words)


@dataclass(slots=True, eq=False, repr=False)
class Occurrence:
    """One occurrence of a block while its types are inferred.

    Attributes:
        form: the block.
        input, output: the type variables of its input and result; the variable of its input is the value that
            it reads.
        path: the first place where it stands.
        outer: the occurrence that it is a part of, at the first place; None for the root.
        edge: the edge over which its input comes, or that of `outer`; None where there is none.
        places: the number of places where it stands.
        entered: whether its rule has begun.
        parts: the occurrences of its parts.
        trace: for an `Apply`, what it computes, once the input type is ground.
        knot: for a `Reference`, the occurrence at which its recursion begins.
    """

    form: AnyBlock
    input: Var
    output: Var
    path: Path
    outer: Occurrence | None = None
    edge: Edge | None = None
    places: int = 1
    entered: bool = False
    parts: list[Occurrence] = field(default_factory=list)
    trace: Trace | None = None
    knot: Occurrence | None = None


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
    outer: dict[int, list[AnyBlock]] = {}
    for block in blocks:
        for part in (*block.parts, block.definition):
            outer.setdefault(id(part), []).append(block)
    todo = [block for block in blocks if wanted(block)]
    identities: set[int] = set()
    while todo:
        block = todo.pop()
        if id(block) not in identities:
            identities.add(id(block))
            todo.extend(outer.get(id(block), ()))
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
            places=x.places,
        )
        if knot is not None and x.knot is x:
            knot.fix, knot.body = typed[id(x)], parts[0]
    return typed[id(occurrences[0])]


def reads_object(form: AnyBlock) -> bool:
    """Whether a block reads its input as a Python object."""
    if isinstance(form, Read):
        return not form.counts
    return isinstance(form, Shared) or (isinstance(form, Choice) and form.key_block is None)


class Traces:
    """The traces of blocks: each function runs once for each type of its input, also where it fails.

    Inference may run again after an error, and guesses of what was meant ask what else a function would take.

    Args:
        float_type: every floating element type becomes this one; None leaves them.
    """

    def __init__(self, float_type: str | None) -> None:
        self.float_type = float_type
        self._known: dict[tuple[int, T.Type], Trace | ArrowTypeError | ArrowValueError] = {}

    def of(self, form: AnyBlock, t: T.Type) -> Trace:
        """Returns what a function, a layer or a trainable constant computes of this type.

        Raises:
            ArrowTypeError, ArrowValueError: it does not take the type.
        """
        key = (id(form), t)
        known = self._known.get(key)
        if known is None:
            assert isinstance(form, (Apply, Constant))
            function = form.of_example if isinstance(form, Apply) else form.parameter
            try:
                known = ops.trace(function, t, float_type=self.float_type)
            except (ArrowTypeError, ArrowValueError) as error:  # all that tracing raises
                known = error
            self._known[key] = known
        if not isinstance(known, Trace):
            raise known
        return known

    def takes(self, form: Apply[object, object], t: T.Type) -> bool:
        """Whether a layer or function would take this type."""
        try:
            return form.check(t) is None and self.of(form, t) is not None
        except (ArrowTypeError, ArrowValueError):
            return False
