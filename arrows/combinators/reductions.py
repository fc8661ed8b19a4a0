"""`Sum`, `Min`, `Max`, `Mean` and `Stack`: each takes a sequence to one value in one operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np

from arrows import ops
from arrows.combinators.apply import Apply, Misfit, Tensors
from arrows.combinators.base.arguments import require_integer, set_name, wrong_argument
from arrows.combinators.base.block import A, B, Block, derived
from arrows.combinators.base.printing import keywords
from arrows.combinators.items import Item
from arrows.combinators.sequences import MOST
from arrows.ops import TensorLike
from arrows.typesys import explains_arguments, types as T


class WithDefault(Apply[A, B]):
    """A function of elements, with a number that stands where there is none; None: there must be one."""

    default: float | None = None

    def __init__(self, *, default: object = None, name: str | None = None) -> None:
        set_name(self, name)
        self.default = as_default(default, self.kind)

    def arguments(self) -> list[str]:
        return keywords(default=self.default)


class Reduction(Apply[Any, Any]):
    """A function of a sequence's elements, or of a tuple's items of one type.

    Elements may be nested tuples; each tensor in them is reduced by itself. A subclass defines the function
    on the rows of a sequence, and on a list of tensors.

    Attributes:
        verb: the verb for what the block does with tensors, in messages.
        default: the result if there are no elements, or None.
    """

    verb: ClassVar[str]
    default: float | None = None

    def of_example(self, *values: Tensors) -> Tensors:
        """Reduces the rows of a sequence, or the items of a tuple."""
        return each(self.of_rows, values[0]) if _is_sequence(values[0]) else self._of_items(values)

    def _of_items(self, items: Sequence[Tensors]) -> Tensors:
        if isinstance(items[0], tuple):
            leaves = zip(*(item for item in items if isinstance(item, tuple)), strict=True)
            return tuple(self._of_items(leaf) for leaf in leaves)
        return self.of_tensors([item for item in items if isinstance(item, TensorLike)])

    def of_rows(self, rows: TensorLike) -> TensorLike:
        """Reduces the rows of a sequence, to one result for each example."""
        raise NotImplementedError

    def of_tensors(self, items: list[TensorLike]) -> TensorLike:
        """Reduces a known number of tensors."""
        raise NotImplementedError

    def check(self, input: T.Type) -> Misfit:
        kind, verb = self.kind, self.verb
        if isinstance(input, T.Broadcast):
            return f"{input} has no end, so it has no {kind.lower()}"
        if isinstance(input, T.Input):
            read = f"read the elements first: ar.Map(ar.Scalar()) >> ar.{kind}()"
            return f"{kind} {verb} tensors, and the input is a Python object", read
        if isinstance(input, T.Sequence):
            return self._check_element(input.element)
        if not isinstance(input, T.Tuple):
            along = (
                f"to reduce axes: ar.Function(ar.ops.{kind.lower()}); to reduce a list: read its items with "
                "ar.Map first"
                if isinstance(input, T.Tensor)
                else ""
            )
            return f"{kind} {verb} the elements of a sequence, but {input} is not a sequence", along
        if not input.items:
            return f"the {kind.lower()} of an empty tuple has no type"
        for i, item in enumerate(input.items):
            if item != input.items[0]:
                return f"item 0 is {input.items[0]} and item {i} is {item}; {kind} {verb} items of one type"
        return self._check_element(input.items[0])

    def _check_element(self, element: T.Type) -> Misfit:
        if T.holds(element, T.Sequence):
            words = "are" if isinstance(element, T.Sequence) else "have"
            reason = f"{self.kind} {self.verb} tensors, and the elements {words} sequences: {element}"
            within = f"reduce each of these first: ar.Map(ar.{self.kind}(...))"
            return reason, within if words == "are" else ""
        return unfit(self.default, element)


class Sum(Reduction):
    """The sum of a sequence's elements, or of a tuple's items; zeros if there are none.

    Elements are tensors or tuples of tensors of one type; tuples are added item by item. One segment
    operation, whatever the lengths.

    Args:
        name: the name in messages.

    Raises:
        ArrowTypeError: at `compile`, an input that is no sequence of tensors.

    Source: TensorFlow Fold, `td.Sum`.

    Example:
        >>> import arrows as ar
        >>> float((ar.Map(ar.Scalar()) >> ar.Sum()).eval([1, 2, 3]))
        6.0
    """

    verb = "adds"

    def of_rows(self, rows: TensorLike) -> TensorLike:
        return ops.segment_sum(rows)

    def of_tensors(self, items: list[TensorLike]) -> TensorLike:
        return reduce(add, items)


class ReductionWithDefault(Reduction, WithDefault[Any, Any]):
    """A reduction that is undefined if there are no elements.

    The user gives a `default` for this case; without one, an example without elements is refused.
    """

    @property
    def no_elements(self) -> str:
        if self.default is not None:
            return ""
        kind = self.kind
        return f"there are no elements, and so no {kind.lower()}; ar.{kind}(default=...) says what to give"


class Max(ReductionWithDefault):
    """The greatest of a sequence's elements, or of a tuple's items, each number by itself.

    Elements are tensors or tuples of tensors of one type, integers too. One segment operation, whatever the
    lengths. Equal greatest elements share the gradient.

    Args:
        default: the number to give if there are no elements. Left out, there must be elements.
        name: the name in messages.

    Raises:
        ArrowTypeError: no such default; at `compile`, an input that is no sequence of tensors, or a default
            that does not fit the elements.
        InputError: at evaluation, no elements, and no default.

    Source: TensorFlow Fold, `td.Max`, which gives zeros for no elements.

    Example:
        >>> import arrows as ar
        >>> most = ar.Map(ar.Scalar()) >> ar.Max(default=-1)
        >>> float(most.eval([1, 3, 2])), float(most.eval([]))
        (3.0, -1.0)
    """

    verb = "compares"

    def of_rows(self, rows: TensorLike) -> TensorLike:
        return ops.segment_max(rows, self.default)

    def of_tensors(self, items: list[TensorLike]) -> TensorLike:
        return reduce(ops.maximum, items)


class Min(ReductionWithDefault):
    """The least of a sequence's elements, or of a tuple's items, each number by itself; see `Max`.

    Args:
        default: the number to give if there are no elements. Left out, there must be elements.
        name: the name in messages.

    Raises:
        ArrowTypeError: no such default; at `compile`, an input that is no sequence of tensors, or a default
            that does not fit the elements.
        InputError: at evaluation, no elements, and no default.

    Source: TensorFlow Fold, `td.Min`, which gives zeros for no elements.

    Example:
        >>> import arrows as ar
        >>> int((ar.Map(ar.Scalar("uint8")) >> ar.Min()).eval([7, 3, 5]))
        3
    """

    verb = "compares"

    def of_rows(self, rows: TensorLike) -> TensorLike:
        return ops.segment_min(rows, self.default)

    def of_tensors(self, items: list[TensorLike]) -> TensorLike:
        return reduce(ops.minimum, items)


class Mean(ReductionWithDefault):
    """The mean of a sequence's elements, or of a tuple's items, each number by itself.

    Elements are floating tensors or tuples of such of one type. One segment operation, whatever the lengths.

    Args:
        default: the number to give if there are no elements. Left out, there must be elements.
        name: the name in messages.

    Raises:
        ArrowTypeError: no such default; at `compile`, an input that is no sequence of floating tensors, or a
            default that does not fit the elements.
        InputError: at evaluation, no elements, and no default.

    Source: TensorFlow Fold, `td.Mean`, which gives zeros for no elements.

    Example:
        >>> import arrows as ar
        >>> float((ar.Map(ar.Scalar()) >> ar.Mean()).eval([1, 2, 6]))
        3.0
    """

    verb = "averages"

    def of_rows(self, rows: TensorLike) -> TensorLike:
        return put_default(rows, ops.segment_mean(rows), self.default)

    def of_tensors(self, items: list[TensorLike]) -> TensorLike:
        return reduce(add, items) / len(items)

    def _check_element(self, element: T.Type) -> Misfit:
        for leaf in T.leaves(element):
            if not leaf.floating:
                return (
                    f"the mean of {leaf.dtype} values would not be {leaf.dtype}",
                    "convert the elements first: ar.Map(ar.Function(lambda x: x.cast('float32')))",
                )
        return super()._check_element(element)


@explains_arguments("block")
def Stack(length: int, *, name: str | None = None) -> Block[Any, Any]:
    """The elements of a sequence of known length as one tensor, one beside the other along a new first axis.

    Elements are tensors or tuples of tensors of one type; of tuples each item is stacked. A tuple whose items
    have one type may stand for the sequence.

    Args:
        length: how many elements there are, >= 1.
        name: the name in messages.

    Raises:
        ArrowTypeError: the length is no integer; at `compile`, an input that is no sequence of tensors, or a
            tuple of another length.
        ArrowValueError: `length` < 1, or more than a tuple is for (10,000).
        InputError: at evaluation, a sequence of another length.

    Example:
        >>> import arrows as ar
        >>> ar.infer(ar.Map(ar.Vector(2)) >> ar.Stack(3)).output
        float32[3, 2]
    """
    hint = "ar.Map, ar.Sum and their kin take any length"
    require_integer("a Stack", "the length", length, 1, MOST, hint)
    return derived("Stack", [str(length)], Item(slice(None), arity=length), _Stacked(), name=name)


class _Stacked(Reduction):
    """The second step of `Stack`: from the tuple of elements to one tensor."""

    kind = "Stack"
    verb = "joins"

    def of_tensors(self, items: list[TensorLike]) -> TensorLike:
        return ops.stack(items)


def _is_sequence(x: Tensors) -> bool:
    """Whether a value holds the rows of a sequence; an empty tuple holds none."""
    while isinstance(x, tuple):
        if not x:
            return False
        x = x[0]
    return x.rows >= 0


def each(f: Callable[[TensorLike], TensorLike], x: Tensors) -> Tensors:
    """Applies `f` to every tensor in nested tuples."""
    return tuple(each(f, item) for item in x) if isinstance(x, tuple) else f(x)


def as_default(value: object, kind: str) -> float | None:
    """Checks the `default=` of a block, which stands where no element is; None stays None.

    Raises:
        ArrowTypeError: it is no number.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    raise wrong_argument(
        f"{'an' if kind[0] in 'AEIO' else 'a'} {kind}", f"the default must be a number, not {value!r}"
    )


def unfit(default: float | None, element: T.Type) -> str | None:
    """Returns why a default does not fit elements of this type; None if it fits.

    Example:
        >>> unfit(2.5, T.Tensor((3,), "int32"))
        'the default 2.5 is not int32'
    """
    if default is None:
        return None
    for leaf in T.leaves(element):
        if leaf.floating:
            fits = not isinstance(default, int) or abs(default) < 2**1023  # a larger one may overflow float64
        else:
            whole = leaf.dtype != "bool" and float(default).is_integer()
            fits = whole and np.iinfo(leaf.dtype).min <= default <= np.iinfo(leaf.dtype).max
        if not fits:
            return f"the default {default!r} is not {leaf.dtype}"
    return None


def put_default(rows: TensorLike, result: TensorLike, default: float | None) -> TensorLike:
    """Puts the default into `result` for each example without `rows`; None changes nothing."""
    if default is None:
        return result
    has_elements = ops.segment_count(rows, "int32") > 0
    return ops.where(has_elements, result, np.full(result.shape, default, result.dtype))
