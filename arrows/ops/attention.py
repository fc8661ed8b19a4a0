"""Attention within sequences: each element's mean of all elements' values, weighted by products of vectors.

On NumPy sequences of one length are computed together, as matrix products [sequences, heads, keys, queries];
the elements of one sequence, which lie one after another, are read where they lie.  The weights are not kept
for the derivative but computed again from the logarithms of their sums (Dao, Fu, Ermon, Rudra, Ré,
"FlashAttention", NeurIPS 2022): 460,000 weights take 0.6 ms, and memory stays linear in the elements.  A
device pads all sequences to the longest, and has memory for the weights of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.arrays import Array, ArrayModule, take
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import Gradients, Run, bind, declare, get, with_primitive
from arrows.ops.segment_ops import segment_broadcast
from arrows.ops.segments import Segments
from arrows.ops.shaping import floating, reshape, same_dtype, sum as sum_along
from arrows.ops.sums import sum_axes
from arrows.ops.tensorlike import TensorLike
from arrows.typesys import Tensor

TOGETHER = 1 << 16
"""On NumPy, so many weights are computed at a time where sequences are short: they stay in the cache."""

FEW = 256
"""So many weights are added one after the other, in two thirds of the time of `sum_axes`."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Sequences that are computed together.

    Attributes:
        count: of the sequences.
        length: of the longest.
        rows: where their elements lie, for each sequence as many as the longest has: a range, or an index.
        inside: [count, length], which of these are elements; None if all are.
        places: for each element of all sequences its number in `rows`, if not all of these are elements.
    """

    count: int
    length: int
    rows: slice | Array
    inside: Array | None = None
    places: Array | None = None

    def read(self, xp: ArrayModule, x: Array, heads: int) -> Array:
        """[rows, heads * n] -> [count, heads, length, n]; zeros beyond a sequence's end."""
        part = x[self.rows]
        if self.inside is not None:  # there no weight of 0 may meet an infinite number
            part = xp.where(self.inside.reshape((-1, 1)), part, part.dtype.type(0))
        return part.reshape((self.count, self.length, heads, part.shape[1] // heads)).transpose((0, 2, 1, 3))

    def write(self, xp: ArrayModule, values: Array, out: Array) -> None:
        """Writes [count, heads, length, n] to the rows of `out`, [rows, heads * n]."""
        count, heads, length, n = values.shape
        flat = values.transpose((0, 2, 1, 3)).reshape((count * length, heads * n))
        if self.places is None:
            out[self.rows] = flat
        else:
            out[...] = take(xp, flat, self.places, 0, None)


def _groups(xp: ArrayModule, segments: Segments, heads: int) -> Iterator[_Group]:
    """The groups in which the sequences that are not empty are computed.

    On NumPy all sequences of a group have one length.  Padding those of about one length gains less calls
    than its copies and its waste cost: 5 to 30 %, of 10 to 100 elements each.
    """
    if not segments.total:
        return
    if xp is not np:
        yield _padded(xp, segments)
        return
    _, starts, lengths = segments.by_length
    begins, sizes, first = starts.tolist(), lengths.tolist(), 0
    while first < len(sizes):
        length, last = sizes[first], first + 1
        most = first + max(1, TOGETHER // (heads * length * length))
        while last < min(most, len(sizes)) and sizes[last] == length:
            last += 1
        start, stop = begins[first], begins[last - 1] + length
        if stop - start == (last - first) * length:
            yield _Group(last - first, length, slice(start, stop))
        else:
            yield _Group(last - first, length, (starts[first:last, None] + np.arange(length)).reshape(-1))
        first = last


def _padded(xp: ArrayModule, segments: Segments) -> _Group:
    """All sequences as one group, made without asking a device for a number."""
    offsets, length = segments.offsets, segments.longest
    along, own = xp.arange(length).reshape((1, -1)), segments.lengths.reshape((-1, 1))
    rows = offsets[:-1].reshape((-1, 1)) + xp.minimum(along, xp.maximum(own - 1, 0))
    rows = xp.minimum(rows, segments.total - 1).reshape((-1,))
    starts = take(xp, offsets, segments.ids, 0, None)
    places = segments.ids * length + (xp.arange(segments.total) - starts)
    return _Group(segments.count, length, rows, inside=along < own, places=places)


def _scored(
    xp: ArrayModule, q: Array, k: Array, segments: Segments, heads: int, causal: bool
) -> Iterator[tuple[_Group, Array, Array, Array]]:
    """Each group, its queries and keys, and its scores, [count, heads, keys, queries].

    Reductions over keys go over rows, which NumPy adds side by side.
    """
    for group in _groups(xp, segments, heads):
        queries, keys = group.read(xp, q, heads), group.read(xp, k, heads)
        scores = xp.matmul(keys, _turned(queries))
        seen = None  # where a query sees a key
        if group.inside is not None:
            seen = xp.logical_and(group.inside[:, None, :, None], group.inside[:, None, None, :])
        if causal:
            places = xp.arange(group.length)
            before = xp.less_equal(places.reshape((1, 1, -1, 1)), places.reshape((1, 1, 1, -1)))
            seen = before if seen is None else xp.logical_and(seen, before)
        if seen is not None:
            scores = xp.where(seen, scores, scores.dtype.type(-np.inf))
        yield group, queries, keys, scores


def _scale(x: Array, heads: int) -> Any:
    """What vectors are multiplied by: 1 over the root of the length of a head's query."""
    return x.dtype.type(max(x.shape[-1] // heads, 1) ** -0.5)


def _turned(x: Array) -> Array:
    """With the last two axes, of keys and queries, say, in the other order."""
    return x.transpose((0, 1, 3, 2))


def _kernel(xp: ArrayModule, heads: int, causal: bool) -> Run:
    def run(q: Array, k: Array, v: Array, *, segments: Segments, out: Array | None = None) -> Array:
        if out is None:
            out = xp.empty((len(q), v.shape[-1] + heads), v.dtype)
        means, logarithms = out[:, : v.shape[-1]], out[:, v.shape[-1] :]
        for group, _, _, scores in _scored(xp, q * _scale(q, heads), k, segments, heads, causal):
            values = group.read(xp, v, heads)
            top = scores.max(axis=-2, keepdims=True)
            weights = xp.subtract(scores, top, out=scores)
            weights = xp.exp(weights, out=weights)
            few = group.length <= FEW
            total = weights.sum(axis=-2, keepdims=True) if few else sum_axes(weights, (-2,), keepdims=True)
            total = _turned(total)
            group.write(xp, xp.matmul(_turned(weights), values) / total, means)
            group.write(xp, xp.log(total) + _turned(top), logarithms)
        return out

    return run


def _gradient_kernel(xp: ArrayModule, heads: int, causal: bool) -> Run:
    def run(
        q: Array, k: Array, v: Array, *more: Array, segments: Segments, out: Array | None = None
    ) -> Array:
        wide = q.shape[-1]
        if out is None:
            out = xp.empty((len(q), 2 * wide + v.shape[-1]), v.dtype)
        of_q, of_k, of_v = out[:, :wide], out[:, wide : 2 * wide], out[:, 2 * wide :]
        scale = _scale(q, heads)
        for group, queries, keys, scores in _scored(xp, q * scale, k, segments, heads, causal):
            values, gradients, sums, shares = (group.read(xp, x, heads) for x in (v, *more))
            weights = xp.subtract(scores, _turned(sums), out=scores)
            weights = xp.exp(weights, out=weights)
            group.write(xp, xp.matmul(weights, gradients), of_v)
            of_scores = xp.matmul(values, _turned(gradients))
            of_scores = xp.subtract(of_scores, _turned(shares), out=of_scores)
            of_scores = xp.multiply(of_scores, weights, out=of_scores)
            group.write(xp, xp.matmul(of_scores, queries), of_k)
            group.write(xp, xp.matmul(_turned(of_scores), keys) * scale, of_q)
        return out

    return run


def _rule(q: Tensor, k: Tensor, v: Tensor, heads: int, causal: bool) -> Tensor:
    floating("segment_attention", q)
    same_dtype("segment_attention", q, k, v)
    if q != k or q.ndim != 1 or v.ndim != 1 or any(size % heads for size in (*q.shape, *v.shape)):
        raise ShapeError(
            f"segment_attention: {heads} heads do not divide queries {q}, keys {k} and values {v}, of which "
            "the first two are alike"
        )
    return Tensor((v.shape[0] + heads,), v.dtype)


def _vjp(g: TensorLike, result: TensorLike, *qkv: TensorLike, heads: int, causal: bool) -> Gradients:
    n, wide = qkv[0].type.shape[0], qkv[2].type.shape[0]
    # The mean gradient that a query's weights get: what a weight gets beyond it is the gradient of its score.
    share = sum_along(reshape(g[:wide] * result[:wide], (heads, wide // heads)), axis=-1) - g[wide:]
    parts = bind(_gradient, *qkv, g[:wide], result[wide:], share, heads=heads, causal=causal)
    return parts[:n], parts[n : 2 * n], parts[2 * n :]


@with_primitive(_rule, _kernel, _vjp, segmented=True)
def segment_attention(
    q: TensorLike, k: TensorLike, v: TensorLike, num_heads: int = 1, causal: bool = False
) -> TensorLike:
    """Scaled dot-product attention among the elements of a sequence, for each head by itself.

    Query i weighs value j by `softmax_j(q_i . k_j / sqrt(n))`, n the length of a head's query.

    Args:
        q, k: vectors [num_heads * n], of the elements of one sequence.
        v: vectors [num_heads * m] of the same elements.
        num_heads: into how many equal parts the vectors are cut.
        causal: whether an element sees itself and those before it alone.

    Returns:
        For each element the weighted means of all heads, [num_heads * m].

    Raises:
        ShapeError: the operands are not such vectors, or not of one sequence.

    Vaswani et al., "Attention Is All You Need", NIPS 2017, sections 3.2.1 and 3.2.2.

    >>> from arrows.ops import EagerEvaluation
    >>> evaluation = EagerEvaluation()
    >>> x = evaluation.value(np.array([[0.0], [0.0]]), rows=0)
    >>> v = evaluation.value(np.array([[1.0], [3.0]]), rows=0)
    >>> segment_attention(x, x, v).array.tolist(), segment_attention(x, x, v, causal=True).array.tolist()
    ([[2.0], [2.0]], [[1.0], [2.0]])
    """
    like = next((x for x in (q, k, v) if x.rows >= 0), q)
    q, k, v = (x if x.rows >= 0 else segment_broadcast(x, like) for x in (q, k, v))
    both = bind(get("segment_attention"), q, k, v, heads=num_heads, causal=bool(causal))
    return both[: v.type.shape[0]]


_gradient = declare(
    "segment_attention_gradient",
    lambda q, k, v, *rest, heads, causal: Tensor((2 * q.shape[0] + v.shape[0],), v.dtype),
    _gradient_kernel,
    segmented=True,
)
