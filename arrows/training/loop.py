"""The training loop: shuffled batches, a progress bar, figures after each epoch, and checkpoints."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from arrows.files import require_replaceable
from arrows.ops.arrays import Array
from arrows.training.arguments import (
    described,
    escaped,
    require_model,
    require_number,
    require_optimizer,
    require_path,
    whole_number,
)
from arrows.training.finite_checks import require_finite_parameters
from arrows.training.interrupt import Interrupts
from arrows.training.losses import Losses
from arrows.training.optimizers import Optimizer
from arrows.training.parameters import Trainable
from arrows.training.progress import Epoch, Progress, figures_of
from arrows.training.saving import STATE, load_state, save_state
from arrows.typesys import ArrowTypeError, ArrowValueError

NAN = ("stop", "ignore")


class PreparedExamples(Protocol):
    """Examples that are selected by index, as those of a `Prepared`."""

    def __len__(self) -> int: ...

    def __getitem__(self, numbers: Any, /) -> Any: ...


class Learner(Trainable, Protocol):
    """What the training loop needs of a model besides `Trainable`.

    `arrows.compile` and `OnTheFly.learner` return such models.
    """

    def prepare(self, examples: Any, /) -> PreparedExamples:
        """Reads the examples once for all epochs; returns a prepared set as it is."""

    def train_step(
        self, batch: Any, optimizer: Optimizer, /, *, check: Callable[[Array], None] | None = None
    ) -> Array:
        """Takes an optimizer's step on a batch and returns the loss, which `check` sees before the step."""


def train(
    model: Learner,
    examples: Any,
    optimizer: Optimizer,
    *,
    epochs: int = 1,
    batch_size: int = 64,
    seed: int = 0,
    evaluate: Callable[[], Mapping[str, float]] | None = None,
    after_epoch: Callable[[Epoch], object] | None = None,
    best_by: str | None = None,
    checkpoint_path: str | Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_seconds: float | None = None,
    resume: bool = False,
    metadata: Mapping[str, str] | None = None,
    nan: str = "stop",
    progress: bool = True,
    unit: str = "example",
) -> list[Epoch]:
    """Trains a model; its parameters change in place.

    With `checkpoint_path`, the state of the run is saved there after each epoch (before and after its
    evaluation), as often as `checkpoint_every` and `checkpoint_seconds` say, and on Ctrl-C, once the current
    step is done; a second Ctrl-C does not wait. A run that was killed, even by `kill -9`, and is called again
    with `resume=True` continues from the last saved state, and ends with exactly the numbers of an
    uninterrupted run.

    If the optimizer keeps averages, they stand in for the parameters during `evaluate` and `after_epoch`.

    Args:
        model: from `arrows.compile`, or from `OnTheFly.learner`.
        examples: the examples, which are prepared here once: a list, any other iterable, or an object with a
            length and items (a PyTorch `Dataset`, say); or the result of `model.prepare`.
        optimizer: takes the steps.
        epochs: how many times to go through the examples, including epochs before a resumption.
        batch_size: examples in a batch; the last batch of an epoch may be smaller.
        seed: the order of the examples in an epoch depends only on this and on the epoch's number.
        evaluate: called after each epoch; returns figures by name, numbers of any kind, which become floats
            in the result.
        after_epoch: called with each finished `Epoch`, for example to print or to save. After a resumption it
            may see an epoch again, if the state of the run was not saved in between.
        best_by: the figure of `evaluate` that decides `Epoch.best`; higher is better.
        checkpoint_path: a file for the state of the run (`save_state`), in a folder that exists. A file that
            an earlier run left there is replaced unless `resume`.
        checkpoint_every: also save the state whenever this many more steps have been taken.
        checkpoint_seconds: also save the state when it was last saved this many seconds ago.
        resume: continue from `checkpoint_path`; if there is no such file, start from the beginning.
        metadata: texts to save with the state. A resumed run must have the same texts, so put in here what
            its numbers depend on (the sizes of the model, the data).
        nan: what to do when the loss of a step, or a parameter at the end of an epoch, is not finite: "stop"
            before the step is taken and before anything is saved, or "ignore" it. On a GPU, no step waits for
            its loss: the losses of up to 64 steps, or of a second, are read together. The GPU itself leaves
            out the step whose loss is not finite and all after it, so that "stop" comes a little later, and
            leaves the same behind.
        progress: whether to draw a progress bar on standard error.
        unit: what the progress bar and the result call an example.

    Returns:
        One `Epoch` for each epoch, including those before a resumption. An epoch without examples has a loss
        of 0.

    Raises:
        ArrowTypeError: an argument of the wrong kind; nothing has been trained then. Or `evaluate` returns
            something other than figures by name.
        ArrowValueError: an argument is out of range, or `checkpoint_path` holds the state of another run.
        InputError: the model cannot read an example; nothing has been trained then.
        NotFiniteError: see `nan`; it names epoch, step, and the first parameter, input or operation that is
            not finite. Parameters and the optimizer's state are as they were before that step.
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
    call = "train(model, examples, optimizer)"
    require_model(call, model, "prepare", "train_step")
    require_optimizer(call, optimizer, "step", "rates_of", "averages")
    epochs = whole_number("train: epochs", epochs, 0)
    batch_size = whole_number("train: batch_size", batch_size, 1)
    seed = whole_number("train: seed", seed, 0)
    if checkpoint_every is not None:
        checkpoint_every = whole_number("train: checkpoint_every", checkpoint_every, 1)
    if checkpoint_seconds is not None:
        require_number("train: checkpoint_seconds", checkpoint_seconds)
        if not checkpoint_seconds >= 0:
            raise ArrowValueError(
                f"train: checkpoint_seconds is {checkpoint_seconds}, and should be 0 or more"
            )
    for name, function in (("evaluate", evaluate), ("after_epoch", after_epoch)):
        if function is not None and not callable(function):
            raise ArrowTypeError(f"train: {name} must be a function, not {described(function)}")
    if checkpoint_path is None and (resume or checkpoint_every or checkpoint_seconds is not None):
        raise ArrowValueError("train: without checkpoint_path there is no state to save or to resume")
    if best_by is not None and evaluate is None:
        raise ArrowValueError(f"train: best_by is {best_by!r}, and evaluate, which would give it, is missing")
    if nan not in NAN:
        raise ArrowValueError(f"train: nan is {nan!r}, and should be one of {', '.join(map(repr, NAN))}")
    path = None if checkpoint_path is None else require_path("train: checkpoint_path", checkpoint_path)
    # Whatever would make saving fail is refused now, not after an epoch of training.
    if path is not None:
        require_optimizer(call, optimizer, *STATE)
        require_replaceable(path)
        optimizer.description  # noqa: B018  raises for a schedule whose content cannot be identified
    optimizer.rates_of(model)  # raises for patterns that match no parameter
    prepared = model.prepare(examples)
    run = Progress(seed=seed, batch_size=batch_size, examples=len(prepared))
    checkpointer = Checkpointer(
        model=model,
        optimizer=optimizer,
        run=run,
        path=path,
        every=checkpoint_every,
        seconds=checkpoint_seconds,
        metadata=metadata or {},
        stop_at_nan=nan == "stop",
    )
    if resume and path is not None and path.exists():
        checkpointer.resume(path)
    while run.epoch <= epochs:
        _finish_epoch(prepared, checkpointer, epochs, progress=progress, unit=unit)
        checkpointer.require_finite()
        if evaluate is not None:
            checkpointer.save()  # if a long evaluation is interrupted, the epoch is not lost
        with optimizer.use_averages(model) if optimizer.averages is not None else nullcontext():
            figures = figures_of(evaluate(), model.device) if evaluate is not None else {}
            epoch = _epoch_of(run, figures, best_by, unit)
            run.history.append(epoch)
            if after_epoch is not None:
                after_epoch(epoch)
        run.epoch, run.position, run.total, run.seconds = run.epoch + 1, 0, 0.0, 0.0
        checkpointer.save()
    return list(run.history)


@dataclass(slots=True, kw_only=True)
class Checkpointer:
    """Saves the state of a run whenever a save is due; without a path it saves nothing.

    Attributes:
        model, optimizer, run: the state to save.
        path: the file; None for a run without one.
        every: save after every so many steps; None: do not.
        seconds: save when this many seconds have passed; None: do not.
        metadata: texts to save with the state.
        stop_at_nan: refuse to go on with a loss or parameters that are not finite.
        last: when the state was last saved, by the monotonic clock.
    """

    model: Learner
    optimizer: Optimizer
    run: Progress
    path: Path | None
    every: int | None
    seconds: float | None
    metadata: Mapping[str, str]
    stop_at_nan: bool
    last: float = field(default_factory=time.monotonic)

    def resume(self, path: Path) -> None:
        """Restores model, optimizer and run from the saved state."""
        saved, _ = load_state(path, self.model, self.optimizer, self._check)
        for name in Progress.__slots__:
            setattr(self.run, name, getattr(saved, name))

    @property
    def is_due(self) -> bool:
        """Whether enough steps or seconds have passed to save the state."""
        by_steps = self.every is not None and self.optimizer.steps % self.every == 0
        return by_steps or (self.seconds is not None and time.monotonic() - self.last >= self.seconds)

    def save(self) -> None:
        """Saves the state, unless it would replace a good one by parameters that are not finite."""
        if self.path is not None:
            self.require_finite()
            save_state(self.path, self.model, self.optimizer, self.run, self.metadata)
            self.last = time.monotonic()

    def require_finite(self) -> None:
        """Stops the run if parameters are not finite."""
        if self.stop_at_nan:
            require_finite_parameters(self.model, self.run.epoch, self.optimizer.steps)

    def _check(self, saved: Progress, texts: Mapping[str, str]) -> None:
        """Refuses the state of a run with other settings or data: resumed, it would give other numbers."""
        run = self.run
        differences = [
            f"{escaped(name)}: {_short(there)} in the saved state, {_short(here)} now"
            for name, there, here in [
                ("seed", saved.seed, run.seed),
                ("batch_size", saved.batch_size, run.batch_size),
                ("examples", saved.examples, run.examples),
                *((key, texts.get(key), self.metadata.get(key)) for key in sorted({*texts, *self.metadata})),
            ]
            if there != here
        ]
        if differences:
            raise ArrowValueError("\n  ".join([f"{self.path} is the state of another run:", *differences]))


def _short(value: object) -> str:
    return escaped(str(value), 200)


def _finish_epoch(
    prepared: PreparedExamples, checkpointer: Checkpointer, epochs: int, *, progress: bool, unit: str
) -> None:
    """Trains on the remaining examples of the current epoch."""
    model, optimizer, run = checkpointer.model, checkpointer.optimizer, checkpointer.run
    count = len(prepared)
    # Each epoch has its own generator, so that seed and epoch are the whole state of the shuffling.
    order = np.random.default_rng((run.seed, run.epoch)).permutation(count)
    before, start = run.seconds, time.perf_counter()
    with (
        tqdm(
            total=count,
            initial=run.position,
            desc=f"epoch {run.epoch}/{epochs}",
            unit=unit,
            leave=False,
            disable=not progress or sys.stderr is None,  # None: the stream is closed
        ) as bar,
        Interrupts(held=checkpointer.path is not None) as interrupts,
        Losses(model, optimizer, run, stop=checkpointer.stop_at_nan) as losses,
    ):
        while run.position < count and not interrupts.came:
            batch = prepared[order[run.position : run.position + run.batch_size]]
            losses.take_step(batch)
            run.position += len(batch)
            run.seconds = before + time.perf_counter() - start
            if checkpointer.is_due:
                losses.read()
                checkpointer.save()
            bar.set_postfix(loss=f"{losses.mean:.3f}", refresh=False)
            bar.update(len(batch))
    if model.device.name != "cpu":
        run.seconds = before + time.perf_counter() - start  # the last losses have been waited for
    if interrupts.came:
        checkpointer.save()
        raise KeyboardInterrupt


def _epoch_of(run: Progress, figures: Mapping[str, float], best_by: str | None, unit: str) -> Epoch:
    """The result of the epoch that the run has just finished."""
    best = False
    if best_by is not None:
        if best_by not in figures:
            raise ArrowValueError(
                f"train: best_by is {best_by!r}, and evaluate gives {', '.join(figures) or 'nothing'}"
            )
        figure = figures[best_by]
        # NaN is never the best, and every number is better than NaN.
        best = not math.isnan(figure) and not any(figure <= epoch.figures[best_by] for epoch in run.history)
    return Epoch(
        number=run.epoch,
        loss=run.total / max(run.position, 1),
        seconds=run.seconds,
        examples_per_second=run.examples / run.seconds if run.seconds else 0.0,
        figures=dict(figures),
        unit=unit,
        best=best,
    )
