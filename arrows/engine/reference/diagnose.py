"""Says what is wrong with an example by a slow walk, run only when the fast reader or a batch has failed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from arrows.arrays import HostArray
from arrows.engine.reference.array_semantics import ArraySemantics
from arrows.engine.reference.interpreter import interpret
from arrows.engine.reference.walk import UsedUp
from arrows.engine.values import IteratorReplay
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

    def __call__(self, example: object, number: int, replay: IteratorReplay | None = None) -> None:
        """Walks an example that was read before; returns if the walk finds nothing wrong.

        Iterators are not read again: their elements are those of ``replay``. What a function of the user made
        of an iterator is not known any more, and the walk finds nothing wrong then.

        Args:
            example: the Python object.
            number: what it is called in messages.
            replay: the iterators of the example, as the reader has read them; None: it read none.

        Raises:
            InputError: what does not fit, and where.
        """
        arrays = ArraySemantics(self.typed, self.parameter, self.float_type, record=False)
        with suppress(UsedUp):
            interpret(self.typed, example, arrays, number, self.max_nodes, replay or IteratorReplay())
