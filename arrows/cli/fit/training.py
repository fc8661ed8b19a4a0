"""The models of a fit, made of the examples to learn from: how they are trained, and cross-validated."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.arrays import HostArray
from arrows.cli.fit.examples import Example, Parts, documents_of, folds_of
from arrows.cli.fit.task import Result, Task, figures_text, task_of
from arrows.documents import ROOT, Proposal, below, field_losses, infer_block
from arrows.model_file import save_model
from arrows.models import average_of
from arrows.training import Adam, Checkpoint, EarlyStopping, Epoch, Evaluation, History, load, train
from arrows.typesys import InputError, NotFiniteError, printable_lines

BATCH = 256  # documents that are measured at once
MOST = 500  # documents by which it is measured which fields matter


@dataclass(frozen=True, slots=True)
class Fit:
    """Three models of the same parameters.

    Attributes:
        options: of the command.
        task: what they predict.
        proposal: the block that reads a document.
        learner: gives the loss of a document with its label.
        scores: gives the scores of a document.
        judge: gives what `arrows predict` says of a document.
    """

    options: argparse.Namespace
    task: Task
    proposal: Proposal
    learner: ar.Model
    scores: ar.Model
    judge: ar.Model

    @classmethod
    def of(cls, options: argparse.Namespace, keys: Sequence[str], parts: Parts) -> Fit:
        """Proposes a block for the examples to learn from, whose labels keys lead to, and compiles it.

        Raises:
            InputError, ArrowValueError: as `task_of` and `infer_block`.
        """
        # With folds, all that is not to test by validates.
        validating = len(parts["validation"]) + (0 if options.folds is None else len(parts["train"]))
        task = task_of(parts, options.task, options.label, validating=validating)
        ignore, kinds = [label_path(keys), *options.ignore], dict(options.kind)
        documents = documents_of(parts["train"])
        proposal = infer_block(documents, width=options.width, wide=True, ignore=ignore, kinds=kinds)
        blocks = task.model(proposal.decisions, keys, options.dropout)
        learner = ar.compile(blocks.learn, seed=options.seed, device=options.device)
        scores = ar.compile(blocks.scores, params=learner.params, device=options.device)
        judge = ar.compile(blocks.judge, params=learner.params, device=options.device)
        return cls(options, task, proposal, learner, scores, judge)

    def readable(self, parts: Parts) -> Parts:
        """With `--skip-errors`, leaves out what validates or tests and is unlike what is to learn from.

        Raises:
            InputError: no example to validate by is left.
        """
        if not self.options.skip_errors:
            return parts
        left, errors = dict(parts), list[InputError]()
        for name in ("validation", "test"):
            rows = self.judge.predict(documents_of(parts[name]), batch_size=BATCH, errors="return")
            errors += [row for row in rows if isinstance(row, InputError)]
            pairs = zip(parts[name], rows, strict=True)
            left[name] = [example for example, row in pairs if not isinstance(row, InputError)]
        if errors:
            print(
                f"left out examples that are unlike those to learn from: {len(errors):,}; the first: "
                f"{printable_lines(str(errors[0]))}"
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

    def field_losses(self, examples: Sequence[Example]) -> dict[str, float]:
        """How much each field matters for examples that are not learnt from, of which so many are taken."""

        def loss(documents: list[Any]) -> float:
            return float(np.mean(self.learner.predict(documents, batch_size=BATCH)))

        documents = [example.document for example in examples[:MOST]]
        return field_losses(loss, documents, self.proposal.decisions)

    def train(self, examples: Sequence[Example], **more: Any) -> History:
        """Trains the models as the options say; `more` goes to `train`.

        They are left with the averages of their parameters, which evaluations and epochs saw, too.
        """
        size = self.options.batch_size
        average = average_of(len(examples), size)
        rate, decay = self.options.learning_rate, self.options.l2
        optimizer = Adam(rate, weight_decay=decay, clip_norm=5.0, average=average)
        history = train(
            self.learner,
            self.learner.prepare(documents_of(examples)),
            optimizer,
            batch_size=size,
            seed=self.options.seed,
            progress=sys.stderr.isatty(),
            **more,
        )
        with optimizer.use_averages(self.learner):
            means = {name: array.copy() for name, array in self.learner.params.items()}
        for name, mean in means.items():
            self.learner.params[name][...] = mean
        return history

    def train_by(
        self,
        examples: Sequence[Example],
        evaluate: Callable[[], Mapping[str, float]],
        *callbacks: Callable[[Epoch], object],
        checkpoint: Checkpoint | None = None,
    ) -> tuple[History, Evaluation]:
        """Trains until figures no longer become better; gives the best of the evaluations, too.

        Raises:
            NotFiniteError: loss or parameters became NaN, or the figure that decides always was.
        """
        decides = self.task.best_by
        history = self.train(
            examples,
            epochs=self.options.epochs,
            evaluate=evaluate,
            best_by=decides,
            lower=False,
            callbacks=[*callbacks, EarlyStopping(decides, self.options.patience, lower=False)],
            checkpoint=checkpoint,
        )
        if history.best is None:
            raise NotFiniteError(f"{decides} was no number in any evaluation; no model has been kept")
        return history, history.best


def label_path(keys: Sequence[str]) -> str:
    """The path of the label in documents, from the keys that lead to it."""
    return reduce(below, keys, ROOT)


def train_best(
    fit: Fit, parts: Parts, scores: Callable[[], HostArray], path: Path, texts: Mapping[str, str]
) -> tuple[History, int]:
    """Trains, and keeps the model that is best on the validation examples; the models end as it is.

    Returns:
        The epochs and evaluations, and the best epoch.

    Raises:
        NotFiniteError: as `Fit.train_by`; the best model until then is kept, if there is one.
        KeyboardInterrupt: on Ctrl-C; the run can be resumed.
    """
    options, examples = fit.options, parts["validation"]
    decisions = json.dumps(fit.proposal.decisions, sort_keys=True)
    # What the numbers of a run depend on besides the optimizer and the examples to learn from.
    identity = {
        "the examples to validate by": _hash(f"{each.digest} {each.label!r}" for each in examples),
        "the block, --label and --dropout": _hash([decisions, options.label, str(options.dropout)]),
    }
    resume, overwrite = options.resume, options.overwrite
    checkpoint = Checkpoint(state_path(path), resume=resume, overwrite=overwrite, metadata=identity)

    def keep(epoch: Epoch) -> None:
        figures, speed = figures_text(epoch.figures), f"{epoch.examples_per_second:,.0f} documents/s"
        best = ", best so far" if epoch.best else ""
        if epoch.best:
            made = f"epoch {epoch.number}, {figures}"
            save_model(fit.judge, path, metadata={**texts, "evaluation": made})
        print(f"epoch {epoch.number}: loss {epoch.loss:.4g}, {figures}, {speed}{best}", flush=True)

    def evaluate() -> Mapping[str, float]:
        return fit.task.figures(scores(), examples)

    try:
        history, best = fit.train_by(parts["train"], evaluate, keep, checkpoint=checkpoint)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("continue with --resume") from None
    load(fit.scores, path)
    return history, best.epoch


def state_path(path: Path) -> Path:
    """The file for the state of the run that keeps its best model at `path`."""
    return path.with_name(f"{path.name}.state")


def _hash(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def cross_validation(
    options: argparse.Namespace, keys: Sequence[str], examples: Sequence[Example]
) -> tuple[int, Result, list[History], dict[str, float]]:
    """Trains a model for each fold, from the examples of all others, and measures it by those of the fold.

    The block is inferred, and the optimizer begins, anew for each fold.  A fold stops early by itself
    (`--patience`), and then counts with its last evaluation; the number of epochs is chosen for all folds
    together, so that no fold is measured at the epoch that happens to suit it.

    Returns:
        After how many epochs the folds are best on average; what the models do after so many, each on
        examples from which it has not learnt; the histories of the folds; how much each field matters.

    Raises:
        InputError, ArrowValueError, NotFiniteError: as `Fit.of` and `Fit.train_by`.
    """
    folds = folds_of(examples, options.folds, options.seed)
    measured: list[list[Result]] = []
    histories: list[History] = []
    losses: list[dict[str, float]] = []
    for number, fold in enumerate(folds):
        others = [each for other in folds if other is not fold for each in other]
        parts: Parts = {"train": others, "validation": fold, "test": []}
        fit = Fit.of(options, keys, parts)
        part = fit.readable(parts)["validation"]
        results = list[Result]()
        history, best = fit.train_by(others, _remembered(fit, part, results))
        measured.append(results)
        histories.append(history)
        losses.append(fit.field_losses(part))
        print(
            f"fold {number + 1}: {len(others):,} examples to learn from, {len(part):,} measured; best after "
            f"{best.epoch} of {len(history)} epochs: {figures_text(best.figures)}",
            flush=True,
        )
    epochs = best_epoch([[result.figures[fit.task.best_by] for result in fold] for fold in measured])
    result = Result.of_folds([fold[min(epochs, len(fold)) - 1] for fold in measured])
    # The fields that all folds read.
    common = [path for path in losses[0] if all(path in fold for fold in losses)]
    means = {path: float(np.mean([fold[path] for fold in losses])) for path in common}
    return epochs, result, histories, means


def _remembered(
    fit: Fit, examples: Sequence[Example], results: list[Result]
) -> Callable[[], Mapping[str, float]]:
    """A function that measures the models by examples, and adds what they do to the results."""
    scores = fit.scores_of(examples)

    def evaluate() -> Mapping[str, float]:
        results.append(Result.of(fit.task, examples, scores()))
        return results[-1].figures

    return evaluate


def best_epoch(curves: Sequence[Sequence[float]]) -> int:
    """The epoch at which curves are highest on average, from 1; a curve that ends stays as it ended.

    >>> best_epoch([[0.1, 0.5, 0.4], [0.2, 0.3, 0.6]]), best_epoch([[0.1, 0.5], [0.2, 0.3, 0.6]])
    (3, 3)
    """
    longest = max(map(len, curves))
    rows = np.array([[*curve, *[curve[-1]] * (longest - len(curve))] for curve in curves])
    return int(np.where(np.isfinite(rows), rows, -np.inf).mean(axis=0).argmax()) + 1
