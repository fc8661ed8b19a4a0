"""Side outputs, and memo by identity: `Metric`, `shared`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from arrows.combinators.block import Block, set_name
from arrows.combinators.convert import as_block
from arrows.combinators.wires import Wire
from arrows.typesys.errors import ArrowTypeError, Site, message

A = TypeVar("A")
B = TypeVar("B")


class Metric(Block[Any, None]):
    """A side output: its input is collected under a name, wherever and however often the block is visited.

    The input is a tensor, or a pair of a tensor and a Python object (a label). The result is nothing (Void).

    Args:
        metric: the name under which values are collected; it has one tensor type in a model.

    Raises:
        ArrowTypeError: the name is not text; at `compile`, another input, or two tensor types under one name.

    Source: TensorFlow Fold, `td.Metric`.

    Example:
        >>> import arrows as ar
        >>> ar.Metric("loss")
        Metric('loss')
    """

    metric: str
    effect: ClassVar[bool] = True

    def __init__(self, metric: str) -> None:
        if not isinstance(metric, str):
            raise ArrowTypeError(
                message(
                    f"cannot make a Metric at {Site.here()}",
                    reason=f"the name of a metric must be a string, not {metric!r}",
                    hint="ar.Metric('loss')",
                )
            )
        self.metric = metric

    def arguments(self, depth: int = 2) -> str:
        return repr(self.metric)


class Shared(Block[A, B]):
    """The core form of `shared`.

    Attributes:
        block: what is done once for each object; the only part.
    """

    def __init__(self, block: Callable[[Wire[A]], Wire[B]], *, name: str | None = None) -> None:
        self.kind = "shared"
        set_name(self, name)
        self._parts = (as_block(block, "the block of ar.shared"),)

    @property
    def block(self) -> Block[Any, Any]:
        """What is done once for each object."""
        return self.parts[0]

    def arguments(self, depth: int = 2) -> str:
        return self.parts[0].brief(depth - 1)


def shared(block: Callable[[Wire[A]], Wire[B]], *, name: str | None = None) -> Shared[A, B]:
    """The block, remembered by object identity within an example: for data that is a graph without cycles.

    An object that is reached twice is visited, counted and computed once.

    Args:
        block: a block on Python objects.
        name: the name in messages.

    Raises:
        ArrowTypeError: no block; at `compile`, an input that is no Python object.

    Example:
        >>> import arrows as ar
        >>> ar.shared(ar.Scalar())
        shared(Scalar('float32'))
    """
    return Shared(block, name=name)
