"""The models of a fit, made of the examples to learn from, and how good they are."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import arrows as ar
from arrows.cli.fit.examples import DataSplit, Example, documents_of
from arrows.cli.fit.task import Task
from arrows.cli.option_types import OPTIMIZERS
from arrows.documents import Proposal, infer_block
from arrows.documents.schema import ROOT, below
from arrows.models import DocumentModel
from arrows.ops.arrays import HostArray
from arrows.training import History, Optimizer, train
from arrows.typesys import InputError
from arrows.typesys.quoting import printable_lines

BATCH = 256  # documents that are measured at once
SETS = "sets-"  # folders of examples in files begin so


@dataclass(frozen=True, slots=True)
class Built:
    """Three models of the same parameters.

    Attributes:
        proposal: the block that reads a document.
        blocks: those of the models.
        learner: gives the loss of a document with its label.
        scores: gives the scores of a document.
        judge: gives what `arrows predict` says of a document.
    """

    proposal: Proposal
    blocks: DocumentModel
    learner: ar.Model
    scores: ar.Model
    judge: ar.Model

    @classmethod
    def of(cls, options: argparse.Namespace, train: Sequence[Example], task: Task) -> Built:
        """Proposes a block for the examples to learn from, and compiles it.

        Raises:
            InputError, ArrowValueError: as `infer_block`.
        """
        keys = train[0].keys
        proposal = infer_block(
            documents_of(train),
            width=options.width,
            ignore=[label_path(keys), *options.ignore],
            kinds=dict(options.kind),
        )
        blocks = task.model(proposal.decisions, keys, options.dropout)
        learner = ar.compile(blocks.learn, seed=options.seed, device=options.device)
        scores, judge = (
            ar.compile(block, params=learner.params, device=options.device)
            for block in (blocks.scores, blocks.judge)
        )
        return cls(proposal, blocks, learner, scores, judge)

    def readable(self, split: DataSplit) -> DataSplit:
        """The split without the documents that the model cannot read; says how many these are.

        All that it learns from it can read, since its block is inferred from them.

        Raises:
            InputError: no example to validate by is left.
        """
        parts: dict[str, Sequence[Example]] = {"validation": split.validation, "test": split.test}
        errors: list[InputError] = []
        for name, part in parts.items():
            rows = self.judge.predict(documents_of(part), batch_size=BATCH, errors="return")
            errors += [row for row in rows if isinstance(row, InputError)]
            pairs = zip(part, rows, strict=True)
            parts[name] = [example for example, row in pairs if not isinstance(row, InputError)]
        if errors:
            first = printable_lines(str(errors[0]))
            print(
                f"left out examples that are unlike those to learn from: {len(errors):,}; the first: {first}"
            )
        if split.validation and not parts["validation"]:
            raise InputError("none of the examples to validate by is like those to learn from")
        return replace(split, **parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a model does on a part of the examples.

    Attributes:
        examples: of the part.
        scores: the model's, of each.
        figures: how good these are.
        baseline: the same figures of the best guess that reads no document.
    """

    examples: Sequence[Example]
    scores: HostArray
    figures: Mapping[str, float]
    baseline: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """Examples to measure a model with.

    Attributes:
        model: gives scores.
        examples: with their labels.
        prepared: the same, prepared once.
        task: what is predicted.
    """

    model: ar.Model
    examples: Sequence[Example]
    prepared: ar.Prepared
    task: Task

    def scores(self) -> HostArray:
        """The scores of all examples."""
        firsts = range(0, len(self.prepared), BATCH)
        return np.concatenate(
            [ar.to_numpy(self.model(self.prepared[first : first + BATCH])) for first in firsts]
        )

    def __call__(self) -> dict[str, float]:
        return self.task.figures(self.scores(), self.examples)

    def result(self, scores: HostArray | None = None) -> Result:
        """What the model does on the examples, or did when it gave scores, beside the best guess."""
        scores = self.scores() if scores is None else scores
        figures = self.task.figures(scores, self.examples)
        baseline = self.task.baseline(self.examples)
        return Result(examples=self.examples, scores=scores, figures=figures, baseline=baseline)


def prepared(model: ar.Model, examples: Sequence[Example], folder: Path | None) -> ar.Prepared:
    """The examples as a model reads them: in memory, or in a file of a folder that goes with the process."""
    if folder is None:
        return model.prepare(documents_of(examples))
    # A mapped file lives on without its name; on Windows it keeps the name, and stays.
    with TemporaryDirectory(prefix=SETS, dir=folder, ignore_cleanup_errors=True) as files:
        return model.prepare(documents_of(examples), cache=Path(files) / "examples")


def trained(
    options: argparse.Namespace, built: Built, examples: Sequence[Example], sets: Path | None, **more: Any
) -> History:
    """Trains the models as the options say; `more` goes to `train`."""
    return train(
        built.learner,
        prepared(built.learner, examples, sets),
        optimizer_of(options),
        batch_size=options.batch_size,
        accumulate=options.accumulate,
        seed=options.seed,
        **more,
    )


def optimizer_of(options: argparse.Namespace) -> Optimizer:
    """The optimizer that options name."""
    optimizer: Optimizer = OPTIMIZERS[options.optimizer](
        options.learning_rate, weight_decay=options.l2, clip_norm=5.0
    )
    return optimizer


def label_path(keys: Sequence[str]) -> str:
    """The path of the label in documents, from the keys that lead to it."""
    return reduce(below, keys, ROOT)
