"""Comparisons and logic: maximum and minimum, bounds, truth values, and choices between values.

Shapes broadcast as in NumPy.  No gradient passes a truth value.
"""

from __future__ import annotations

from typing import cast as typed

from arrows.arrays import put
from arrows.ops.context import constant_array, type_beside
from arrows.ops.primitive import Gradients, bind, get, with_primitive
from arrows.ops.shaping import broadcast, cast, elementwise, same_dtype, sum_to, truth
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import Tensor


def _share_vjp(
    g: TensorLike, a: TensorLike, b: TensorLike, compared: tuple[TensorLike, TensorLike]
) -> Gradients:
    # Half where the two are equal, so that maximum(a, b) and maximum(b, a) have the same gradient.
    share = (cast(greater(*compared), g.dtype) + cast(greater_equal(*compared), g.dtype)) * 0.5
    ga = g * share
    return sum_to(ga, a.shape), sum_to(g - ga, b.shape)


@elementwise(lambda g, result, a, b: _share_vjp(g, a, b, (a, b)), c="({0} > {1} || {0} != {0} ? {0} : {1})")
def maximum(a: Operand, b: Operand) -> TensorLike:
    """The greater of a and b, element by element; where they are equal, each gets half of the gradient.

    >>> import numpy as np
    >>> maximum(np.array([-1.0, 2.0]), 0.5).tolist()
    [0.5, 2.0]
    """


@elementwise(lambda g, result, a, b: _share_vjp(g, a, b, (b, a)), c="({0} < {1} || {0} != {0} ? {0} : {1})")
def minimum(a: Operand, b: Operand) -> TensorLike:
    """The lesser of a and b, element by element; where they are equal, each gets half of the gradient.

    >>> import numpy as np
    >>> minimum(np.array([-1.0, 2.0]), 0.5).tolist()
    [-1.0, 0.5]
    """


@elementwise(c="({0} > {1})", dtype="bool")
def greater(a: Operand, b: Operand) -> TensorLike:
    """a > b, as truth values; no gradient passes.

    >>> import numpy as np
    >>> greater(np.array([1.0, 2.0]), 1).tolist()
    [False, True]
    """


@elementwise(c="({0} >= {1})", dtype="bool")
def greater_equal(a: Operand, b: Operand) -> TensorLike:
    """a >= b, as truth values; no gradient passes.

    >>> import numpy as np
    >>> greater_equal(np.array([1.0, 2.0]), 2).tolist()
    [False, True]
    """


def less(a: Operand, b: Operand) -> TensorLike:
    """a < b, as truth values; no gradient passes.

    >>> import numpy as np
    >>> less(np.array([1.0, 2.0]), 2).tolist()
    [True, False]
    """
    return greater(b, a)


def less_equal(a: Operand, b: Operand) -> TensorLike:
    """a <= b, as truth values; no gradient passes.

    >>> import numpy as np
    >>> less_equal(np.array([1.0, 2.0]), 1).tolist()
    [True, False]
    """
    return greater_equal(b, a)


@elementwise(check=lambda name, kind: kind, c="({0} == {1})", dtype="bool")
def equal(a: Operand, b: Operand) -> TensorLike:
    """a == b, as truth values; no gradient passes.

    >>> import numpy as np
    >>> equal(np.array([1, 2]), 2).tolist()
    [False, True]
    """


def not_equal(a: Operand, b: Operand) -> TensorLike:
    """a != b, as truth values.

    >>> import numpy as np
    >>> not_equal(np.array([1, 2]), 2).tolist()
    [True, False]
    """
    return logical_not(equal(a, b))


@elementwise(check=truth, c="({0} && {1})")
def logical_and(a: Operand, b: Operand) -> TensorLike:
    """True where both are true; also written `a & b`, if one is a tensor.

    >>> import numpy as np
    >>> logical_and(np.array([True, True]), np.array([True, False])).tolist()
    [True, False]
    """


@elementwise(check=truth, c="({0} || {1})")
def logical_or(a: Operand, b: Operand) -> TensorLike:
    """True where at least one is true; also written `a | b`, if one is a tensor.

    >>> import numpy as np
    >>> logical_or(np.array([False, True]), np.array([False, False])).tolist()
    [False, True]
    """


@elementwise(check=truth, c="(!{0})")
def logical_not(x: Operand) -> TensorLike:
    """True where x is false; also written `~x`, if x is a tensor.

    >>> import numpy as np
    >>> logical_not(np.array([False, True])).tolist()
    [True, False]
    """


def _where_rule(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    truth("where", condition)
    return Tensor(broadcast("where", condition, a, b), same_dtype("where", a, b))


def _where_vjp(
    g: TensorLike, result: TensorLike, condition: TensorLike, a: TensorLike, b: TensorLike
) -> Gradients:
    return None, sum_to(where(condition, g, 0), a.shape), sum_to(where(condition, 0, g), b.shape)


@with_primitive(
    _where_rule,
    lambda xp: lambda condition, a, b, out=None: put(xp.where(condition, a, b), out),
    _where_vjp,
    elementwise=True,
    c="({0} ? {1} : {2})",
)
def where(condition: Operand, a: Operand, b: Operand) -> TensorLike:
    """`a` where the condition holds, `b` elsewhere.

    Args:
        condition: truth values.
        a, b: of one element type; a Python number takes that of the other.

    >>> import numpy as np
    >>> where(np.array([True, False]), np.array([1.0, 2.0]), 0.0).tolist()
    [1.0, 0.0]
    """
    beside = type_beside(a, b) or Tensor((), "float64")
    a, b = (x if isinstance(x, TensorLike) else constant_array(x, beside) for x in (a, b))
    return bind(get("where"), condition, a, b)


def clip(x: Operand, low: Operand | None = None, high: Operand | None = None) -> TensorLike:
    """x, but no less than `low` and no more than `high`; no gradient passes where x is outside.

    Args:
        x: numbers.
        low, high: whole ones if x holds integers; None for no bound.

    >>> import numpy as np
    >>> clip(np.array([-2.0, 0.5, 9.0]), 0, 1).tolist()
    [0.0, 0.5, 1.0]
    """
    above = x if low is None else where(less(x, low), low, x)
    return typed("TensorLike", above) if high is None else where(greater(above, high), high, above)
