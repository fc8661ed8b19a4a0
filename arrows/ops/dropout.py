"""Dropout inside functions and layers: where its key comes from."""

from __future__ import annotations

from typing import Any

from arrows.ops.dropout_mask import GOLDEN, dropout
from arrows.ops.tensorlike import TensorLike
from arrows.ops.trace import TraceRecorder


def drop(x: Any, rate: float) -> Any:
    """Dropout while training, nothing otherwise; for functions and layers.

    In `Model.value_and_grad`, `Model.train_step` and `model(examples, training=True)` a random part of the
    elements is zeroed and the rest scaled up (`dropout`); the mask depends on the model's seed and step, the
    example, the place in the expression and the visit, and on nothing else: not on the batch, not on the
        schedule. Everywhere else, in the reference too, the tensor is handed on as it is.

    Args:
        x: floating numbers.
        rate: the part that is zeroed, 0 <= rate < 1.

    Raises:
        ShapeError: as `dropout`.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Vector(4) >> ar.Function(lambda x: drop(x, 0.5)))
    >>> model([[1, 1, 1, 1]]).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    >>> sorted(set(model([[1, 1, 1, 1]] * 9, training=True).ravel().tolist()))
    [0.0, 2.0]
    """
    if not isinstance(x, TensorLike) or not isinstance(x.context, TraceRecorder):
        return x
    key: Any = x.context.dropout_key_input()
    number = sum(equation.primitive.name == "dropout" for equation in x.context.equations)
    # Masks of one node differ from place to place.
    return dropout(x, key + (number * GOLDEN) % 2**64 if number else key, rate)
