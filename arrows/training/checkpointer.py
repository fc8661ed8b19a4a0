"""Saves the state of a run whenever a save is due, and resumes from it."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path

from arrows.files import keep_previous, previous
from arrows.training.finite_checks import require_finite_parameters
from arrows.training.learner import Learner
from arrows.training.optimizers import Optimizer
from arrows.training.progress import Progress
from arrows.training.saving import described_file, holds_state, load_state, save_state
from arrows.typesys import ArrowValueError
from arrows.typesys.errors import message
from arrows.typesys.quoting import escaped


class Newest(Enum):
    """What stands where the newest state of a run is to stand."""

    FOREIGN = "nothing, or what another run has left"
    OWN = "a state of this run"
    DAMAGED = "what could not be restored, so that the state before is the last good one"


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
        keep: how many states to keep, the newest at `path`.
        newest: what is at `path`.
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
    keep: int = 1
    newest: Newest = Newest.FOREIGN
    last: float = field(default_factory=time.monotonic)

    def resume(self) -> None:
        """Restores model, optimizer and run from the saved state, if there is one.

        If it cannot be read, or is another run's, the one before it is taken, and a warning says why.

        Raises:
            ArrowValueError, OSError: there are states, and none can be taken; the error is that of the last.
        """
        assert self.path is not None
        paths = [self.path, *(previous(self.path, number) for number in range(1, self.keep))]
        refusals: list[Exception] = []
        for path in paths:
            if not path.exists():
                continue
            try:
                saved, _ = load_state(path, self.model, self.optimizer, partial(self._check, path))
            except (ArrowValueError, OSError) as error:
                refusals.append(error)
                continue
            self._take(path, saved)
            self.newest = Newest.DAMAGED if refusals else Newest.OWN
            if refusals:
                warnings.warn(
                    f"{refusals[0]}\n  The run goes on from the state before, {path}, at step "
                    f"{self.optimizer.steps:,}.",
                    stacklevel=3,
                )
            return
        if refusals:
            raise refusals[0]

    def _take(self, path: Path, saved: Progress) -> None:
        """Goes on where a saved run was; says in a line what is other than it was then."""
        run = self.run
        run.rates = self.optimizer.rates_text
        changes = [
            f"{words} {_short(there)} before, {_short(here)} now"
            for words, there, here in [
                ("learning rate", saved.rates, run.rates),
                ("batch_size", saved.batch_size, run.batch_size),
                ("accumulate", saved.accumulate, run.accumulate),
                ("epochs", saved.epochs, run.epochs),
                ("plateau", saved.plateau or "none", run.plateau or "none"),
            ]
            if there != here
        ]
        run.before = list(saved.before)
        if saved.position and saved.batch_size != run.batch_size:
            run.before.append((saved.batch_size, saved.position))
        for name in ("epoch", "position", "total", "seconds", "history", "evaluations"):
            setattr(run, name, getattr(saved, name))
        if changes and sys.stderr is not None:
            line = f"{path}: the run goes on at step {self.optimizer.steps:,}; {'; '.join(changes)}"
            print(line, file=sys.stderr, flush=True)

    @property
    def is_due(self) -> bool:
        """Whether enough steps have passed to save the state."""
        return self.every is not None and self.optimizer.steps % self.every == 0

    @property
    def is_overdue(self) -> bool:
        """Whether enough seconds have passed to save the state."""
        return self.seconds is not None and time.monotonic() - self.last >= self.seconds

    def save(self) -> None:
        """Saves the state, unless it would replace a good one by parameters that are not finite."""
        if self.path is not None:
            self.require_finite()
            if self.newest is Newest.OWN:
                keep_previous(self.path, self.keep - 1)
            self.run.rates = self.optimizer.rates_text
            save_state(self.path, self.model, self.optimizer, self.run, self.metadata)
            if self.newest is Newest.FOREIGN:  # what another run has left is not what this one was before
                for number in range(1, self.keep):
                    previous(self.path, number).unlink(missing_ok=True)
            self.newest, self.last = Newest.OWN, time.monotonic()

    def require_finite(self) -> None:
        """Stops the run if parameters are not finite."""
        if self.stop_at_nan:
            require_finite_parameters(self.model, self.run.epoch, self.optimizer.steps)

    def _check(self, path: Path, saved: Progress, texts: Mapping[str, str]) -> None:
        """Refuses the state of a run with other settings or data: resumed, it would give other numbers."""
        run = self.run
        differences = [
            f"{escaped(name)}: {_short(there)} in the saved state, {_short(here)} now"
            for name, there, here in [
                ("seed", saved.seed, run.seed),
                ("examples", saved.examples, run.examples),
                *([("hash of the examples", saved.content, run.content)] * (saved.examples == run.examples)),
                *((key, texts.get(key), self.metadata.get(key)) for key in sorted({*texts, *self.metadata})),
            ]
            if there != here
        ]
        if differences:
            hint = "hint  a new run from there: load_state(path, model, optimizer), another checkpoint_path"
            raise ArrowValueError("\n  ".join([f"{path} is the state of another run:", *differences, hint]))


def require_no_state(path: Path, keep: int, *, overwrite: bool) -> None:
    """Refuses to begin a run where the state of another one would be lost.

    Args:
        path: where the run is to save its state.
        keep: how many states it keeps; those before the newest would go too.
        overwrite: whether the user has said that a state may go.  A model never does.

    Raises:
        ArrowValueError: something is there; the message says what, and what to do.
    """
    for there in [path, *(previous(path, number) for number in range(1, max(keep, 2)))]:
        if not there.exists() or (overwrite and holds_state(there) is not False):
            continue
        ways = "resume=True goes on with it, overwrite=True replaces it, another checkpoint_path keeps it"
        if holds_state(there) is not True:
            ways = "give another checkpoint_path" + (
                "" if holds_state(there) is False else "; overwrite=True replaces the file"
            )
        raise ArrowValueError(
            message(f"cannot begin a run at {path}", reason=f"{there} is {described_file(there)}", hint=ways)
        )


def _short(value: object) -> str:
    return escaped(str(value), 200)
