"""Runs batches of examples for a model: results, or the loss and its gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from arrows.engine.planning import LossWeights
from arrows.engine.reading import Outputs
from arrows.engine.reference import Explainer
from arrows.engine.running.dropout_keys import DropoutSeed
from arrows.engine.running.execute import Executor, Run
from arrows.engine.running.executors import Executors
from arrows.engine.running.input_errors import StepRefused, raise_input_error
from arrows.engine.running.loss_gradients import Differentiated, differentiate
from arrows.engine.running.not_finite import first_not_finite
from arrows.engine.running.outputs import CallRecord, OutputRows, collect_record, collect_result, copy_rows
from arrows.engine.scheduling import BatchInput, BatchReader, Examples, WiredBatch
from arrows.typesys import ArrowTypeError


@dataclass(frozen=True, eq=False, slots=True)
class ModelCall:
    """What a model is called with.

    Attributes:
        examples: the batch, as the user hands it in.
        ids: what the dropout masks of each example depend on; None: its number.
        seed, step: the model's.
    """

    examples: Examples
    ids: Any
    seed: int
    step: int


@dataclass(frozen=True, eq=False, slots=True)
class BatchRunner:
    """Runs the batches of a model.

    Attributes:
        batches: reads what the user hands in.
        executors: run what was read.
        weights: of what the loss is made of.
        explain: says what is wrong with an example.
    """

    batches: BatchReader
    executors: Executors
    weights: LossWeights
    explain: Explainer

    def evaluate(self, call: ModelCall, *, training: bool) -> tuple[Any, CallRecord, Outputs]:
        """The result of a batch, what the call leaves beside it, and what comes out of the examples."""
        batch = self.batches.read(call.examples, "run a model", call.ids)
        runs = self._runs(self.executors.get(training=training), batch, call)
        parts = [copy_rows(run, result=True) for run, _ in runs]
        outputs = batch.outputs([part.run.merged for part in parts])
        result = collect_result(self.executors.plan, self.executors.device, parts, outputs)
        return result, self._record(parts, outputs), outputs

    def differentiate(
        self, call: ModelCall, inputs: tuple[str, ...]
    ) -> tuple[Differentiated, CallRecord, Outputs]:
        """The loss of a batch and its gradients, what the call leaves beside, what comes out of the examples.

        Raises:
            ArrowTypeError: the model has no loss.
        """
        if self.weights.missing is not None:
            raise ArrowTypeError(self.weights.missing)
        executor = self.executors.get(inputs, training=True, gradients=True)
        batch = self.batches.read(call.examples, "differentiate", call.ids)
        differentiated = differentiate(
            executor,
            self._runs(executor, batch, call),
            weights=self.weights,
            params=self.executors.params,
            inputs=inputs,
            examples=len(batch.wired),
        )
        outputs = batch.outputs([part.run.merged for part in differentiated.parts])
        return differentiated, self._record(differentiated.parts, outputs), outputs

    def first_not_finite(self, call: ModelCall) -> str | None:
        """See `Model.first_not_finite`."""
        batch = self.batches.read(call.examples, "look for what is not finite", call.ids)
        first = 0
        for run, part in self._runs(self.executors.get(training=True, gradients=True), batch, call):
            origin = first_not_finite(run)
            if origin is not None:
                place, example = origin
                return f"{place} of example {batch.numbers[first + example]} is not finite"
            first += len(part)
        return None

    def _record(self, parts: Sequence[OutputRows], outputs: Outputs) -> CallRecord:
        return collect_record(self.executors.plan, self.executors.device, parts, outputs)

    def _runs(
        self, executor: Executor, batch: BatchInput, call: ModelCall
    ) -> Iterator[tuple[Run, WiredBatch]]:
        """Runs a batch, or, without batching, each example: each run before the next takes its memory."""
        executor.refresh()
        dropout = DropoutSeed(call.seed, call.step, batch.ids)
        for first, part in batch.parts(executor.plan.schedule == "none"):
            part_dropout = dropout.part(first, len(part))
            run = executor.run(part, part_dropout)
            try:
                run.forward()
            except StepRefused as refused:
                places = slice(first, first + len(part))
                raise_input_error(
                    executor.plan,
                    run.merged,
                    refused,
                    numbers=batch.numbers[places],
                    examples=None if batch.objects is None else batch.objects[places],
                    explain=self.explain,
                    run_alone=partial(_run_alone, executor, part, part_dropout),
                )
            yield run, part


def _run_alone(executor: Executor, batch: WiredBatch, dropout: DropoutSeed, place: int) -> None:
    """Runs one example of a batch by itself."""
    executor.run(batch.part(place, 1), dropout.part(place, 1)).forward()
