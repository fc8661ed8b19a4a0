"""Operations on sequences: reductions over the elements, broadcasts to them, and elements at other places.

Inside a Function a sequence is one tensor that stands for all of its elements; a reduction turns it into one
tensor for each example.
"""

from __future__ import annotations

import numpy as np

from arrows.arrays import Array, ArrayModule, HostArray, put, take
from arrows.ops.comparison import equal, maximum, where
from arrows.ops.elementwise import divide, multiply
from arrows.ops.errors import IndexOutOfRange, ShapeError
from arrows.ops.indexing import as_index
from arrows.ops.primitive import (
    Gradients,
    Operation,
    Run,
    bind,
    get,
    lift_each,
    lift_rows,
    operation,
    with_primitive,
)
from arrows.ops.reductions import EXTREMES
from arrows.ops.segments import Segments, reduce_segments
from arrows.ops.shaping import arithmetic, cast, checked, floating, integral
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import ArrowValueError, Tensor


def _broadcast_kernel(xp: ArrayModule, domain: int, rows: bool = False) -> Run:
    def run(x: Array, *, segments: Segments, out: Array | None = None) -> Array:
        if rows:
            return take(xp, x, segments.ids, 0, out)
        return put(xp.broadcast_to(x, (segments.total, *x.shape)) if out is None else x, out)

    return run


@with_primitive(
    lambda x, domain: x,
    _broadcast_kernel,
    lambda g, result, x, domain: (bind(get("segment_sum"), g),),
    lift=lift_rows,
    segmented=True,
)
def segment_broadcast(x: TensorLike, like: TensorLike) -> TensorLike:
    """Repeats a tensor of each example for each element of the sequence of `like`.

    >>> from arrows.ops import EagerEvaluation
    >>> evaluation = EagerEvaluation()
    >>> xs = evaluation.value(np.array([1.0, 2.0]), rows=0)
    >>> segment_broadcast(evaluation.value(np.array(7.0)), xs).array.tolist()
    [7.0, 7.0]
    """
    if like.rows < 0:
        raise ShapeError(f"segment_broadcast: {like.type} is not a sequence")
    return like.context.apply(get("segment_broadcast"), (x,), {"domain": like.rows}, like)


@operation(
    checked("segment_sum", arithmetic),
    lambda xp: lambda x, *, segments, out=None: reduce_segments(xp, "add", x, segments, 0, out),
    lambda g, result, x: (segment_broadcast(g, x),),
    segmented=True,
    collapses=True,
    reduces=("0", "{0} + {1}"),
)
def segment_sum(x: TensorLike) -> TensorLike:
    """Sum of the elements of a sequence; zeros for an empty one.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_sum(EagerEvaluation().value(np.array([1.0, 2.0]), rows=0)).array.tolist()
    3.0
    """


def _extreme_vjp(g: TensorLike, result: TensorLike, x: TensorLike, default: float | None) -> Gradients:
    ties = cast(equal(x, segment_broadcast(result, x)), x.dtype)
    # An empty sequence has no ties and no element to pass a gradient to: 1 avoids a division by zero.
    return (multiply(ties, segment_broadcast(divide(g, maximum(segment_sum(ties), 1)), x)),)


def _extreme(function: Operation) -> Operation:
    name = function.__name__
    short = name.removeprefix("segment_")

    def kernel(xp: ArrayModule, default: float | None) -> Run:
        def run(x: Array, *, segments: Segments, out: Array | None = None) -> Array:
            if default is None and xp is np and not segments.lengths.all():
                raise ArrowValueError(f"{name}: a sequence is empty")
            fill = 0 if default is None else default  # which may be -0.0
            return reduce_segments(xp, f"{short}imum", x, segments, fill, out)

        return run

    flags = {"segmented": True, "collapses": True, "reduces": EXTREMES[short]}
    return with_primitive(checked(name, arithmetic), kernel, _extreme_vjp, **flags)(function)


@_extreme
def segment_max(x: TensorLike, default: float | None = None) -> TensorLike:
    """Maximum over the elements of a sequence, for each place of the tensor; equal ones share the gradient.

    Args:
        x: the sequence.
        default: the result for an empty sequence; None promises that no sequence is empty.

    Raises:
        ArrowValueError: when computed, a sequence is empty and there is no default.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_max(EagerEvaluation().value(np.array([1.0, 2.0]), rows=0)).array.tolist()
    2.0
    """
    return bind(get("segment_max"), x, default=default)


@_extreme
def segment_min(x: TensorLike, default: float | None = None) -> TensorLike:
    """Minimum over the elements of a sequence, for each place of the tensor; see `segment_max`.

    Args:
        x: the sequence.
        default: the result for an empty sequence; None promises that no sequence is empty.

    Raises:
        ArrowValueError: when computed, a sequence is empty and there is no default.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_min(EagerEvaluation().value(np.array([1.0, 2.0]), rows=0)).array.tolist()
    1.0
    """
    return bind(get("segment_min"), x, default=default)


@with_primitive(
    lambda x, dtype: Tensor((), dtype),
    lambda xp, dtype: lambda x, *, segments, out=None: put(segments.lengths.astype(dtype), out),
    segmented=True,
    collapses=True,
)
def segment_count(x: TensorLike, dtype: str | None = None) -> TensorLike:
    """Number of elements of a sequence, as a scalar of the sequence's element type or of `dtype`.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_count(EagerEvaluation().value(np.array([1.0, 2.0]), rows=0)).array.tolist()
    2.0
    """
    return bind(get("segment_count"), x, dtype=x.dtype if dtype is None else dtype)


def segment_mean(x: TensorLike) -> TensorLike:
    """Mean of the elements of a sequence; zeros for an empty one.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_mean(EagerEvaluation().value(np.array([1.0, 2.0]), rows=0)).array.tolist()
    1.5
    """
    return divide(segment_sum(x), maximum(segment_count(x), 1))


def _softmax_kernel(xp: ArrayModule) -> Run:
    def run(x: Array, *, segments: Segments, out: Array | None = None) -> Array:
        top = reduce_segments(xp, "maximum", x, segments, 0)
        out = xp.subtract(x, take(xp, top, segments.ids, 0, None), out=out)
        xp.exp(out, out=out)
        total = reduce_segments(xp, "add", out, segments, 1)
        return xp.divide(out, take(xp, total, segments.ids, 0, None), out=out)

    return run


def _softmax_vjp(g: TensorLike, result: TensorLike, x: TensorLike) -> Gradients:
    return (multiply(result, g - segment_broadcast(segment_sum(multiply(g, result)), x)),)


@operation(checked("segment_softmax", floating), _softmax_kernel, _softmax_vjp, segmented=True)
def segment_softmax(x: TensorLike) -> TensorLike:
    """Softmax over the elements of a sequence, for each place of the tensor: attention weights.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_softmax(EagerEvaluation().value(np.array([1.0, 1.0]), rows=0)).array.tolist()
    [0.5, 0.5]
    """


def _position_kernel(xp: ArrayModule) -> Run:
    def run(x: Array, *, segments: Segments, out: Array | None = None) -> Array:
        place = xp.arange(segments.total, dtype="int64") - take(xp, segments.offsets, segments.ids, 0, None)
        return put(place.astype("int64"), out)

    return run


@operation(lambda x: Tensor((), "int64"), _position_kernel, segmented=True)
def segment_position(x: TensorLike) -> TensorLike:
    """The place of each element in its sequence, int64, counted from 0; no gradient passes.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_position(EagerEvaluation().value(np.array([1.5, 2.5]), rows=0)).array.tolist()
    [0, 1]
    """


def _shift_kernel(xp: ArrayModule, by: int) -> Run:
    def run(x: Array, *, segments: Segments, out: Array | None = None) -> Array:
        if out is None:
            out = xp.empty(x.shape, x.dtype)
        total = segments.total
        if abs(by) >= total:
            out[...] = 0
            return out
        places = xp.arange(total)
        source = places - by
        first, stop = (take(xp, segments.offsets[at:], segments.ids, 0, None) for at in (0, 1))
        inside = xp.logical_and(xp.less_equal(first, source), xp.less(source, stop))
        if xp is not np:
            rows = take(xp, x, xp.where(inside, source, places), 0, None)
            out[...] = xp.where(inside.reshape((-1, *(1,) * (x.ndim - 1))), rows, 0)
            return out
        if by > 0:
            out[by:] = x[:-by]
        else:
            out[:by] = x[-by:]
        out[xp.invert(inside)] = 0
        return out

    return run


@with_primitive(
    lambda x, by: x,
    _shift_kernel,
    lambda g, result, x, by: (bind(get("segment_shift"), g, by=-by),),
    segmented=True,
)
def segment_shift(x: TensorLike, by: int) -> TensorLike:
    """Moves the elements of a sequence: element i becomes element i + by; zeros enter at the end left free.

    Args:
        x: the sequence.
        by: a whole number; negative moves towards the beginning.

    >>> from arrows.ops import EagerEvaluation
    >>> xs = EagerEvaluation().value(np.array([1.0, 2.0, 3.0]), rows=0)
    >>> segment_shift(xs, 1).array.tolist(), segment_shift(xs, -2).array.tolist()
    ([0.0, 1.0, 2.0], [3.0, 0.0, 0.0])
    """
    return x if by == 0 and x.rows >= 0 else bind(get("segment_shift"), x, by=by)


def _take_kernel(xp: ArrayModule, default: float | None, rows: tuple[bool, bool] = (False, False)) -> Run:
    def run(x: Array, place: Array, *, segments: Segments, out: Array | None = None) -> Array:
        lengths, place = segments.lengths, place.astype("int64")
        inside = xp.logical_and(xp.less_equal(0, place), xp.less(place, lengths))
        if xp is np and default is None:
            check_places(np.asarray(place), np.asarray(lengths), any(rows))
        fill = 0 if default is None else default
        if not segments.total:
            return put(xp.full((segments.count, *x.shape[1:]), fill, x.dtype), out)
        values = take(xp, x, xp.where(inside, segments.offsets[:-1] + place, 0), 0, None)
        values = xp.where(inside.reshape((-1, *(1,) * (x.ndim - 1))), values, fill)
        return put(values.astype(x.dtype, copy=False), out)

    return run


def _take_rule(x: Tensor, place: Tensor, default: float | None) -> Tensor:
    integral("segment_take", place)
    if place.shape:
        raise ShapeError(f"segment_take: a place is one integer for each example, not {place}")
    if default is not None and (x.dtype == "bool" or (isinstance(default, float) and not x.floating)):
        raise ShapeError(f"segment_take: the default {default!r} is not {x.dtype}")
    return x


def _take_vjp(
    g: TensorLike, result: TensorLike, x: TensorLike, place: TensorLike, default: float | None
) -> Gradients:
    spread = segment_broadcast(cast(place, "int64"), x)
    return where(equal(segment_position(x), spread), segment_broadcast(g, x), 0.0), None


@with_primitive(_take_rule, _take_kernel, _take_vjp, lift=lift_each, segmented=True, collapses=True)
def segment_take(x: TensorLike, place: Operand, default: float | None = None) -> TensorLike:
    """The element of a sequence at an integer place, counted from 0.

    Args:
        x: the sequence.
        place: an integer for each example, which may be computed; no gradient passes to it.
        default: what stands for an element beyond the ends, a negative place included, as a Python number;
            None promises that there is none.

    Raises:
        IndexError: when computed, a place is beyond the ends, and there is no default.

    >>> from arrows.ops import EagerEvaluation
    >>> xs = EagerEvaluation().value(np.array([1.0, 2.0, 3.0]), rows=0)
    >>> (
    ...     segment_take(xs, np.array(2)).array.tolist(),
    ...     segment_take(xs, np.array(3), default=7.0).array.tolist(),
    ... )
    (3.0, 7.0)
    """
    return bind(get("segment_take"), x, as_index(place), default=default)


def check_places(place: HostArray, lengths: HostArray, rows: bool) -> None:
    """Raises the error of the first place that is beyond the ends of its sequence."""
    inside = (place >= 0) & (place < lengths)
    if not inside.all():
        at = int(np.argmin(inside))
        wrong, length = int(np.broadcast_to(place, inside.shape).flat[at]), int(lengths.flat[at])
        words = (
            f"place {wrong} is none of {length} elements, which are counted from 0; a default, as "
            "in ar.At(default=0), stands for what is beyond the ends"
        )
        raise IndexOutOfRange("segment_take", wrong, length, at if rows else None, words)
