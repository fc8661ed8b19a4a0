"""Operations on sequences: reductions over the elements of each sequence, and broadcasts to its elements.

Inside a Function a sequence is one tensor that stands for all of its elements; a reduction turns it into one
tensor for each example.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arrows.ops.arrays import Array, ArrayModule, put, take
from arrows.ops.bind import bind
from arrows.ops.comparison import equal, maximum, minimum
from arrows.ops.elementwise import add, divide, multiply
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import Gradients, Kernel, Primitive, Run, Vjp, declare, lift_rows
from arrows.ops.segments import Segments, reduce_segments
from arrows.ops.shape_rules import Check, arithmetic, checked, floating, number
from arrows.ops.shaping import cast
from arrows.ops.tensorlike import TensorLike
from arrows.typesys import ArrowValueError
from arrows.typesys.types import Tensor


def _segmented(name: str, kernel: Kernel, vjp: Vjp, check: Check, collapses: bool = False) -> Primitive:
    return declare(name, checked(name, check), kernel, vjp, segmented=True, collapses=collapses)


_segment_sum = _segmented(
    "segment_sum",
    lambda xp: lambda x, *, segments, out=None: reduce_segments(xp, "add", x, segments, 0, out),
    lambda g, result, x: (segment_broadcast(g, x),),
    arithmetic,
    collapses=True,
)


def segment_sum(x: TensorLike) -> TensorLike:
    """Sum of the elements of a sequence; zeros for an empty one.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_sum(EagerEvaluation().value(np.array([1.0, 2.0]), rows=0)).array.tolist()
    3.0
    """
    return bind(_segment_sum, x)


def _neutral(name: str, dtype: np.dtype[Any]) -> float:
    """The least (greatest) number of this element type, which changes no maximum (minimum)."""
    if dtype.kind == "f":
        return -np.inf if name == "max" else np.inf
    limits = np.iinfo(dtype)
    return limits.min if name == "max" else limits.max


def _extreme_vjp(g: TensorLike, result: TensorLike, x: TensorLike, default: float | None) -> Gradients:
    ties = cast(equal(x, segment_broadcast(result, x)), x.dtype)
    # An empty sequence has no ties and no element to pass a gradient to: 1 avoids a division by zero.
    share = divide(g, maximum(segment_sum(ties), 1))
    return (multiply(ties, segment_broadcast(share, x)),)


def _extreme(name: str) -> Primitive:
    def kernel(xp: ArrayModule, default: float | None) -> Run:
        def run(x: Array, *, segments: Segments, out: Array | None = None) -> Array:
            fill = default
            if fill is None:
                if xp is np and not segments.gapless and bool(xp.equal(segments.lengths, 0).any()):
                    raise ArrowValueError(f"segment_{name}: a sequence is empty")
                fill = _neutral(name, x.dtype)
            return reduce_segments(xp, f"{name}imum", x, segments, fill, out)

        return run

    return _segmented(f"segment_{name}", kernel, _extreme_vjp, arithmetic, collapses=True)


_segment_max, _segment_min = _extreme("max"), _extreme("min")


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
    return bind(_segment_max, x, default=number("segment_max", "the default", default, optional=True))


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
    return bind(_segment_min, x, default=number("segment_min", "the default", default, optional=True))


def _count_kernel(xp: ArrayModule, dtype: str) -> Run:
    def run(x: Array, *, segments: Segments, out: Array | None = None) -> Array:
        lengths = segments.lengths
        return put(lengths.astype(dtype) if out is None else lengths, out)

    return run


_segment_count = declare(
    "segment_count", lambda x, dtype: Tensor((), dtype), _count_kernel, segmented=True, collapses=True
)


def segment_count(x: TensorLike, dtype: str | None = None) -> TensorLike:
    """Number of elements of a sequence, as a scalar of the sequence's element type or of `dtype`.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_count(EagerEvaluation().value(np.array([1.0, 2.0]), rows=0)).array.tolist()
    2.0
    """
    return bind(_segment_count, x, dtype=x.dtype if dtype is None else dtype)


def segment_mean(x: TensorLike, default: float = 0.0) -> TensorLike:
    """Mean of the elements of a sequence; `default` for an empty one.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_mean(EagerEvaluation().value(np.array([1.0, 2.0]), rows=0)).array.tolist()
    1.5
    """
    count = segment_count(x)
    result = divide(segment_sum(x), maximum(count, 1))
    return result if default == 0 else add(result, multiply(1 - minimum(count, 1), default))


def _softmax_kernel(xp: ArrayModule) -> Run:
    def run(x: Array, *, segments: Segments, out: Array | None = None) -> Array:
        top = reduce_segments(xp, "maximum", x, segments, 0)
        out = xp.subtract(x, take(xp, top, segments.ids, 0, None), out=out)
        xp.exp(out, out=out)
        total = reduce_segments(xp, "add", out, segments, 1)
        return xp.divide(out, take(xp, total, segments.ids, 0, None), out=out)

    return run


def _softmax_vjp(g: TensorLike, result: TensorLike, x: TensorLike) -> Gradients:
    total = segment_sum(multiply(g, result))
    return (multiply(result, g - segment_broadcast(total, x)),)


_segment_softmax = _segmented("segment_softmax", _softmax_kernel, _softmax_vjp, floating)


def segment_softmax(x: TensorLike) -> TensorLike:
    """Softmax over the elements of a sequence, for each place of the tensor: attention weights.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_softmax(EagerEvaluation().value(np.array([1.0, 1.0]), rows=0)).array.tolist()
    [0.5, 0.5]
    """
    return bind(_segment_softmax, x)


def _broadcast_kernel(xp: ArrayModule, domain: int, rows: bool = False) -> Run:
    def run(x: Array, *, segments: Segments, out: Array | None = None) -> Array:
        if rows:
            return take(xp, x, segments.ids, 0, out)
        return put(xp.broadcast_to(x, (segments.total, *x.shape)) if out is None else x, out)

    return run


_segment_broadcast = declare(
    "segment_broadcast",
    rule=lambda x, domain: x,
    kernel=_broadcast_kernel,
    vjp=lambda g, result, x, domain: (segment_sum(g),),
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
    return bind(_segment_broadcast, x, like=like, domain=like.rows)


def _position_kernel(xp: ArrayModule) -> Run:
    def run(x: Array, *, segments: Segments, out: Array | None = None) -> Array:
        place = xp.arange(segments.total, dtype="int64") - take(xp, segments.offsets, segments.ids, 0, None)
        return put(place.astype("int64"), out)

    return run


_segment_position = declare(
    "segment_position", lambda x: Tensor((), "int64"), _position_kernel, segmented=True
)


def segment_position(x: TensorLike) -> TensorLike:
    """The place of each element in its sequence, int64, counted from 0; no gradient passes.

    >>> from arrows.ops import EagerEvaluation
    >>> segment_position(EagerEvaluation().value(np.array([1.5, 2.5]), rows=0)).array.tolist()
    [0, 1]
    """
    return bind(_segment_position, x)
