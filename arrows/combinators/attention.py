"""Attention pooling: the mean of a sequence's elements, weighted by a softmax over their scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from arrows import ops
from arrows.combinators.apply import Misfit, Tensors
from arrows.combinators.base.arguments import require_flag
from arrows.combinators.base.block import A, AnyBlock, B, Block, Identity, as_block, derived
from arrows.combinators.base.printing import Argument, keywords
from arrows.combinators.base.wires import Wire
from arrows.combinators.fanout import Fan
from arrows.combinators.reductions import ReductionWithDefault, as_default, each, put_default
from arrows.combinators.sequences import Map
from arrows.ops import TensorLike
from arrows.typesys import explains_arguments, types as T


@overload
def Attention(
    score: Callable[[Wire[A]], Wire[Any]],
    value: Callable[[Wire[A]], Wire[B]],
    *,
    default: object = None,
    need_weights: Literal[False] = False,
    name: str | None = None,
) -> Block[Sequence[A], B]: ...
@overload
def Attention(
    score: Callable[[Wire[A]], Wire[Any]],
    value: Callable[[Wire[A]], Wire[Any]] | None = None,
    *,
    default: object = None,
    need_weights: bool = False,
    name: str | None = None,
) -> Block[Sequence[A], Any]: ...
@explains_arguments("block")
def Attention(
    score: object,
    value: object = None,
    *,
    default: object = None,
    need_weights: bool = False,
    name: str | None = None,
) -> AnyBlock:
    """Attention pooling: the mean of the elements, weighted by a softmax over their scores.

    It runs as one softmax and one sum over all elements of a batch, whatever the lengths. If the score
    depends on a query too, put the query beside each element:
    `(keys & query >> Broadcast()) >> Zip() >> Attention(score, value)`.

    Args:
        score: from an element to its score, a scalar or a vector of length 1.
        value: from an element to what is averaged, floating tensors; the element itself if not given.
        default: the result if there are no elements, as `Mean` takes it. Left out, there must be elements.
        need_weights: give the pair (mean, weights) instead, with the sequence of the softmax.
        name: the name in messages.

    Raises:
        ArrowTypeError: an argument is no block, or no such default; at `compile`, an input without elements
            or without end, a score that is no number, or values that are no floating tensors.
        InputError: at evaluation, no elements, and no default.

    Source: Raffel, Ellis, "Feed-forward networks with attention can solve some long-term memory problems",
        2015, equation 1; Bahdanau, Cho, Bengio, "Neural machine translation by jointly learning to align and
        translate", 2015.

    Example:
        >>> import arrows as ar
        >>> score = ar.Function(lambda x: x[0])
        >>> block = ar.Map(ar.Vector(2)) >> ar.Attention(score, need_weights=True)
        >>> pooled, weights = block.eval([[0, 1], [0, 3]])
        >>> pooled.tolist(), [float(w) for w in weights]
        ([0.0, 2.0], [0.5, 0.5])
    """
    require_flag("an Attention", "need_weights", need_weights)
    scored = as_block(score, "the score of an Attention")
    valued = Identity() if value is None else as_block(value, "the value of an Attention")
    nothing = as_default(default, "Attention")
    blocks = [scored] if isinstance(valued, Identity) else [scored, valued]
    words: list[Argument] = [*blocks, *keywords(default=nothing, need_weights=need_weights)]
    return derived("Attention", words, Map(Fan((scored, valued))), _Pool(nothing, need_weights), name=name)


class _Pool(ReductionWithDefault):
    """The last step of `Attention`: pools the sequence of pairs (score, value)."""

    kind = "Attention"
    verb = "averages"

    def __init__(self, default: float | None, need_weights: bool) -> None:
        self.default = default
        self.need_weights = need_weights

    def of_example(self, *values: Tensors) -> Tensors:
        (pair,) = values
        assert isinstance(pair, tuple)
        scores, rows = pair
        assert isinstance(scores, TensorLike)
        weight = ops.segment_softmax(ops.reshape(scores, ()) if scores.shape else scores)

        def pool(x: TensorLike) -> TensorLike:
            return put_default(x, ops.segment_sum(x * weight), self.default)

        pooled = each(pool, rows)
        return (pooled, weight) if self.need_weights else pooled

    def check(self, input: T.Type) -> Misfit:
        if isinstance(input, T.Broadcast):
            return f"{input} has no end, so a softmax over its elements does not exist"
        pair = input.children[0]
        assert isinstance(pair, T.Tuple)
        score, value = pair.items
        if not isinstance(score, T.Tensor) or not score.floating or score.shape not in ((), (1,)):
            return (
                f"a score must be one floating-point number, and this one is {score}",
                "end the score with a layer that gives one number: ar.FC(1)",
            )
        if T.holds(value, T.Input):
            read = "say what to read: ar.Attention(score, ar.Vector(n))"
            return f"the values are {value}, and only tensors have a mean", read
        for leaf in T.leaves(value):
            if leaf.dtype != score.dtype:
                cast = f"convert the values: ar.Function(lambda x: x.cast({score.dtype!r}))"
                return f"scores are {score.dtype} and values {leaf.dtype}", cast
        return self._check_element(value)
