"""Several sequences side by side, and one from behind: `Zip`, `ZipWith`, `Reverse`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from arrows.combinators.block import AnyBlock, Block, set_name
from arrows.combinators.compose import DerivedBlock
from arrows.combinators.convert import as_block
from arrows.combinators.inputs import Item
from arrows.combinators.sequences import Map
from arrows.combinators.wires import Wire

B = TypeVar("B")


class Zip(Block[Any, Sequence[Any]]):
    """Several sequences element by element: from a tuple of sequences to the sequence of tuples.

    An item of the tuple is a Python container, a sequence, an endless sequence, or a tuple whose items have
    one type. The result ends with the shortest of them, and never if all are endless. A Python object counts
    as a container of containers.

    Args:
        name: the name in messages.

    Raises:
        ArrowTypeError: at `compile`, an input that is no tuple, or an item without elements.
        InputError: at evaluation, a Python object that cannot be gone over.

    Source: TensorFlow Fold, `td.Zip`.

    Example:
        >>> import arrows as ar
        >>> (ar.AllOf(ar.GetItem("words"), ar.GetItem("tags")) >> ar.Zip()).eval(
        ...     {"words": ["a", "tree"], "tags": [3, 1]}
        ... )
        [('a', 3), ('tree', 1)]
    """

    def __init__(self, *, name: str | None = None) -> None:
        set_name(self, name)


class ZipWith(DerivedBlock[Any, Sequence[B]]):
    """One block on the elements of several sequences that stand side by side: `Zip() >> Map(element)`.

    Args:
        element: what to do with one tuple of elements.
        name: the name in messages.

    Raises:
        ArrowTypeError: `element` is no block; at `compile`, as `Zip` and `Map`.

    Source: TensorFlow Fold, `td.ZipWith`.

    Example:
        >>> import arrows as ar
        >>> pair = ar.AllOf(ar.GetItem(0) >> ar.Map(ar.Scalar()), ar.GetItem(1) >> ar.Map(ar.Scalar()))
        >>> products = pair >> ar.ZipWith(ar.Function(lambda x, y: x * y)) >> ar.Sum()
        >>> float(products.eval(([1, 2, 3], [10, 100])))
        210.0
    """

    def __init__(self, element: Callable[[Wire[Any]], Wire[B]], *, name: str | None = None) -> None:
        set_name(self, name)
        self._parts = (Zip(), Map(as_block(element, "the block of a ZipWith")))

    @property
    def element(self) -> AnyBlock:
        """The block on every tuple of elements."""
        return self.parts[1].parts[0]

    def written(self) -> list[AnyBlock | str]:
        return [self.element]


class Reverse(Item[Any, Any]):
    """The elements from the last to the first: of a sequence, of a Python sequence, of a tuple.

    Args:
        name: the name in messages.

    Raises:
        ArrowTypeError: at `compile`, an input without items, or an endless sequence.
        InputError: at evaluation, a Python object that has no slices.

    Example:
        >>> import arrows as ar
        >>> ar.Reverse().eval("tree"), ar.Reverse().eval([1, 2])
        ('eert', [2, 1])
    """

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(slice(None, None, -1), name=name)
        self.kind = "Reverse"

    def arguments(self, depth: int = 2) -> str:
        return ""
