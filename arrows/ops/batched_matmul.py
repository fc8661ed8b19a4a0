"""Matrix products of tensors with three axes: one product for each index of the first."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrows.ops.bind import bind
from arrows.ops.errors import ShapeError
from arrows.ops.kernels import put
from arrows.ops.primitive import Primitive
from arrows.ops.registry import register
from arrows.ops.shape_rules import arithmetic, same_dtype
from arrows.ops.shaping import transpose
from arrows.ops.sums import sum_matmul, sum_rows
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys.types import Tensor


def matmul_each(a: Operand, b: Operand) -> TensorLike:
    """[n, m, k] @ [n, k, p] -> [n, m, p].

    >>> import numpy as np
    >>> matmul_each(np.ones((2, 1, 3)), np.ones((2, 3, 1))).tolist()
    [[[3.0]], [[3.0]]]
    """
    return bind(_matmul_each, a, b)


def _rule(a: Tensor, b: Tensor) -> Tensor:
    dtype = same_dtype("matmul", a, b)
    arithmetic("matmul", a)
    for axis, left, right in ((0, a.shape[0], b.shape[0]), (1, a.shape[2], b.shape[1])):
        if left != right:
            raise ShapeError(
                f"matmul: {a} @ {b} do not fit: axis {2 * axis} is {left} on the left "
                f"and axis {axis} is {right} on the right"
            )
    return Tensor((*a.shape[:2], b.shape[2]), dtype)


def _vjp(g: Any, result: Any, a: Any, b: Any) -> Any:
    return matmul_each(g, transpose(b, (0, 2, 1))), matmul_each(transpose(a, (0, 2, 1)), g)


def _sum_rows(xp: Any, has_rows: tuple[bool, ...], types: tuple[Tensor, ...]) -> Any:
    """Rows of both: they join the axis that is summed over, and it is one product for each index."""
    if has_rows == (True, False):
        return lambda a, b, out=None: xp.matmul(sum_rows(xp, a), b, out=out)
    if has_rows == (False, True):
        return lambda a, b, out=None: xp.matmul(a, sum_rows(xp, b), out=out)
    (n, m, k), (_, _, p) = types[0].shape, types[1].shape

    def run(a: Any, b: Any, out: Any = None) -> Any:
        count = a.shape[0] * k
        left = a.transpose((1, 2, 0, 3)).reshape((n, m, count))
        right = b.transpose((1, 0, 2, 3)).reshape((n, count, p))
        if xp is not np:
            return put(xp.matmul(left, right), out)
        out = np.empty((n, m, p), a.dtype) if out is None else out
        for i in range(n):
            sum_matmul(np, left[i], right[i], out[i])
        return out

    return run


_matmul_each = register(Primitive("matmul_each", _rule, lambda xp: xp.matmul, _vjp, sum_rows=_sum_rows))
