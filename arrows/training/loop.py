"""The training loop: shuffled batches, a progress bar, figures after each epoch, and checkpoints."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tqdm import tqdm

from arrows import machine
from arrows.arrays import Array
from arrows.engine import ByNodes, Model
from arrows.engine.planning import GrowingParams
from arrows.engine.scheduling import AtOnce
from arrows.training.arguments import (
    described,
    require_model,
    require_optimizer,
    require_range,
    whole_number,
)
from arrows.training.batching import Bucketed, at_once_of, checked_batch_size, epoch_batches
from arrows.training.callbacks import (
    Callback,
    StepLoss,
    checked_callbacks,
    lower_is_better,
    value_of,
)
from arrows.training.checkpointer import Checkpoint, Checkpointer, checked_checkpoint
from arrows.training.content import content_of
from arrows.training.finite_checks import not_finite, refuse_loss, require_finite_parameters
from arrows.training.interrupt import undisturbed
from arrows.training.learner import Learner
from arrows.training.optimizers import Optimizer
from arrows.training.parallel import Ranks
from arrows.training.parameters import as_float
from arrows.training.progress import Epoch, Evaluation, History, Progress, figures_of
from arrows.training.schedules import rate_at
from arrows.typesys import ArrowTypeError, ArrowValueError, NotFiniteError, explains_arguments

_STEPS, _SECONDS = 64, 1.0  # after so many steps, or so long, the losses of a GPU are read


@explains_arguments("train")
def train(
    model: Learner,
    examples: object,
    optimizer: Optimizer,
    *,
    epochs: int = 1,
    batch_size: int | ByNodes | Bucketed = 64,
    accumulate: int = 1,
    seed: int = 0,
    evaluate: Callable[[], Mapping[str, float]] | None = None,
    evaluate_every: int | None = None,
    best_by: str | None = None,
    lower: bool | None = None,
    callbacks: Iterable[Callback | Callable[[Epoch], object]] = (),
    checkpoint: Checkpoint | None = None,
    progress: bool = True,
    threads: int | None = None,
    comm: object = None,
) -> History:
    """Trains a model; its parameters change in place.

    With a `checkpoint`, the state of the run is saved after each epoch, on Ctrl-C, and as often as it says.
    A run that has died, even by `kill -9`, and is called again with `Checkpoint(path, resume=True)` goes on
    from there, and ends with exactly the numbers of a run in one piece.  It may have other learning rates,
    another number of epochs, `batch_size` or `accumulate`: a line on standard error says what has changed.
    A new batch size holds at once, and the examples that the epoch has left go on in their order (a
    `Bucketed` sorts them from the next epoch on).  Another optimizer or seed, and examples of another
    content, are refused: compiled models compare a hash of all that they read, networks on the fly the number
    of examples.

    Ctrl-C waits until the current step is done; a second one does not.  If the optimizer keeps averages, they
    stand in for the parameters during `evaluate` and what callbacks are told of evaluations and epochs.

    Args:
        model: from `arrows.compile`, or from `OnTheFly.learner`.
        examples: the examples, which are prepared here once: a list, any other iterable, or an object with a
            length and items (a PyTorch `Dataset`, say); or the result of `model.prepare`.
        optimizer: takes the steps.
        epochs: how many times to go through the examples, including epochs before a resumption.
        batch_size: examples in a batch; the last batch of an epoch may be smaller.  Or a rule: `ByNodes`, as
            many examples as have so many nodes, or `Bucketed`, examples of like size.
        accumulate: gradient accumulation: each step is taken on so many batches, which run one after another
            and whose gradients are summed up: the numbers of a batch so many times as large, to rounding, in
            the memory of one.
        seed: the order of the examples in an epoch depends only on this and on the epoch's number.
        evaluate: called after each epoch; returns figures by name, numbers of any kind, which become floats
            in the result.
        evaluate_every: also evaluate whenever this many more steps have been taken.
        best_by: the figure of `evaluate` that decides `Epoch.best` and `Evaluation.best`.
        lower: whether a lower figure of `best_by` is better; None: as its name says (`EarlyStopping`).
        callbacks: each is told of steps, evaluations and epochs, and may stop the run or change its rates
            (`Callback`): `EarlyStopping`, `Plateau`, `JsonLines`, one of your own; or a function, which is
            called with each finished `Epoch`.
        checkpoint: where and when to save the state of the run, and whether to go on from there.
        progress: whether to draw a progress bar on standard error.
        threads: how many NumPy's matrix products use meanwhile. None: as many as `ar.set_threads` or the
            environment says; else one or all, whichever is faster, which is tried out before a model's first
            step: the first batch runs five times, and counts as none. Sums of large products differ in their
            last bits with this number, so a resumed run takes that of the run before; give it to repeat a run
            to the bit. `ar.show_config()` prints what was found.
        comm: the processes that train together, such as `MPI.COMM_WORLD` of mpi4py (`arrows[mpi]`), each of
            which calls `train` with the same arguments. They divide the examples of each batch by their
            nodes, add up their gradients, and take the same steps: the numbers are those of one process, to
            rounding. All start with the parameters and the state of rank 0, which alone evaluates, tells
            callbacks, and reads and writes files. Ranks that run different things are refused; an error of
            one ends all.

    Returns:
        A list with an `Epoch` for each epoch, including those before a resumption, which also has all
        `evaluations` and the `best` one. An epoch without examples has a loss of 0; the last one of a run
        that a callback has stopped is as long as it was.

    Raises:
        ArrowTypeError: an argument of the wrong kind; nothing has been trained then. Or `evaluate` returns
            something other than figures by name.
        ArrowValueError: an argument is out of range; there are no examples; a run would replace what another
            one has left; no state that is kept is whole and this run's.
        InputError: the model cannot read an example; nothing has been trained then.
        NotFiniteError: the loss of a step, or a parameter, is not finite.  Nothing of it has been saved; the
            error says where the last state is.  On the CPU it names the first parameter, input or operation
            that is not finite, and model and optimizer are as before that step.  A GPU's losses are read
            together, those of up to 64 steps, or of a second: its parameters are not to be used then.
        OSError: the state cannot be read or written.
        KeyboardInterrupt: on Ctrl-C.

    >>> import arrows as ar
    >>> from arrows.training import SGD
    >>> halve = ar.Vector(2) >> ar.FC(1, name="fc") >> ar.Function(lambda y: (y[0] - 1.0) ** 2)
    >>> model = ar.compile(halve)
    >>> history = train(model, [[1.0, 0.0], [0.0, 1.0]], SGD(0.1), epochs=20, progress=False)
    >>> history[-1].loss < 0.1 * history[0].loss
    True
    """
    ranks = Ranks(comm)
    with ranks.guarded(), ExitStack() as limits:
        require_model("train(model, examples, optimizer)", model, "prepare", "train_step")
        require_optimizer("train(model, examples, optimizer)", optimizer)
        told = checked_callbacks(callbacks)
        checkpoint = checked_checkpoint(checkpoint)
        run = Progress(
            seed=whole_number("train: seed", seed, 0),
            batch_size=checked_batch_size("train", batch_size),
            accumulate=whole_number("train: accumulate", accumulate, 1),
            epochs=whole_number("train: epochs", epochs, 0),
        )
        if threads is not None:
            limits.enter_context(machine.limited_to(whole_number("train: threads", threads, 1)))
        if evaluate is not None and not callable(evaluate):
            raise ArrowTypeError(f"train: evaluate must be a function, not {described(evaluate)}")
        if evaluate_every is not None:
            whole_number("train: evaluate_every", evaluate_every, 1)
        needs: dict[str, object] = {"best_by": best_by, "evaluate_every": evaluate_every}
        needs["callbacks"] = next((callback for callback in told if callback.decides()), None)
        for name, value in needs.items():
            if value is not None and evaluate is None:
                raise ArrowValueError(f"train: {name} needs evaluate=, which gives figures: {value!r}")
        if best_by is not None:
            lower = lower_is_better("train: best_by", best_by, lower)
        if not isinstance(model.params, GrowingParams):
            optimizer.rates_of(model)  # raises for patterns that match no parameter, before examples are read
        if checkpoint is not None and ranks.first:
            checkpoint.require_free()

        prepared = model.prepare(examples)
        rates = optimizer.rates_of(model)  # a network on the fly has its parameters now
        count = run.examples = len(prepared)
        if not count:  # a filter or a path is wrong, and a loss of 0 would look perfect
            raise ArrowValueError("train: there are no examples to learn from")
        run.content = content_of(model, prepared) if checkpoint is not None else ""
        ranks.agree(
            model,
            prepared,
            epochs=epochs,
            batch_size=batch_size,
            accumulate=accumulate,
            seed=seed,
            evaluate=evaluate is not None,
            evaluate_every=evaluate_every,
            optimizer=f"{optimizer.settings}, rates {optimizer.rates_text} {sorted(set(rates.values()))}",
        )
        states = Checkpointer(checkpoint if ranks.first else None, model, optimizer, run)
        states.resume()
        ranks.share_state(model, optimizer, run)
        at_once = at_once_of(run.batch_size) if accumulate > 1 else None
        steps = _Steps(model, optimizer, run, told if ranks.first else (), ranks, at_once)
        usual = optimizer.rate_factor

        def save() -> None:
            steps.read()
            states.save()

        def settle_threads(batch: Any) -> None:
            """Finds out, by a batch that is read again, on how many threads the steps run from now on."""
            again = not getattr(batch, "iterators", None) and not ranks.several and model.device.name == "cpu"
            rehearse = partial(steps.rehearse, batch)
            found = machine.faster("train", model, rehearse, run.threads) if again else machine.threads()
            limits.enter_context(machine.limited_to(found))
            run.threads = found

        def averages() -> AbstractContextManager[None]:
            return nullcontext() if optimizer.averages is None else optimizer.use_averages(model)

        def is_evaluated() -> bool:
            """Whether the parameters as they are now have been."""
            return bool(run.evaluations) and run.evaluations[-1].step == optimizer.steps > 0

        def evaluation_is_due() -> bool:
            due = evaluate_every is not None and optimizer.steps % evaluate_every == 0
            return due and optimizer.steps > 0 and not is_evaluated()

        def on_first_rank() -> Evaluation:
            assert evaluate is not None
            figures = figures_of(evaluate(), model.device)
            best = False
            if best_by is not None:
                now = value_of(best_by, figures, lower=bool(lower))
                # NaN is never the best, and every number is better than NaN.  A resumed run may give figures
                # that it did not give before.
                past = [e.figures for e in run.evaluations if best_by in e.figures]
                better = [value_of(best_by, each, lower=bool(lower)) >= now for each in past]
                best = not (math.isnan(now) or any(better))
            evaluation = Evaluation(run.epoch, optimizer.steps, figures, best)
            for callback in told:
                callback.after_evaluation(evaluation)
            return evaluation

        def take_evaluation() -> None:
            steps.read()
            with averages():  # on all ranks: to look at them changes their bits
                run.evaluations.append(ranks.from_first(on_first_rank))
            set_rates()

        def set_rates() -> None:
            optimizer.rate_factor = usual * ranks.from_first(
                lambda: math.prod(_factor(callback, run) for callback in told)
            )

        def stops() -> bool:
            if not run.evaluations:
                return False
            return ranks.from_first(lambda: any(each.stops(tuple(run.evaluations)) for each in told))

        try:
            set_rates()
            if run.threads is not None:
                settle_threads(None)  # takes those of the run before
            while run.epoch <= epochs and not (run.position == 0 and stops()):
                # Each epoch has a generator of its own: seed and epoch are its whole state.
                batches = epoch_batches(run.batch_size, prepared, count, (run.seed, run.epoch), run.before)
                # A run that was cut off when it had stopped has only to tell of its last epoch.
                stopped = run.position > 0 and stops()
                while run.position < count and not stopped:
                    with tqdm(
                        total=count,
                        initial=run.position,
                        desc=f"epoch {run.epoch}/{epochs}",
                        unit="example",
                        leave=False,
                        disable=not (progress and ranks.first) or sys.stderr is None,  # None: it is closed
                    ) as bar:
                        while run.position < count and not evaluation_is_due():
                            stop = batches.stop(run.position, accumulate)
                            batch = prepared[batches.order[run.position : stop]]
                            if run.threads is None:
                                settle_threads(batch)
                            steps.take(batch)
                            if states.is_due:
                                save()
                            bar.set_postfix(loss=f"{steps.mean:.3f}", refresh=False)
                            bar.update(len(batch))
                    if run.position < count:
                        take_evaluation()
                        stopped = stops()
                steps.read()
                require_finite_parameters(model, run.epoch, optimizer.steps)
                if evaluate is not None and not is_evaluated():
                    states.save()  # if a long evaluation is killed, the epoch is not lost
                    take_evaluation()
                evaluation = run.evaluations[-1] if evaluate is not None else None
                epoch = Epoch(
                    number=run.epoch,
                    loss=run.total / max(run.position, 1),
                    seconds=run.seconds,
                    examples_per_second=run.position / run.seconds if run.seconds else 0.0,
                    figures={} if evaluation is None else dict(evaluation.figures),
                    best=evaluation is not None and evaluation.best,
                    steps=optimizer.steps,
                )
                with averages():
                    for callback in told if ranks.first else ():
                        callback.after_epoch(epoch)
                run.finish_epoch(epoch)
                states.save()
        except KeyboardInterrupt:
            if steps.whole:
                save()
            raise
        except NotFiniteError as error:
            states.point_at_last(error)
            raise
        finally:
            optimizer.rate_factor = usual
    return History(run.history, run.evaluations)


def _factor(callback: Callback, run: Progress) -> float:
    factor = callback.rate_factor(tuple(run.evaluations))
    require_range("train", "the factor that rate_factor returns", factor, 0.0)
    return float(factor)


class _Rehearsed(Exception):
    """A step has shown its loss, and is not to be taken."""


def _rehearsed(loss: Array) -> None:
    raise _Rehearsed


@dataclass
class _Steps:
    """Takes the steps of a run, and adds up their losses; Ctrl-C waits until a step is done.

    To read a loss is to wait until the device has computed it, and while the host waits it merges no batch.
    So on a GPU the losses of many steps are read together, always before a state is saved.

    Args:
        model, optimizer: take the steps.
        run: is told the losses, in order.
        callbacks: are told of each step.
        ranks: the processes that take the steps together.
        at_once: how much of a step runs at once; None: all of it.

    Attributes:
        whole: whether model, optimizer and run are between two steps, so that the state may be saved.
    """

    model: Learner
    optimizer: Optimizer
    run: Progress
    callbacks: Sequence[Callback]
    ranks: Ranks
    at_once: AtOnce
    whole: bool = field(default=True, init=False)
    _waiting: list[tuple[StepLoss, Array]] = field(default_factory=list, init=False)
    _last: float = field(default_factory=time.monotonic, init=False)

    @property
    def mean(self) -> float:
        """The mean loss of the current epoch's examples whose losses have been read."""
        waiting = sum(step.examples for step, _ in self._waiting)
        return self.run.total / max(self.run.position - waiting, 1)

    def take(self, batch: Any) -> None:
        """Takes a step.

        Raises:
            NotFiniteError: its loss is not finite; on the CPU, model and optimizer are as before the step.
        """
        optimizer, number = self.optimizer, self.optimizer.steps + 1
        late = self.model.device.name != "cpu"
        rate = 0.0
        if self.callbacks:
            rate = optimizer.rate_factor * rate_at(optimizer.learning_rate, number - 1)
        check = None if late else partial(self._check, batch, number, getattr(self.model, "step", None))
        with self._together():
            loss = self.ranks.train_step(self.model, batch, optimizer, check, self.at_once)
            self._waiting.append((StepLoss(number, self.run.epoch, 0.0, rate, len(batch)), loss))
            if not late or len(self._waiting) >= _STEPS or time.monotonic() - self._last >= _SECONDS:
                self._read()
            self.run.position += len(batch)

    def rehearse(self, batch: Any) -> None:
        """Computes what a step computes, and refuses to take it, so that it counts as none."""
        with suppress(_Rehearsed):
            self.ranks.train_step(self.model, batch, self.optimizer, _rehearsed, self.at_once)

    def read(self) -> None:
        """Reads the losses that the device still has.

        Raises:
            NotFiniteError: one is not finite.
        """
        with self._together():
            self._read()

    @contextmanager
    def _together(self) -> Iterator[None]:
        """A context for what belongs together, whose time counts as that of the epoch."""
        start, self.whole = time.perf_counter(), False
        with undisturbed():
            yield
            self.run.seconds += time.perf_counter() - start
            self.whole = True

    def _read(self) -> None:
        for step, loss in self._waiting:
            value = as_float(self.model.device, loss)
            if not math.isfinite(value):
                raise not_finite(
                    f"epoch {step.epoch}, step {step.step}: the loss is {value}; the parameters have "
                    "gone on since, and are not to be used"
                )
            self.run.total += value * step.examples
            for callback in self.callbacks:
                callback.after_step(replace(step, loss=value))
        self._waiting, self._last = [], time.monotonic()

    def _check(self, batch: Any, number: int, model_step: int | None, loss: Array) -> None:
        """Refuses a loss that is not finite, before the step is taken."""
        value = as_float(self.model.device, loss)
        if not math.isfinite(value):
            if model_step is not None and isinstance(self.model, Model):
                self.model.step = model_step  # the search for the reason draws the same dropout masks
            refuse_loss(self.model, batch, value, epoch=self.run.epoch, step=number, at_once=self.at_once)
