"""Cross-validation: every example is predicted by a model that has not learnt from it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from arrows.cli.fit.examples import DataSplit, Example
from arrows.cli.fit.models import Built, Measured, Result, prepared, trained
from arrows.cli.fit.task import figures_text, task_of
from arrows.documents import category
from arrows.ops.arrays import HostArray
from arrows.training import EarlyStopping, History
from arrows.typesys import InputError
from arrows.typesys.errors import NotFiniteError


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """What came of the folds.

    Attributes:
        epochs: after so many the folds are best on average.
        result: the scores of all examples after that many epochs, each from the model that has not learnt
            from it; figures are the means over the folds, and so is the baseline.
        spread: the standard deviation of each figure over the folds.
        histories: of the folds.
    """

    epochs: int
    result: Result
    spread: Mapping[str, float]
    histories: Sequence[History]


def cross_validation(
    options: argparse.Namespace, examples: Sequence[Example], sets: Path | None
) -> CrossValidation:
    """Trains a model for each fold, from the examples of all others, and measures it by those of the fold.

    The block is inferred, and the optimizer begins, anew for each fold.  A fold stops early by itself
    (`--patience`), and then counts with its last evaluation; the number of epochs is chosen for all folds
    together, so that no fold is measured at the epoch that happens to suit it.

    Args:
        options: of the command; `options.folds` is how many there are.
        examples: all but those to test by.
        sets: the folder for examples in files, or None.

    Raises:
        InputError, ArrowValueError: as `run`.
        NotFiniteError: a figure that decides was no number in any evaluation of a fold.
    """
    parts = folds_of(examples, options.folds, options.seed)
    measures: list[tuple[Measured, list[HostArray], History]] = []
    for number, part in enumerate(parts):
        others = [example for other in parts if other is not part for example in other]
        split = DataSplit(train=others, validation=part)
        task = task_of(examples, split, options.task, options.label, validating=len(examples))
        built = Built.of(options, others, task)
        if options.skip_errors:
            split = built.readable(split)
        examined = prepared(built.scores, split.validation, sets)
        measured, scores = Measured(built.scores, split.validation, examined, task), list[HostArray]()
        history = trained(
            options,
            built,
            others,
            sets,
            epochs=options.epochs,
            evaluate=_kept(measured, scores),
            best_by=task.best_by,
            lower=False,
            callbacks=[]
            if options.patience is None
            else [EarlyStopping(task.best_by, options.patience, lower=False)],
        )
        if history.best is None:
            raise NotFiniteError(f"{task.best_by} was no number in any evaluation of a fold")
        print(
            f"fold {number + 1}: {len(others):,} examples to learn from, {len(split.validation):,} measured; "
            f"best after {history.best.epoch} of {len(history)} epochs: {figures_text(history.best.figures)}",
            flush=True,
        )
        measures.append((measured, scores, history))
    task = measures[0][0].task
    curves = [[e.figures[task.best_by] for e in history.evaluations] for _, _, history in measures]
    epochs = best_epoch(curves)
    folds = [measured.result(scores[min(epochs, len(scores)) - 1]) for measured, scores, _ in measures]
    figures = {name: [fold.figures[name] for fold in folds] for name in folds[0].figures}
    baselines = {name: [fold.baseline[name] for fold in folds] for name in folds[0].baseline}
    result = Result(
        examples=[example for fold in folds for example in fold.examples],
        scores=np.concatenate([fold.scores for fold in folds]),
        figures={name: float(np.mean(values)) for name, values in figures.items()},
        baseline={name: float(np.mean(values)) for name, values in baselines.items()},
    )
    spread = {name: float(np.std(values, ddof=1)) for name, values in figures.items()}
    return CrossValidation(epochs, result, spread, [history for _, _, history in measures])


def _kept(measured: Measured, scores: list[HostArray]) -> Callable[[], Mapping[str, float]]:
    """Evaluates a fold, and keeps its scores."""

    def evaluate() -> Mapping[str, float]:
        scores.append(measured.scores())
        return measured.task.figures(scores[-1], measured.examples)

    return evaluate


def best_epoch(curves: Sequence[Sequence[float]]) -> int:
    """The epoch at which curves are highest on average, from 1; a curve that ends stays as it ended.

    >>> best_epoch([[0.1, 0.5, 0.4], [0.2, 0.3, 0.6]]), best_epoch([[0.1, 0.5], [0.2, 0.3, 0.6]])
    (3, 3)
    """
    longest = max(map(len, curves))
    rows = np.array([[*curve, *[curve[-1]] * (longest - len(curve))] for curve in curves])
    return int(np.where(np.isfinite(rows), rows, -np.inf).mean(axis=0).argmax()) + 1


def folds_of(examples: Sequence[Example], count: int, seed: int) -> list[list[Example]]:
    """Deals examples out to folds of about the same size, each with about the same share of each class.

    Equal documents are in the same fold, and which fold that is depends on no order of the file.

    Raises:
        InputError: there are fewer different documents than folds.

    >>> examples = [Example.of({"n": n, "y": n % 2}, ["y"], "") for n in range(20)]
    >>> [len(fold) for fold in folds_of(examples, 4, 0)]
    [5, 5, 5, 5]
    """
    together: dict[str, list[Example]] = {}
    for example in examples:
        together.setdefault(example.digest, []).append(example)
    if len(together) < count:
        raise InputError(f"--folds {count}: there are {len(together):,} different examples, fewer than folds")

    def place(digest: str) -> tuple[str, str]:
        return category(together[digest][0].label), sha256(f"{seed} {digest}".encode()).hexdigest()

    folds: list[list[Example]] = [[] for _ in range(count)]
    for number, digest in enumerate(sorted(together, key=place)):
        folds[number % count] += together[digest]
    return folds
