"""What a walk over an example must be told: what a tensor is and how it is computed."""

from __future__ import annotations

from typing import Any, Protocol

from arrows.inference import Typed


class Semantics(Protocol):
    """What a tensor is, in one walk.

    Values of the walk: a `Tensor` is whatever the methods give; a `Tuple` is a tuple, a `Sequence` a list,
    `Void` None, an `Input` the Python object, an endless sequence an `Endless`.
    """

    def constant(self, typed: Typed) -> Any:
        """The value of a `Constant` (of `typed.output`)."""

    def read(self, typed: Typed, leaf: object) -> Any:
        """The tensor that a `Read` makes of a Python object; raises `LeafError` if it does not fit."""

    def apply(self, typed: Typed, value: Any) -> Any:
        """What an `Apply` computes of a value of `typed.input`: a value of `typed.output`."""

    def metric(self, typed: Typed, value: Any, label: object) -> None:
        """Takes in a side output; `label` is None where the `Metric` has no label."""

    def tap(self, typed: Typed, value: Any) -> None:
        """Takes in what a `Tap` keeps."""


class Endless:
    """An endless sequence: one element, again and again.

    >>> Endless(3)
    Endless(3)
    """

    __slots__ = ("element",)

    def __init__(self, element: Any) -> None:
        self.element = element

    def __repr__(self) -> str:
        return f"Endless({self.element!r})"
