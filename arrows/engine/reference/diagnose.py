"""Says what is wrong with an example by slow walks, run only when the fast reader has failed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from arrows.engine.reference.array_semantics import ArraySemantics
from arrows.engine.reference.interpreter import interpret
from arrows.engine.reference.walk import Semantics, UsedUp
from arrows.engine.values import IteratorReplay, build, convert
from arrows.inference import Typed
from arrows.ops import Parameter
from arrows.ops.arrays import HostArray
from arrows.typesys import types as T


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
    parameter: Callable[[object, Parameter], HostArray]
    max_nodes: int
    float_type: str | None

    def __call__(
        self, example: object, number: int, values: bool, replay: IteratorReplay | None = None
    ) -> None:
        """Walks an example that was read before; returns if the walk finds nothing wrong.

        Iterators are not read again: their elements are those of ``replay``. What a function of the user made
        of an iterator is not known any more, and the walk finds nothing wrong then.

        Args:
            example: the Python object.
            number: what it is called in messages.
            values: whether to compute values, because the fault shows only in them; otherwise the walk
                follows the lengths of sequences alone.
            replay: the iterators of the example, as the reader has read them; None: it read none.

        Raises:
            InputError: what does not fit, and where.
        """
        semantics: Semantics = LengthSemantics()
        if values:
            semantics = ArraySemantics(self.typed, self.parameter, self.float_type, record=False)
        with suppress(UsedUp):
            interpret(self.typed, example, semantics, number, self.max_nodes, replay or IteratorReplay())


class LengthSemantics(Semantics):
    """What a tensor is does not matter; sequences have their lengths, since these decide what runs."""

    def constant(self, typed: Typed) -> Any:
        return _empty(typed.output)

    def read(self, typed: Typed, leaf: object) -> None:
        assert isinstance(typed.output, T.Tensor)
        convert(leaf, typed.output)

    def apply(self, typed: Typed, value: object) -> Any:
        if not isinstance(typed.output, (T.Tuple, T.Sequence)):
            return None
        assert typed.trace is not None
        lengths = _lengths(typed.input, value)
        levels = iter([var.rows for var in typed.trace.results])  # the input's sequence of each leaf

        def rows(element: T.Type) -> list[Any]:
            level, *_ = [next(levels) for _ in T.leaves(element)]
            return [_empty(element)] * lengths[level]

        return build(typed.output, lambda _: next(levels), rows)


def _empty(type: T.Type) -> Any:
    """A value whose sequences have no elements."""
    return build(type, lambda _: None, lambda _: [])


def _lengths(type: T.Type, value: Any) -> list[int]:
    """The lengths of all sequences in an operation's input, which has none inside another."""
    lengths, todo = [], [(type, value)]
    while todo:
        type, value = todo.pop()
        if isinstance(type, T.Sequence):
            lengths.append(len(value))
        elif isinstance(type, T.Tuple):
            todo += reversed(list(zip(type.items, value, strict=True)))
    return lengths
