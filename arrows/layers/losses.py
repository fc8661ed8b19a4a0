"""Losses: blocks from a prediction and a target to a scalar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from arrows import ops
from arrows.combinators import spread_items
from arrows.layers.arguments import Declared
from arrows.ops import IndexOutOfRange, ShapeError, TensorLike
from arrows.typesys import static as S, types as T


@dataclass(eq=False, repr=False)
class Loss(Declared[tuple[S.Tensor[Any, Any], S.Tensor[Any, Any]], S.Tensor[Any, tuple[()]]]):
    """Base of losses.  A loss has no parameters, so the same object may be used on different types.

    A subclass defines `loss(prediction, target)`, which takes two tensors and returns a scalar.

    >>> import arrows as ar
    >>> isinstance(ar.SquaredError(), Loss)
    True
    """

    example = "(prediction & target)"
    foreign = "loss"

    def loss(self, prediction: TensorLike, target: TensorLike) -> TensorLike:
        """The loss of one example, a scalar."""
        raise NotImplementedError(f"{type(self).__name__} must define `loss`")

    def of_example(self, prediction: TensorLike, target: TensorLike) -> TensorLike:
        return self.loss(prediction, target)

    def compute(self, args: tuple[Any, ...]) -> Any:
        items = spread_items(args)
        return self.loss(*items) if all(isinstance(x, TensorLike) for x in items) else super().compute(args)


def floating_pair(layer: str, prediction: TensorLike, target: TensorLike) -> None:
    """Raises ShapeError unless the two are floating tensors of one type."""
    if prediction.type != target.type or not prediction.type.floating:
        raise ShapeError(
            f"{layer} takes two floating tensors of one type, got {prediction.type} and {target.type}",
            hint=_repair(prediction, target),
        )


def _repair(prediction: TensorLike, target: TensorLike) -> str | None:
    """Hints what makes one type of two; None where nothing is obvious."""
    if prediction.shape == target.shape:
        floats = prediction.dtype if prediction.type.floating else "float32"
        return f'read the target as {floats}, or cast it: x.cast("{floats}")'
    if {prediction.shape, target.shape} != {(), (1,)}:
        return None
    return (
        SCALAR_HINT
        if prediction.shape
        else "ar.Scalar() reads a number, where ar.Vector(1) reads a list of one"
    )


SCALAR_HINT = (
    "ar.FC([]) gives a scalar where ar.FC(1) gives a vector of one; "
    "of any vector of one: ar.Function(lambda x: x[0])"
)


@dataclass(eq=False, repr=False)
class SoftmaxCrossEntropy(Loss):
    """Cross-entropy of a softmax: `-log(softmax(scores)[label])`, from (scores [k], integer label) to a
    scalar; or `-sum(target * log(softmax(scores)))`, from (scores [k], a distribution [k]).

    Computed from `log_softmax`, without overflow.  In nats.  A distribution is not checked to sum to 1.
    With weights and smoothing it is `-sum(weight * smoothed * log(softmax(scores)))`, where `smoothed` is
    `(1 - label_smoothing) * target + label_smoothing / k`: PyTorch's `CrossEntropyLoss(reduction="none")`.
    A batch's loss is the mean over its examples; PyTorch's default divides by the sum of their weights.

    Args:
        weight: a number >= 0 for each class, by which its part of the loss is multiplied; None: 1.
        label_smoothing: the share of the target that all classes get alike, from 0 to 1 (Szegedy et al.,
            "Rethinking the Inception Architecture for Computer Vision", CVPR 2016, section 7).
        name: the name in messages.

    Raises:
        ArrowTypeError, ArrowValueError: the weights or the smoothing are not of this kind.
        ShapeError: when types are checked, the input is not a vector of floating numbers and an integer, or
            two such vectors of one type; or the weights are not as many as the scores.
        IndexError: the label of an example is out of range.

    >>> import arrows as ar
    >>> both = ar.GetItem(0) >> ar.Vector(2) & ar.GetItem(1) >> ar.Scalar("int32")
    >>> round(float((both >> ar.SoftmaxCrossEntropy()).eval(([0, 0], 1))), 4)
    0.6931
    >>> unlikely = ar.SoftmaxCrossEntropy(weight=[1.0, 10.0], label_smoothing=0.1)
    >>> round(float((both >> unlikely).eval(([0, 0], 1))), 4)
    6.6196
    """

    example = '(scores & ar.GetItem("label") >> ar.Scalar("int32"))'
    _: KW_ONLY
    weight: Sequence[float] | None = None
    label_smoothing: float = 0.0

    def loss(self, prediction: TensorLike, target: TensorLike) -> TensorLike:
        scores, label = prediction.type, target.type
        if scores.ndim != 1 or not scores.floating:
            raise ShapeError(f"the scores of SoftmaxCrossEntropy must be a floating vector, not {scores}")
        if label == scores:
            smoothed = target
            if self.label_smoothing:
                smoothed = target * (1 - self.label_smoothing) + self.label_smoothing / scores.shape[0]
            return -ops.sum(smoothed * self._weighted(ops.log_softmax(prediction)))
        if label.ndim or label.floating or label.dtype == "bool":
            raise ShapeError(
                f"the label of SoftmaxCrossEntropy is an integer or a distribution {scores}, "
                f"and {label} is neither",
                hint='read it with ar.Scalar("int32")',
            )
        logs = self._weighted(ops.log_softmax(prediction))
        if not self.label_smoothing:
            return -ops.pick(logs, target)
        share = self.label_smoothing / scores.shape[0]
        return -(ops.pick(logs, target) * (1 - self.label_smoothing) + ops.sum(logs) * share)

    def out_of_range(self, error: IndexOutOfRange) -> tuple[str, str]:
        index, size = error.index, error.size
        reason = f"the label {index} is out of range: {size} scores have labels 0 to {size - 1}"
        if index < 0:
            return reason, "leave out the examples without a label"
        return reason, f"for this label, let the layer before give {index + 1} scores: ar.FC({index + 1})"

    def _weighted(self, logs: TensorLike) -> TensorLike:
        if self.weight is None:
            return logs
        if logs.shape != (len(self.weight),):
            reason = f"{self.kind} has {len(self.weight)} weights, one for each class, but the scores are"
            raise ShapeError(f"{reason} {logs.type}")
        return logs * np.asarray(self.weight, logs.dtype)


@dataclass(eq=False, repr=False)
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

    def loss(self, prediction: TensorLike, target: TensorLike) -> TensorLike:
        floating_pair("SquaredError", prediction, target)
        return ops.sum(ops.square(prediction - target))


@dataclass(eq=False, repr=False)
class SigmoidCrossEntropy(Loss):
    """Cross-entropy of independent sigmoids, summed: from scores and targets of one shape to a scalar.

    `-sum(target * log(sigmoid(scores)) + (1 - target) * log(1 - sigmoid(scores)))`, as
    `sum(softplus(scores) - target * scores)`, without overflow.  In nats.

    Args:
        pos_weight: a positive number, by which the part of the targets is multiplied, as that of PyTorch's
            `BCEWithLogitsLoss`: above 1 where they are rare.
        label_smoothing: the share of each target that becomes 1/2, from 0 to 1, as in Keras.
        name: the name in messages.

    Raises:
        ArrowTypeError, ArrowValueError: the weight or the smoothing are not of this kind.
        ShapeError: when types are checked, the scores are not floating, or the targets are neither of their
            type nor truth values of their shape.

    >>> import arrows as ar
    >>> both = ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1) >> ar.Scalar("bool")
    >>> round(float((both >> ar.SigmoidCrossEntropy()).eval((0, True))), 4)
    0.6931
    """

    _: KW_ONLY
    pos_weight: float = 1.0
    label_smoothing: float = 0.0

    def loss(self, prediction: TensorLike, target: TensorLike) -> TensorLike:
        if target.dtype == "bool" and prediction.type.floating:
            target = ops.cast(target, prediction.dtype)
        floating_pair("SigmoidCrossEntropy", prediction, target)
        if self.label_smoothing:
            target = target * (1 - self.label_smoothing) + self.label_smoothing / 2
        if self.pos_weight == 1:
            return ops.sum(ops.softplus(prediction) - target * prediction)
        # log(sigmoid(x)) is -softplus(-x), and log(1 - sigmoid(x)) is -softplus(x).
        negatives = (1 - target) * ops.softplus(prediction)
        return ops.sum(negatives + target * self.pos_weight * ops.softplus(-prediction))


@dataclass(eq=False, repr=False)
class Hinge(Loss):
    """The hinge loss: how much the label's score lacks to be the best by a margin.

    From (scores [k], integer label), Crammer, Singer, "On the Algorithmic Implementation of Multiclass
    Kernel-based Vector Machines", JMLR 2001, (4): `max(0, margin + best other score - score of the label)`.
    From (score, bool), both scalars: `max(0, margin - score)` for True and `max(0, margin + score)` for
    False.

    Args:
        margin: positive.
        name: the name in messages.

    Raises:
        ArrowTypeError, ArrowValueError: the margin is not a positive number.
        ShapeError: when types are checked, the input has neither form.
        IndexError: the label of an example is out of range.

    >>> import arrows as ar
    >>> both = ar.GetItem(0) >> ar.Vector(3) & ar.GetItem(1) >> ar.Scalar("int32")
    >>> float((both >> ar.Hinge()).eval(([2.0, 1.5, 0.0], 0)))
    0.5
    """

    margin: float = 1.0

    def loss(self, prediction: TensorLike, target: TensorLike) -> TensorLike:
        scores, label = prediction.type, target.type
        if not scores.ndim and scores.floating and label == T.Tensor((), "bool"):
            return ops.relu(self.margin + ops.where(target, -prediction, prediction))
        number = not label.ndim and not label.floating and label.dtype != "bool"
        if scores.ndim != 1 or not scores.floating or scores.shape[0] < 2 or not number:
            raise ShapeError(
                f"Hinge takes (scores, integer) or (score, bool), got ({scores}, {label})",
                hint=SCALAR_HINT if scores.shape == (1,) and not label.shape else "",
            )
        own = ops.one_hot(target, scores.shape[0], "bool")
        least = ops.min(prediction)  # in place of the label's score, which must not win; nothing overflows
        other = ops.max(ops.where(own, least, prediction))
        return ops.relu(self.margin + other - ops.pick(prediction, target))


@dataclass(eq=False, repr=False)
class Huber(Loss):
    """Squared error near the target, linear far from it, summed: from two tensors of one type to a scalar.

    Huber, "Robust Estimation of a Location Parameter", 1964: `e * e / 2` where the error's size is below
    `delta`, `delta * (|e| - delta / 2)` elsewhere.

    Args:
        delta: the size of an error from which on the loss is linear, positive.
        name: the name in messages.

    Raises:
        ArrowValueError: delta is not positive.
        ShapeError: when types are checked, the two differ in type, or are not floating.

    >>> import arrows as ar
    >>> both = ar.GetItem(0) >> ar.Vector(2) & ar.GetItem(1) >> ar.Vector(2)
    >>> float((both >> ar.Huber()).eval(([1, 2], [2, 5])))
    3.0
    """

    delta: float = 1.0

    def loss(self, prediction: TensorLike, target: TensorLike) -> TensorLike:
        floating_pair("Huber", prediction, target)
        error = prediction - target
        near = ops.clip(error, -self.delta, self.delta)
        return ops.sum(near * (error - near * 0.5))
