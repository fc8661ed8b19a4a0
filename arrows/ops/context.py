"""Contexts, which record or compute the operations of a function, and the parameters of layers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from arrows.arrays import HostArray
from arrows.ops.errors import ShapeError
from arrows.ops.innermost import current_context, innermost
from arrows.ops.primitive import Attributes, Primitive
from arrows.typesys import (
    ArrowTypeError,
    ArrowValueError,
    SourceLine,
    cached_property,
    is_float,
    types as T,
    unwritable,
)

if TYPE_CHECKING:
    from arrows.ops.tensorlike import Operand, TensorLike

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

    def as_before(self, call: Hashable, operands: Sequence[Operand]) -> TensorLike | None:
        """The result of an operation that tensors like these were operands of before, if it is known so.

        Args:
            call: the primitive, and the values of its attributes.
            operands: its operands.
        """
        return None

    def refuse_mixture(self, primitive: Primitive) -> None:
        """Raises the error for an operation that gets a tensor of this context and one of another."""
        raise NotImplementedError

    def call_block(self, block: Any, arguments: tuple[Any, ...]) -> Any:
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
