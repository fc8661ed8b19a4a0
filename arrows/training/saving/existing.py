"""What stands at a path already, so that nothing is replaced by accident."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from arrows.safetensors_file import OURS, OpenFile, open_file
from arrows.training.saving.saved_run import SavedRun
from arrows.typesys import ArrowValueError
from arrows.typesys.errors import message
from arrows.typesys.quoting import escaped

STATE_KEY, MODEL_KEY = OURS + "run", OURS + "model"
EVALUATION = "evaluation"
"""The key of the text by which a command says of which evaluation a model file is."""
_NAMED = 4  # parameters that a description names


def holds_state(path: Path) -> bool | None:
    """Whether a file is the state of a run; None if it is neither that nor parameters or a model."""
    try:
        with open_file(path) as file:
            return STATE_KEY in file.texts
    except (ArrowValueError, OSError):
        return None


def described_file(path: Path) -> str:
    """What a file is, in a few words: a run with how far it came, a model, parameters, or another file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "notes").write_text("film")
    ...     described_file(Path(folder, "notes")).partition(",")[0]
    'a file of 4 bytes'
    """
    status = os.stat(path)
    written = f"written {time.strftime('%Y-%m-%d %H:%M', time.localtime(status.st_mtime))}"
    try:
        with open_file(path) as file:
            if STATE_KEY not in file.texts:
                return f"{_model(file)}, {written}: {_listed([*file.entries])}"
            kinds = (name.partition(":") for name in file.entries)
            names = [name for kind, _, name in kinds if kind == "parameter"]
            return f"the state of a run, {written}: {_progress(file)}; its model has {_listed(names)}"
    except (ArrowValueError, OSError):
        return f"a file of {status.st_size:,} bytes, {written}"


def require_same_kind(path: Path, *, state: bool) -> None:
    """Refuses to save the state of a run over parameters, or parameters over the state of a run.

    Raises:
        ArrowValueError: so it is; the message says what is there.
    """
    if holds_state(path) is (not state):
        raise ArrowValueError(
            message(
                f"cannot save {'the state of a run' if state else 'a model'} at {path}",
                reason=f"there is {described_file(path)}",
                hint="give another path; or remove the file",
            )
        )


def _model(file: OpenFile) -> str:
    if MODEL_KEY not in file.texts:
        return "parameters"
    try:
        builder = escaped(str(json.loads(file.texts[MODEL_KEY])["builder"]), 80)
    except (ValueError, KeyError, TypeError, RecursionError):
        return "a trained model"
    evaluation = f" ({escaped(file.texts[EVALUATION], 120)})" if EVALUATION in file.texts else ""
    return f"a trained model{evaluation}, built by {builder}"


def _progress(file: OpenFile) -> str:
    try:
        run = SavedRun.of(file.texts[STATE_KEY])
    except ArrowValueError as error:
        return f"it {error}"
    progress = run.progress
    done = len(progress.history)
    words = [f"{done} of {progress.epochs} epochs, {run.steps:,} steps"]
    if done:
        words.append(f"loss {progress.history[-1].loss:.4g}")
    best = next((each for each in reversed(progress.evaluations) if each.best), None)
    shown = best or (progress.evaluations[-1] if progress.evaluations else None)
    if shown is not None:
        figures = ", ".join(
            f"{escaped(name, 40)} {x:.4g}" for name, x in list(shown.figures.items())[:_NAMED]
        )
        words.append(f"{'at best ' if best else ''}{figures}")
    return ", ".join(word for word in words if word)


def _listed(names: list[str]) -> str:
    shown = ", ".join(escaped(name, 40) for name in names[:_NAMED])
    more = ", ..." if len(names) > _NAMED else ""
    return f"{len(names)} parameter{'s' * (len(names) != 1)} ({shown}{more})"
