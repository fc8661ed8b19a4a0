"""Random numbers inside of functions: dropout, `normal` and `uniform`, hashed from counters.

A number is a hash of a key and of its place, by the finaliser of SplitMix64, which structural hashes use too.
So there is no generator, no order of execution counts, and no mask is stored: a derivative computes the hash
again.  The key of a visit is made of the model's seed and step, the example, the place in the expression, and
the visit, but not of the other rows of the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod
from typing import TypeAlias, TypeVar

import numpy as np

from arrows.arrays import Array, ArrayModule, HostArray, put
from arrows.ops.context import innermost
from arrows.ops.elementwise import cos, log, sqrt
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import Run, bind, declare, get, lift_each, lift_rows
from arrows.ops.segment_ops import segment_broadcast, segment_position
from arrows.ops.shaping import cast, element_type, floating, sizes
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import Tensor

Words = TypeVar("Words", bound=Array)

GOLDEN = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio, made odd: the step of SplitMix64's counter."""

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def finalise(
    xp: ArrayModule,
    words: Words,
    first: np.uint64 | HostArray = _FIRST,
    second: np.uint64 | HostArray = _SECOND,
) -> Words:
    """Hashes words in place and returns them: every bit of a result depends on every bit of its word.

    Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, figure 14. It is a
    bijection, so different words (uint64, of any shape) stay different. The odd factors `first` and `second`
    are by default those of the paper; an array of factors gives each row of words its own.

    >>> finalise(np, np.array([GOLDEN], np.uint64)).tolist() == [0xE220A8397B1DCDAF]  # of the seed 0
    True
    """
    shifted = xp.right_shift(words, np.uint64(30))
    xp.bitwise_xor(words, shifted, out=words)
    xp.multiply(words, first, out=words)
    xp.bitwise_xor(words, xp.right_shift(words, np.uint64(27), out=shifted), out=words)
    xp.multiply(words, second, out=words)
    xp.bitwise_xor(words, xp.right_shift(words, np.uint64(31), out=shifted), out=words)
    return words


def hashed(xp: ArrayModule, keys: Array, count: int, offset: int = 0) -> Array:
    """Hashed words [n, count] of the keys [n], each of its key, its place, and a number added to the key."""
    # Arrays throughout: NumPy's scalars would warn where the hash wraps around.
    rows = finalise(xp, keys.reshape((-1, 1)) + np.uint64((GOLDEN + offset) % 2**64))
    places = xp.multiply(xp.arange(1, count + 1, dtype="uint64"), np.uint64(GOLDEN))
    return finalise(xp, rows + places)


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


def _dropout_kernel(xp: ArrayModule, rate: float, rows: tuple[bool, bool] = (False, False)) -> Run:
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
    _dropout_kernel,
    lambda g, result, x, key, rate: (bind(get("dropout"), g, key, rate=rate), None),
    lift=lift_each,
)


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


def _draw_kernel(xp: ArrayModule, shape: tuple[int, ...], dtype: str, number: int, rows: bool = False) -> Run:
    bits = np.finfo(dtype).nmant + 1  # as many high bits as the element type holds

    def run(key: Array, out: Array | None = None) -> Array:
        words = hashed(xp, key, prod(shape), key_offset(number))
        drawn = xp.multiply(xp.right_shift(words, np.uint64(64 - bits)).astype(dtype), 2.0**-bits)
        return put(drawn.reshape((drawn.shape[0], *shape) if rows else shape), out)

    return run


_uniform = declare(
    "uniform", lambda key, shape, dtype, number: Tensor(shape, dtype), _draw_kernel, lift=lift_rows
)
