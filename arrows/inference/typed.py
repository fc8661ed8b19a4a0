"""The typed tree, which inference makes and the engine reads, and the occurrences that it is made of.

One `Typed` stands for one occurrence of a block: a block that reads two values has two, each with its own
types. A block that reads the same value at several places is one `Typed`, which is a part of several others,
unless the block has an effect. The first reference to a recursive block has its `Knot`, and the references
inside point to it.

While types are inferred, an `Occurrence` has variables in their place, and an `Edge` stands where a value
passes. `Traces` remember what the functions of an expression compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from arrows import ops
from arrows.combinators import (
    AnyBlock,
    Apply,
    Choice,
    Constant,
    Fan,
    Loop,
    Optional,
    Pipe,
    Read,
    Reduce,
    Reference,
    Shared,
    parts_first,
    title,
)
from arrows.ops import Trace
from arrows.typesys import ArrowTypeError, ArrowValueError, Clash, SourceLine, Variable, types as T

INDENT = 40
TYPE = 100  # a line shows a type up to this number of parts


@dataclass(frozen=True, eq=False, slots=True)
class Typed:
    """One occurrence of a block on a value, with its types.

    When a value passes from one occurrence to another, the types on both sides may differ in two ways: a
    tuple or sequence of `Input`s may pass to a block that wants an `Input`, and the labels of a tuple may
    differ.
    Values pass from step to step, from the input to a part or a case, from a wire to a call, from a case to
    the result, from a container to the block of a `Map`, from the state to the step of a `Fold`, from a call
    to a knot, and from a body to its knot.

    Attributes:
        form: the block.
        input: the type of its input, ground.
        output: the type of its result, ground.
        parts: its typed parts, in the order of the core form; empty for a `Reference`.
        trace: for an `Apply`, what it computes; else None.
        knot: for a `Reference`, the recursive block that it stands for; else None.
        places: the number of places where it stands; the result is computed once for all of them.

    Example:
        >>> import arrows as ar
        >>> ar.infer(ar.Scalar())
        Scalar('float32'): Input -> float32
    """

    form: AnyBlock
    input: T.Type
    output: T.Type
    parts: tuple[Typed, ...] = ()
    trace: Trace | None = None
    knot: Knot | None = None
    places: int = 1

    def __str__(self) -> str:
        return typed_tree(self)

    __repr__ = __str__

    def walk(self) -> Iterator[Typed]:
        """Yields every occurrence once, in the order of the expression; a body follows its reference."""
        todo = [self]
        repeated: set[int] = set()
        while todo:
            typed = todo.pop()
            if typed.places > 1:
                if id(typed) in repeated:
                    continue
                repeated.add(id(typed))
            yield typed
            if isinstance(typed.knot, Knot) and typed.knot.fix is typed:
                todo.append(typed.knot.body)
            todo.extend(reversed(typed.parts))


@dataclass(slots=True, eq=False, repr=False)
class Knot:
    """A recursive block at one of its occurrences.

    A knot is made before its parts, because the references inside its body point to it.

    Attributes:
        name: the name of the recursive block.
        outer: whether a block outside of its component enters it. Of definitions that refer to one another,
            those that only the others use have inner knots.
        fix: the occurrence of the `Reference` that made the knot.
        body: the typed definition.
    """

    name: str
    outer: bool = True
    fix: Typed = field(init=False)
    body: Typed = field(init=False)

    @property
    def input(self) -> T.Type:
        """The type of its input."""
        return self.fix.input

    @property
    def output(self) -> T.Type:
        """The type of its result."""
        return self.fix.output


# The typed tree as it is printed: the parts that the author wrote, each with its role


class TreePart(NamedTuple):
    """A part of an expression.

    Attributes:
        role: its role in the block around it, such as `case True` or `start`; empty if it needs none.
        typed: the part.
    """

    role: str
    typed: Typed


def visible(typed: Typed) -> list[TreePart]:
    """Lists the parts of an expression that its author wrote, without those that a block is made of inside.

    Example:
        >>> import arrows as ar
        >>> both = ar.infer(ar.Map(ar.Vector(3)) >> ar.Bidirectional(ar.LSTMCell(4), ar.LSTMCell(5)))
        >>> [part.typed.form.label for part in visible(both.parts[1])]
        ['LSTMCell(4)', 'LSTMCell(5)']
    """
    if typed.knot is not None:
        return [TreePart("", typed.knot.body)] if typed.knot.fix is typed else []
    form = typed.form
    roles = _roles(form) or [""] * len(typed.parts)
    if not isinstance(form, (Loop, Reduce)) and (not isinstance(form, Pipe) or form.is_chain):
        return list(map(TreePart, roles, typed.parts))
    wanted = {id(block) for block in form.spelling.blocks}
    tree_parts: list[TreePart] = []
    todo = list(enumerate(typed.parts))[::-1]
    while todo:
        i, part = todo.pop()
        if id(part.form) in wanted:
            tree_parts.append(TreePart(roles[i] if i >= 0 and len(wanted) > 1 else "", part))
        else:
            todo.extend((-1, inner) for inner in reversed(part.parts))
    return tree_parts


def case_names(form: Choice[Any, Any]) -> list[str]:
    """Names the cases of a choice, in order."""
    return ["not None", "None"] if isinstance(form, Optional) else [f"case {key!r}" for key in form.keys]


def _roles(form: AnyBlock) -> list[str]:
    """What the parts of a form are for, in order; nothing where they need no words."""
    if isinstance(form, Choice):
        return [*([] if form.key_block is None else ["key"]), *case_names(form)]
    if isinstance(form, Fan):
        return list(map(T.label, form.labels or ()))
    if isinstance(form, Loop):
        return [form.cell_word, "initial_state"]
    return ["combine", "default"] if isinstance(form, Reduce) else []


def typed_tree(typed: Typed) -> str:
    """Writes a typed expression with one occurrence on each line and parts indented.

    The role of a part stands before it: `case True = ...`. A recursive block inside its own definition is
    `tree (again)`. The tree leaves out the blocks that a block such as `Bidirectional` is made of, and
    does not repeat the parts of a block that stands above already, on the same value.

    Example:
        >>> import arrows as ar
        >>> print(ar.infer(ar.Map(ar.Scalar()) >> ar.Sum()))
        Map(Scalar('float32')) >> Sum(): Input -> float32
          Map(Scalar('float32')): Input -> Sequence(float32)
            Scalar('float32'): Input -> float32
          Sum(): Sequence(float32) -> float32
    """
    lines: list[str] = []
    shown: set[int] = set()
    todo = [(TreePart("", typed), 0)]
    while todo:
        (role, x), depth = todo.pop()
        parts = visible(x)
        word = " (again)" if isinstance(x.form, Reference) and not parts else ""
        if x.places > 1 and parts:
            if id(x) in shown:
                parts, word = [], " (as above)"
            shown.add(id(x))
        indent = "  " * depth if depth <= INDENT else "  " * INDENT + f"[{depth}] "
        types = f"{T.notation(x.input, TYPE)} -> {T.notation(x.output, TYPE)}"
        lines.append(f"{indent}{f'{role} = ' if role else ''}{title(x.form)}{word}: {types}")
        todo.extend((part, depth + 1) for part in reversed(parts))
    return "\n".join(lines)


# While types are inferred

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
    input: Variable
    output: Variable
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
    return T.postorder(root, lambda x: x.parts, set())[::-1]


# From occurrences to the typed tree


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
