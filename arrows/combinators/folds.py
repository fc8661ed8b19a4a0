"""`Fold` and `Reduce`: a user's block takes a sequence to one value, in order or as a balanced tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

from arrows.combinators.base.arguments import set_name, wrong_argument, wrong_value
from arrows.combinators.base.block import A, AnyBlock, Block
from arrows.combinators.base.convert import as_block
from arrows.combinators.base.printing import Argument
from arrows.combinators.base.wires import Wire
from arrows.combinators.compose import Identity
from arrows.combinators.constant import InferredZeros

S = TypeVar("S")


class Fold(Block[Sequence[A], S]):
    """A left fold: `state = step(state, element)` for every element, from the initial state on.

    Args:
        step: from the pair (state, element) to the next state.
        initial_state: the first state; it gets no input (`Zeros`, `Constant`).
        initial_state_from_input: the input is the pair (elements, initial state), and
            `initial_state` is not given.
        name: the name in messages.

    Attributes:
        initial_state_from_input: as given.

    Raises:
        ArrowTypeError: an argument is no block, or there is no initial state; at `compile`, an input without
            elements or without end, or a step that gives another type than the initial state.
        ArrowValueError: `initial_state`, and `initial_state_from_input`.

    Source: TensorFlow Fold, `td.Fold`.

    Example:
        >>> import arrows as ar
        >>> total = ar.Map(ar.Scalar()) >> ar.Fold(ar.Function(lambda state, x: state + x), ar.Zeros([]))
        >>> float(total.eval([1, 2, 3]))
        6.0
        >>> both = ar.GetItem(0) >> ar.Map(ar.Scalar()) & ar.GetItem(1) >> ar.Scalar()
        >>> add = ar.Function(lambda state, x: state + x)
        >>> float((both >> ar.Fold(add, initial_state_from_input=True)).eval(([1, 2, 3], 10)))
        16.0
    """

    initial_state_from_input: bool

    @overload
    def __init__(
        self,
        step: Callable[[Wire[tuple[S, A]]], Wire[S]],
        initial_state: Callable[[Wire[None]], Wire[S]],
        *,
        initial_state_from_input: Literal[False] = False,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Fold[Any, S],
        step: Callable[[Wire[tuple[S, Any]]], Wire[S]],
        *,
        initial_state_from_input: Literal[True],
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self,
        step: object,
        initial_state: object = None,
        *,
        initial_state_from_input: bool = False,
        name: str | None = None,
    ) -> None:
        set_name(self, name)
        if not isinstance(initial_state_from_input, bool):
            raise wrong_argument(
                "a Fold", f"initial_state_from_input must be True or False, not {initial_state_from_input!r}"
            )
        if initial_state_from_input and initial_state is not None:
            raise wrong_value(
                "a Fold", "initial_state is given, and initial_state_from_input says that the input gives it"
            )
        if initial_state is None and not initial_state_from_input:
            hint = "ar.Fold(step, ar.Zeros(type)), or initial_state_from_input=True"
            raise wrong_argument("a Fold", "there is no initial state", hint=hint)
        first = (
            Identity() if initial_state_from_input else as_block(initial_state, "the initial state of a Fold")
        )
        self._parts = (as_block(step, "the step of a Fold"), first)
        self.initial_state_from_input = initial_state_from_input

    @property
    def step(self) -> AnyBlock:
        """The block from (state, element) to the next state."""
        return self.parts[0]

    @property
    def initial_state(self) -> AnyBlock:
        """The block that gives the first state."""
        return self.parts[1]

    def arguments(self) -> list[Argument]:
        from_input = self.initial_state_from_input
        return [self.step, "initial_state_from_input=True" if from_input else self.initial_state]


class Reduce(Block[Sequence[A], A]):
    """Combines neighbours two by two, and their results again, until one is left: a balanced tree.

    Each round combines the 1st element with the 2nd, the 3rd with the 4th, and so on; an odd last one goes to
    the end of the next round unchanged. So n elements take about log2(n) steps one after the other, where a
    `Fold` takes n. A single element is the result itself. `Sum`, `Mean`, `Max` and `Attention` take one
    operation for sums, means, extremes and softmax.

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
        """The block from a pair of elements to one."""
        return self.parts[0]

    @property
    def default(self) -> AnyBlock | None:
        """The block that gives the result if there are no elements; None if the user gave none."""
        return None if isinstance(self.parts[1], NoDefault) else self.parts[1]

    def arguments(self) -> list[Argument]:
        return [self.combine] if self.default is None else [self.combine, self.default]


class NoDefault(InferredZeros):
    """The default of a `Reduce` for which the user gave none: zeros of the elements' type.

    Python objects have no zero, so an example without elements is refused there.

    Example:
        >>> NoDefault()
        Zeros()
    """

    kind = "Zeros"
