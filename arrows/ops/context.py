"""Contexts, which record or compute the operations of a function, and the parameters of layers.

Operations without tensors go into the innermost context that the code runs in, of a Function or of a batch.
The contexts of a Function bring the operands of an operation to equal ranks and levels.  `spread` makes the
arguments of a function from its input type, and `collect` a type from its result.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable, Hashable, Sequence
from contextvars import ContextVar, Token, copy_context
from dataclasses import dataclass
from functools import wraps
from itertools import count
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np

from arrows.arrays import HostArray
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import INVARIANT, ROW, Attributes, Primitive, get
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import (
    ArrowTypeError,
    ArrowValueError,
    SourceLine,
    Tensor,
    cached_property,
    is_float,
    masked_elements,
    types as T,
    unwritable,
)

P = ParamSpec("P")
R = TypeVar("R")

current_context: ContextVar[Context | None] = ContextVar("arrows_ops_context", default=None)
"""The context that was entered last; `innermost` tells whether it is still open."""


def in_own_context(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator: the context of operations is the caller's again when the function ends.

    A `with` does not see to that alone: an interrupt may come within its `__enter__` or `__exit__`.

    >>> @in_own_context
    ... def enter():
    ...     current_context.set("entered, and never left")
    >>> enter()
    >>> current_context.get()
    """

    @wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> R:
        return copy_context().run(function, *arguments, **keywords)

    return call


def innermost() -> Context | None:
    """The innermost open context that the code runs in, if any: of a Function, or of a batch on the fly."""
    context = current_context.get()
    while context is not None and not context.open:
        context = context.outer
    return context


Initializer = Callable[[np.random.Generator, tuple[int, ...], str], HostArray]
"""`initializer(generator, shape, dtype) -> array`; see `arrows.layers.initializers`."""


@dataclass(frozen=True, eq=False)
class Parameter:
    """The description of one array of a layer; its values live in a model.

    Args:
        name: unique in its layer, such as "weight".
        shape: sizes of the axes.
        dtype: element type.
        initializer: makes the first values, `(generator, shape, dtype) -> array`.
        trainable: whether it gets a gradient; if not, it is still saved and loaded, but never changes.

    Raises:
        ArrowTypeError: the name is not text.
        ArrowValueError: no file can store the name.

    >>> Parameter("bias", (3,), "float32", lambda generator, shape, dtype: np.zeros(shape, dtype)).shape
    (3,)
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    initializer: Initializer
    trainable: bool = True

    def __post_init__(self) -> None:
        name: object = self.name
        if not isinstance(name, str):
            raise ArrowTypeError(f"the name of a parameter must be a string, not {name!r}")
        if reason := unwritable(name):
            raise ArrowValueError(f"the name of a parameter {reason}")

    @property
    def has_gradient(self) -> bool:
        """Whether it is trained: a float, and not frozen."""
        return self.trainable and self.dtype.startswith("float")

    @cached_property
    def type(self) -> T.Tensor:
        """Shape and element type as a type."""
        return T.Tensor(self.shape, self.dtype)

    def difference(self, other: Parameter) -> tuple[str, str] | None:
        """What distinguishes two descriptions of the same name, in words for each; None if they agree.

        The initializers may differ: that of the first one makes the values.

        >>> weight = Parameter("weight", (3, 2), "float32", lambda generator, shape, dtype: np.ones(shape))
        >>> weight.difference(Parameter("weight", (4, 2), "float32", weight.initializer))
        ('float32[3, 2]', 'float32[4, 2]')
        """
        if self.type != other.type:
            return str(self.type), str(other.type)
        words = ("trained", "frozen") if self.trainable else ("frozen", "trained")
        return words if self.trainable != other.trainable else None


class Context:
    """What the operations on its tensors go into: a Function that is traced or computed, or a batch.

    `with context:` makes it the innermost one.

    Attributes:
        float_type: the element type that every float gets; None leaves them as they are.
        open: whether it has been entered and not left.
        in_function: whether a Function runs in it, so that parameters and random numbers have a meaning.
        draws: how many times random numbers were drawn, so that equal draws are no equal equations.
        outer: the context that was the innermost when this one was entered; None where leaving sets it back.
    """

    float_type: str | None
    open: bool = True
    in_function: bool = False
    draws: int = 0
    outer: Context | None = None

    def __enter__(self) -> Self:
        self.outer, self.open = innermost(), True
        current_context.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        # Contexts need not end in the opposite order of entering: a generator may leave its context late,
        # and in another thread.
        self.open = False
        current_context.set(innermost())

    def float_or(self, dtype: str) -> str:
        """An element type, in place of which every floating one is this context's, if it has one."""
        return self.float_type if self.float_type is not None and is_float(dtype) else dtype

    def constant(self, array: HostArray) -> TensorLike:
        """A constant as a tensor of this context."""
        raise NotImplementedError

    def parameter(self, owner: object, spec: Parameter) -> TensorLike:
        """A parameter of a layer; the same tensor each time."""
        raise NotImplementedError

    def apply(
        self,
        primitive: Primitive,
        operands: tuple[Operand, ...],
        attributes: Attributes,
        like: TensorLike | None = None,
    ) -> TensorLike:
        """Applies an operation to tensors of this context, constants and numbers: see `bind`."""
        raise NotImplementedError

    def as_before(self, call: Hashable, operands: Sequence[Operand], /) -> TensorLike | None:
        """The result of an operation that tensors like these were operands of before, if it is known so.

        Args:
            call: the primitive, and the values of its attributes.
            operands: its operands.
        """
        return None

    def refuse_mixture(self, primitive: Primitive) -> None:
        """Raises the error for an operation that gets a tensor of this context and one of another."""
        raise NotImplementedError

    def call_block(self, block: Any, arguments: tuple[Any, ...], /) -> Any:
        """Calls a block on tensors of this context, plain values, and tuples and lists of these."""
        raise NotImplementedError

    def dropout(self, x: TensorLike, rate: float) -> TensorLike:
        """Dropout, where this context trains."""
        return x

    def draw(self, name: str, like: TensorLike | None) -> TensorLike | None:
        """A draw of random numbers as one call; None: the caller computes it, from `draw_key`."""
        return None

    def draw_key(self) -> TensorLike:
        """The key of random numbers, uint64."""
        raise NotImplementedError

    def attempt(self, line: SourceLine) -> str:
        """What errors of operations on plain arguments begin with, if a line of the user's is the culprit."""
        return ""


def parameter(owner: object, spec: Parameter) -> TensorLike:
    """A parameter of a layer as a tensor of the current function: the same tensor at each call.

    Raises:
        ShapeError: no function is being traced or evaluated.

    >>> parameter(
    ...     object(),
    ...     Parameter("bias", (3,), "float32", lambda generator, shape, dtype: np.zeros(shape, dtype)),
    ... )
    Traceback (most recent call last):
    ...
    arrows.ops.errors.ShapeError: parameter 'bias' is used outside of any function; ...
    """
    context = innermost()
    if context is None or not context.in_function:
        raise ShapeError(
            f"parameter {spec.name!r} is used outside of any function; "
            "call layers inside a Function, or put them into a block"
        )
    return context.parameter(owner, spec)


class Weight(TensorLike):
    """A parameter that is an operand by itself: `x @ w` computes with the values that a model has for it.

    Args:
        spec: what it is.
        name: the name of the parameter, before the slash; None: a number, as for a layer.

    >>> Weight(Parameter("value", (3,), "float32", lambda generator, shape, dtype: np.zeros(shape))).shape
    (3,)
    """

    rows = INVARIANT

    def __init__(self, spec: Parameter, name: str | None = None) -> None:
        self.spec, self.name, self.site = spec, name, SourceLine.here()

    @property
    def type(self) -> Tensor:
        """Its shape and element type."""
        return self.spec.type

    @property
    def context(self) -> Context:
        """The function or the batch that the code runs in."""
        context = innermost()
        if context is None:
            reason = f"{self!r} has no value here, outside of any batch or function"
            raise ShapeError(reason, hint='its numbers are net.params["NAME/value"]')
        return context

    def __call__(self) -> TensorLike:
        """Its value, a tensor of the function or the batch that the code runs in."""
        return self.context.parameter(self, self.spec)

    def __repr__(self) -> str:
        return f"the parameter {self.name or 'made'} ({self.type}, {self.site})"


class FunctionContext(Context):
    """Base of the contexts in which a Function runs; `with context:` makes it the innermost one.

    It may be entered twice.
    """

    in_function = True

    def __init__(self, float_type: str | None) -> None:
        self.float_type = float_type
        self._tokens: list[Token[Context | None]] = []

    def __enter__(self) -> Self:
        self._tokens.append(current_context.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        current_context.reset(self._tokens.pop())

    def checked(
        self, primitive: Primitive, operands: tuple[Operand, ...], attributes: Attributes, like: object
    ) -> tuple[tuple[Any, ...], Tensor, int]:
        """The operands as tensors of equal ranks and levels; the type and level of the result."""
        for operand in (*operands, like):
            if isinstance(operand, TensorLike) and operand.context is not self:
                operand.context.refuse_mixture(primitive)
        rows, values = _levels(primitive, _tensors(self, primitive, operands), attributes)
        return values, primitive.rule(*(value.type for value in values), **attributes), rows

    def refuse_mixture(self, primitive: Primitive) -> None:
        raise ShapeError(
            f"{primitive.name}: one operand is a tensor of another function call; "
            "a Function must not keep tensors between calls"
        )

    def call_block(self, block: Any, arguments: tuple[Any, ...], /) -> Any:
        return block.compute(arguments)


def constant_array(value: object, beside: Tensor | None = None) -> HostArray:
    """Converts a Python number, a NumPy number or an array to an array; else a ShapeError.

    A Python number gets the element type of `beside`, the type of the tensor beside it, and a ShapeError if
    it does not fit that type.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.array(value)
        if array.dtype.kind not in "biuf":
            raise ShapeError(f"a constant of element type {array.dtype} cannot be a tensor")
        if masked_elements(value):
            raise ShapeError("a constant has masked elements", hint="fill them first: x.filled(0)")
        return array
    if not isinstance(value, (bool, int, float)):
        refuse_wire(value)
        hint = "use arrows.ops.stack or numpy.array" if isinstance(value, (list, tuple)) else None
        if isinstance(value, (list, tuple)) and any(isinstance(item, TensorLike) for item in value):
            hint = "over a list of tensors: ar.Sum()(xs), ar.Mean()(xs); as one tensor: arrows.ops.stack(xs)"
        raise ShapeError(
            f"expected a tensor, a number or a NumPy array, got {type(value).__name__}", hint=hint
        )
    if beside is None:
        return np.asarray(value)
    dtype = beside.dtype
    hint = 'cast the tensor first: x.cast("float32")'
    if isinstance(value, float) and not is_float(dtype):
        raise ShapeError(f"{value!r} is not a whole number, but the tensor beside it is {beside}", hint=hint)
    if dtype == "bool" and not isinstance(value, bool):
        raise ShapeError(f"{value!r} beside a tensor of bool", hint=hint)
    try:
        with np.errstate(over="ignore", under="ignore"):  # 1e39 is infinite in float32
            return np.asarray(value, dtype)
    except OverflowError:
        raise ShapeError(f"{value!r} is out of range for {dtype}") from None


def type_beside(*operands: Operand) -> Tensor | None:
    """The type whose elements Python numbers take beside these: that of a tensor, or else of an array."""
    for operand in operands:
        if isinstance(operand, TensorLike):
            return operand.type
    arrays = [constant_array(x) for x in operands if isinstance(x, (np.ndarray, np.generic))]
    return Tensor(arrays[0].shape, arrays[0].dtype.name) if arrays else None


def refuse_wire(value: object) -> None:
    """Lets a wire of an arrow raise its own error: it stands for a value that does not exist yet."""
    refuse = getattr(value, "_no_tensor", None)
    if refuse is not None:
        refuse()


def _tensors(
    context: FunctionContext, primitive: Primitive, operands: tuple[Operand, ...]
) -> tuple[TensorLike, ...]:
    """The operands as tensors; for an element-wise primitive, of one rank, by axes of size 1 in front."""
    rank, beside, values = 0, None, []
    if primitive.elementwise:
        rank = builtins.max([x.ndim for x in operands if isinstance(x, (TensorLike, np.ndarray))], default=0)
    for x in operands:
        if isinstance(x, Weight):
            x = context.parameter(x, x.spec)
        if not isinstance(x, TensorLike):
            try:
                beside = beside or type_beside(*operands)
                array = constant_array(x, beside)
            except ShapeError as error:
                raise ShapeError(f"{primitive.name}: {error.reason}", hint=error.hint) from None
            x = context.constant(array.reshape((1,) * (rank - array.ndim) + array.shape))
        elif x.ndim < rank:
            x = context.apply(get("reshape"), (x,), {"shape": (1,) * (rank - x.ndim) + x.shape}, None)
        values.append(x)
    return tuple(values)


def _levels(
    primitive: Primitive, values: tuple[TensorLike, ...], attributes: Attributes
) -> tuple[int, tuple[TensorLike, ...]]:
    """The level of the result, and the operands with their levels made equal."""
    if primitive.segmented:
        if "domain" in attributes:  # one row for each example becomes one for each element
            if values[0].rows >= 0:
                raise ShapeError(f"{primitive.name}: {values[0].type} has a value for each element already")
            domain = attributes["domain"]
            assert isinstance(domain, int)
            return domain, values
        if not values or values[0].rows < 0:
            kind = values[0].type if values else "nothing"
            raise ShapeError(
                f"{primitive.name} takes a sequence, but {kind} is one tensor for each example",
                hint="sum, max, mean and softmax work along the axes of one tensor",
            )
        if primitive.collapses:
            if any(value.rows >= 0 for value in values[1:]):
                raise ShapeError(
                    f"{primitive.name}: what stands beside the sequence has one value for each example, not "
                    f"one for each element"
                )
            return ROW, values
    levels = {value.rows for value in values}
    highest = builtins.max(levels, default=INVARIANT)
    if highest < 0:
        return highest, values
    ragged = sorted(level for level in levels if level >= 0)
    if len(ragged) > 1:
        raise ShapeError(
            f"{primitive.name}: sequences of different length: sequence {ragged[0]} and sequence "
            f"{ragged[1]} of the function's input are not known to have the same number of elements"
        )
    like = next(value for value in values if value.rows == highest)
    values = tuple(
        value.context.apply(get("segment_broadcast"), (value,), {"domain": highest}, like)
        if value.rows == ROW
        else value
        for value in values
    )
    return (ROW if primitive.collapses else highest), values


def spread(input: T.Type, leaf: Callable[[T.Tensor, int], object]) -> tuple[object, ...]:
    """The arguments of a function whose input has this type; `leaf(type, level)` makes each tensor.

    A ShapeError if the type has parts other than tensors, tuples, and sequences of tensors.

    >>> spread(T.Tuple((T.Tensor(()), T.Sequence(T.Tensor((3,))))), lambda type, rows: (str(type), rows))
    (('float32', -1), ('float32[3]', 0))
    """
    sequences = count()

    def made(t: T.Type, level: int) -> Any:
        if isinstance(t, T.Tensor):
            return leaf(t, level)
        if isinstance(t, T.Tuple):
            return tuple(made(item, level) for item in t.items)
        if isinstance(t, T.Sequence):
            if level != ROW:
                raise ShapeError(
                    f"a Function takes sequences of tensors, not sequences inside sequences: {input}"
                )
            return made(t.element, next(sequences))
        inside = "" if t is input else f", with {t} in it"
        raise ShapeError(
            f"a Function takes tensors, tuples and sequences of tensors, and its input is {input}{inside}"
        )

    argument = made(input, ROW)
    return argument if isinstance(input, T.Tuple) else (argument,)


def collect(returned: object, context: Context, name: str) -> tuple[list[Any], T.Type]:
    """The tensors in a function's result, depth first, and the result's type; numbers become constants.

    A ShapeError if the result contains anything else.
    """
    leaves: list[Any] = []  # tensors of the class that belongs to the context

    def type_of(item: object) -> T.Type:
        parts, labels = _parts(item)
        if parts is not None:
            return T.Tuple([type_of(part) for part in parts], labels)
        value = _leaf(item, context, name)
        leaves.append(value)
        return T.Sequence(value.type) if value.rows >= 0 else value.type

    T.check_depth(returned)
    return leaves, type_of(returned)


def _parts(item: object) -> tuple[list[object] | None, tuple[Hashable, ...] | None]:
    if isinstance(item, dict):
        return list(item.values()), tuple(item)
    if isinstance(item, tuple):
        return list(item), getattr(item, "_fields", None)
    if isinstance(item, list):
        return item, None
    if dataclasses.is_dataclass(item) and not isinstance(item, (type, TensorLike)):
        names = tuple(field.name for field in dataclasses.fields(item))
        return [getattr(item, name) for name in names], names
    return None, None


_NUMBERS = {float: T.Tensor(()), int: T.Tensor((), "int32")}
"""What Python numbers become that a function returns."""


def _leaf(item: object, context: Context, name: str) -> TensorLike:
    if isinstance(item, TensorLike):
        return context.parameter(item, item.spec) if isinstance(item, Weight) else item
    try:
        return context.constant(constant_array(item, _NUMBERS.get(type(item))))
    except ShapeError:
        raise ShapeError(
            f"{name} returned {item!r:.50}", hint="return a tensor, or a tuple or dict of tensors"
        ) from None
