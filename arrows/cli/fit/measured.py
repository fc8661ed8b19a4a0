"""How good a model is on a part of the examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import arrows as ar
from arrows.cli.fit.examples import Example, documents_of
from arrows.cli.fit.task import Task
from arrows.ops.arrays import HostArray

BATCH = 256  # documents that are measured at once


def prepared_on_disk(model: ar.Model, examples: Sequence[Example], folder: Path) -> ar.Prepared:
    """The examples as a model reads them, in a file of a folder, which goes with the process."""
    # A mapped file lives on without its name; on Windows it keeps the name, and stays.
    with TemporaryDirectory(prefix="sets-", dir=folder, ignore_cleanup_errors=True) as files:
        return model.prepare(documents_of(examples), cache=Path(files) / "examples")


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

    @classmethod
    def of(cls, model: ar.Model, examples: Sequence[Example], task: Task, folder: Path | None) -> Measured:
        """Prepares the examples, in memory or in a file of a folder."""
        prepared = (
            model.prepare(documents_of(examples))
            if folder is None
            else prepared_on_disk(model, examples, folder)
        )
        return cls(model, examples, prepared, task)

    def scores(self) -> HostArray:
        """The scores of all examples."""
        parts = [
            ar.to_numpy(self.model(self.prepared[first : first + BATCH]))
            for first in range(0, len(self.prepared), BATCH)
        ]
        return np.concatenate(parts)

    def __call__(self) -> dict[str, float]:
        return self.task.figures(self.scores(), self.examples)

    def result(self) -> Result:
        """What the model does on the examples, beside the best guess."""
        return self.result_of(self.scores())

    def result_of(self, scores: HostArray) -> Result:
        """The same of scores that the model gave before."""
        return Result(
            examples=self.examples,
            scores=scores,
            figures=self.task.figures(scores, self.examples),
            baseline=self.task.baseline(self.examples),
        )


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
