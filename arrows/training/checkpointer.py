"""Saves the state of a run whenever a save is due, and resumes from it."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count, takewhile
from pathlib import Path

from arrows.storage import previous, require_path, require_replaceable
from arrows.training.arguments import described, require_range, whole_number
from arrows.training.finite_checks import require_finite_parameters
from arrows.training.interrupt import undisturbed
from arrows.training.learner import Learner
from arrows.training.optimizers import Optimizer
from arrows.training.progress import Progress
from arrows.training.saving import (
    STATE,
    described_file,
    kind_of,
    load_state,
    require_metadata,
    require_same,
    save_state,
)
from arrows.typesys import ArrowTypeError, ArrowValueError, escaped, message


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where and when `train` saves the state of a run, from which it can be resumed.

    The state is saved after each epoch, before and after its evaluation, and on Ctrl-C; and as often as
    `every` and `seconds` say.  The file is whole, old or new, whenever the run dies, even by `kill -9`.

    Args:
        path: the file, in a folder that exists.
        every: also save the state whenever this many more steps have been taken.
        seconds: also save the state when it was last saved this many seconds ago.
        keep: how many states to keep, the newest at `path`, the one before at `PATH.1`, and so on.
        resume: go on from `path`; if there is no state, begin.  If the newest is damaged, or is the state of
            another run, a warning says so, and the one before is taken.
        overwrite: replace the state that an earlier run has left at `path`.  Without `resume` or `overwrite`,
            a run that would replace a state does not begin.  A model is never replaced.
        metadata: texts to save with the state.  A resumed run must have the same texts, so put in here what
            its numbers depend on (the sizes of the model, the data).

    Raises:
        ArrowTypeError, ArrowValueError: an argument that cannot be.

    >>> Checkpoint("run.state", seconds=60.0).keep
    2
    """

    path: str | Path
    every: int | None = None
    seconds: float | None = None
    keep: int = 2
    resume: bool = False
    overwrite: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_path("Checkpoint: path", self.path)
        whole_number("Checkpoint: keep", self.keep, 1)
        if self.every is not None:
            whole_number("Checkpoint: every", self.every, 1)
        if self.seconds is not None:
            require_range("Checkpoint", "seconds", self.seconds, 0.0)
        require_metadata(self.metadata)
        if self.resume and self.overwrite:
            raise ArrowValueError("Checkpoint: resume goes on with a state, overwrite replaces it; say one")

    @property
    def files(self) -> list[Path]:
        """Where states are kept, the newest first."""
        path = Path(self.path)
        return [path, *(previous(path, number) for number in range(1, self.keep))]

    @property
    def there(self) -> list[Path]:
        """What stands at these places, and at those of a run that kept more states."""
        older = (previous(Path(self.path), number) for number in count(1))
        files = dict.fromkeys([*self.files, *takewhile(Path.exists, older)])
        return [path for path in files if path.exists()]

    def require_free(self) -> None:
        """Refuses to begin a run where something would be lost, or where no file can be written.

        Raises:
            ArrowValueError: something is there; the message says what, and what to do.
            OSError: no file can be written there.
        """
        path = Path(self.path)
        require_replaceable(path)
        for there in self.there:
            kind = kind_of(there)
            if (self.overwrite or self.resume) and kind in (STATE, None):  # None: a state that is damaged?
                continue
            ways = "resume=True goes on with it, overwrite=True replaces it, another path keeps it"
            if kind != STATE:
                ways = f"give another path{'' if kind else '; overwrite=True replaces the file'}"
            reason = f"{there} is {described_file(there)}"
            raise ArrowValueError(message(f"cannot begin a run at {path}", reason=reason, hint=ways))


class Checkpointer:
    """Saves the state of a run; without a checkpoint it saves nothing.

    Args:
        checkpoint: where and when.
        model, optimizer, run: the state to save.
    """

    def __init__(
        self, checkpoint: Checkpoint | None, model: Learner, optimizer: Optimizer, run: Progress
    ) -> None:
        self._checkpoint, self._model, self._optimizer, self._run = checkpoint, model, optimizer, run
        self._last = time.monotonic()
        self._newest: tuple[Path, int] | None = None  # the last good state of this run, and its step
        self._stale: list[Path] = []  # what another run has left; it goes when this one saves a state
        if checkpoint is not None and not checkpoint.resume:
            older = (there for there in checkpoint.there if there != Path(checkpoint.path))
            self._stale = [there for there in older if kind_of(there) == STATE]

    def resume(self) -> None:
        """Restores model, optimizer and run from the newest state that is whole and of this run, if any is.

        Raises:
            ArrowValueError, OSError: there are states, and none can be taken; the error is that of the first.
        """
        if self._checkpoint is None or not self._checkpoint.resume:
            return
        refusal: Exception | None = None
        for path in filter(Path.exists, self._checkpoint.files):
            try:
                saved, _ = load_state(path, self._model, self._optimizer, partial(self._check, path))
            except (ArrowValueError, OSError) as error:
                refusal = refusal or error
                continue
            self._go_on(path, saved)
            self._newest = path, self._optimizer.steps
            if refusal is not None:
                step = f"at step {self._optimizer.steps:,}"
                text = f"{refusal}\n  The run goes on from the state before, {path}, {step}."
                warnings.warn(text, stacklevel=3)
            return
        if refusal is not None:
            raise refusal

    def _go_on(self, path: Path, saved: Progress) -> None:
        """Goes on where a saved run was; says in a line what is other than it was then."""
        run = self._run
        run.rates = self._optimizer.rates_text
        changes = [
            f"{name.replace('rates', 'learning rate')} {_short(getattr(saved, name))} before, "
            f"{_short(getattr(run, name))} now"
            for name in ("rates", "batch_size", "accumulate", "epochs")
            if getattr(saved, name) != getattr(run, name)
        ]
        run.before = list(saved.before)
        if saved.position and saved.batch_size != run.batch_size:
            run.before.append((saved.batch_size, saved.position))
        for name in ("epoch", "position", "total", "seconds", "history", "evaluations", "threads"):
            setattr(run, name, getattr(saved, name))
        if changes and sys.stderr is not None:
            line = f"{path}: the run goes on at step {self._optimizer.steps:,}; {'; '.join(changes)}"
            print(line, file=sys.stderr, flush=True)

    def _check(self, path: Path, saved: Progress, texts: Mapping[str, str]) -> None:
        """Refuses the state of a run with other data: resumed, it would give other numbers."""
        assert self._checkpoint is not None
        run = self._run
        here: dict[str, object] = {"seed": run.seed, "examples": run.examples}
        there: dict[str, object] = {"seed": saved.seed, "examples": saved.examples}
        if here["examples"] == there["examples"]:
            here["hash of the examples"], there["hash of the examples"] = run.content, saved.content
        require_same(path, {**there, **texts}, {**here, **self._checkpoint.metadata})

    @property
    def is_due(self) -> bool:
        """Whether enough steps or seconds have passed to save the state."""
        when = self._checkpoint
        return when is not None and (
            (when.every is not None and self._optimizer.steps % when.every == 0)
            or (when.seconds is not None and time.monotonic() - self._last >= when.seconds)
        )

    def save(self) -> None:
        """Saves the state.

        Raises:
            NotFiniteError: parameters are not finite; the state before stays.
        """
        when = self._checkpoint
        if when is None:
            return
        path = Path(when.path)
        require_finite_parameters(self._model, self._run.epoch, self._optimizer.steps)
        keep = when.keep - 1 if self._newest and self._newest[0] == path else 0  # not what is damaged
        with undisturbed():
            self._run.rates = self._optimizer.rates_text
            save_state(path, self._model, self._optimizer, self._run, when.metadata, keep=keep)
            for stale in self._stale:
                stale.unlink(missing_ok=True)
            self._newest, self._stale, self._last = (path, self._optimizer.steps), [], time.monotonic()

    def point_at_last(self, error: BaseException) -> None:
        """Notes on an error where the last state of the run is."""
        if self._newest is not None:
            path, step = self._newest
            how = f"Checkpoint({str(self._checkpoint and self._checkpoint.path)!r}, resume=True)"
            error.add_note(f"the last state, of step {step:,}, is {path}; {how} goes on from there")
        elif self._checkpoint is not None:
            error.add_note("no state of this run has been saved yet")


def checked_checkpoint(checkpoint: object) -> Checkpoint | None:
    """The argument `checkpoint` of `train`; refuses what is none."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    kind = described(checkpoint)
    raise ArrowTypeError(f"train: checkpoint must be one, such as Checkpoint('run.state'), not {kind}")


def _short(value: object) -> str:
    return escaped(str(value), 200)
