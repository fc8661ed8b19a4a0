"""Attention pooling: the mean of a sequence's elements, weighted by a softmax over their scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from arrows import ops
from arrows.combinators.apply import Misfit, Tensors
from arrows.combinators.base.arguments import set_name, wrong_argument
from arrows.combinators.base.block import A, AnyBlock, B
from arrows.combinators.base.convert import as_block
from arrows.combinators.base.printing import Pieces
from arrows.combinators.base.wires import Wire
from arrows.combinators.compose import DerivedBlock, Identity
from arrows.combinators.default_result import DefaultResult, as_default_result, put_default, shown, unfit
from arrows.combinators.fanout import Fan
from arrows.combinators.reductions import ReductionWithDefault, each
from arrows.combinators.sequences import Map
from arrows.ops import TensorLike
from arrows.typesys import types as T


class Attention(DerivedBlock[Sequence[A], B]):
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

    Attributes:
        default: as given.
        need_weights: as given.

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

    need_weights: bool

    @overload
    def __init__(
        self: Attention[A, A],
        score: Callable[[Wire[A]], Wire[Any]],
        *,
        default: object = None,
        need_weights: Literal[False] = False,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Attention[A, B],
        score: Callable[[Wire[A]], Wire[Any]],
        value: Callable[[Wire[A]], Wire[B]],
        *,
        default: object = None,
        need_weights: Literal[False] = False,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Attention[A, tuple[Any, Sequence[Any]]],
        score: Callable[[Wire[A]], Wire[Any]],
        value: Callable[[Wire[A]], Wire[Any]] | None = None,
        *,
        default: object = None,
        need_weights: bool,
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self,
        score: object,
        value: object = None,
        *,
        default: object = None,
        need_weights: bool = False,
        name: str | None = None,
    ) -> None:
        set_name(self, name)
        if not isinstance(need_weights, bool):
            raise wrong_argument("an Attention", f"need_weights must be True or False, not {need_weights!r}")
        self.need_weights = need_weights
        scored = as_block(score, "the score of an Attention")
        valued = Identity() if value is None else as_block(value, "the value of an Attention")
        nothing = as_default_result(default, "Attention")
        words = [
            x if isinstance(x, str) else x.brief(1) for x in _written(scored, valued, nothing, need_weights)
        ]
        self._parts = (
            _Scored(Fan((scored, valued)), "".join(words), name),
            _Pool("".join(words), nothing, need_weights, name),
        )

    @property
    def score(self) -> AnyBlock:
        """The block from an element to its score."""
        return self.parts[0].parts[0].parts[0]

    @property
    def value(self) -> AnyBlock:
        """The block from an element to the value that is averaged."""
        return self.parts[0].parts[0].parts[1]

    @property
    def default(self) -> DefaultResult | None:
        """The result if there are no elements; None if there must be elements."""
        pool = self.parts[1]
        assert isinstance(pool, _Pool)
        return pool.default

    def written(self) -> Pieces:
        return _written(self.score, self.value, self.default, self.need_weights)


def _written(score: AnyBlock, value: AnyBlock, default: DefaultResult | None, need_weights: bool) -> Pieces:
    pieces: Pieces = [score]
    if not isinstance(value, Identity):
        pieces += [", ", value]
    if default is not None:
        pieces.append(f", default={shown(default)}")
    return [*pieces, ", need_weights=True"] if need_weights else pieces


class _Scored(Map[Any, Any]):
    """The first step of `Attention`: the sequence of pairs (score, value).

    Messages call it by the words of the `Attention` that it stands in.
    """

    kind = "Attention"

    def __init__(self, element: AnyBlock, words: str, name: str | None) -> None:
        super().__init__(element, name=name)
        self._words = words

    def arguments(self, depth: int = 2) -> str:
        return self._words


class _Pool(ReductionWithDefault):
    """The last step of `Attention`: pools the sequence of pairs (score, value).

    Messages call it by the words of the `Attention` that it stands in.
    """

    kind = "Attention"
    verb = "averages"

    def __init__(
        self, words: str, default: DefaultResult | None, need_weights: bool, name: str | None
    ) -> None:
        set_name(self, name)
        self._words = words
        self.default = default
        self.need_weights = need_weights

    def arguments(self, depth: int = 2) -> str:
        return self._words

    def reduce(self, *values: Tensors) -> Tensors:
        (pair,) = values
        assert isinstance(pair, tuple)
        scores, rows = pair
        assert isinstance(scores, TensorLike)
        weight = ops.segment_softmax(ops.reshape(scores, ()) if scores.shape else scores)

        def pool(x: TensorLike, default: DefaultResult | None) -> TensorLike:
            return put_default(x, ops.segment_sum(x * weight), default)

        pooled = each(pool, rows, self.default)
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
            cast = f"convert the values: ar.Function(lambda x: x.cast({score.dtype!r}))"
            if not leaf.floating:
                return f"the mean of {leaf.dtype} values would not be {leaf.dtype}", cast
            if leaf.dtype != score.dtype:
                return f"scores are {score.dtype} and values {leaf.dtype}", cast
        if T.holds(value, T.Sequence):
            return "the values have sequences in them, and only tensors have a mean", "reduce these first"
        return None if self.default is None else unfit(self.default, value)
