"""`Metric` and `Tap`, which give side outputs, and `shared`, which computes once for each object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from arrows.combinators.base.arguments import function_name, require_name, set_name, wrong_argument
from arrows.combinators.base.block import A, B, Block, SameType, as_block
from arrows.combinators.base.wires import Wire


class SideOutput(Block[A, B]):
    """The core form of `Metric` and `Tap`: its input is collected under a key, beside the result.

    Attributes:
        key: the name under which values are collected.
        passes: whether the input is the result too; else it is Void.
    """

    key: str
    passes: ClassVar[bool] = False
    effect = True

    def arguments(self) -> list[str]:
        return [repr(self.key)]


class Metric(SideOutput[Any, None]):
    """A side output: its input is collected under a name, wherever and however often the block is visited.

    The input is a tensor, or a pair of a tensor and a Python object (a label). The result is nothing (Void).

    Args:
        name: that under which values are collected; it has one tensor type in a model.

    Raises:
        ArrowTypeError: the name is not text; at `compile`, another input, or two tensor types under one name.

    Source: TensorFlow Fold, `td.Metric`.

    Example:
        >>> import arrows as ar
        >>> ar.Metric("loss")
        Metric('loss')
    """

    def __init__(self, name: str) -> None:
        require_name("Metric", "the name of a metric", name, "ar.Metric('loss')")
        self.key = name


class Tap(SameType, SideOutput[Any, Any]):
    """Passes its input on, and keeps it: `model.taps[name]` holds the value of every visit of the last call.

    It may stand anywhere, inside of recursion and networks too, and changes no number. The input is made of
    tensors, tuples and sequences, or of Python objects.

    Args:
        name: that under which values are kept; it has one type in a model.
        show: a function of a value on the host, such as `print`: called for every visit after the batch, in
            the order of the examples and visits. A sequence is shown as an array with its elements in rows.
            The calls come last, after the optimizer's step too. So an exception from `show` leaves the model
            call, and only the result of that call is lost.

    Raises:
        ArrowTypeError: the name is not text, or `show` is no function; at `compile`, an endless sequence,
            tensors and Python objects in one value, or two types under one name.

    Source: a wish of the users of TensorFlow Fold (its issue 95).

    Example:
        >>> import arrows as ar
        >>> squares = ar.Map(ar.Scalar() >> ar.Function(lambda x: x * x) >> ar.Tap("squares"))
        >>> model = ar.compile(squares >> ar.Sum())
        >>> model([[1, 2, 3], []]).tolist(), model.taps["squares"].tolist()
        ([14.0, 0.0], [[1.0, 4.0, 9.0], []])
        >>> (squares >> ar.Sum() >> ar.Tap("total", show=print)).eval([3, 4])
        25.0
        array(25., dtype=float32)
    """

    passes = True
    show: Callable[[Any], object] | None

    def __init__(self, name: str, show: Callable[[Any], object] | None = None) -> None:
        require_name("Tap", "the name of a tap", name, "ar.Tap('state')")
        if show is not None and (isinstance(show, Block) or not callable(show)):
            raise wrong_argument(
                f"the Tap {name!r}",
                f"show must be a function of one value, not {show!r}",
                hint="ar.Tap('state', show=print)",
            )
        self.key = name
        self.show = show

    def arguments(self) -> list[str]:
        return [repr(self.key), *([] if self.show is None else [f"show={function_name(self.show)}"])]


class Shared(Block[A, B]):
    """The core form of `shared`; its part is the block that runs once for each object."""

    kind = "shared"

    def __init__(self, block: Callable[[Wire[A]], Wire[B]], *, name: str | None = None) -> None:
        set_name(self, name)
        self._parts = (as_block(block, "the block of ar.shared"),)


def shared(block: Callable[[Wire[A]], Wire[B]], *, name: str | None = None) -> Shared[A, B]:
    """Computes a block once for each object of an example: for data that is a graph without cycles.

    Objects are told apart by identity. An object that is reached twice is visited, counted and computed once.

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
