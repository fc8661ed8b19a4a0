"""`Dropout`: zeros at random while a model is trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arrows.combinators import Layer
from arrows.layers.arguments import rate_of
from arrows.ops import Parameter, ShapeError, TensorLike, dropout
from arrows.typesys import types as T


class Dropout(Layer[Any, Any]):
    """Zeros a random part of a tensor while a model is trained, and scales up the rest; else the identity.

    Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov, "Dropout: A Simple Way to Prevent Neural
    Networks from Overfitting", JMLR 2014.  What is kept is divided by `1 - rate`.

    Args:
        rate: the part that is zeroed, 0 <= rate < 1.
        name: the name in messages.

    Raises:
        ArrowTypeError, ArrowValueError: the rate is not such a number.
        ShapeError: when types are checked, the input is not a tensor of floating numbers.

    >>> import arrows as ar
    >>> (ar.Vector(3) >> Dropout(0.5)).eval([1, 2, 3]).tolist()
    [1.0, 2.0, 3.0]
    """

    effect = True
    rate: float

    def __init__(self, rate: float = 0.5, *, name: str | None = None) -> None:
        super().__init__(name=name)
        self.rate = rate_of("Dropout", rate)

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        kind = input.element if isinstance(input, T.Sequence) else input
        if not isinstance(kind, T.Tensor) or not kind.floating:
            raise ShapeError(f"the input of Dropout must be a tensor of floats, not {input}")
        return ()

    def forward(self, parameters: Mapping[str, TensorLike], *args: Any) -> TensorLike:
        return dropout(args[0], self.rate)
