"""Plain numbers, arrays and nested lists as the tensors and constants of a batch on the fly."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrows.arrays import HostArray
from arrows.combinators import Block
from arrows.engine.values import LeafError, convert
from arrows.onthefly.operands import holds_tensors
from arrows.ops import TensorLike
from arrows.typesys import ArrowTypeError, SourceLine, masked_elements, message, types as T


def read_tensor(value: Any, dtype: str | None, float_type: str | None) -> tuple[T.Tensor, HostArray]:
    """Numbers of an example as a tensor: its type, and the converted value.

    Args:
        value: a number, an array, or nested lists of numbers.
        dtype: the element type; by default float32 for floats, int32 for integers, bool for truth values.
        float_type: the element type that every float gets; None leaves them.

    Raises:
        ArrowTypeError: the value holds no numbers, or numbers that the element type cannot hold.
    """
    if isinstance(value, Block):
        hint = "call it first: block(x)"
        raise _refusal("cannot compute", f"{value.label} is a block, and no tensor", hint)
    if isinstance(value, TensorLike):
        reason = "a tensor of a Function got into a batch"
        raise _refusal("cannot compute", reason, "compute with it inside of the Function")
    if holds_tensors(value):
        reason = "there are tensors among its numbers, which are not known yet"
        raise _refusal("cannot read a value", reason, "ops.stack makes a tensor of tensors")
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = np.asarray(None)
    kind = {"f": "float32", "i": "int32", "u": "int32", "b": "bool"}.get(array.dtype.kind)
    if kind is None:
        raise _refusal(
            f"cannot compute with {value!r:.100}",
            "it holds no numbers, or lists of different lengths",
            "operations take lazy tensors, numbers, and arrays and lists of numbers; a list of "
            "lazy tensors is a sequence",
        )
    dtype = dtype or kind
    if float_type is not None and dtype.startswith("float"):
        dtype = float_type
    type = T.Tensor(array.shape, dtype)
    try:
        return type, convert(value, type)
    except LeafError as error:
        hint = "" if masked_elements(value) else 'name another element type, such as g.tensor(x, "int64")'
        raise _refusal("cannot read a value", str(error), hint) from None


def _refusal(attempt: str, reason: str, hint: str) -> ArrowTypeError:
    return ArrowTypeError(message(f"{attempt} at {SourceLine.here()}", reason=reason, hint=hint))
