"""What evaluations decide: when a run stops, and by how much its learning rates fall.

Both are pure functions of the evaluations so far, which a checkpoint holds.  So a run that is resumed decides
as one that was never interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arrows.training.arguments import described, require_range, whole_number
from arrows.training.progress import Evaluation
from arrows.typesys import ArrowTypeError, ArrowValueError


@dataclass(frozen=True, slots=True)
class EarlyStopping:
    """Stops a run whose figure no longer improves: for `train(stop_when=)`.

    Args:
        figure: the name of a figure that `train(evaluate=)` gives.
        patience: so many evaluations in a row may bring no improvement; the next one stops the run.
        least: by how much a figure must improve on the best one before it to count as an improvement.
        lower: whether lower is better.

    Raises:
        ArrowTypeError, ArrowValueError: an argument that cannot be.

    Source: Prechelt, "Early stopping, but when?", in Neural Networks: Tricks of the Trade, 1998.

    >>> from arrows.training import Evaluation
    >>> stop = EarlyStopping("accuracy", patience=1)
    >>> accuracies = [0.5, 0.6, 0.6, 0.55]
    >>> evaluations = [Evaluation(1, n, {"accuracy": x}) for n, x in enumerate(accuracies)]
    >>> stop(evaluations[:3]), stop(evaluations)
    (False, True)
    """

    figure: str
    patience: int
    least: float = 0.0
    lower: bool = False

    def __post_init__(self) -> None:
        _check("EarlyStopping", self.figure, self.patience, self.least)

    def __call__(self, evaluations: Sequence[Evaluation]) -> bool:
        waited = _without_improvement(evaluations, self.figure, self.least, lower=self.lower)
        return bool(waited) and waited[-1] > self.patience


@dataclass(frozen=True, slots=True)
class Plateau:
    """Lowers the learning rates when a figure no longer improves: for `train(plateau=)`.

    Args:
        figure: the name of a figure that `train(evaluate=)` gives.
        factor: what all learning rates are multiplied by each time, above 0 and below 1.
        patience: so many evaluations in a row may bring no improvement; the next one lowers the rates, and
            the count begins anew.
        least: by how much a figure must improve on the best one before it to count as an improvement.
        lower: whether lower is better.
        floor: the product of all factors does not fall below this.

    Raises:
        ArrowTypeError, ArrowValueError: an argument that cannot be.

    >>> from arrows.training import Evaluation
    >>> plateau = Plateau("loss", factor=0.5, patience=0, lower=True)
    >>> plateau([Evaluation(1, n, {"loss": loss}) for n, loss in enumerate([3.0, 2.0, 2.5, 2.1, 1.0])])
    0.25
    """

    figure: str
    factor: float = 0.1
    patience: int = 10
    least: float = 0.0
    lower: bool = False
    floor: float = 0.0

    def __post_init__(self) -> None:
        _check("Plateau", self.figure, self.patience, self.least)
        require_range("Plateau", "factor", self.factor, 0.0, 1.0)
        require_range("Plateau", "floor", self.floor, 0.0, 1.0)

    def __call__(self, evaluations: Sequence[Evaluation]) -> float:
        waited = _without_improvement(evaluations, self.figure, self.least, lower=self.lower)
        # The count begins anew with each improvement, and each time it exceeds the patience.
        times = sum(count % (self.patience + 1) == 0 for count in waited if count)
        return max(self.factor**times, self.floor)


def _without_improvement(
    evaluations: Sequence[Evaluation], figure: str, least: float, *, lower: bool
) -> list[int]:
    """For each evaluation, how many in a row, itself the last, have brought no improvement."""
    best, counts = -math.inf, [0]
    for evaluation in evaluations:
        if figure not in evaluation.figures:
            there = ", ".join(evaluation.figures) or "nothing"
            raise ArrowValueError(f"train: evaluate should give the figure {figure!r}, and gives {there}")
        value = -evaluation.figures[figure] if lower else evaluation.figures[figure]
        # NaN is no improvement.  The first number is one whatever `least` says.
        improved = value > best + least or (best == -math.inf and value > best)
        counts.append(0 if improved else counts[-1] + 1)
        best = max(best, value) if improved else best
    return counts[1:]


def _check(owner: str, figure: object, patience: int, least: float) -> None:
    if not isinstance(figure, str):
        raise ArrowTypeError(f"{owner}: figure should be a name, not {described(figure)}")
    whole_number(f"{owner}: patience", patience, 0)
    require_range(owner, "least", least, 0.0)
