"""Composition: `f >> g`, stored flat, and its neutral element `Identity`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from arrows.combinators.block import AnyBlock, Block, set_name
from arrows.combinators.convert import as_block
from arrows.combinators.wires import Wire

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


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

    def __init__(self, *steps: Any, name: str | None = None) -> None:
        set_name(self, name)
        self._parts = tuple(as_block(step, "a step of a Pipe") for step in steps)

    @property
    def parts(self) -> tuple[AnyBlock, ...]:
        # A chain grown by `>>` keeps its last piece and the chain before; it is laid flat once, when first
        # asked, so that growing a chain step by step costs the same at every step.
        state = self.__dict__
        if "_before" in state:
            pieces: list[tuple[AnyBlock, ...]] = []
            block: Pipe[Any, Any] = self
            while "_before" in block.__dict__:
                pieces.append(block.__dict__["_after"])
                block = block.__dict__["_before"]
            pieces.append(block._parts)
            state["_parts"] = tuple(step for piece in reversed(pieces) for step in piece)
            # Readers look for `_before` first, so it goes last; a second thread would find the same parts.
            state.pop("_before", None)
            state.pop("_after", None)
        return self._parts

    def brief(self, depth: int) -> str:
        if self.name is not None:
            return self.name
        if not self.parts:
            return "Identity()"
        if len(self.parts) > 3 or depth == 0:
            return f"a chain of {len(self.parts)}"
        return " >> ".join(_step(s, depth - 1) for s in self.parts)


class DerivedBlock(Pipe[A, B]):
    """A chain with a word of its own: it is printed as it was written, and stays one step of a chain."""

    def brief(self, depth: int) -> str:
        return Block.brief(self, depth)

    def arguments(self, depth: int = 2) -> str:
        return "".join(x if isinstance(x, str) else x.brief(depth - 1) for x in self.written() or ())


class Identity(Pipe[Any, Any]):
    """The block that gives what it takes: `Identity() >> f` is `f`.

    Example:
        >>> import arrows as ar
        >>> ar.Identity().eval("x")
        'x'
    """

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(name=name)

    # Generic in its own call, so that checkers solve its type at the place of use.
    def __call__(self, x: Wire[A], /) -> Wire[A]:  # type: ignore[override]
        wire: Wire[A] = super().__call__(x)
        return wire

    def __rshift__(self, other: Callable[[Wire[A]], Wire[B]]) -> Block[A, B]:  # type: ignore[override]
        block: Block[A, B] = super().__rshift__(other)
        return block


def _step(step: AnyBlock, depth: int) -> str:
    loose = step.kind == "AndFan" and step.name is None
    return f"({step.brief(depth)})" if loose else step.brief(depth)


def chain(left: Any, right: Any) -> AnyBlock:
    """`left >> right`, flat; an unnamed identity leaves no step."""
    first, second = as_block(left, "the left side of >>"), as_block(right, "the right side of >>")
    if _neutral(first):
        return second
    if _neutral(second):
        return first
    pipe: Pipe[Any, Any] = Pipe()
    state = pipe.__dict__
    state["kind"] = "Pipe"
    after = second.parts if _flat(second) else (second,)
    if _flat(first):
        state["_before"], state["_after"] = first, after
    else:
        state["_parts"] = (first, *after)
    return pipe


def _neutral(block: AnyBlock) -> bool:
    """An unnamed chain without steps; asked without laying a chain flat."""
    return _flat(block) and "_before" not in block.__dict__ and not block._parts


def _flat(block: AnyBlock) -> bool:
    return isinstance(block, Pipe) and block.name is None and not isinstance(block, DerivedBlock)
