"""The training loop that most people write: shuffled batches, a progress bar, figures after each epoch, and
a file from which a run that was cut off goes on."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from arrows.engine import Model
from arrows.engine.not_finite import first_not_finite
from arrows.files import require_replaceable
from arrows.training.arguments import (
    described,
    escaped,
    require_model,
    require_number,
    require_optimizer,
    require_path,
    whole_number,
)
from arrows.training.interrupt import Interrupts
from arrows.training.optimizers import Optimizer
from arrows.training.parameters import Trainable, not_finite_parameter
from arrows.training.progress import Epoch, Progress, figures_of
from arrows.training.saving import STATE, load_state, save_state
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, NotFiniteError

NAN = ("stop", "ignore")


ADVICE = "a smaller learning rate or clip_norm= may help; train(..., nan='ignore') goes on all the same"


class Learner(Trainable, Protocol):
    """What the loop needs of a model on top of `Trainable`; `arrows.compile` makes one.

    >>> def prepared(model: Learner, examples: list) -> int:
    ...     return len(model.prepare(examples))
    """

    def prepare(self, examples: Any, /) -> Any:
        """The examples, lowered once: has a length, and gives batches by index arrays; itself if that is
        what it is given."""

    def train_step(self, batch: Any, optimizer: Any, /, *, check: Callable[[Any], None] | None = None) -> Any:
        """One step of the optimizer on a batch; returns its loss, which `check` sees before the step."""


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
    evaluation), as often as `checkpoint_every` and `checkpoint_seconds` say, and on Ctrl-C, after the step
    under way; a second Ctrl-C does not wait. A run that was cut off, by `kill -9` say, and is called again
    with `resume=True` goes on from the last saved state to exactly the numbers of a run that was not.

    If the optimizer keeps averages, `evaluate` and `after_epoch` find them in the place of the parameters.

    Args:
        model: from `arrows.compile`.
        examples: examples, which are prepared here once: a list, or whatever else can be gone over or has a
            length and items (a PyTorch `Dataset`, say); or what `model.prepare` returned.
        optimizer: what to do with the gradients.
        epochs: how many times to go through the examples, those before a resumption included.
        batch_size: examples in a batch; the last one of an epoch may be smaller.
        seed: the order of an epoch depends on this and the epoch's number alone.
        evaluate: called after each epoch; returns figures by name, numbers of any kind, which go into the
            result as floats.
        after_epoch: called with each finished `Epoch`, to print or to save, say. After a resumption it may be
            called again with an epoch that it has seen, if the state of the run was not saved in between.
        best_by: name of the figure of `evaluate`, the higher the better, by which `Epoch.best` is decided.
        checkpoint_path: a file for the state of the run (`save_state`), in a folder that exists. What an
            earlier run left there is replaced unless `resume`.
        checkpoint_every: save it after every so many steps of the run as well.
        checkpoint_seconds: save it when so many seconds have gone since it was last saved as well.
        resume: go on from `checkpoint_path`; if there is no such file, begin.
        metadata: texts to save with the state; a resumed run must have the same ones, so put in here what its
            numbers depend on (the sizes of the model, the data).
        nan: what to do when the loss of a step, or a parameter at the end of an epoch, is not finite: "stop"
            before the step is made and before anything is saved, or "ignore" it.
        progress: whether to draw a progress bar on standard error.
        unit: what the progress bar and the result call an example.

    Returns:
        One `Epoch` for each epoch, those before a resumption included. An epoch over no examples has a loss
        of 0.

    Raises:
        ArrowTypeError: an argument of the wrong kind; nothing has been trained then. `evaluate` returns
            something else than figures by name.
        ArrowValueError: an argument out of its range; the state at `checkpoint_path` is of another run.
        InputError: from preparing an example that the model cannot read; nothing has been trained then.
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
    if path is not None:  # better known now than after an epoch
        require_optimizer(call, optimizer, *STATE)
        require_replaceable(path)
        optimizer.description  # noqa: B018  a schedule that could not be told from others
    optimizer.rates_of(model)  # names in `rates` that do not fit
    prepared = model.prepare(examples)
    run = Progress(seed=seed, batch_size=batch_size, examples=len(prepared))
    keeper = Keeper(
        model, optimizer, run, path, checkpoint_every, checkpoint_seconds, metadata or {}, nan == "stop"
    )
    if resume and path is not None and path.exists():
        keeper.resume(path)
    while run.epoch <= epochs:
        _epoch(model, prepared, optimizer, run, keeper, epochs, progress=progress, unit=unit)
        keeper.require_finite()
        if evaluate is not None:
            keeper.save()  # a long evaluation that is cut off need not cost the epoch
        with optimizer.use_averages(model) if optimizer.averages is not None else nullcontext():
            figures = figures_of(evaluate(), partial(_number, model)) if evaluate is not None else {}
            epoch = _finished(run, figures, best_by, unit)
            run.history.append(epoch)
            if after_epoch is not None:
                after_epoch(epoch)
        run.epoch, run.position, run.total, run.seconds = run.epoch + 1, 0, 0.0, 0.0
        keeper.save()
    return list(run.history)


@dataclass(slots=True)
class Keeper:
    """Saves the state of a run when it is time; does nothing without a path."""

    model: Learner
    optimizer: Optimizer
    run: Progress
    path: Path | None
    every: int | None
    seconds: float | None
    metadata: Mapping[str, str]
    finite: bool = True
    last: float = 0.0

    def __post_init__(self) -> None:
        self.last = time.monotonic()

    def resume(self, path: Path) -> None:
        """Puts model, optimizer and run into the saved state."""
        found, _ = load_state(path, self.model, self.optimizer, self._check)
        for name in Progress.__slots__:
            setattr(self.run, name, getattr(found, name))

    def after_step(self) -> None:
        by_steps = self.every is not None and self.optimizer.steps % self.every == 0
        if by_steps or (self.seconds is not None and time.monotonic() - self.last >= self.seconds):
            self.save()

    def save(self) -> None:
        if self.path is not None:
            self.require_finite()
            save_state(self.path, self.model, self.optimizer, self.run, self.metadata)
            self.last = time.monotonic()

    def require_finite(self) -> None:
        """Refuses parameters that are not finite, before they take the place of good ones in a file."""
        found = not_finite_parameter(self.model) if self.finite else None
        if found is not None:
            raise _advised(f"epoch {self.run.epoch}, step {self.optimizer.steps}: after it, {found}")

    def check_loss(self, batch: Any, step: Any, loss: Any) -> None:
        """Refuses a loss that is not finite, before the step that it would spoil; `step` is the model's."""
        value = _number(self.model, loss)
        if math.isfinite(value):
            return
        if isinstance(self.model, Model):
            self.model.step = step  # it is not made, and dropout depends on it
        where = not_finite_parameter(self.model)
        if where is None and isinstance(self.model, Model):
            where = first_not_finite(self.model, batch) or "it is a sum of numbers that are finite"
        because = f": {where}" if where else ""
        number = self.optimizer.steps + 1
        raise _advised(f"epoch {self.run.epoch}, step {number}: the loss is {value}{because}")

    def _check(self, found: Progress, texts: Mapping[str, str]) -> None:
        run = self.run
        differences = [
            f"{escaped(what)}: {_told(there)} in the saved state, {_told(here)} now"
            for what, there, here in [
                ("seed", found.seed, run.seed),
                ("batch_size", found.batch_size, run.batch_size),
                ("examples", found.examples, run.examples),
                *((k, texts.get(k), self.metadata.get(k)) for k in sorted({*texts, *self.metadata})),
            ]
            if there != here
        ]
        if differences:
            raise ArrowValueError("\n  ".join([f"{self.path} is the state of another run:", *differences]))


def _told(value: Any) -> str:
    return escaped(str(value), 200)


def _epoch(
    model: Learner,
    prepared: Any,
    optimizer: Optimizer,
    run: Progress,
    keeper: Keeper,
    epochs: int,
    *,
    progress: bool,
    unit: str,
) -> None:
    """What is left of an epoch."""
    count = len(prepared)
    order = np.random.default_rng((run.seed, run.epoch)).permutation(count)
    before, start = run.seconds, time.perf_counter()
    with (
        tqdm(
            total=count,
            initial=run.position,
            desc=f"epoch {run.epoch}/{epochs}",
            unit=unit,
            leave=False,
            disable=not progress or sys.stderr is None,  # closed
        ) as bar,
        Interrupts(held=keeper.path is not None) as interrupts,
    ):
        while run.position < count and not interrupts.came:
            batch = order[run.position : run.position + run.batch_size]
            chosen = prepared[batch]
            check = (
                partial(keeper.check_loss, chosen, getattr(model, "step", None)) if keeper.finite else None
            )
            loss = model.train_step(chosen, optimizer, check=check)
            run.total += _number(model, loss) * len(batch)
            run.position += len(batch)
            run.seconds = before + time.perf_counter() - start
            keeper.after_step()
            bar.set_postfix(loss=f"{run.total / run.position:.3f}", refresh=False)
            bar.update(len(batch))
    if interrupts.came:
        keeper.save()
        raise KeyboardInterrupt


def _finished(run: Progress, figures: Mapping[str, float], best_by: str | None, unit: str) -> Epoch:
    best = False
    if best_by is not None:
        if best_by not in figures:
            raise ArrowValueError(
                f"train: best_by is {best_by!r}, and evaluate gives {', '.join(figures) or 'nothing'}"
            )
        figure = figures[best_by]  # NaN is never the best, and better than NaN is any other
        best = not math.isnan(figure) and not any(figure <= epoch.figures[best_by] for epoch in run.history)
    rate = run.examples / run.seconds if run.seconds else 0.0
    loss = run.total / max(run.position, 1)
    return Epoch(run.epoch, loss, run.seconds, rate, dict(figures), unit, best)


def _advised(text: str) -> NotFiniteError:
    error = NotFiniteError(text)
    error.add_note(ADVICE)
    return error


def _number(model: Learner, value: Any) -> float:
    return float(model.device.to_numpy(value)) if model.device.is_array(value) else float(value)
