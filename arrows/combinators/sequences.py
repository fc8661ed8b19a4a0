"""Blocks over sequences: `Map`, `Fold` and `Reduce`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from arrows.combinators.block import AnyBlock, Block, set_name
from arrows.combinators.convert import as_block
from arrows.combinators.default_result import NoDefault
from arrows.combinators.wires import Wire

A = TypeVar("A")
B = TypeVar("B")
S = TypeVar("S")


class Map(Block[Sequence[A], Sequence[B]]):
    """One block on every element.

    The input is a Python container, a sequence, an endless sequence, or a tuple whose items have one type;
    the result is a sequence (endless for an endless one).

    Args:
        element: what to do with one element.
        name: the name in messages.

    Raises:
        ArrowTypeError: `element` is no block; at `compile`, an input that has no elements.
        InputError: at evaluation, a Python object that cannot be gone over.

    Source: TensorFlow Fold, `td.Map`.

    Example:
        >>> import arrows as ar
        >>> ar.Map(ar.InputTransform(len)).eval(["a", "tree"])
        [1, 4]
    """

    def __init__(self, element: Callable[[Wire[A]], Wire[B]], *, name: str | None = None) -> None:
        set_name(self, name)
        self._parts = (as_block(element, "the block of a Map"),)

    @property
    def element(self) -> AnyBlock:
        """The block on every element."""
        return self.parts[0]

    def arguments(self, depth: int = 2) -> str:
        return self.parts[0].brief(depth - 1)


class Fold(Block[Sequence[A], S]):
    """A left fold: `state = step(state, element)` for every element, from the start on.

    Args:
        step: from the pair (state, element) to the next state.
        start: the first state; it gets no input (`Zeros`, `Constant`).
        name: the name in messages.

    Raises:
        ArrowTypeError: an argument is no block; at `compile`, an input without elements or without end, or a
            step that gives another type than the start.

    Source: TensorFlow Fold, `td.Fold`.

    Example:
        >>> import arrows as ar
        >>> total = ar.Map(ar.Scalar()) >> ar.Fold(ar.Function(lambda state, x: state + x), ar.Zeros([]))
        >>> float(total.eval([1, 2, 3]))
        6.0
    """

    def __init__(
        self,
        step: Callable[[Wire[tuple[S, A]]], Wire[S]],
        start: Callable[[Wire[None]], Wire[S]],
        *,
        name: str | None = None,
    ) -> None:
        set_name(self, name)
        self._parts = (as_block(step, "the step of a Fold"), as_block(start, "the start of a Fold"))

    @property
    def step(self) -> AnyBlock:
        """From (state, element) to the next state."""
        return self.parts[0]

    @property
    def start(self) -> AnyBlock:
        """The first state."""
        return self.parts[1]

    def arguments(self, depth: int = 2) -> str:
        return f"{self.parts[0].brief(depth - 1)}, {self.parts[1].brief(depth - 1)}"


class Reduce(Block[Sequence[A], A]):
    """A balanced tree: neighbours are combined two by two, and their results again, until one is left.

    In each round the 1st and the 2nd are combined, the 3rd and the 4th, and so on; an odd last one goes on to
    the end of the next round as it is. So n elements take about log2(n) steps one after the other, where a
    `Fold` takes n. One element is the result itself. Sums, means, extremes and softmax are one operation with
    `Sum`, `Mean`, `Max` and `Attention`.

    The input is a sequence, a tuple whose items have one type, or a Python container, whose objects `combine`
    then works on.

    Args:
        combine: from a pair of elements to one of the same type.
        default: the result of no elements; it gets no input (`Zeros`, `Constant`). Left out: zeros of the
            elements' type; there are no zeros of Python objects, and an example without any is refused.
        name: the name in messages.

    Raises:
        ArrowTypeError: an argument is no block; at `compile`, an input without elements or without end, or
            a `combine` whose result is of another type than the elements.
        InputError: at evaluation, no elements where there is no default.

    Source: TensorFlow Fold, `td.Reduce`.

    Example:
        >>> import arrows as ar
        >>> tree = ar.Reduce(ar.InputTransform(lambda pair: f"({pair[0]} {pair[1]})"))
        >>> tree.eval("abcde")
        '(((a b) (c d)) e)'
    """

    def __init__(
        self,
        combine: Callable[[Wire[tuple[A, A]]], Wire[A]],
        default: Callable[[Wire[None]], Wire[A]] | None = None,
        *,
        name: str | None = None,
    ) -> None:
        set_name(self, name)
        nothing = NoDefault() if default is None else as_block(default, "the default of a Reduce")
        self._parts = (as_block(combine, "the combine of a Reduce"), nothing)

    @property
    def combine(self) -> AnyBlock:
        """From a pair of elements to one."""
        return self.parts[0]

    @property
    def default(self) -> AnyBlock | None:
        """The result of no elements, if it was given."""
        return None if isinstance(self.parts[1], NoDefault) else self.parts[1]

    def arguments(self, depth: int = 2) -> str:
        return "".join(x if isinstance(x, str) else x.brief(depth - 1) for x in self.written())

    def written(self) -> list[AnyBlock | str]:
        return [self.combine] if self.default is None else [self.combine, ", ", self.default]
