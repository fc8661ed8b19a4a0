"""From a sequence to one value, in one operation: `Sum`, `Min`, `Max`, `Mean`, `Stack`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arrows.combinators.apply import Apply
from arrows.combinators.block import AnyBlock, set_name
from arrows.combinators.compose import DerivedBlock
from arrows.combinators.default_result import DefaultResult, as_default_result, put_default, shown, unfit
from arrows.combinators.elements import Unroll
from arrows.typesys import types as T


class Reduction(Apply[Any, Any]):
    """A function of a sequence's elements, or of a tuple's items of one type; each leaf by itself."""

    verb = ""
    default: DefaultResult | None = None

    @property
    def function(self) -> Callable[..., Any]:
        return self._of

    def _of(self, *values: Any) -> Any:
        if not _ragged(values[0]):
            return self._of_items(list(values))
        return each(self._of_rows, values[0], self.default)

    def _of_rows(self, rows: Any, default: Any) -> Any:
        raise NotImplementedError

    def _of_items(self, items: list[Any]) -> Any:
        if isinstance(items[0], tuple):
            return tuple(self._of_items(list(leaf)) for leaf in zip(*items, strict=True))
        return self._of_tensors(items)

    def _of_tensors(self, items: list[Any]) -> Any:
        raise NotImplementedError

    def check(self, input: T.Type) -> str | tuple[str, str] | None:
        kind, verb = self.kind, self.verb
        if isinstance(input, T.Broadcast):
            return f"{input} has no end, and so no {kind.lower()}"
        if isinstance(input, T.Input):
            read = f"read the elements first: ar.Map(ar.Scalar()) >> ar.{kind}()"
            return f"{kind} {verb} tensors, and the input is a Python object", read
        if isinstance(input, T.Sequence):
            return self._check_element(input.element)
        if not isinstance(input, T.Tuple):
            along = (
                f"along axes: ar.Function(ar.ops.{kind.lower()}); over a list, ar.Map what reads an item"
                if isinstance(input, T.Tensor)
                else ""
            )
            return f"{kind} {verb} the elements of a sequence, and {input} is none", along
        if not input.items:
            return f"the {kind.lower()} of an empty tuple has no type"
        for i, item in enumerate(input.items):
            if item != input.items[0]:
                return f"item 0 is {input.items[0]} and item {i} is {item}; {kind} {verb} items of one type"
        return self._check_element(input.items[0])

    def _check_element(self, element: T.Type) -> str | tuple[str, str] | None:
        if has_sequence(element):
            words = "are" if isinstance(element, T.Sequence) else "have"
            reason = f"{self.kind} {self.verb} tensors, and the elements {words} sequences: {element}"
            arguments = "(n)" if self.kind == "Stack" else "()"
            within = f"reduce each of these first: ar.Map(ar.{self.kind}{arguments})"
            return reason, within if words == "are" else ""
        return None if self.default is None else unfit(self.default, element)


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

    def __init__(self, *, name: str | None = None) -> None:
        set_name(self, name)

    def _of_rows(self, rows: Any, default: Any) -> Any:
        from arrows import ops

        return ops.segment_sum(rows)

    def _of_tensors(self, items: list[Any]) -> Any:
        total = items[0]
        for item in items[1:]:
            total = total + item
        return total


class ReductionWithDefault(Reduction):
    """A reduction that has no value of nothing: it is given one, or an example without elements is refused.

    Attributes:
        default: the value of no elements, or None.
    """

    def __init__(self, *, default: Any = None, name: str | None = None) -> None:
        set_name(self, name)
        self.default = as_default_result(default, self.kind)

    @property
    def counts(self) -> tuple[int, int | None]:
        return (1 if self.default is None else 0), None

    def miscounted(self, count: int) -> str:
        kind = self.kind
        return f"there are no elements, and so no {kind.lower()}; ar.{kind}(default=...) says what to give"

    def arguments(self, depth: int = 2) -> str:
        return "" if self.default is None else f"default={shown(self.default)}"


class Max(ReductionWithDefault):
    """The greatest of a sequence's elements, or of a tuple's items, each number by itself.

    Elements are tensors or tuples of tensors of one type, integers too. One segment operation, whatever the
    lengths. Equal greatest elements share the gradient.

    Args:
        default: the value if there are no elements: a number, an array of the element's shape, for elements
            that are tuples a number for all or a tuple of these. Left out, there must be elements.
        name: the name in messages.

    Attributes:
        default: as given.

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

    def _of_rows(self, rows: Any, default: Any) -> Any:
        from arrows import ops

        number = default if isinstance(default, (int, float)) else None if default is None else 0
        return put_default(rows, ops.segment_max(rows, number), None if number is default else default)

    def _of_tensors(self, items: list[Any]) -> Any:
        from arrows import ops

        most = items[0]
        for item in items[1:]:
            most = ops.maximum(most, item)
        return most


class Min(ReductionWithDefault):
    """The least of a sequence's elements, or of a tuple's items, each number by itself; see `Max`.

    Args:
        default: the value if there are no elements: a number, an array of the element's shape, for elements
            that are tuples a number for all or a tuple of these. Left out, there must be elements.
        name: the name in messages.

    Attributes:
        default: as given.

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

    def _of_rows(self, rows: Any, default: Any) -> Any:
        from arrows import ops

        number = default if isinstance(default, (int, float)) else None if default is None else 0
        return put_default(rows, ops.segment_min(rows, number), None if number is default else default)

    def _of_tensors(self, items: list[Any]) -> Any:
        from arrows import ops

        least = items[0]
        for item in items[1:]:
            least = ops.minimum(least, item)
        return least


class Mean(ReductionWithDefault):
    """The mean of a sequence's elements, or of a tuple's items, each number by itself.

    Elements are floating tensors or tuples of such of one type. One segment operation, whatever the lengths.

    Args:
        default: the value if there are no elements: a number, an array of the element's shape, for elements
            that are tuples a number for all or a tuple of these. Left out, there must be elements.
        name: the name in messages.

    Attributes:
        default: as given.

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

    def _of_rows(self, rows: Any, default: Any) -> Any:
        from arrows import ops

        return put_default(rows, ops.segment_mean(rows), default)

    def _of_tensors(self, items: list[Any]) -> Any:
        total = items[0]
        for item in items[1:]:
            total = total + item
        return total / len(items)

    def _check_element(self, element: T.Type) -> str | tuple[str, str] | None:
        for leaf in T.leaves(element):
            if not leaf.floating:
                return (
                    f"the mean of {leaf.dtype} would be no {leaf.dtype}",
                    "convert the elements first: ar.Map(ar.Function(lambda x: x.cast('float32')))",
                )
        return super()._check_element(element)


class Stack(DerivedBlock[Any, Any]):
    """The elements of a sequence of known length as one tensor, one beside the other along a new first axis.

    Elements are tensors or tuples of tensors of one type; of tuples each item is stacked. A tuple whose items
    have one type may stand for the sequence.

    Args:
        length: how many elements there are, >= 1.
        name: the name in messages.

    Attributes:
        length: as given.

    Raises:
        ArrowTypeError: at `compile`, an input that is no sequence of tensors, or a tuple of another length.
        ArrowValueError: `length` < 1, or more than a tuple is for (10,000).
        InputError: at evaluation, a sequence of another length.

    Example:
        >>> import arrows as ar
        >>> ar.infer(ar.Map(ar.Vector(2)) >> ar.Stack(3)).output
        float32[3, 2]
    """

    length: int

    def __init__(self, length: int, *, name: str | None = None) -> None:
        set_name(self, name)
        self.length = length
        self._parts = (Unroll(length, kind="Stack"), _Stacked())

    def written(self) -> list[AnyBlock | str]:
        return [str(self.length)]


class _Stacked(Reduction):
    """What `Stack` does to the tuple of the elements."""

    verb = "joins"

    def __init__(self) -> None:
        self.kind = "Stack"

    def _of_tensors(self, items: list[Any]) -> Any:
        from arrows import ops

        return ops.stack(items)


def has_sequence(t: T.Type) -> bool:
    """Whether there is a sequence in a type."""
    todo = [t]
    while todo:
        t = todo.pop()
        if isinstance(t, T.Sequence):
            return True
        todo.extend(t.children)
    return False


def _ragged(x: Any) -> bool:
    while isinstance(x, tuple):
        if not x:
            return False
        x = x[0]
    return bool(x.rows >= 0)


def each(f: Callable[[Any, Any], Any], x: Any, default: Any) -> Any:
    """`f` of every tensor in nested tuples, and of the default that belongs to it."""
    if not isinstance(x, tuple):
        return f(x, default)
    defaults = default if isinstance(default, tuple) else (default,) * len(x)
    return tuple(each(f, item, given) for item, given in zip(x, defaults, strict=True))
