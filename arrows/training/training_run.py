"""A run of `train`: takes the steps of its epochs, evaluates, and tells its callbacks."""

from __future__ import annotations

import math
import operator
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from tqdm import tqdm

from arrows.engine.scheduling import BatchSize, at_once_of, epoch_batches
from arrows.training.arguments import require_number
from arrows.training.callbacks import Callback
from arrows.training.checkpointer import Checkpointer
from arrows.training.evaluations import EarlyStopping, Plateau, missing_figure
from arrows.training.interrupt import Interrupts
from arrows.training.learner import PreparedExamples
from arrows.training.losses import Losses
from arrows.training.parallel import Ranks
from arrows.training.progress import Epoch, Evaluation, figures_of
from arrows.typesys import ArrowValueError

Evaluations = Sequence[Evaluation]
Result = TypeVar("Result")


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
        lower: whether a lower figure is better.
        stop_when: called with all evaluations; whether to stop.
        plateau: called with all evaluations; the factor of all learning rates.
        callbacks: are told of steps, evaluations and epochs.
        after_epoch: likewise of epochs.
        bar: whether to draw a progress bar.
        unit: what the bar and the epochs call an example.
        ranks: the processes that train together.
        interrupts: holds Ctrl-C back, but from code of the user's.
    """

    prepared: PreparedExamples
    batch_size: BatchSize
    checkpointer: Checkpointer
    epochs: int
    evaluate: Callable[[], Mapping[str, float]] | None
    evaluate_every: int | None
    best_by: str | None
    lower: bool
    stop_when: Callable[[Evaluations], bool] | None
    plateau: Callable[[Evaluations], float] | None
    callbacks: Sequence[Callback]
    after_epoch: Callable[[Epoch], object] | None
    bar: bool
    unit: str
    ranks: Ranks
    interrupts: Interrupts

    def finish(self) -> None:
        """Trains to the end of the last epoch, or until `stop_when` says so."""
        progress, optimizer = self.checkpointer.run, self.checkpointer.optimizer
        factor = getattr(optimizer, "rate_factor", 1.0)
        try:
            self._set_rates()
            while progress.epoch <= self.epochs and not (progress.position == 0 and self._stops()):
                self._finish_epoch()
        finally:
            self.ranks.listen()  # wishes hold losses, and these the ranks: a cycle would keep the model alive
            if self.plateau is not None:
                optimizer.rate_factor = factor

    def _finish_epoch(self) -> None:
        progress, checkpointer = self.checkpointer.run, self.checkpointer
        # A run that was interrupted when it had stopped early has only to tell of its last epoch.
        stops = progress.position > 0 and self._stops()
        while not stops:
            self._take_steps()
            if progress.position == len(self.prepared):
                break
            self._evaluate()
            stops = self._stops()
        checkpointer.require_finite()
        if self.evaluate is not None and not self._is_evaluated:
            self._save()  # if a long evaluation is killed, the epoch is not lost
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
            steps=checkpointer.optimizer.steps,
        )
        self._run_on_first(partial(self._tell, epoch))
        progress.history.append(epoch)
        progress.epoch, progress.position, progress.total, progress.seconds = progress.epoch + 1, 0, 0.0, 0.0
        progress.before = []
        self._save()

    def _tell(self, epoch: Epoch) -> None:
        """Tells the epoch's result to those who want to know it."""
        if self.after_epoch is not None:
            self.after_epoch(epoch)
        for callback in self.callbacks:
            callback.after_epoch(epoch)

    def _save(self) -> None:
        self.ranks.from_first(self.checkpointer.save)

    def _take_steps(self) -> None:
        """Trains on the examples of the current epoch, to its end or until an evaluation is due."""
        checkpointer = self.checkpointer
        model, optimizer, progress = checkpointer.model, checkpointer.optimizer, checkpointer.run
        count = len(self.prepared)
        # Each epoch has its own generator, so that seed and epoch are the whole state of the shuffling.
        seed = (progress.seed, progress.epoch)
        batches = epoch_batches(self.batch_size, self.prepared, count, seed, progress.before)
        at_once = at_once_of(self.batch_size) if progress.accumulate > 1 else None
        before, start = progress.seconds, time.perf_counter()
        with (
            tqdm(
                total=count,
                initial=progress.position,
                desc=f"epoch {progress.epoch}/{self.epochs}",
                unit=self.unit,
                leave=False,
                disable=not (self.bar and self.ranks.first) or sys.stderr is None,  # None: it is closed
            ) as bar,
            Losses(
                model,
                optimizer,
                progress,
                stop=checkpointer.stop_at_nan,
                callbacks=self.callbacks if self.ranks.first else (),
                ranks=self.ranks,
                at_once=at_once,
            ) as losses,
        ):
            self.ranks.listen(
                stop=lambda: self.interrupts.came,
                save=lambda: checkpointer.is_overdue,
                read=lambda: losses.are_overdue,
            )
            while (
                progress.position < count and not self.ranks.granted("stop") and not self._is_evaluation_due
            ):
                stop = batches.stop(progress.position, progress.accumulate)
                batch = self.prepared[batches.order[progress.position : stop]]
                losses.take_step(batch)
                progress.position += len(batch)
                progress.seconds = before + time.perf_counter() - start
                if checkpointer.is_due or self.ranks.granted("save"):
                    losses.read()
                    self._save()
                bar.set_postfix(loss=f"{losses.mean:.3f}", refresh=False)
                bar.update(len(batch))
        if model.device.name != "cpu":
            progress.seconds = before + time.perf_counter() - start  # the last losses have been waited for
        if self.ranks.granted("stop"):
            self._save()
            raise self.ranks.together(KeyboardInterrupt())

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
        progress = self.checkpointer.run
        figures, best = self._run_on_first(self._figures)
        evaluation = Evaluation(
            epoch=progress.epoch, step=self.checkpointer.optimizer.steps, figures=figures, best=best
        )
        self._run_on_first(partial(self._show, evaluation))
        progress.evaluations.append(evaluation)
        self._set_rates()

    def _run_on_first(self, function: Callable[[], Result]) -> Result:
        """What code of the user's returns, which the first rank runs with the averages of the parameters.

        It may take long, so that Ctrl-C interrupts it; what has not been told to the end is not in the state
        that is saved then, and a resumed run tells it anew.
        """

        def interruptible() -> Result:
            try:
                with self._averages(), self.interrupts.at_once():
                    return function()
            except KeyboardInterrupt:
                self.checkpointer.save()  # before others know: they end the job
                raise

        if self.ranks.first:
            return self.ranks.from_first(interruptible)
        with self._averages():  # to look at them changes their bits
            return self.ranks.from_first(function)

    def _show(self, evaluation: Evaluation) -> None:
        for callback in self.callbacks:
            callback.after_evaluation(evaluation)

    def _figures(self) -> tuple[dict[str, float], bool]:
        """The figures, and whether they are the best so far."""
        assert self.evaluate is not None
        figures = figures_of(self.evaluate(), self.checkpointer.model.device)
        for rule in (self.stop_when, self.plateau):
            if isinstance(rule, (EarlyStopping, Plateau)) and rule.figure not in figures:
                raise missing_figure(rule.figure, figures)
        return figures, self._is_best(figures)

    def _is_best(self, figures: Mapping[str, float]) -> bool:
        if self.best_by is None:
            return False
        if self.best_by not in figures:
            raise missing_figure(self.best_by, figures)
        figure = figures[self.best_by]
        evaluations = [evaluation.figures for evaluation in self.checkpointer.run.evaluations]
        # A run that is resumed may give figures that it did not give before.
        before = [figures[self.best_by] for figures in evaluations if self.best_by in figures]
        # NaN is never the best, and every number is better than NaN.
        better = operator.ge if self.lower else operator.le
        return not math.isnan(figure) and not any(better(figure, other) for other in before)

    def _stops(self) -> bool:
        evaluations, stop_when = tuple(self.checkpointer.run.evaluations), self.stop_when
        if stop_when is None or not evaluations:
            return False
        return self.ranks.from_first(lambda: bool(stop_when(evaluations)))

    def _set_rates(self) -> None:
        if self.plateau is not None:
            self.checkpointer.optimizer.rate_factor = self.ranks.from_first(self._factor)

    def _factor(self) -> float:
        assert self.plateau is not None
        factor = self.plateau(tuple(self.checkpointer.run.evaluations))
        require_number("train: the factor that plateau returns", factor)
        if not 0 <= factor < math.inf:
            raise ArrowValueError(f"train: plateau returns the factor {factor}, and should be at least 0")
        return float(factor)

    def _averages(self) -> AbstractContextManager[None]:
        """A context in which the optimizer's averages, if it keeps any, stand in for the parameters."""
        optimizer = self.checkpointer.optimizer
        return (
            nullcontext() if optimizer.averages is None else optimizer.use_averages(self.checkpointer.model)
        )
