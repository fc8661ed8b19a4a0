"""Blocks that compute on tensors: the core form `Apply`, `Function`, `Concat`, and `Layer`.

`Layer` is the base of blocks that have parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeAlias, TypeVarTuple, overload

import numpy as np

from arrows import ops
from arrows.combinators.base.arguments import (
    function_name,
    require_flag,
    require_integer,
    set_name,
    shortened,
    type_refusal,
    wrong_argument,
)
from arrows.combinators.base.block import A, B, Block
from arrows.combinators.base.printing import keywords
from arrows.ops import IndexOutOfRange, Parameter, ShapeError, TensorLike, innermost
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


class Written(Apply[A, B]):
    """A block that is printed with the arguments that its author wrote."""

    _words: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls, *args, **kwargs)
        named = {key: _word(value) for key, value in kwargs.items() if key != "name"}
        words = [*map(_word, args), *(f"{key}={word}" for key, word in named.items() if word)]
        self.__dict__["_words"] = ", ".join(filter(None, words))
        return self

    def arguments(self) -> list[str]:
        return [self._words] if self._words else []


class Layer(Written[A, B]):
    """A block with parameters: a frozen description; the model holds the values of the parameters.

    Two places share weights exactly if the same layer object stands in both. It may stand on several types of
    input where its parameters are the same for all: shape, element type, initializer, trainable or not. A
    layer of your own has up to four methods: `__init__` takes its arguments, `parameters` describes
    its arrays, `forward` computes on one example, and `signature` gives the types that are known beforehand.
    `@dataclass(eq=False)` may write the `__init__`; a layer has no `__eq__` of its own.

    Args:
        name: the name in messages, and of the parameters (`name/weight`).

    Raises:
        ArrowTypeError: the name is not text; the class has an `__eq__`, a `__hash__` or slots; a `Function`
            makes the layer, and would make another one at each call.

    Example:
        >>> import arrows as ar
        >>> class Scale(ar.Layer):
        ...     def parameters(self, input):
        ...         return (
        ...             ar.Parameter(
        ...                 "scale", (), input.dtype, lambda rng, shape, dtype: np.ones(shape, dtype)
        ...             ),
        ...         )
        ...
        ...     def forward(self, parameters, x):
        ...         return x * parameters["scale"]
        >>> import numpy as np
        >>> float((ar.Scalar() >> Scale()).eval(3))
        3.0
    """

    foreign = "layer"

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        # What has an effect, as Dropout, keeps nothing from call to call.
        if not cls.effect and (context := innermost()) is not None and context.in_function:
            hint = "make the layer outside, and call it inside: ar.Function(lambda x: layer(x))"
            raise ShapeError(f"it makes a layer, {cls.kind}: each call would make another one", hint=hint)
        return super().__new__(cls, *args, **kwargs)

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        """Describes the layer's parameters for an input of this type.

        Raises:
            ShapeError: the layer takes no such input.
        """
        name = type(self).__name__
        hint = "for a layer without parameters: def parameters(self, input): return ()"
        raise ShapeError(f"{name} does not say its parameters", hint=hint)

    def forward(self, parameters: Mapping[str, TensorLike], *args: Any, **_: Any) -> Any:
        """Computes the result on tensor-likes; `args` is the input, spread as for a `Function`.

        A layer names what it takes, and all comes by position: `def forward(self, parameters, x)`.
        """
        hint = "def forward(self, parameters, x): return ..."
        raise ShapeError(f"{type(self).__name__} does not say what it computes", hint=hint)

    def signature(self) -> tuple[T.Type | None, T.Type | None]:
        """Returns the types of input and output that are known before inference; None is open."""
        return None, None

    def default_output(self) -> T.Type | None:
        """Returns the output type to assume if nothing else decides it, as in recursion through the layer."""
        return None

    def compute(self, args: tuple[Any, ...]) -> Any:
        return self.of_example(*spread_items(args))

    def of_example(self, *args: Tensors) -> Any:
        input = _input_type(args)
        try:
            specs = self.parameters(input)
        except ShapeError:
            # A Function may call a layer on the rows of a sequence. A layer that takes no sequence then acts
            # on each element.
            if not isinstance(input, T.Sequence):
                raise
            specs = self.parameters(input.element)
        checked = _checked(specs, type(self).__name__)
        return self.forward({spec.name: ops.parameter(self, spec) for spec in checked}, *args)


def _checked(specs: object, layer: str) -> tuple[Parameter, ...]:
    """Checks the result of a layer's `parameters`; the layer may be a user's."""
    if isinstance(specs, (tuple, list)) and all(isinstance(spec, Parameter) for spec in specs):
        return tuple(specs)
    raise ShapeError(
        f"{layer}.parameters must return a tuple of ar.Parameter, and returned {shortened(specs)}",
        hint="return (ar.Parameter(name, shape, dtype, initializer),)",
    )


def _word(x: object) -> str:
    """Writes an argument in a word; empty if a word does not suffice."""
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, np.ndarray) and x.ndim == 1:
        x = x.tolist()
    if isinstance(x, (bool, int, float, str, T.Type, type(None))):
        return repr(x)
    if isinstance(x, (list, tuple)) and len(x) <= 4 and all(isinstance(i, (int, float, str)) for i in x):
        return repr(x)
    return getattr(x, "__name__", "") if callable(x) else ""


def _input_type(args: tuple[Tensors, ...]) -> T.Type:
    """Returns the input type that spread tensor-likes stand for; rows of unknown number are sequences."""
    return _sequence(*_row(args[0] if len(args) == 1 else args))


def _row(x: object) -> tuple[T.Type, int]:
    """The type of one row, and the level: >= 0 for rows of a sequence."""
    if isinstance(x, TensorLike):
        return x.type, x.rows
    if not isinstance(x, tuple):
        raise type_refusal("call a layer", f"expected tensors inside a Function, got {x!r}")
    items = [_row(item) for item in x]
    levels = {level for _, level in items}
    if len(levels) == 1 and min(levels) >= 0:
        return T.Tuple([t for t, _ in items]), levels.pop()
    return T.Tuple([_sequence(t, level) for t, level in items]), -1


def _sequence(t: T.Type, level: int) -> T.Type:
    return T.Sequence(t) if level >= 0 else t
