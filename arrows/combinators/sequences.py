"""Blocks on whole sequences: `Map`, `Zip`, `ZipWith`, `Broadcast`, `NGrams`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrows.combinators.base.arguments import require_flag, require_integer, set_name
from arrows.combinators.base.block import A, AnyBlock, B, Block, as_block, derived
from arrows.combinators.base.printing import Argument
from arrows.combinators.base.wires import Wire
from arrows.combinators.fanout import Fan
from arrows.combinators.items import Item
from arrows.typesys import explains_arguments

MOST = 10_000
"""A tuple of elements has at most so many, because its items are written down one by one."""


class Map(Block[Sequence[A], Sequence[B]]):
    """Applies a block to every element.

    The input is a Python container, a sequence, an endless sequence, or a tuple whose items have one type;
    the result is a sequence (endless for an endless one).  As in Python, a text is the sequence of its
    characters: `Input(list) >> Map(...)` refuses a text where a list of words is meant.

    Args:
        element: what to do with one element.
        name: the name in messages.

    Raises:
        ArrowTypeError: `element` is no block; at `compile`, an input that has no elements.
        InputError: at evaluation, a Python object that cannot be gone over.

    Source: TensorFlow Fold, `td.Map`.

    Example:
        >>> import arrows as ar
        >>> ar.Map(ar.InputTransform(len)).eval(["a", "tree"])
        [1, 4]
        >>> ar.Map(ar.InputTransform(str.upper)).eval("tree")
        ['T', 'R', 'E', 'E']
    """

    def __init__(self, element: Callable[[Wire[A]], Wire[B]], *, name: str | None = None) -> None:
        set_name(self, name)
        self._parts = (as_block(element, "the block of a Map"),)


class Zip(Block[Any, Sequence[Any]]):
    """Goes over several sequences at once: from a tuple of sequences to the sequence of tuples.

    Each item of the tuple is a Python container, a sequence, an endless sequence, or a tuple whose items have
    one type. All must have as many elements, but for endless ones; the result is endless if all are. A Python
    object counts as a container of containers.

    Args:
        strict: whether sequences of different lengths are an error; else the result ends with the shortest.
        name: the name in messages.

    Raises:
        ArrowTypeError: `strict` is no truth value; at `compile`, an input that is no tuple, or an item
            without elements.
        InputError: at evaluation, different lengths, or a Python object that cannot be gone over.

    Source: TensorFlow Fold, `td.Zip`.

    Example:
        >>> import arrows as ar
        >>> (ar.AllOf(ar.GetItem("words"), ar.GetItem("tags")) >> ar.Zip()).eval(
        ...     {"words": ["a", "tree"], "tags": [3, 1]}
        ... )
        [('a', 3), ('tree', 1)]
        >>> ar.Zip(strict=False).eval([[1, 2, 3], "ab"])
        [(1, 'a'), (2, 'b')]
    """

    strict: bool
    uneven = "with strict=False the result ends with the shortest"
    """The hint if there are different lengths."""

    def __init__(self, *, strict: bool = True, name: str | None = None) -> None:
        set_name(self, name)
        self.strict = require_flag("a Zip", "strict", strict)

    def arguments(self) -> list[str]:
        return [] if self.strict else ["strict=False"]


@explains_arguments("block")
def ZipWith(
    element: Callable[[Wire[Any]], Wire[B]], *, strict: bool = True, name: str | None = None
) -> Block[Any, Sequence[B]]:
    """Applies a block to the elements of several sequences, side by side: `Zip() >> Map(element)`.

    Args:
        element: what to do with one tuple of elements.
        strict: as for `Zip`.
        name: the name in messages.

    Raises:
        ArrowTypeError: `element` is no block; at `compile`, as `Zip` and `Map`.

    Source: TensorFlow Fold, `td.ZipWith`.

    Example:
        >>> import arrows as ar
        >>> pair = ar.AllOf(ar.GetItem(0) >> ar.Map(ar.Scalar()), ar.GetItem(1) >> ar.Map(ar.Scalar()))
        >>> products = pair >> ar.ZipWith(ar.Function(lambda x, y: x * y)) >> ar.Sum()
        >>> float(products.eval(([1, 2], [10, 100])))
        210.0
    """
    block = as_block(element, "the block of a ZipWith")
    zipped = Zip(strict=require_flag("a ZipWith", "strict", strict))
    words: list[Argument] = [block, *zipped.arguments()]
    return derived("ZipWith", words, zipped, Map(block), name=name)


class Broadcast(AnyBlock):
    """Repeats its input without end, as a sequence.

    Beside another sequence in `Zip` and `ZipWith`, every element meets the same value. A `Map` over it
    computes once. A model cannot return it, for it has no end.

    Args:
        name: the name in messages.

    Source: TensorFlow Fold, `td.Broadcast`.

    Example:
        >>> import arrows as ar
        >>> numbers = ar.GetItem("numbers") >> ar.Map(ar.Scalar())
        >>> factor = ar.GetItem("factor") >> ar.Scalar() >> ar.Broadcast()
        >>> scaled = (numbers & factor) >> ar.ZipWith(ar.Function(lambda x, y: x * y))
        >>> ar.compile(scaled)([{"numbers": [1, 2, 3], "factor": 10}]).tolist()
        [[10.0, 20.0, 30.0]]
    """

    # Generic in its own call, so that checkers solve its type at the place of use.
    if TYPE_CHECKING:

        def __call__(self, x: Wire[A], /) -> Wire[Sequence[A]]: ...  # type: ignore[override]

        def __rshift__(  # type: ignore[override]
            self, other: Callable[[Wire[Sequence[A]]], Wire[B]]
        ) -> Block[A, B]: ...


@explains_arguments("block")
def NGrams(n: int, *, name: str | None = None) -> Block[Any, Sequence[Any]]:
    """Every run of `n` elements that stand side by side, as a tuple of `n`.

    A sequence that is shorter gives none. The input is a Python sequence, a sequence, an endless sequence,
    or a tuple whose items have one type.

    Args:
        n: how many elements a run has, >= 1.
        name: the name in messages.

    Raises:
        ArrowTypeError: `n` is no integer; at `compile`, an input without elements.
        ArrowValueError: `n` < 1, or more than a tuple is for (10,000).
        InputError: at evaluation, a Python object that has no slices.

    Source: TensorFlow Fold, `td.NGrams`.

    Example:
        >>> import arrows as ar
        >>> ar.NGrams(2).eval("tree")
        [('t', 'r'), ('r', 'e'), ('e', 'e')]
    """
    require_integer("NGrams", "n", n, 1, MOST)
    shifted: list[AnyBlock] = [Item(slice(place, None)) for place in range(n)]
    return derived("NGrams", [str(n)], Fan(shifted), Zip(strict=False), name=name)
