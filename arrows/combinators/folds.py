"""Blocks that go over elements one after the other, with a state, or combine them two by two.

`Fold`, `Scan`, and the recurrent networks `RNN` and `Bidirectional`; and `Reduce`, a balanced tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, overload

from arrows.combinators.apply import Concat
from arrows.combinators.base.arguments import require_flag, set_name, wrong_argument, wrong_value
from arrows.combinators.base.block import A, AnyBlock, B, Block, C, Identity, Pipe, as_block, derived
from arrows.combinators.base.printing import Argument, keywords
from arrows.combinators.base.wires import Wire
from arrows.combinators.constant import InferredZeros
from arrows.combinators.fanout import Fan
from arrows.combinators.items import GetItem
from arrows.combinators.sequences import ZipWith
from arrows.typesys import explains_arguments, types as T

S = TypeVar("S")


class Loop(Block[A, B]):
    """The core form of all that goes over elements one after the other with a state: `Fold`, `Scan`, `RNN`.

    Its parts are the step, from one state to the next, and the block that gives the first state.

    Attributes:
        by_state: whether the step gives the next state alone, and not the pair of an output and the state.
        folds: whether the step gets (state, element), not (element, state), and the result is the last state
            alone, not the pair of all outputs and the last state.
        cell_word: what messages call the step.
        reverse: whether it goes from the last element to the first.
        initial_state_from_input: whether the input is the pair of the elements and the initial state.
    """

    by_state: ClassVar[bool] = False
    folds: ClassVar[bool] = False
    cell_word: ClassVar[str] = "step"
    reverse: bool
    initial_state_from_input: bool

    def __init__(
        self,
        step: object,
        initial_state: object = None,
        *,
        reverse: bool = False,
        initial_state_from_input: bool = False,
        name: str | None = None,
    ) -> None:
        set_name(self, name)
        kind = f"{'an' if self.kind == 'RNN' else 'a'} {self.kind}"
        if isinstance(step, RNN):
            hint = "ar.LSTMCell(n) is such a step; one on the other: ar.RNN(f) >> ar.GetItem(0) >> ar.RNN(g)"
            raise wrong_argument(kind, "its step takes one element, and an RNN takes all", hint=hint)
        if self.folds and isinstance(getattr(step, "state", None), T.Type):
            hint = f"ar.RNN({step}); or swap them: (ar.GetItem(1) & ar.GetItem(0)) >> {step}"
            raise wrong_argument(
                kind, f"it gives (state, element) to {step}, which takes (element, state)", hint=hint
            )
        self.reverse = require_flag(kind, "reverse", reverse)
        from_input = require_flag(kind, "initial_state_from_input", initial_state_from_input)
        self.initial_state_from_input = from_input
        if from_input and initial_state is not None:
            raise wrong_value(
                kind,
                "initial_state is given, and initial_state_from_input says that the input gives it",
                hint="drop one of them",
            )
        starts_from_zeros = self.by_state and not self.folds  # of what the cell gives, where nothing is given
        if initial_state is None and not from_input and not starts_from_zeros:
            hint = f"ar.{self.kind}(step, ar.Zeros(type)), or initial_state_from_input=True"
            raise wrong_argument(kind, "there is no initial state", hint=hint)
        if initial_state is None:
            initial_state = Identity() if from_input else InferredZeros()
        self._parts = (
            as_block(step, f"the {self.cell_word} of {kind}"),
            as_block(initial_state, f"the initial state of {kind}"),
        )

    def arguments(self) -> list[Argument]:
        unwritten = self.initial_state_from_input or isinstance(self.parts[1], InferredZeros)
        blocks = self.parts[:1] if unwritten else self.parts
        from_input = self.initial_state_from_input
        return [*blocks, *keywords(initial_state_from_input=from_input, reverse=self.reverse)]


class Fold(Loop[Sequence[A], S]):
    """A left fold: `state = step(state, element)` for every element, from the initial state on.

    Args:
        step: from the pair (state, element) to the next state.
        initial_state: the first state; it gets no input (`Zeros`, `Constant`).
        reverse: go from the last element to the first.
        initial_state_from_input: the input is the pair (elements, initial state), and
            `initial_state` is not given.
        name: the name in messages.

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

    by_state = folds = True

    if TYPE_CHECKING:

        @overload
        def __init__(
            self,
            step: Callable[[Wire[tuple[S, A]]], Wire[S]],
            initial_state: Callable[[Wire[None]], Wire[S]],
            *,
            reverse: bool = False,
            initial_state_from_input: Literal[False] = False,
            name: str | None = None,
        ) -> None: ...
        @overload
        def __init__(
            self: Fold[Any, S],
            step: Callable[[Wire[tuple[S, Any]]], Wire[S]],
            *,
            reverse: bool = False,
            initial_state_from_input: Literal[True],
            name: str | None = None,
        ) -> None: ...
        def __init__(self, *args: Any, **options: Any) -> None: ...


class Scan(Loop[Sequence[A], tuple[Sequence[B], S]]):
    """A fold with an output at every element: `output, state = step(element, state)`.

    The input is a Python container, a sequence, or a tuple whose items have one type; the result is the pair
    of the sequence of outputs and the last state. An empty container gives no outputs and the initial state.

    Args:
        step: from the pair (element, state) to the pair (output, next state).
        initial_state: the first state; it gets no input (`Zeros`, `Constant`).
        reverse: go from the last element to the first. The outputs stay in the order of their elements, and
            the last state is that after the first element.
        initial_state_from_input: the input is the pair (elements, initial state), and
            `initial_state` is not given.
        name: the name in messages.

    Attributes:
        reverse: as given.
        initial_state_from_input: as given.
        by_state: whether the step gives the next state alone, as the cell of an `RNN` does.

    Raises:
        ArrowTypeError: an argument is no block, or there is no initial state; at `compile`, an input without
            elements or without end, or a step that gives no pair or another state than the initial one.
        ArrowValueError: `initial_state`, and `initial_state_from_input`.

    Source: TensorFlow Fold, `td.RNN`; Bird, "An introduction to the theory of lists" (1987), section 3
        (accumulations).

    Example:
        >>> import arrows as ar
        >>> add = ar.Function(lambda x, total: (total + x, total + x))
        >>> sums, total = (ar.Map(ar.Scalar()) >> ar.Scan(add, ar.Zeros([]))).eval([1, 2, 3])
        >>> [float(x) for x in sums], float(total)
        ([1.0, 3.0, 6.0], 6.0)
    """

    if TYPE_CHECKING:

        @overload
        def __init__(
            self,
            step: Callable[[Wire[tuple[A, S]]], Wire[tuple[B, S]]],
            initial_state: Callable[[Wire[None]], Wire[S]],
            *,
            reverse: bool = False,
            initial_state_from_input: Literal[False] = False,
            name: str | None = None,
        ) -> None: ...
        @overload
        def __init__(
            self: Scan[Any, B, S],
            step: Callable[[Wire[tuple[Any, S]]], Wire[tuple[B, S]]],
            *,
            reverse: bool = False,
            initial_state_from_input: Literal[True],
            name: str | None = None,
        ) -> None: ...
        def __init__(self, *args: Any, **options: Any) -> None: ...


class RNN(Scan[A, B, S]):
    """A recurrent network: a cell over the elements of a sequence.

    The cell takes (x, state) and gives the next state, as `LSTMCell` does. The output at an element is the
    state there, and if that is a tuple such as (h, c), its first item: h. A step whose output is something
    else is a `Scan`.

    Args:
        step: the cell, from the pair (element, state) to the next state.
        initial_state: the first state; it gets no input. Zeros of the cell's state if not given.
        reverse: go from the last element to the first. The outputs stay in the order of their elements, and
            the last state is that after the first element.
        initial_state_from_input: the input is the pair (elements, initial state), and
            `initial_state` is not given.
        name: the name in messages.

    Raises:
        ArrowTypeError: an argument is no block; at `compile`, an input without elements or without end, a
            cell that gives another state than it takes, or a state whose type nothing fixes.
        ArrowValueError: `initial_state`, and `initial_state_from_input`.

    Source: TensorFlow Fold, `td.RNN`.

    Example:
        >>> import arrows as ar
        >>> outputs, (h, c) = (ar.Map(ar.Vector(3)) >> ar.RNN(ar.LSTMCell(4))).eval([[1, 2, 3], [4, 5, 6]])
        >>> len(outputs), bool((outputs[-1] == h).all())
        (2, True)
    """

    by_state = True
    cell_word = "cell"

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: RNN[A, Any, S],
            step: Callable[[Wire[tuple[A, S]]], Wire[S]],
            initial_state: Callable[[Wire[None]], Wire[S]] | None = None,
            *,
            reverse: bool = False,
            initial_state_from_input: Literal[False] = False,
            name: str | None = None,
        ) -> None: ...
        @overload
        def __init__(
            self: RNN[Any, Any, S],
            step: Callable[[Wire[tuple[Any, S]]], Wire[S]],
            *,
            reverse: bool = False,
            initial_state_from_input: Literal[True],
            name: str | None = None,
        ) -> None: ...
        def __init__(self, *args: Any, **options: Any) -> None: ...


@explains_arguments("block")
def Bidirectional(
    forward: Callable[[Wire[tuple[A, B]]], Wire[B]],
    backward: Callable[[Wire[tuple[A, C]]], Wire[C]],
    *,
    name: str | None = None,
) -> Block[Sequence[A], tuple[Sequence[Any], tuple[Any, Any]]]:
    """Two recurrent networks over one sequence, one from each end.

    The result is a pair: the sequence of both outputs at each element, joined end to end, and the pair of
    the last states, forward first. States begin as zeros; for others, join two of `RNN` yourself. If
    both directions get the same cell, it is one layer, and both batch together.

    Args:
        forward: the cell from the first element on, as `RNN` takes it.
        backward: the cell from the last element on.
        name: the name in messages.

    Raises:
        ArrowTypeError: an argument is no block; at `compile`, as `RNN`, and outputs that are no tensors which
            can be joined.

    Source: Schuster, Paliwal, "Bidirectional recurrent neural networks", 1997; Graves, Schmidhuber,
        "Framewise phoneme classification with bidirectional LSTM", 2005.

    Example:
        >>> import arrows as ar
        >>> both = ar.Map(ar.Vector(3)) >> ar.Bidirectional(ar.LSTMCell(4), ar.LSTMCell(5))
        >>> ar.infer(both).output
        (Sequence(float32[9]), ((float32[4], float32[4]), (float32[5], float32[5])))
    """
    first = as_block(forward, "the forward cell of a Bidirectional")
    second = as_block(backward, "the backward cell of a Bidirectional")
    directions: list[AnyBlock] = [RNN(first), RNN(second, reverse=True)]
    # From the pair of (outputs, state) to the pair of both outputs, joined, and both states.
    pairs: list[AnyBlock] = [Fan([Pipe(GetItem(side), GetItem(item)) for side in (0, 1)]) for item in (0, 1)]
    results: AnyBlock = Fan((Pipe(pairs[0], ZipWith(Concat())), pairs[1]))
    return derived("Bidirectional", [first, second], Fan(directions), results, name=name)


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
        nothing = InferredZeros() if default is None else as_block(default, "the default of a Reduce")
        self._parts = (as_block(combine, "the combine of a Reduce"), nothing)

    def arguments(self) -> tuple[AnyBlock, ...]:
        return self.parts[:1] if isinstance(self.parts[1], InferredZeros) else self.parts
