"""`Dropout`: zeros at random while a model is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arrows.layers.arguments import DeclaredLayer
from arrows.ops import Parameter, ShapeError, TensorLike, dropout
from arrows.typesys import types as T


@dataclass(eq=False, repr=False)
class Dropout(DeclaredLayer[Any, Any]):
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

    effect = True  # it differs from call to call, so equal calls are not merged
    rate: float = 0.5

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        kind = input.element if isinstance(input, T.Sequence) else input
        if not isinstance(kind, T.Tensor) or not kind.floating:
            raise ShapeError(f"the input of Dropout must be a tensor of floats, not {input}")
        return ()

    def forward(self, parameters: Mapping[str, TensorLike], x: TensorLike) -> TensorLike:
        return dropout(x, self.rate)
