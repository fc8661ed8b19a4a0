"""Says what is wrong with an example by a slow walk, run only when the fast reader or a batch has failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arrows.arrays import HostArray
from arrows.engine.reference.array_semantics import ArraySemantics
from arrows.engine.reference.interpreter import interpret
from arrows.engine.values import iterators_in
from arrows.inference import Typed
from arrows.ops import Parameter


@dataclass(slots=True)
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

    def __call__(self, example: object, number: int) -> None:
        """Walks an example that was read before; returns if the walk finds nothing wrong.

        There is no walk over an example that is or holds an iterator, which is used up.

        Args:
            example: the Python object.
            number: what it is called in messages.

        Raises:
            InputError: what does not fit, and where.
        """
        if not iterators_in(example):
            arrays = ArraySemantics(self.typed, self.parameter, self.float_type, record=False)
            interpret(self.typed, example, arrays, number, self.max_nodes)
