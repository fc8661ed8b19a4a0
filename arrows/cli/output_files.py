"""Where a training command writes: the file of its best model, and beside it the state of the run."""

from __future__ import annotations

from pathlib import Path

from arrows.files import require_replaceable


def state_path(path: Path) -> Path:
    """Where the state of the run is that saves its best model at `path`.

    >>> state_path(Path("m.safetensors")).name
    'm.safetensors.state'
    """
    return path.with_name(f"{path.name}.state")


def check_places(path: Path) -> None:
    """Refuses places that cannot be written to: better known now than after an epoch.

    Raises:
        OSError: the file `path` or its state could not be written; see `arrows.files.replacing`.

    >>> check_places(Path("/nowhere/m.safetensors"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] no such folder: '/nowhere'
    """
    require_replaceable(path)
    require_replaceable(state_path(path))
