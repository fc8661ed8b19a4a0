"""Blocks that compute on tensors: the core form `Apply`, `Function` and `Concat`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias, TypeVarTuple, overload

from arrows import ops
from arrows.combinators.base.arguments import (
    function_name,
    require_flag,
    require_integer,
    set_name,
    wrong_argument,
)
from arrows.combinators.base.block import A, B, Block
from arrows.combinators.base.printing import keywords
from arrows.ops import IndexOutOfRange, TensorLike
from arrows.typesys import types as T, wider_dtype

Tensors: TypeAlias = "TensorLike | tuple[Tensors, ...]"
"""The arguments and results of a function of one example: a tensor, or a (nested) tuple of tensors."""
Misfit: TypeAlias = str | tuple[str, str] | None
"""Why a block refuses an input: a reason, or a reason and a hint; None if the block takes the input."""

As = TypeVarTuple("As")


class Apply(Block[A, B]):
    """The core form of everything that computes on tensors: a function of one example, or a layer."""

    example: ClassVar[str] = ""  # an expression that may stand before the block, for hints

    def of_example(self, *args: Any) -> Any:
        """The function that is traced; `arrows.ops.trace` tells how a tuple becomes its arguments."""
        raise NotImplementedError

    @property
    def no_elements(self) -> str:
        """The reason for refusing a sequence without elements; empty if it is taken."""
        return ""

    def check(self, input: T.Type) -> Misfit:
        """Checks an input type that is known, for errors that tracing does not find."""
        return None

    def out_of_range(self, error: IndexOutOfRange) -> tuple[str, str]:
        """Makes the reason and the hint for an index of an example that is out of range."""
        return str(error), ""


class Function(Apply[A, B]):
    """A function of tensors, written for one example.

    It sees shapes without a batch axis; the engine lifts it to batches. It is traced once for each input
    type: Python control flow may depend on shapes, never on values. A tuple arrives as several arguments,
    nested tuples as Python tuples, a sequence as rows of unknown number. Layers may be called inside, and so
    may other Functions: `f(x)` is then what `f`'s own function returns.

    Args:
        function: from tensors to a tensor, a (nested) tuple, a dict, a NamedTuple or a dataclass of tensors.
        name: the name in messages.

    Raises:
        ArrowTypeError: not a function; at `compile`, an input that is no tensor, or shapes that do not fit.

    Source: TensorFlow Fold, `td.Function` (which sees the batch axis; this one does not).

    Example:
        >>> import arrows as ar
        >>> area = (ar.GetItem("w") >> ar.Scalar() & ar.GetItem("h") >> ar.Scalar()) >> ar.Function(
        ...     lambda w, h: w * h
        ... )
        >>> float(area.eval({"w": 2, "h": 3}))
        6.0
    """

    of_example: Callable[..., Any]

    @overload
    def __init__(self: Function[A, B], function: Callable[[A], B], *, name: str | None = None) -> None: ...
    @overload
    def __init__(
        self: Function[tuple[*As], B], function: Callable[[*As], B], *, name: str | None = None
    ) -> None: ...
    def __init__(self, function: Callable[..., Any], *, name: str | None = None) -> None:
        set_name(self, name)
        if isinstance(function, Apply):
            hint = f"{function.label} is a block already, and needs no Function around it"
        else:
            hint = "ar.Function(lambda x, y: x * y)"
        if isinstance(function, Block) or not callable(function):
            raise wrong_argument("a Function", f"expected a function of tensors, got {function!r}", hint=hint)
        self.of_example = function

    def compute(self, args: tuple[Any, ...]) -> Any:
        return self.of_example(*spread_items(args))

    def arguments(self) -> list[str]:
        return [function_name(self.of_example)]


def spread_items(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call inside a Function: as everywhere, one tuple stands for its items."""
    return args[0] if len(args) == 1 and isinstance(args[0], tuple) else args


class Concat(Apply[Any, Any]):
    """Joins the tensors of a tuple along one axis.

    Scalars count as vectors of length 1; all other axes and the element types must agree.

    Args:
        axis: the axis, counted without a batch; negative from the end.
        flatten: take nested tuples apart, depth first.
        name: the name in messages.

    Raises:
        ArrowTypeError: at `compile`, inputs that are no tensors, or do not fit together.

    Source: TensorFlow Fold, `td.Concat`.

    Example:
        >>> import arrows as ar
        >>> pair = ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1) >> ar.Vector(2)
        >>> (pair >> ar.Concat()).eval((1, [2, 3])).tolist()
        [1.0, 2.0, 3.0]
        >>> pair = ar.GetItem(0) >> ar.Tensor([2, 1]) & ar.GetItem(1) >> ar.Tensor([2, 2])
        >>> (pair >> ar.Concat(axis=1)).eval(([[1], [2]], [[3, 4], [5, 6]])).tolist()
        [[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]]
    """

    axis: int
    flatten: bool

    def __init__(self, axis: int = 0, flatten: bool = False, *, name: str | None = None) -> None:
        set_name(self, name)
        hint = "the tensors come as a tuple: (f & g) >> ar.Concat()" if hasattr(axis, "parts") else ""
        self.axis = require_integer("a Concat", "the axis", axis, hint=hint)
        self.flatten = require_flag("a Concat", "flatten", flatten)

    def of_example(self, *values: Tensors) -> TensorLike:
        tensors: list[TensorLike] = []
        todo = list(reversed(values))
        while todo:
            x = todo.pop()
            if isinstance(x, tuple):
                todo.extend(reversed(x))
            else:
                tensors.append(ops.reshape(x, (1,)) if x.shape == () else x)
        return ops.concat(tensors, axis=self.axis)

    def check(self, input: T.Type) -> Misfit:
        if not isinstance(input, T.Tuple):
            hints = {
                T.Input: "read its fields first: ar.Record({...}) >> ar.Concat()",
                T.Tensor: "`>>` binds closer than `&`: (f & g) >> ar.Concat()",
                T.Sequence: "a sequence of known length is joined by ar.Stack(length), of any by ar.Sum()",
            }
            return f"Concat joins the tensors of a tuple, but {input} is not a tuple", hints.get(
                type(input), ""
            )
        items = [t for t in T.parts(input) if not isinstance(t, T.Tuple)] if self.flatten else input.items
        if not items:
            return "there is nothing to join in an empty tuple"
        for i, item in enumerate(items):
            if isinstance(item, T.Tuple):
                return f"item {i} is the tuple {item}", "ar.Concat(flatten=True) joins what is inside"
            if isinstance(item, T.Input):
                read = "read it first: ar.Scalar(), ar.Vector(n) or ar.Tensor(shape)"
                return f"item {i} is a Python object, and Concat joins tensors", read
            if not isinstance(item, T.Tensor):
                return f"item {i} is {item}, and Concat joins tensors"
            if not -max(item.ndim, 1) <= self.axis < max(item.ndim, 1):
                return f"item {i} is {item}, which has no axis {self.axis}"
            first = items[0]
            if isinstance(first, T.Tensor) and item.dtype != first.dtype:
                cast = f"f >> ar.Function(lambda x: x.cast({wider_dtype(first.dtype, item.dtype)!r}))"
                reason = f"item 0 has elements of {first.dtype}, item {i} of {item.dtype}"
                return reason, f"read both alike, or convert one: {cast}"
        return None

    def arguments(self) -> list[str]:
        return [str(self.axis)] * (self.axis != 0) + keywords(flatten=self.flatten)
