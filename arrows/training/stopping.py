"""What evaluations decide: when a run stops, and by how much its learning rates fall."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arrows.training.arguments import described, require_range, whole_number
from arrows.training.callbacks import Callback
from arrows.training.progress import Evaluation
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.did_you_mean import did_you_mean

_LOWER = re.compile(r"(loss|losses|error|errors|entropy|perplexity)$|^(mse|rmse|mae|nll|ppl|wer|cer)$")
_HIGHER = re.compile(r"^(accuracy|acc|f1|auc|precision|recall|bleu|uas|las)$")
_TURNED = re.compile(r"^\s*1?\s*-|minus|neg|false|likelihood", re.IGNORECASE)


def lower_is_better(owner: str, figure: str, lower: bool | None) -> bool:
    """Whether a lower value of a figure is better: as `lower` says, or else as the figure's name does.

    Raises:
        ArrowTypeError: `figure` is no name, or `lower` no truth value.
        ArrowValueError: `lower` is None, and the name does not tell.

    >>> lower_is_better("train", "dev/MSELoss", None), lower_is_better("train", "accuracy", None)
    (True, False)
    """
    if not isinstance(figure, str):
        raise ArrowTypeError(f"{owner} should be given the name of a figure, not {described(figure)}")
    if lower is not None:
        if not isinstance(lower, bool):
            raise ArrowTypeError(f"{owner}: lower should be True or False, not {described(lower)}")
        return lower
    words = re.findall(r"f1|[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", figure).lower())
    low, high = (any(pattern.search(word) for word in words) for pattern in (_LOWER, _HIGHER))
    if low == high or _TURNED.search(figure):
        raise ArrowValueError(
            f"{owner}: the name {figure!r} does not tell whether a lower figure is better; say lower=True, "
            "or lower=False where a higher one is"
        )
    return low


def value_of(figure: str, figures: Mapping[str, float], *, lower: bool) -> float:
    """A figure, turned round where lower is better, so that higher always is.

    Raises:
        ArrowValueError: there is no such figure.
    """
    if figure not in figures:
        likely = did_you_mean(figure, {name: repr(name) for name in figures}, {})
        raise ArrowValueError(
            f"train: evaluate should give the figure {figure!r}, and gives {', '.join(figures) or 'nothing'}"
            + (f"; did you mean {likely}?" if likely else "")
        )
    return -figures[figure] if lower else figures[figure]


class _Watch(Callback):
    """What watches whether a figure improves; see `EarlyStopping`."""

    figure: str
    patience: int
    least: float
    lower: bool | None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        whole_number(f"{owner}: patience", self.patience, 0)
        require_range(owner, "least", self.least, 0.0)
        object.__setattr__(self, "lower", lower_is_better(owner, self.figure, self.lower))

    def after_evaluation(self, evaluation: Evaluation, /) -> None:
        value_of(self.figure, evaluation.figures, lower=bool(self.lower))  # refuses a misspelt name

    def waited(self, evaluations: Sequence[Evaluation]) -> list[int]:
        """For each evaluation, how many in a row, itself the last, have brought no improvement."""
        best, counts = -math.inf, [0]
        for evaluation in evaluations:
            value = value_of(self.figure, evaluation.figures, lower=bool(self.lower))
            # NaN is no improvement.  The first number is one whatever `least` says.
            improved = value > best + self.least or (best == -math.inf and value > best)
            counts.append(0 if improved else counts[-1] + 1)
            best = max(best, value) if improved else best
        return counts[1:]


@dataclass(frozen=True)
class EarlyStopping(_Watch):
    """Stops a run whose figure no longer improves: a callback of `train`.

    Args:
        figure: the name of a figure that `train(evaluate=)` gives.
        patience: so many evaluations in a row may bring no improvement; the next one stops the run.
        least: by how much a figure must improve on the best one before it to count as an improvement.
        lower: whether lower is better; None: as the figure's name says.  A loss, an error, a perplexity
            should be low, an accuracy, a precision high; with other names, say which.

    Raises:
        ArrowTypeError, ArrowValueError: an argument that cannot be, or a name that does not tell.

    Source: Prechelt, "Early stopping, but when?", in Neural Networks: Tricks of the Trade, 1998.

    >>> from arrows.training import Evaluation
    >>> stop = EarlyStopping("accuracy", patience=1)
    >>> accuracies = [0.5, 0.6, 0.6, 0.55]
    >>> evaluations = [Evaluation(1, n, {"accuracy": x}) for n, x in enumerate(accuracies)]
    >>> stop.stops(evaluations[:3]), stop.stops(evaluations)
    (False, True)
    """

    figure: str
    patience: int
    least: float = 0.0
    lower: bool | None = None

    def stops(self, evaluations: Sequence[Evaluation], /) -> bool:
        return bool(evaluations) and self.waited(evaluations)[-1] > self.patience


@dataclass(frozen=True)
class Plateau(_Watch):
    """Lowers the learning rates when a figure no longer improves: a callback of `train`.

    Args:
        figure: the name of a figure that `train(evaluate=)` gives.
        factor: what all learning rates are multiplied by each time, above 0 and below 1.
        patience: so many evaluations in a row may bring no improvement; the next one lowers the rates, and
            the count begins anew.
        least: by how much a figure must improve on the best one before it to count as an improvement.
        lower: whether lower is better; None: as the figure's name says (`EarlyStopping`).
        floor: the product of all factors does not fall below this.

    Raises:
        ArrowTypeError, ArrowValueError: an argument that cannot be, or a name that does not tell.

    >>> from arrows.training import Evaluation
    >>> plateau = Plateau("loss", factor=0.5, patience=0)
    >>> losses = [3.0, 2.0, 2.5, 2.1, 1.0]
    >>> plateau.rate_factor([Evaluation(1, n, {"loss": loss}) for n, loss in enumerate(losses)])
    0.25
    """

    figure: str
    factor: float = 0.1
    patience: int = 10
    least: float = 0.0
    lower: bool | None = None
    floor: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("Plateau", "factor", self.factor, 0.0, 1.0)
        require_range("Plateau", "floor", self.floor, 0.0, 1.0)

    def rate_factor(self, evaluations: Sequence[Evaluation], /) -> float:
        # The count begins anew with each improvement, and each time it exceeds the patience.
        waited = self.waited(evaluations)
        times = sum(count % (self.patience + 1) == 0 for count in waited if count)
        return max(self.factor**times, self.floor)
