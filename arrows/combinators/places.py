"""Elements at other places of a sequence: `Shift`, `Window`, and `At`, a place that is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from arrows import ops
from arrows.combinators.apply import Apply, Misfit, Tensors
from arrows.combinators.base.arguments import (
    require_integer,
    set_name,
    wrong_argument,
    wrong_value,
)
from arrows.combinators.base.block import A, AnyBlock, B, Block, derived
from arrows.combinators.base.printing import keywords
from arrows.combinators.items import Slice
from arrows.combinators.reductions import WithDefault, as_default, each, unfit
from arrows.combinators.sequences import MOST
from arrows.ops import TensorLike
from arrows.typesys import explains_arguments, types as T

FARTHEST = 2**31 - 1
"""A sequence is shifted by at most so many places: more elements no batch has."""


class _Moved(Apply[Any, Any]):
    """What `Shift` and `Window` share: a function of a sequence's tensors, with a default beyond its ends.

    Attributes:
        default: the number that stands for elements beyond the ends; None: zeros.
        verb: the verb for what the block does with elements, in messages.
        element: how such an element may be read, for a hint.
    """

    default: float | None
    verb: ClassVar[str]

    def check(self, input: T.Type) -> Misfit:
        kind = self.kind
        if isinstance(input, T.Input):
            read = f"read the elements first: ar.Map(...) >> ar.{self.summary()}"
            return f"{kind} {self.verb} tensors, and the input is a Python object", read
        if isinstance(input, T.Broadcast):
            return f"all elements of {input} are the same, and it has no end", "drop the Broadcast"
        if not isinstance(input, T.Sequence):
            hint = f"it stands behind the Map, not in it: ar.Map(f) >> ar.{self.summary()}"
            return f"{kind} {self.verb} the elements of a sequence, but {input} is not a sequence", hint
        if not isinstance(input.element, T.Tensor):
            hint = "one item at a time: ar.Map(ar.GetItem(0)) before it; ar.Zip() puts results together"
            return f"{kind} {self.verb} elements that are tensors, not {input.element}", hint
        return unfit(self.default, input.element)

    def moved(self, x: TensorLike, by: int) -> TensorLike:
        """The elements moved by so many places, with the default where none is left."""
        moved = ops.segment_shift(x, by)
        if self.default is None or by == 0:
            return moved
        inside = ops.segment_shift(ops.segment_position(x) >= 0, by)
        return ops.where(inside, moved, np.full(x.shape, self.default, x.dtype))


class Shift(_Moved):
    """Moves the elements of a sequence: element i becomes element i + by. The length stays.

    Elements are tensors. One operation, whatever the lengths.

    Args:
        by: by how many places; negative moves towards the beginning.
        default: the number that enters at the end that is left free; zeros if not given.
        name: the name in messages.

    Raises:
        ArrowTypeError: `by` is no integer, or no such default; at `compile`, an input that is no sequence of
            tensors, or a default that does not fit the elements.
        ArrowValueError: more places than any sequence has.

    Example:
        >>> import arrows as ar
        >>> before = ar.Map(ar.Scalar("int32")) >> ar.Shift(1, default=-1)
        >>> [int(x) for x in before.eval([5, 6, 7])]
        [-1, 5, 6]
    """

    verb = "moves"
    by: int

    def __init__(self, by: int = 1, *, default: object = None, name: str | None = None) -> None:
        set_name(self, name)
        self.by = require_integer("a Shift", "the number of places", by, -FARTHEST, FARTHEST)
        self.default = as_default(default, "Shift")

    def of_example(self, x: TensorLike) -> TensorLike:
        return self.moved(x, self.by)

    def arguments(self) -> list[str]:
        return [str(self.by), *keywords(default=self.default)]


@explains_arguments("block")
def Window(
    kernel_size: int,
    *,
    padding: int | str = "same",
    stride: int = 1,
    dilation: int = 1,
    default: object = None,
    name: str | None = None,
) -> Block[Sequence[A], Sequence[Any]]:
    """Each element with its neighbours: a sequence of tensors [kernel_size, ...], the elements in a window.

    Elements are tensors. What lies beyond the ends is the default. A window is `kernel_size` elements,
    each `dilation` places behind the one before it.

    Args:
        kernel_size: how many elements a window has, >= 1.
        padding: where windows may reach over the ends. "same": one window for each element, around it, for
            an even number with one element more after it than before; "causal": one for each, which ends with
            it; "valid": only windows that lie inside; a number: so many places at each end, at most half of
            what a window spans.
        stride: of these windows each `stride`-th is taken, >= 1.
        dilation: the distance between a window's elements, >= 1.
        default: the number that stands for elements beyond the ends; zeros if not given.
        name: the name in messages.

    Raises:
        ArrowTypeError: an argument has a wrong type; at `compile`, an input that is no sequence of tensors,
            or a default that does not fit the elements.
        ArrowValueError: an argument is out of range.

    Source: PyTorch, `torch.nn.Conv1d` and `Tensor.unfold`; Keras, `padding="causal"`.

    Example:
        >>> import arrows as ar
        >>> windows = ar.Map(ar.Scalar()) >> ar.Window(3)
        >>> [x.tolist() for x in windows.eval([1, 2, 3, 4])]
        [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [3.0, 4.0, 0.0]]
    """
    outside = as_default(default, "Window")
    words = [str(kernel_size), *options_written("same", padding, stride, dilation)]
    steps = window_steps("Window", kernel_size, padding, stride, dilation, outside)
    return derived("Window", [*words, *keywords(default=outside)], *steps, name=name)


def options_written(usual: int | str, padding: object, stride: object, dilation: object) -> list[str]:
    """The options of windows that are not the usual ones, as a user writes them.

    >>> options_written("same", "valid", 1, 2)
    ["padding='valid'", 'dilation=2']
    """
    options = {"padding": (padding, usual), "stride": (stride, 1), "dilation": (dilation, 1)}
    return [f"{name}={value!r}" for name, (value, default) in options.items() if value != default]


def window_steps(
    head: str,
    kernel_size: object,
    padding: object,
    stride: object,
    dilation: object,
    default: float | None = None,
) -> tuple[AnyBlock, ...]:
    """The steps of a `Window`, and the first ones of a block that goes over windows.

    Args:
        head: the block, for messages.
        kernel_size, padding, stride, dilation, default: see `Window`.
        element: how an element may be read, for a hint.
    """
    block = f"a {head}"
    width, step, apart = (
        require_integer(block, f"the {argument}", value, 1, MOST)
        for argument, value in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation))
    )
    span = apart * (width - 1)
    if span > FARTHEST:
        raise wrong_value(block, f"a window spans at most {FARTHEST:,} places")
    before = span if padding == "causal" else span // 2
    if padding in ("same", "causal"):
        first, last = 0, 0
    elif padding == "valid":
        first, last = before, span - before
    elif isinstance(padding, int) and not isinstance(padding, bool):
        if not 0 <= padding <= span // 2:
            raise wrong_value(
                block,
                f"the padding is at least 0 and at most half of what a window spans, {span // 2}, "
                f"not {padding}",
            )
        first, last = before - padding, span - before - padding
    else:
        raise wrong_argument(
            block, f"the padding is 'same', 'causal', 'valid' or a number of places, not {padding!r}"
        )
    joined: AnyBlock = _Windows(width, apart, before, default)
    if (first, last, step) == (0, 0, 1):
        return (joined,)
    return joined, Slice(start=first or None, stop=-last or None, step=None if step == 1 else step)


class _Windows(_Moved):
    """The window of each element, `before` places of which lie before it."""

    verb = "joins"

    def __init__(self, size: int, dilation: int, before: int, default: float | None) -> None:
        self.size, self.dilation, self.before, self.default = size, dilation, before, default

    def of_example(self, x: TensorLike) -> TensorLike:
        return ops.stack([self.moved(x, self.before - k * self.dilation) for k in range(self.size)])


class At(WithDefault[Any, B]):
    """The element at a place that is computed: from (sequence, place) to the element.

    The place is an integer tensor, counted from 0; one that stands in the data as a Python object is for
    `Nth`. Elements are tensors or nested tuples of tensors. One look-up for all examples of a batch.

    Args:
        default: the number in place of an element beyond the ends, before the first and of no elements
            included. Left out, the place must be one of an element.
        name: the name in messages.

    Attributes:
        default: as given.

    Raises:
        ArrowTypeError: no such default; at `compile`, an input that is no pair of a sequence of tensors and
            an integer, or a default that does not fit the elements.
        InputError: at evaluation, a place beyond the ends, and no default. On a device
            that is not seen of a place that depends on parameters, and zeros stand for the element.

    Example:
        >>> import arrows as ar
        >>> numbers = ar.Map(ar.Scalar())
        >>> best = ar.GetItem("scores") >> ar.Vector(3) >> ar.Function(ar.ops.argmax)
        >>> block = (ar.GetItem("numbers") >> numbers & best) >> ar.At()
        >>> float(block.eval({"numbers": [5, 6, 7], "scores": [0, 2, 1]}))
        6.0
    """

    def of_example(self, rows: Tensors, place: TensorLike) -> Tensors:
        return each(lambda x: ops.segment_take(x, place, self.default), rows)

    def check(self, input: T.Type) -> Misfit:
        items = input.items if isinstance(input, T.Tuple) else ()
        if len(items) != 2:
            hint = "put them side by side first: (sequence & place) >> ar.At()"
            return f"At takes the pair of a sequence and a place, and it gets {input}", hint
        sequence, place = items
        if not isinstance(sequence, T.Sequence):
            read = "read the elements: ar.Map(ar.Scalar())" if isinstance(sequence, T.Input) else ""
            return f"item 0 is {sequence}, and At takes a sequence of tensors", read
        if not isinstance(place, T.Tensor) or place.shape or place.floating or place.dtype == "bool":
            hint = "read it by ar.Scalar('int32'), or cast it: ar.Function(lambda i: i.cast('int32'))"
            return f"a place is one integer, and item 1 is {place}", hint
        element = sequence.element
        if T.holds(element, (T.Input, T.Sequence)):
            return f"At takes elements that are tensors or tuples of tensors, not {element}"
        return unfit(self.default, element)
