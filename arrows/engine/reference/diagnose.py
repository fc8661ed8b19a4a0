"""Finds out what was wrong with an example: a slow walk that keeps the path, run only when lowering has
failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.engine.reference import evaluation as reference
from arrows.engine.reference.interpreter import interpret
from arrows.engine.reference.semantics import Semantics
from arrows.engine.values import Recursion, convert, trampoline
from arrows.inference import Typed
from arrows.ops import Parameter
from arrows.typesys import types as T


def check_example(typed: Typed, example: Any, number: int, max_nodes: int) -> None:
    """Walks one example without computing anything.

    Args:
        typed: the model's expression.
        example: the Python object.
        number: its place in the batch.
        max_nodes: when to call a recursion endless.

    Raises:
        InputError: what does not fit, and where.  Returns if the walk finds nothing wrong.
    """
    interpret(typed, example, LengthSemantics(), number=number, max_nodes=max_nodes)


@dataclass(frozen=True, slots=True)
class Explainer:
    """Says what is wrong with an example of a model.

    Attributes:
        typed: the model's expression.
        parameter: gives a layer's parameter, on the host.
        max_nodes: when to call a recursion endless.
        float_type: as in `arrows.compile`.
    """

    typed: Typed
    parameter: Callable[[object, Parameter], np.ndarray]
    max_nodes: int
    float_type: str | None

    def __call__(self, example: Any, number: int, values: bool) -> None:
        """Raises the `InputError` that says what is wrong; returns if nothing is found.

        Args:
            example: the Python object.
            number: what it is called in messages.
            values: it shows only once values are computed.
        """
        if values:
            reference.evaluate(
                self.typed,
                example,
                self.parameter,
                number=number,
                max_nodes=self.max_nodes,
                float_type=self.float_type,
            )
        else:
            check_example(self.typed, example, number, self.max_nodes)


class LengthSemantics(Semantics):
    """A tensor is nothing; sequences have their lengths."""

    def constant(self, typed: Typed) -> Any:
        return trampoline(_empty(typed.output, 0))

    def read(self, typed: Typed, thing: Any) -> None:
        assert isinstance(typed.output, T.Tensor)
        convert(thing, typed.output)

    def apply(self, typed: Typed, value: Any) -> Any:
        if not isinstance(typed.output, (T.Tuple, T.Sequence)):
            return None
        assert typed.trace is not None
        lengths = trampoline(_lengths(typed.input, value))
        rows = iter([var.rows for var in typed.trace.results])
        return trampoline(_result(typed.output, rows, lengths))

    def metric(self, typed: Typed, value: Any, label: Any) -> None:
        return

    def tap(self, typed: Typed, value: Any) -> None:
        return


def _empty(of: T.Type, length: int) -> Recursion[Any]:
    if isinstance(of, T.Tuple):
        items = []
        for item in of.items:
            items.append((yield _empty(item, length)))
        return tuple(items)
    if isinstance(of, T.Sequence):
        return [(yield _empty(of.element, 0))] * length
    return None


def _result(of: T.Type, rows: Iterator[int], lengths: list[int]) -> Recursion[Any]:
    """What an operation returns; ``rows`` are the levels of its tensor leaves."""
    if isinstance(of, T.Tuple):
        items = []
        for item in of.items:
            items.append((yield _result(item, rows, lengths)))
        return tuple(items)
    if isinstance(of, T.Sequence):
        domains = [next(rows) for _ in T.leaves(of.element)]
        return [(yield _empty(of.element, 0))] * lengths[domains[0]]
    next(rows)
    return None


def _lengths(of: T.Type, value: Any) -> Recursion[Any]:
    if isinstance(of, T.Sequence):
        return [len(value)]
    found: list[int] = []
    if isinstance(of, T.Tuple):
        for item, part in zip(of.items, value, strict=True):
            found += yield _lengths(item, part)
    return found
