"""The typed tree: what inference gives, and what the engine reads.

One `Typed` stands for one occurrence of a block: a block that reads two values has two, each with its own
types. Where a block reads the same value at several places, they are one `Typed`, a part of several others,
unless it has an effect. A recursive block has one `Knot` for each occurrence of its `Fix`; the references
inside point to it.
Where definitions refer to one another, the first occurrence of each one's reference has its knot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from arrows.combinators import AnyBlock
from arrows.typesys import types as T

if TYPE_CHECKING:
    from arrows.ops import Trace


class Path:
    """The way from the root of an expression down to an occurrence, printed `tree > case 'leaf' > step 2 of
    3`.

    Attributes:
        parent: the way to the block around it; None at the root.
        word: the last stretch of the way; empty if it needs no words.
    """

    __slots__ = ("parent", "word")

    def __init__(self, parent: Path | None = None, word: str = "") -> None:
        self.parent = parent
        self.word = word

    @property
    def words(self) -> list[str]:
        """The stretches of the way, from the root on."""
        words: list[str] = []
        path: Path | None = self
        while path is not None:
            if path.word:
                words.append(path.word)
            path = path.parent
        return words[::-1]

    def __str__(self) -> str:
        words = self.words
        if len(words) > 12:
            words = [*words[:4], f"... {len(words) - 10} more ...", *words[-6:]]
        return " > ".join(words)

    def __repr__(self) -> str:
        return f"<path {self}>"


@dataclass(frozen=True, eq=False, slots=True)
class Typed:
    """One occurrence of a block, with its types: the block on one value.

    Where a value passes from one occurrence to another (step to step, input to part, wire to node, input to
    case, case to result, element to the block of a `Map`, state to the step of a `Fold`, call to knot, body
    to knot) the types on
    both sides may differ in one way: a tuple or sequence of `Input`s may go where an `Input` is wanted;
        labels may
    differ too.

    Attributes:
        form: the block.
        input: type of its input, ground.
        output: type of its result, ground.
        parts: its parts, typed, in the order of the core form; empty for `Fix` and `Reference`.
        trace: what an `Apply` computes; else None.
        knot: what a `Fix` or `Reference` stands for; else None.
        path: where it stands; the first place, if there are several.
        places: at how many places it stands: the same block on the same value, computed once.

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
    path: Path = field(default_factory=Path)
    places: int = 1

    def __str__(self) -> str:
        from arrows.inference.tree import typed_tree

        return typed_tree(self)

    __repr__ = __str__

    def walk(self) -> Iterator[Typed]:
        """Every occurrence once, in the order of the expression; a knot's body comes after its `Fix`."""
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


class Knot:
    """A recursive block at one of its occurrences.

    Attributes:
        name: the name of the recursive block.
        outer: whether it is entered from outside; not so the knots of definitions that stand in a definition
            that they refer to.
        input: type of its input.
        output: type of its result.
        body: what it does.
        fix: the occurrence of the `Fix` or `Reference` that made it.
    """

    __slots__ = ("body", "fix", "input", "name", "outer", "output")

    name: str
    input: T.Type
    output: T.Type
    body: Typed
    fix: Typed

    def __init__(self, name: str, outer: bool = True) -> None:
        self.name = name
        self.outer = outer

    def __repr__(self) -> str:
        return f"<knot {self.name}: {self.input} -> {self.output}>"
