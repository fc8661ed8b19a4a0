"""Dropout with counter-based masks: a hash of the row's key and the element's place decides what is kept.

There is no random generator and no stored mask: the derivative computes the hash again.  So a mask depends
neither on the other rows of the batch nor on the order of execution.
"""

from __future__ import annotations

from math import prod
from typing import TypeVar

import numpy as np

from arrows.arrays import Array, ArrayModule, put
from arrows.ops.bind import bind
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import Run, declare, get, lift_each
from arrows.ops.segment_ops import segment_broadcast, segment_position
from arrows.ops.shape_rules import floating
from arrows.ops.shaping import cast
from arrows.ops.splitmix import hashed
from arrows.ops.tensorlike import Operand, TensorLike

TensorOrOther = TypeVar("TensorOrOther")

ELEMENT = 0xD1342543DE82EF95
"""An odd multiplier, by which the elements of a sequence get different keys."""

CACHED = 16384
"""On NumPy, the numbers that are hashed at once: few enough to stay in the processor's cache, since the hash
passes over them nine times."""


def dropout_by_key(x: Operand, key: Operand, rate: float) -> TensorLike:
    """Zeroes a random part of the elements and scales up the rest, so that the expectation stays the same.

    Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov, "Dropout", JMLR 2014; inverted: what is kept is
    divided by `1 - rate`.  Element j of a row is kept if splitmix64's finaliser (Steele, Lea, Flood, "Fast
    Splittable Pseudorandom Number Generators", OOPSLA 2014, figure 14), applied to the hashed key plus j
    steps of its counter, is at least `rate * 2**64`.  The same key gives the same mask.

    Args:
        x: floating numbers.
        key: a uint64 scalar, one for each example; for a sequence, each element's place is mixed in.
        rate: the part that is zeroed, 0 <= rate < 1, a Python number.

    Raises:
        ShapeError: the rate is out of range, or x is not floating.

    >>> dropout_by_key(np.ones(8), np.uint64(7), 0.5).tolist()
    [2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 2.0, 2.0]
    """
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate < 1:
        raise ShapeError(f"dropout: the rate is a number with 0 <= rate < 1, got {rate!r}")
    if isinstance(x, TensorLike) and x.rows >= 0 and isinstance(key, TensorLike) and key.rows < 0:
        key = spread_key(x, key)
    return bind(_dropout, x, key, rate=float(rate))


def spread_key(x: TensorLike, key: TensorLike) -> TensorLike:
    """A key of its own for each element of the sequence x, made of one for the sequence."""
    return segment_broadcast(key, x) + cast(segment_position(x), "uint64") * ELEMENT


def dropout(x: TensorOrOther, rate: float) -> TensorOrOther | TensorLike:
    """Dropout while training, nothing otherwise; for functions and layers.

    In `Model.value_and_grad`, `Model.train_step` and `model(examples, training=True)` a random part of the
    elements is zeroed and the rest divided by `1 - rate`, so that the expectation stays the same (Srivastava,
    Hinton, Krizhevsky, Sutskever, Salakhutdinov, "Dropout", JMLR 2014). The mask depends on the model's seed
    and step, the example, the place in the expression and the visit, and on nothing else: not on the batch,
    not on the schedule. Everywhere else, also in the reference, the tensor stays as it is.

    Args:
        x: floating numbers.
        rate: the part that is zeroed, 0 <= rate < 1.

    Raises:
        ShapeError: the rate is out of range, or x is not floating.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Vector(4) >> ar.Function(lambda x: dropout(x, 0.5)))
    >>> model([[1, 1, 1, 1]]).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    >>> sorted(set(model([[1, 1, 1, 1]] * 9, training=True).ravel().tolist()))
    [0.0, 2.0]
    """
    return x.context.dropout(x, rate) if isinstance(x, TensorLike) else x


def _kernel(xp: ArrayModule, rate: float, rows: tuple[bool, bool] = (False, False)) -> Run:
    least, scale = np.uint64(int(rate * 2**64)), 1 / (1 - rate)

    def run(x: Array, key: Array, out: Array | None = None) -> Array:
        row_shape = x.shape[1:] if rows[0] else x.shape
        kept = _kept(xp, key.reshape(-1), prod(row_shape), least)
        kept = kept.reshape((kept.shape[0], *row_shape) if any(rows) else row_shape)
        return xp.multiply(put(xp.multiply(x, kept), out), scale, out=out)

    return run


def _kept(xp: ArrayModule, keys: Array, count: int, least: np.uint64) -> Array:
    """A row for each key, which says of each element whether it is kept."""
    step = CACHED // max(count, 1) + 1
    if xp is not np or len(keys) <= step:
        return xp.greater_equal(hashed(xp, keys, count), least)
    kept = np.empty((len(keys), count), bool)
    for start in range(0, len(keys), step):
        part = slice(start, start + step)
        np.greater_equal(hashed(np, keys[part], count), least, out=kept[part])
    return kept


_dropout = declare(
    "dropout",
    lambda x, key, rate: floating("dropout", x),
    _kernel,
    lambda g, result, x, key, rate: (bind(get("dropout"), g, key, rate=rate), None),
    lift=lift_each,
)
