"""Truth values: and, or, not; on tensors of bool.  No gradient passes."""

from __future__ import annotations

from typing import Any

from arrows.ops.bind import bind
from arrows.ops.comparison import equal
from arrows.ops.errors import ShapeError
from arrows.ops.kernels import ufunc
from arrows.ops.primitive import Primitive
from arrows.ops.registry import register
from arrows.ops.shape_rules import broadcast
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys.types import Tensor


def logical_and(a: Operand, b: Operand) -> TensorLike:
    """True where both are; of tensors also written `a & b`.

    >>> import numpy as np
    >>> logical_and(np.array([True, True]), np.array([True, False])).tolist()
    [True, False]
    """
    return bind(_and, a, b)


def logical_or(a: Operand, b: Operand) -> TensorLike:
    """True where one is; of tensors also written `a | b`.

    >>> import numpy as np
    >>> logical_or(np.array([False, True]), np.array([False, False])).tolist()
    [False, True]
    """
    return bind(_or, a, b)


def logical_not(x: Operand) -> TensorLike:
    """True where x is not; of tensors also written `~x`.

    >>> import numpy as np
    >>> logical_not(np.array([False, True])).tolist()
    [True, False]
    """
    return bind(_not, x)


def not_equal(a: Operand, b: Operand) -> TensorLike:
    """a != b, as truth values.

    >>> import numpy as np
    >>> not_equal(np.array([1, 2]), 2).tolist()
    [True, False]
    """
    return bind(_not, equal(a, b))


def _rule(name: str) -> Any:
    def rule(*types: Tensor) -> Tensor:
        for kind in types:
            if kind.dtype != "bool":
                raise ShapeError(
                    f"{name} takes truth values, and {kind} holds none", hint="compare first, as in x > 0"
                )
        return Tensor(broadcast(name, *types), "bool")

    return rule


_and, _or, _not = (
    register(Primitive(name, _rule(name), ufunc(name), elementwise=True))
    for name in ("logical_and", "logical_or", "logical_not")
)
