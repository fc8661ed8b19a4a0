"""Losses: blocks from a prediction and a target to a scalar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arrows import ops
from arrows.combinators import Apply
from arrows.combinators.block import set_name
from arrows.ops import ShapeError, TensorLike
from arrows.typesys.static import Tensor


class Loss(Apply[tuple[Tensor[Any, Any], Tensor[Any, Any]], Tensor[Any, tuple[()]]]):
    """Base of losses: no parameters, so that one may stand at places of different types.

    Give it a `loss(prediction, target)`, of tensors, that returns a scalar.

    >>> import arrows as ar
    >>> isinstance(ar.SquaredError(), Loss)
    True
    """

    def __init__(self, *, name: str | None = None) -> None:
        set_name(self, name)

    def loss(self, prediction: Any, target: Any) -> Any:
        """The scalar, of tensors of one example."""
        raise NotImplementedError(f"{type(self).__name__} must say its loss")

    @property
    def function(self) -> Callable[..., Any]:
        return self.loss

    def __call__(self, *args: Any) -> Any:
        if args and all(isinstance(x, TensorLike) for x in args):
            return self.loss(*args)  # inside a Function
        return super().__call__(*args)


class SoftmaxCrossEntropy(Loss):
    """Cross-entropy of a softmax: `-log(softmax(scores)[label])`, from (scores [k], integer label) to a
    scalar.

    Computed from `log_softmax`, without overflow.  In nats.

    Args:
        name: the name in messages.

    Raises:
        ShapeError: when types are checked, the input is not a vector of floating numbers and an integer.
        IndexError: the label of an example is out of range.

    >>> import arrows as ar
    >>> both = ar.GetItem(0) >> ar.Vector(2) & ar.GetItem(1) >> ar.Scalar("int32")
    >>> round(float((both >> ar.SoftmaxCrossEntropy()).eval(([0, 0], 1))), 4)
    0.6931
    """

    def loss(self, prediction: Any, target: Any) -> Any:
        scores, label = prediction.type, target.type
        if scores.ndim != 1 or not scores.floating:
            raise ShapeError(f"the scores of SoftmaxCrossEntropy are a floating vector, and {scores} is none")
        if label.ndim or label.floating or label.dtype == "bool":
            raise ShapeError(
                f"the label of SoftmaxCrossEntropy is an integer, and {label} is none",
                hint='read it with ar.Scalar("int32")',
            )
        return -ops.pick(ops.log_softmax(prediction), target)


class SquaredError(Loss):
    """Squared error: `sum((prediction - target) ** 2)`, from two tensors of one type to a scalar.

    Args:
        name: the name in messages.

    Raises:
        ShapeError: when types are checked, the two differ in type, or are not floating.

    >>> import arrows as ar
    >>> both = ar.GetItem(0) >> ar.Vector(2) & ar.GetItem(1) >> ar.Vector(2)
    >>> float((both >> ar.SquaredError()).eval(([1, 2], [3, 5])))
    13.0
    """

    def loss(self, prediction: Any, target: Any) -> Any:
        if prediction.type != target.type or not prediction.type.floating:
            raise ShapeError(
                f"SquaredError takes two floating tensors of one type, "
                f"got {prediction.type} and {target.type}",
                hint="cast the target" if prediction.shape == target.shape else None,
            )
        return ops.sum(ops.square(prediction - target))
