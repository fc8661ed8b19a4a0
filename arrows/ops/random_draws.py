"""Random numbers inside of functions: `normal` and `uniform`, hashed from counters as dropout's masks are.

A number is a hash of a key and of its place, so there is no generator, and no order of execution counts.  The
key of a visit is made of the model's seed and step, the example, the place in the expression, and the visit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod
from typing import TypeAlias

import numpy as np

from arrows.arrays import Array, ArrayModule, put
from arrows.ops.bind import bind
from arrows.ops.dropout import spread_key
from arrows.ops.elementwise import cos, log, sqrt
from arrows.ops.errors import ShapeError
from arrows.ops.innermost import innermost
from arrows.ops.primitive import Run, declare, lift_rows
from arrows.ops.shape_rules import element_type, floating, sizes
from arrows.ops.splitmix import hashed
from arrows.ops.tensorlike import TensorLike
from arrows.typesys import Tensor

Bound: TypeAlias = float | TensorLike

DRAW = 0xD6E8FEB86659FD93
"""An odd multiplier, by which the draws of one function get different keys."""


def normal(shape: int | Sequence[int] = (), dtype: str = "float32") -> TensorLike:
    """Numbers from the standard normal distribution, drawn anew at each visit of each step; for functions.

    They depend on the model's seed and step, the example's id, the place in the expression and the visit,
    and on nothing else: not on the batch, not on the schedule; two calls give different numbers.  They are
    drawn in prediction as in training: `model(examples, step=7)` draws those of step 7.

    Each is `sqrt(-2 log u) cos(2 pi v)`, of two uniform numbers (Box, Muller, "A Note on the Generation of
    Random Normal Deviates", 1958): no table, no rejection, and functions that every device has.

    Args:
        shape: sizes of the axes.
        dtype: a floating element type; `compile(float_type=...)` replaces it.

    Raises:
        ShapeError: there is no function around, or the element type is not floating.

    >>> import arrows as ar
    >>> noise = ar.compile(ar.Scalar() >> ar.Function(lambda x: x + normal([2])))
    >>> bool((noise([0.0, 0.0]) == noise([0.0, 0.0])).all())  # of one step
    True
    >>> bool((noise([0.0, 0.0]) == noise([0.0, 0.0], step=1)).any())
    False
    """
    return _drawn("normal", shape, dtype, None)


def normal_like(x: TensorLike) -> TensorLike:
    """`normal` of the shape and element type of x; for a sequence, of each element.

    >>> import arrows as ar
    >>> latent = ar.Function(lambda mean, log_std: mean + ar.ops.exp(log_std) * normal_like(mean))
    >>> model = ar.compile(ar.Record((ar.Vector(3), ar.Vector(3))) >> latent)  # a variational autoencoder's
    >>> model([([1, 2, 3], [-50, -50, -50])]).tolist()
    [[1.0, 2.0, 3.0]]
    """
    return _drawn("normal", x.shape, x.dtype, x)


def uniform(
    shape: int | Sequence[int] = (), low: Bound = 0.0, high: Bound = 1.0, dtype: str = "float32"
) -> TensorLike:
    """Numbers spread evenly from low to high, drawn anew at each visit of each step; as `normal`.

    Args:
        shape: sizes of the axes.
        low: the least number, a Python number or a floating tensor.
        high: the bound above, likewise; rounding may reach it, unless it is 1 and low is 0.
        dtype: a floating element type; `compile(float_type=...)` replaces it.

    Raises:
        ShapeError: there is no function around, or the element type is not floating.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Scalar() >> ar.Function(lambda x: uniform([1000], -1.0, 1.0)))
    >>> numbers = model([0.0])[0]
    >>> bool(-1 <= numbers.min() < -0.9 and 0.9 < numbers.max() < 1)
    True
    """
    return _drawn("uniform", shape, dtype, None) * (high - low) + low


def uniform_like(x: TensorLike, low: Bound = 0.0, high: Bound = 1.0) -> TensorLike:
    """`uniform` of the shape and element type of x; for a sequence, of each element.

    >>> import arrows as ar
    >>> keep = ar.Function(lambda x: ar.ops.where(uniform_like(x) < 0.5, x, 0.0))
    >>> sorted(set(ar.compile(ar.Vector(99) >> keep)([[1.0] * 99])[0].tolist()))
    [0.0, 1.0]
    """
    return _drawn("uniform", x.shape, x.dtype, x) * (high - low) + low


def _drawn(name: str, shape: int | Sequence[int], dtype: str, like: TensorLike | None) -> TensorLike:
    context = innermost() if like is None else like.context
    drawn_at_once = None if context is None else context.draw(name, like)
    if drawn_at_once is not None:
        return drawn_at_once
    if context is None or not context.in_function:
        raise ShapeError(
            f"{name} is called outside of any function, where no example says which numbers to draw",
            hint=f"call it in an ar.Function; in a batch on the fly: ops.{name}_like(x)",
        )
    kind = element_type(name, dtype, context)
    axes = sizes(shape)
    floating(f"ops.{name}", Tensor(axes, kind))
    key: TensorLike = context.draw_key()
    if like is not None and like.rows >= 0:
        key = spread_key(like, key)
    number, context.draws = context.draws, context.draws + 1
    if name == "normal":
        u = bind(_uniform, key, shape=(*axes, 2), dtype=kind, number=number)
        return sqrt(log(1 - u[..., 0]) * -2) * cos(u[..., 1] * (2 * pi))  # 1 - u is never 0
    return bind(_uniform, key, shape=axes, dtype=kind, number=number)


def key_offset(number: int) -> int:
    """What is added to a function's key for its draw of this number, before it is hashed."""
    return (number + 1) * DRAW % 2**64


def _kernel(xp: ArrayModule, shape: tuple[int, ...], dtype: str, number: int, rows: bool = False) -> Run:
    bits = np.finfo(dtype).nmant + 1  # as many high bits as the element type holds

    def run(key: Array, out: Array | None = None) -> Array:
        words = hashed(xp, key, prod(shape), key_offset(number))
        drawn = xp.multiply(xp.right_shift(words, np.uint64(64 - bits)).astype(dtype), 2.0**-bits)
        return put(drawn.reshape((drawn.shape[0], *shape) if rows else shape), out)

    return run


_uniform = declare("uniform", lambda key, shape, dtype, number: Tensor(shape, dtype), _kernel, lift=lift_rows)
