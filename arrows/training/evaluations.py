"""What evaluations decide: when a run stops, and by how much its learning rates fall.

Both are pure functions of the evaluations so far, which a checkpoint holds.  So a run that is resumed decides
as one that was never interrupted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arrows.training.arguments import described, require_range, whole_number
from arrows.training.progress import Evaluation
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.did_you_mean import did_you_mean

_LOWER = {
    *("cost", "mse", "rmse", "msle", "rmsle", "mae", "mape", "smape", "mase", "sse", "bce", "ppl", "nll"),
    *("kl", "fid", "ece", "eer", "cer", "wer", "ter", "bpc", "bpb", "bits", "brier", "deviance", "regret"),
    *("distance", "mistakes", "misclassified", "misclassification", "wrong", "false"),
}
"""Words in the names of figures of which lower is better."""
_LOWER_ENDINGS = ("loss", "losses", "error", "errors", "entropy", "perplexity", "divergence")
"""Of such words: logloss, crossentropy."""
_HIGHER = {"accuracy", "f1", "auc", "precision", "recall", "gain"}
"""Words of which higher is better, whatever stands before: error recall."""


def lower_is_better(figure: str) -> bool:
    """Whether a figure should be low, by its name: a loss, an error or a perplexity should.

    The last word that says so decides; a minus turns it round.

    >>> [lower_is_better(name) for name in ("loss", "dev/root mean squared error", "accuracy", "minus loss")]
    [True, True, False, False]
    >>> [lower_is_better(name) for name in ("f1_loss", "neg_log_likelihood", "log-likelihood", "lossless")]
    [True, True, False, False]
    """
    words = re.findall(r"f1|[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", figure).lower())
    signs = [_is_lower(word) for word in words if word in _HIGHER or _is_lower(word)]
    lower = bool(signs) and signs[-1]
    turned = "minus" in words or re.match(r"\s*1?\s*-", figure) is not None
    # The negative of a class, as in "negative recall", turns nothing round.
    if (lower or "likelihood" in words) and "false" not in words:
        turned = turned or not {"neg", "negative"}.isdisjoint(words)
    return lower != turned


def _is_lower(word: str) -> bool:
    return word in _LOWER or word.endswith(_LOWER_ENDINGS)


def missing_figure(figure: str, figures: Mapping[str, float]) -> ArrowValueError:
    """The error for a figure that `evaluate` does not give."""
    likely = did_you_mean(figure, {name: repr(name) for name in figures}, {})
    hint = f"; did you mean {likely}?" if likely else ""
    there = ", ".join(figures) or "nothing"
    return ArrowValueError(f"train: evaluate should give the figure {figure!r}, and gives {there}{hint}")


def direction(best_by: str | None, lower: bool | None, rules: Sequence[object]) -> bool:
    """Whether a lower figure of `best_by` is better.

    Args:
        best_by, lower: as of `train`.
        rules: what else may judge by the same figure.

    Raises:
        ArrowTypeError: no name, or no truth value.
        ArrowValueError: there is a direction and no figure; or a rule takes the figure the other way round.
    """
    if best_by is not None and not isinstance(best_by, str):
        raise ArrowTypeError(f"train: best_by should be the name of a figure, not {described(best_by)}")
    _require_direction("train", lower)
    if best_by is None:
        if lower is not None:
            raise ArrowValueError(
                "train: lower says which way the figure of best_by goes, and best_by is missing"
            )
        return False
    chosen = lower_is_better(best_by) if lower is None else lower
    for rule in rules:
        if isinstance(rule, (EarlyStopping, Plateau)) and rule.figure == best_by and rule.lower != chosen:
            raise ArrowValueError(
                f"train: of {best_by!r}, {'lower' if chosen else 'higher'} is better by best_by, and "
                f"{'lower' if rule.lower else 'higher'} by {type(rule).__name__}; give both the same lower="
            )
    return chosen


@dataclass(frozen=True, slots=True)
class EarlyStopping:
    """Stops a run whose figure no longer improves: for `train(stop_when=)`.

    Args:
        figure: the name of a figure that `train(evaluate=)` gives.
        patience: so many evaluations in a row may bring no improvement; the next one stops the run.
        least: by how much a figure must improve on the best one before it to count as an improvement.
        lower: whether lower is better. None: as the figure's name says: a loss, an error, a perplexity should
            be low, other figures high.

    Attributes:
        lower: what that is.

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
    lower: bool | None = None

    def __post_init__(self) -> None:
        _check("EarlyStopping", self.figure, self.patience, self.least)
        _require_direction("EarlyStopping", self.lower)
        if self.lower is None:
            object.__setattr__(self, "lower", lower_is_better(self.figure))

    def __call__(self, evaluations: Sequence[Evaluation]) -> bool:
        waited = _without_improvement(evaluations, self.figure, self.least, lower=bool(self.lower))
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
        lower: whether lower is better; None: as the figure's name says (`EarlyStopping`).
        floor: the product of all factors does not fall below this.

    Raises:
        ArrowTypeError, ArrowValueError: an argument that cannot be.

    >>> from arrows.training import Evaluation
    >>> plateau = Plateau("loss", factor=0.5, patience=0)
    >>> plateau([Evaluation(1, n, {"loss": loss}) for n, loss in enumerate([3.0, 2.0, 2.5, 2.1, 1.0])])
    0.25
    """

    figure: str
    factor: float = 0.1
    patience: int = 10
    least: float = 0.0
    lower: bool | None = None
    floor: float = 0.0

    def __post_init__(self) -> None:
        _check("Plateau", self.figure, self.patience, self.least)
        _require_direction("Plateau", self.lower)
        if self.lower is None:
            object.__setattr__(self, "lower", lower_is_better(self.figure))
        require_range("Plateau", "factor", self.factor, 0.0, 1.0)
        require_range("Plateau", "floor", self.floor, 0.0, 1.0)

    def __call__(self, evaluations: Sequence[Evaluation]) -> float:
        waited = _without_improvement(evaluations, self.figure, self.least, lower=bool(self.lower))
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
            raise missing_figure(figure, evaluation.figures)
        value = -evaluation.figures[figure] if lower else evaluation.figures[figure]
        # NaN is no improvement.  The first number is one whatever `least` says.
        improved = value > best + least or (best == -math.inf and value > best)
        counts.append(0 if improved else counts[-1] + 1)
        best = max(best, value) if improved else best
    return counts[1:]


def _require_direction(owner: str, lower: object) -> None:
    if lower is not None and not isinstance(lower, bool):
        raise ArrowTypeError(f"{owner}: lower should be True, False or None, not {described(lower)}")


def _check(owner: str, figure: object, patience: int, least: float) -> None:
    if not isinstance(figure, str):
        raise ArrowTypeError(f"{owner}: figure should be a name, not {described(figure)}")
    whole_number(f"{owner}: patience", patience, 0)
    require_range(owner, "least", least, 0.0)
