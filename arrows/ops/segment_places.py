"""Elements at other places of their sequence: all of them shifted, and the one at a computed place."""

from __future__ import annotations

import numpy as np

from arrows.ops.arrays import Array, ArrayModule, HostArray, put, take
from arrows.ops.bind import bind
from arrows.ops.comparison import equal, where
from arrows.ops.errors import IndexOutOfRange, ShapeError
from arrows.ops.function_context import constant
from arrows.ops.primitive import Gradients, Run, declare, lift_each
from arrows.ops.segment_ops import segment_broadcast, segment_position
from arrows.ops.segments import Segments
from arrows.ops.shape_rules import integral, number
from arrows.ops.shaping import cast
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys.types import Tensor


def _ends(segments: Segments) -> tuple[Array, Array]:
    """Where each sequence starts, and where it stops."""
    return segments.offsets[:-1], segments.offsets[1:]


def _shift_kernel(xp: ArrayModule, by: int) -> Run:
    def run(x: Array, *, segments: Segments, out: Array | None = None) -> Array:
        if out is None:
            out = xp.empty(x.shape, x.dtype)
        total = segments.total
        if not total:
            return out
        if abs(by) >= total:
            out[...] = 0
            return out
        places = xp.arange(total)
        source = places - by
        first, stop = (take(xp, ends, segments.ids, 0, None) for ends in _ends(segments))
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


_shift = declare(
    "segment_shift",
    lambda x, by: x,
    _shift_kernel,
    lambda g, result, x, by: (segment_shift(g, -by),),
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
    if isinstance(by, bool) or not isinstance(by, int):
        raise ShapeError(f"segment_shift: a sequence is shifted by a whole number, got {by!r}")
    return x if by == 0 and x.rows >= 0 else bind(_shift, x, by=by)


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


_take = declare(
    "segment_take", _take_rule, _take_kernel, _take_vjp, lift=lift_each, segmented=True, collapses=True
)


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
    number("segment_take", "the default", default, optional=True)
    # A plain integer must not take the element type of the sequence beside it.
    return bind(_take, x, place if isinstance(place, TensorLike) else constant(place), default=default)


def check_places(place: HostArray, lengths: HostArray, rows: bool) -> None:
    """Raises the error of the first place that is beyond the ends of its sequence."""
    inside = (place >= 0) & (place < lengths)
    if not inside.all():
        at = int(np.argmin(inside))
        wrong = np.broadcast_to(place, inside.shape).flat[at]
        raise no_element(int(wrong), int(lengths.flat[at]), at if rows else None)


def no_element(place: int, length: int, row: int | None) -> IndexOutOfRange:
    """The error for a place beyond the ends of a sequence of so many elements; ``row``: of the batch."""
    words = (
        f"place {place} is none of {length} elements, which are counted from 0; a default, as "
        "in ar.At(default=0), stands for what is beyond the ends"
    )
    return IndexOutOfRange("segment_take", place, length, row, words)
