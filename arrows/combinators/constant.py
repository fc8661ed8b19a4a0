"""Blocks that ignore their input: `Zeros`, `Constant`, `Void`."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np

from arrows import ops
from arrows.arrays import HostArray
from arrows.combinators.base.arguments import set_name, shortened, wrong_argument
from arrows.combinators.base.block import Block
from arrows.ops import TensorLike
from arrows.typesys import masked_elements, static, types as T

B_co = TypeVar("B_co", covariant=True)


class Constant(Block[object, B_co], Generic[B_co]):
    """Gives an array, whatever the input; the array is a parameter if it is to be trained.

    The core form of all blocks that ignore their input: `Zeros` and `Void` are constants too.

    Args:
        value: a number, nested lists or an array. Python floats become float32, integers int32, `bool` stays;
            NumPy arrays keep their element type.
        dtype: element type to convert to.
        trainable: the array is the initial value of a parameter of the model (`model.params["NAME/value"]`).
            All places of this block share the parameter, and its gradient is the sum over them.
        name: the name in messages, and of the parameter.

    Attributes:
        type: the type of the result; None if inference finds it (`Optional`'s default).
        value: a NumPy array; None stands for the zeros of `type`, as `Zeros` describes them.
        trainable: whether it is a parameter.

    Raises:
        ArrowTypeError: not an array of numbers; not of floats, if it is to be trained.

    Source: TensorFlow Fold, `td.FromTensor`.

    Example:
        >>> import arrows as ar
        >>> ar.Constant(0, "int32"), ar.Constant([1.0, 2.0])
        (Constant(0), Constant(float32[2]))
        >>> scale = ar.Constant(2.0, trainable=True, name="scale")
        >>> model = ar.compile((ar.Scalar() & scale) >> ar.Function(lambda x, s: x * s))
        >>> {name: float(grad) for name, grad in model.value_and_grad([3, 5])[1].items()}
        {'scale/value': 4.0}
    """

    type: T.Type | None = None
    value: HostArray | None = None
    trainable: bool = False

    def __init__(
        self: Constant[static.Tensor[Any, Any]],
        value: object,
        dtype: str | None = None,
        *,
        trainable: bool = False,
        name: str | None = None,
    ) -> None:
        set_name(self, name)
        array = _array(value, dtype)
        array.flags.writeable = False
        if trainable and array.dtype.kind != "f":
            raise wrong_argument(
                "a trainable Constant",
                f"only floats can be trained, and {shortened(value)} is {array.dtype.name}",
                hint="ar.Constant(value, 'float32', trainable=True)",
            )
        self.type = T.Tensor(array.shape, array.dtype.name)
        self.value = array
        self.trainable = bool(trainable)

    def parameter(self) -> TensorLike:
        """The trained value, as a function without arguments for `arrows.ops.trace`."""
        assert isinstance(self.type, T.Tensor)
        return ops.parameter(self, ops.Parameter("value", self.type.shape, self.type.dtype, self._first))

    def _first(self, generator: object, shape: tuple[int, ...], dtype: str) -> HostArray:
        assert self.value is not None
        return self.value.astype(dtype)

    def arguments(self) -> list[str]:
        if self.value is None:
            return [] if self.type is None else [str(self.type)]
        words = repr(self.value.item()) if self.value.ndim == 0 else str(self.type)
        return [words, "trainable=True"] if self.trainable else [words]


class Zeros(Constant[Any]):
    """Gives the zeros of a type, whatever the input.

    They are an array of zeros for a tensor type, a tuple of zeros for a tuple, an empty sequence for a
    sequence, and None for Void.

    Args:
        type: a type or a short-hand: `[300]`, `(t1, t2)`, `"int32"`.
        name: the name in messages.

    Raises:
        ArrowTypeError: no type, or one with an `Input` or an endless sequence inside, of which there is no
            zero.

    Source: TensorFlow Fold, `td.Zeros`.

    Example:
        >>> import arrows as ar
        >>> ar.Zeros(([2], "int32"))
        Zeros((float32[2], int32))
    """

    def __init__(self, type: object, *, name: str | None = None) -> None:
        zeros_type = T.as_type(type)
        bad = without_zero(zeros_type)
        if bad is not None:
            raise wrong_argument(
                f"Zeros({zeros_type})",
                f"there is no zero of {bad}",
                hint="ar.Constant(array), or ar.InputTransform(lambda x: value) for a Python object",
            )
        set_name(self, name)
        self.type = zeros_type


class Void(Constant[None]):
    """Drops its input; the result is nothing (None).

    Args:
        name: the name in messages.

    Source: TensorFlow Fold, `td.Void`.

    Example:
        >>> import arrows as ar
        >>> ar.Void().eval(3)
    """

    type = T.Void()

    def __init__(self, *, name: str | None = None) -> None:
        set_name(self, name)

    def arguments(self) -> list[str]:
        return []


class InferredZeros(Constant[Any]):
    """Zeros of a type that inference finds, where the user gives no other block: of an `Optional` for None.

    Example:
        >>> InferredZeros().type is None
        True
    """

    kind = "Zeros"

    def __init__(self) -> None:
        set_name(self, None)


def without_zero(t: T.Type) -> T.Type | None:
    """Returns the first part of `t` that has no zero, or None. The elements of a sequence need no zero."""
    todo = [t]
    while todo:
        t = todo.pop()
        if isinstance(t, (T.Input, T.Broadcast)):
            return t
        if isinstance(t, T.Tuple):
            todo.extend(reversed(t.items))
    return None


def _array(value: object, dtype: str | None) -> HostArray:
    if masked_elements(value):
        raise wrong_argument(
            "a Constant",
            f"a masked element has no value, and {shortened(value)} has masked elements",
            hint="fill it first: ar.Constant(x.filled(0))",
        )
    try:
        array = np.array(value)
    except (TypeError, ValueError):  # such as lists of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        raise wrong_argument(
            "a Constant",
            f"expected a number, nested lists of numbers of one shape, or an array, got {shortened(value)}",
            hint="for a Python object that never changes: ar.InputTransform(lambda x: value)",
        )
    if dtype is None:
        if isinstance(value, (np.ndarray, np.generic)):
            return array
        dtype = {"f": "float32", "i": "int32", "u": "int32", "b": "bool"}[array.dtype.kind]
    name = T.Tensor((), dtype).dtype
    result = array.astype(name)
    fraction = array.dtype.kind == "f" and result.dtype.kind in "iub"
    if fraction or (array.dtype.kind in "iu" and not np.array_equal(result, array)):
        reason = f"would lose its fraction in {name}" if fraction else f"does not fit into {name}"
        hint = f"give an element type that holds it, such as {'float32' if fraction else array.dtype.name!r}"
        raise wrong_argument("a Constant", f"{value!r} {reason}", hint=hint)
    return result
