"""The models of a fit, made of the examples to learn from: how they are trained, and cross-validated."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.cli.fit.examples import Example, Parts, documents_of, folds_of
from arrows.cli.fit.task import Result, Task, figures_text, task_of
from arrows.documents import Proposal, infer_block
from arrows.documents.schema import ROOT, below
from arrows.model_file import save_model
from arrows.ops.arrays import HostArray
from arrows.training import Adam, Callback, Checkpoint, EarlyStopping, Epoch, Evaluation, History, load, train
from arrows.typesys import InputError
from arrows.typesys.errors import NotFiniteError
from arrows.typesys.quoting import printable_lines

BATCH = 256  # documents that are measured at once


@dataclass(frozen=True, slots=True)
class Models:
    """Three models of the same parameters.

    Attributes:
        task: what they predict.
        proposal: the block that reads a document.
        learner: gives the loss of a document with its label.
        scores: gives the scores of a document.
        judge: gives what `arrows predict` says of a document.
    """

    task: Task
    proposal: Proposal
    learner: ar.Model
    scores: ar.Model
    judge: ar.Model

    @classmethod
    def of(
        cls, options: argparse.Namespace, train: Sequence[Example], task: Task, keys: Sequence[str]
    ) -> Models:
        """Proposes a block for the examples to learn from, and compiles it.

        Raises:
            InputError, ArrowValueError: as `infer_block`.
        """
        ignore = [label_path(keys), *options.ignore]
        proposal = infer_block(
            documents_of(train), width=options.width, ignore=ignore, kinds=dict(options.kind)
        )
        blocks = task.model(proposal.decisions, keys, options.dropout)
        learner = ar.compile(blocks.learn, seed=options.seed, device=options.device)
        scores, judge = (
            ar.compile(block, params=learner.params, device=options.device)
            for block in (blocks.scores, blocks.judge)
        )
        return cls(task, proposal, learner, scores, judge)

    def readable(self, parts: Parts) -> Parts:
        """The examples without those to validate and to test by that are unlike those to learn from.

        Raises:
            InputError: no example to validate by is left.
        """
        left, errors = dict(parts), list[InputError]()
        for name in ("validation", "test"):
            rows = self.judge.predict(documents_of(parts[name]), batch_size=BATCH, errors="return")
            pairs = [*zip(parts[name], rows, strict=True)]
            left[name] = [example for example, row in pairs if not isinstance(row, InputError)]
            errors += [row for _, row in pairs if isinstance(row, InputError)]
        if errors:
            first = printable_lines(str(errors[0]))
            print(
                f"left out examples that are unlike those to learn from: {len(errors):,}; the first: {first}"
            )
        if parts["validation"] and not left["validation"]:
            raise InputError("none of the examples to validate by is like those to learn from")
        return left

    def scores_of(self, examples: Sequence[Example]) -> Callable[[], HostArray]:
        """A function that gives the scores of examples, which are prepared once."""
        prepared = self.scores.prepare(documents_of(examples))
        firsts = range(0, len(prepared), BATCH)
        return lambda: np.concatenate(
            [ar.to_numpy(self.scores(prepared[first : first + BATCH])) for first in firsts]
        )


def label_path(keys: Sequence[str]) -> str:
    """The path of the label in documents, from the keys that lead to it."""
    return reduce(below, keys, ROOT)


def trained(options: argparse.Namespace, models: Models, examples: Sequence[Example], **more: Any) -> History:
    """Trains the models as the options say; `more` goes to `train`."""
    return train(
        models.learner,
        models.learner.prepare(documents_of(examples)),
        Adam(options.learning_rate, weight_decay=options.l2, clip_norm=5.0),
        batch_size=options.batch_size,
        seed=options.seed,
        **more,
    )


@dataclass(frozen=True, slots=True)
class _Keeper(Callback):
    """Prints a line for each epoch, and saves the best model so far."""

    judge: ar.Model
    path: Path
    texts: Mapping[str, str]

    def after_evaluation(self, evaluation: Evaluation, /) -> None:
        if evaluation.best:
            made = f"epoch {evaluation.epoch}, step {evaluation.step:,}, {figures_text(evaluation.figures)}"
            save_model(self.judge, self.path, metadata={**self.texts, "evaluation": made})

    def after_epoch(self, epoch: Epoch, /) -> None:
        best = ", best so far" if epoch.best else ""
        print(
            f"epoch {epoch.number}: loss {epoch.loss:.4g}, {figures_text(epoch.figures)}, "
            f"{epoch.examples_per_second:,.0f} documents/s{best}",
            flush=True,
        )


def train_best(
    options: argparse.Namespace,
    models: Models,
    parts: Parts,
    scores: Callable[[], HostArray],
    path: Path,
    texts: Mapping[str, str],
) -> tuple[History, int]:
    """Trains, and keeps the model that is best on the validation examples; the models end as it is.

    Returns:
        The epochs and evaluations, and the best epoch.

    Raises:
        NotFiniteError: loss or parameters became NaN, or the figure that decides always was; the best model
            until then is kept, if there is one.
        KeyboardInterrupt: on Ctrl-C; the run can be resumed.
    """
    task, examples = models.task, parts["validation"]
    decisions = json.dumps(models.proposal.decisions, sort_keys=True)
    # What the numbers of a run depend on besides the optimizer and the examples to learn from.
    identity = {
        "the examples to validate by": _hash(f"{each.digest} {each.label!r}" for each in examples),
        "the block, --label and --dropout": _hash([decisions, options.label, str(options.dropout)]),
    }
    try:
        history = trained(
            options,
            models,
            parts["train"],
            epochs=options.epochs,
            evaluate=lambda: task.figures(scores(), examples),
            best_by=task.best_by,
            lower=False,
            callbacks=[
                _Keeper(models.judge, path, texts),
                EarlyStopping(task.best_by, options.patience, lower=False),
            ],
            checkpoint=Checkpoint(
                state_path(path), resume=options.resume, overwrite=options.overwrite, metadata=identity
            ),
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("continue with --resume") from None
    if history.best is None:
        raise NotFiniteError(f"{task.best_by} was no number in any evaluation; no model has been kept")
    load(models.scores, path)
    return history, history.best.epoch


def state_path(path: Path) -> Path:
    """The file for the state of the run that keeps its best model at `path`."""
    return path.with_name(f"{path.name}.state")


def _hash(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{text}\n".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]


def cross_validation(
    options: argparse.Namespace, examples: Sequence[Example], keys: Sequence[str]
) -> tuple[int, Result, list[History]]:
    """Trains a model for each fold, from the examples of all others, and measures it by those of the fold.

    The block is inferred, and the optimizer begins, anew for each fold.  A fold stops early by itself
    (`--patience`), and then counts with its last evaluation; the number of epochs is chosen for all folds
    together, so that no fold is measured at the epoch that happens to suit it.

    Returns:
        After how many epochs the folds are best on average; what the models do after so many, each on
        examples from which it has not learnt; the histories of the folds.

    Raises:
        InputError, ArrowValueError: as `run`.
        NotFiniteError: a figure that decides was no number in any evaluation of a fold.
    """
    folds = folds_of(examples, options.folds, options.seed)
    measured: list[tuple[Task, list[Example], list[HostArray]]] = []
    histories: list[History] = []
    for number in range(len(folds)):
        parts: Parts = {"train": [], "validation": folds[number], "test": []}
        parts["train"] = [each for other in (*folds[:number], *folds[number + 1 :]) for each in other]
        task = task_of(parts, options.task, options.label, validating=len(examples))
        models = Models.of(options, parts["train"], task, keys)
        if options.skip_errors:
            parts = models.readable(parts)
        measured.append((task, parts["validation"], []))
        history = trained(
            options,
            models,
            parts["train"],
            epochs=options.epochs,
            evaluate=_remembered(*measured[-1], models.scores_of(parts["validation"])),
            best_by=task.best_by,
            lower=False,
            callbacks=[EarlyStopping(task.best_by, options.patience, lower=False)],
        )
        if history.best is None:
            raise NotFiniteError(f"{task.best_by} was no number in any evaluation of a fold")
        histories.append(history)
        print(
            f"fold {number + 1}: {len(parts['train']):,} examples to learn from, "
            f"{len(parts['validation']):,} measured; best after {history.best.epoch} of {len(history)} "
            f"epochs: {figures_text(history.best.figures)}",
            flush=True,
        )
    decides = measured[0][0].best_by
    curves = [[each.figures[decides] for each in history.evaluations] for history in histories]
    epochs = best_epoch(curves)
    results = [Result.of(task, part, scores[min(epochs, len(scores)) - 1]) for task, part, scores in measured]
    return epochs, Result.of_folds(results), histories


def _remembered(
    task: Task, examples: Sequence[Example], seen: list[HostArray], scores: Callable[[], HostArray]
) -> Callable[[], Mapping[str, float]]:
    """Evaluates a fold, and keeps its scores."""

    def evaluate() -> Mapping[str, float]:
        seen.append(scores())
        return task.figures(seen[-1], examples)

    return evaluate


def best_epoch(curves: Sequence[Sequence[float]]) -> int:
    """The epoch at which curves are highest on average, from 1; a curve that ends stays as it ended.

    >>> best_epoch([[0.1, 0.5, 0.4], [0.2, 0.3, 0.6]]), best_epoch([[0.1, 0.5], [0.2, 0.3, 0.6]])
    (3, 3)
    """
    longest = max(map(len, curves))
    rows = np.array([[*curve, *[curve[-1]] * (longest - len(curve))] for curve in curves])
    return int(np.where(np.isfinite(rows), rows, -np.inf).mean(axis=0).argmax()) + 1
