"""The models of a fit, made of the examples to learn from."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import arrows as ar
from arrows.cli.fit.examples import DataSplit, Example, documents_of
from arrows.cli.fit.measured import BATCH, prepared_on_disk
from arrows.cli.fit.task import Task
from arrows.cli.option_types import OPTIMIZERS
from arrows.documents import Proposal, infer_block
from arrows.documents.schema import ROOT, below
from arrows.models import DocumentModel
from arrows.training import Optimizer
from arrows.typesys import InputError
from arrows.typesys.quoting import printable_lines


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

    def prepared(self, examples: Sequence[Example], sets: Path | None) -> object:
        """The examples to learn from, as they are or in a file of a folder."""
        return documents_of(examples) if sets is None else prepared_on_disk(self.learner, examples, sets)

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
            parts[name] = [
                example for example, row in zip(part, rows, strict=True) if not isinstance(row, InputError)
            ]
        if errors:
            print(
                f"left out examples that are unlike those to learn from: {len(errors):,}; the first: "
                f"{printable_lines(str(errors[0]))}"
            )
        if split.validation and not parts["validation"]:
            raise InputError("none of the examples to validate by is like those to learn from")
        return replace(split, **parts)


def optimizer_of(options: argparse.Namespace) -> Optimizer:
    """The optimizer that options name."""
    optimizer: Optimizer = OPTIMIZERS[options.optimizer](
        options.learning_rate, weight_decay=options.l2, clip_norm=5.0
    )
    return optimizer


def label_path(keys: Sequence[str]) -> str:
    """The path of the label in documents, from the keys that lead to it."""
    path = ROOT
    for key in keys:
        path = below(path, key)
    return path
