"""Composition: `f >> g`, stored flat, and its neutral element `Identity`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrows.combinators.base.arguments import set_name
from arrows.combinators.base.block import A, AnyBlock, B, Block, as_block, spelled
from arrows.combinators.base.printing import Argument, Spelling
from arrows.combinators.base.wires import Wire


class Pipe(Block[A, B]):
    """One block after another: the result of each is the input of the next.

    `Pipe()` is the identity. Chains made by `>>` are flat: `(f >> g) >> h` and `f >> (g >> h)` have three
    steps.

    Args:
        *steps: blocks, or what stands for one (dicts and tuples of blocks, arrays).
        name: the name in messages; a named pipe stays one step of the chains it stands in.

    Raises:
        ArrowTypeError: a step is no block.

    Example:
        >>> import arrows as ar
        >>> len((ar.GetItem(0) >> ar.GetItem(1) >> ar.GetItem(2)).parts)
        3
    """

    def __init__(self, *steps: object, name: str | None = None) -> None:
        set_name(self, name)
        self._parts = tuple(as_block(step, "a step of a Pipe") for step in steps)

    @property
    def parts(self) -> tuple[AnyBlock, ...]:
        # `>>` keeps the chain before and the new piece. The chain is flattened once, when its parts are first
        # read, so that growing it by one step always costs the same.
        state = self.__dict__
        if "_before" in state:
            pieces: list[tuple[AnyBlock, ...]] = []
            block: AnyBlock = self
            while "_before" in block.__dict__:
                pieces.append(block.__dict__["_after"])
                block = block.__dict__["_before"]
            pieces.append(block._parts)
            state["_parts"] = tuple(step for piece in reversed(pieces) for step in piece)
            # Readers test `_before` first, so it goes last; a second thread would compute the same parts.
            state.pop("_before", None)
            state.pop("_after", None)
        return self._parts

    @property
    def is_chain(self) -> bool:
        """Whether it is a chain of `>>` to its author too, and not a block that is made of one."""
        return "_spelling" not in self.__dict__

    @property
    def spelling(self) -> Spelling:
        if not self.is_chain:
            return super().spelling
        if not self.parts:
            return Spelling("Identity", ())
        return Spelling(">>" if self.name is None else "Pipe", self.parts)


def derived(
    head: str,
    arguments: Sequence[Argument],
    *steps: AnyBlock,
    name: str | None,
) -> Pipe[Any, Any]:
    """Makes a block that is a chain of others, is written `head(arguments)`, and stays one step.

    Args:
        head, arguments: as its author writes it; the blocks among these stand somewhere inside.
        *steps: the chain. Messages call the blocks in it that its author does not know by the words of the
            whole.
        name: the name in messages.
    """
    whole: Pipe[Any, Any] = spelled(Pipe(*steps), Spelling(head, tuple(arguments)))
    words = whole.spelling.brief(1)
    set_name(whole, name)
    written = {id(block) for block in whole.spelling.blocks}
    todo = list(steps)
    while todo:
        if id(block := todo.pop()) not in written:
            todo.extend(block.parts)
            if not isinstance(block, Pipe):
                set_name(spelled(block, Spelling(head, (words,))), name)
    return whole


class SameType(AnyBlock):
    """Base of blocks that give what they get: `Identity` and `Tap`."""

    # Generic in its own call, so that checkers solve its type at the place of use.
    if TYPE_CHECKING:

        def __call__(self, x: Wire[A], /) -> Wire[A]: ...  # type: ignore[override]

        def __rshift__(self, other: Callable[[Wire[A]], Wire[B]]) -> Block[A, B]: ...  # type: ignore[override]


class Identity(SameType, Pipe[Any, Any]):
    """The block that returns its input: `Identity() >> f` is `f`.

    Example:
        >>> import arrows as ar
        >>> ar.Identity().eval("x")
        'x'
    """

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(name=name)


def chain(left: object, right: object) -> AnyBlock:
    """Makes `left >> right` as a flat chain; an unnamed identity adds no step."""
    first, second = as_block(left, "the left side of >>"), as_block(right, "the right side of >>")
    if _is_identity(first):
        return second
    if _is_identity(second):
        return first
    pipe: Pipe[Any, Any] = Pipe()
    state = pipe.__dict__
    after = second.parts if _extends(second) else (second,)
    if _extends(first):
        state["_before"], state["_after"] = first, after
    else:
        state["_parts"] = (first, *after)
    return pipe


def _is_identity(block: AnyBlock) -> bool:
    """Whether a block is an unnamed chain without steps; the test flattens no chain."""
    return _extends(block) and "_before" not in block.__dict__ and not block._parts


def _extends(block: AnyBlock) -> bool:
    """Whether the steps of a chain become steps of the longer chain that `>>` makes."""
    return isinstance(block, Pipe) and block.name is None and block.is_chain
