"""A run of `train`: takes the steps of its epochs, evaluates, and tells its callbacks."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from tqdm import tqdm

from arrows.engine.scheduling import BatchSize, epoch_batches
from arrows.training.arguments import require_number
from arrows.training.callbacks import Callback
from arrows.training.checkpointer import Checkpointer
from arrows.training.interrupt import Interrupts
from arrows.training.learner import PreparedExamples
from arrows.training.losses import Losses
from arrows.training.progress import Epoch, Evaluation, figures_of
from arrows.typesys import ArrowValueError

Evaluations = Sequence[Evaluation]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """A run of `train`.

    Attributes:
        prepared: the examples.
        batch_size: how many are in a batch, or a rule that says so.
        checkpointer: has the model, the optimizer and how far the run has come, and saves them.
        epochs: how many there are.
        evaluate: gives figures; None: nothing is evaluated.
        evaluate_every: evaluate after every so many steps, too.
        best_by: the figure that decides which evaluation is the best; None: none is.
        stop_when: called with all evaluations; whether to stop.
        plateau: called with all evaluations; the factor of all learning rates.
        callbacks: are told of steps, evaluations and epochs.
        after_epoch: likewise of epochs.
        bar: whether to draw a progress bar.
        unit: what the bar and the epochs call an example.
    """

    prepared: PreparedExamples
    batch_size: BatchSize
    checkpointer: Checkpointer
    epochs: int
    evaluate: Callable[[], Mapping[str, float]] | None
    evaluate_every: int | None
    best_by: str | None
    stop_when: Callable[[Evaluations], bool] | None
    plateau: Callable[[Evaluations], float] | None
    callbacks: Sequence[Callback]
    after_epoch: Callable[[Epoch], object] | None
    bar: bool
    unit: str

    def finish(self) -> None:
        """Trains to the end of the last epoch, or until `stop_when` says so."""
        progress, optimizer = self.checkpointer.run, self.checkpointer.optimizer
        factor = getattr(optimizer, "rate_factor", 1.0)
        try:
            self._set_rates()
            while progress.epoch <= self.epochs and not self._stops():
                self._finish_epoch()
        finally:
            if self.plateau is not None:
                optimizer.rate_factor = factor

    def _finish_epoch(self) -> None:
        progress, checkpointer = self.checkpointer.run, self.checkpointer
        self._take_steps()
        while progress.position < len(self.prepared):
            self._evaluate()
            if self._stops():
                break
            self._take_steps()
        checkpointer.require_finite()
        if self.evaluate is not None and not self._is_evaluated:
            checkpointer.save()  # if a long evaluation is interrupted, the epoch is not lost
            self._evaluate()
        figures = progress.evaluations[-1] if self.evaluate is not None else None
        epoch = Epoch(
            number=progress.epoch,
            loss=progress.total / max(progress.position, 1),
            seconds=progress.seconds,
            examples_per_second=progress.position / progress.seconds if progress.seconds else 0.0,
            figures=dict(figures.figures) if figures is not None else {},
            unit=self.unit,
            best=figures is not None and figures.best,
        )
        progress.history.append(epoch)
        with self._averages():
            if self.after_epoch is not None:
                self.after_epoch(epoch)
            for callback in self.callbacks:
                callback.after_epoch(epoch)
        progress.epoch, progress.position, progress.total, progress.seconds = progress.epoch + 1, 0, 0.0, 0.0
        checkpointer.save()

    def _take_steps(self) -> None:
        """Trains on the examples of the current epoch, to its end or until an evaluation is due."""
        checkpointer = self.checkpointer
        model, optimizer, progress = checkpointer.model, checkpointer.optimizer, checkpointer.run
        count = len(self.prepared)
        # Each epoch has its own generator, so that seed and epoch are the whole state of the shuffling.
        batches = epoch_batches(self.batch_size, self.prepared, count, (progress.seed, progress.epoch))
        at_once = self.batch_size if isinstance(self.batch_size, int) and progress.accumulate > 1 else None
        before, start = progress.seconds, time.perf_counter()
        with (
            tqdm(
                total=count,
                initial=progress.position,
                desc=f"epoch {progress.epoch}/{self.epochs}",
                unit=self.unit,
                leave=False,
                disable=not self.bar or sys.stderr is None,  # None: the stream is closed
            ) as bar,
            Interrupts(held=checkpointer.path is not None) as interrupts,
            Losses(
                model,
                optimizer,
                progress,
                stop=checkpointer.stop_at_nan,
                callbacks=self.callbacks,
                at_once=at_once,
            ) as losses,
        ):
            while progress.position < count and not interrupts.came and not self._is_evaluation_due:
                stop = batches.stop(progress.position, progress.accumulate)
                batch = self.prepared[batches.order[progress.position : stop]]
                losses.take_step(batch)
                progress.position += len(batch)
                progress.seconds = before + time.perf_counter() - start
                if checkpointer.is_due:
                    losses.read()
                    checkpointer.save()
                bar.set_postfix(loss=f"{losses.mean:.3f}", refresh=False)
                bar.update(len(batch))
        if model.device.name != "cpu":
            progress.seconds = before + time.perf_counter() - start  # the last losses have been waited for
        if interrupts.came:
            checkpointer.save()
            raise KeyboardInterrupt

    @property
    def _is_evaluated(self) -> bool:
        """Whether the parameters as they are now have been evaluated."""
        evaluations, steps = self.checkpointer.run.evaluations, self.checkpointer.optimizer.steps
        return bool(evaluations) and evaluations[-1].step == steps and steps > 0

    @property
    def _is_evaluation_due(self) -> bool:
        every, steps = self.evaluate_every, self.checkpointer.optimizer.steps
        return every is not None and steps > 0 and steps % every == 0 and not self._is_evaluated

    def _evaluate(self) -> None:
        assert self.evaluate is not None
        progress, checkpointer = self.checkpointer.run, self.checkpointer
        with self._averages():
            figures = figures_of(self.evaluate(), checkpointer.model.device)
            evaluation = Evaluation(
                epoch=progress.epoch,
                step=checkpointer.optimizer.steps,
                figures=figures,
                best=self._is_best(figures),
            )
            progress.evaluations.append(evaluation)
            for callback in self.callbacks:
                callback.after_evaluation(evaluation)
        self._set_rates()

    def _is_best(self, figures: Mapping[str, float]) -> bool:
        if self.best_by is None:
            return False
        if self.best_by not in figures:
            raise ArrowValueError(
                f"train: best_by is {self.best_by!r}, and evaluate gives {', '.join(figures) or 'nothing'}"
            )
        figure = figures[self.best_by]
        before = [evaluation.figures[self.best_by] for evaluation in self.checkpointer.run.evaluations]
        # NaN is never the best, and every number is better than NaN.
        return not math.isnan(figure) and not any(figure <= other for other in before)

    def _stops(self) -> bool:
        evaluations = self.checkpointer.run.evaluations
        return self.stop_when is not None and bool(evaluations) and bool(self.stop_when(tuple(evaluations)))

    def _set_rates(self) -> None:
        if self.plateau is not None:
            factor = self.plateau(tuple(self.checkpointer.run.evaluations))
            require_number("train: the factor that plateau returns", factor)
            if not 0 <= factor < math.inf:
                raise ArrowValueError(f"train: plateau returns the factor {factor}, and should be at least 0")
            self.checkpointer.optimizer.rate_factor = float(factor)

    def _averages(self) -> AbstractContextManager[None]:
        """A context in which the optimizer's averages, if it keeps any, stand in for the parameters."""
        optimizer = self.checkpointer.optimizer
        return (
            nullcontext() if optimizer.averages is None else optimizer.use_averages(self.checkpointer.model)
        )
