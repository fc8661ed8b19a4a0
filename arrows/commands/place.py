"""Where a training command writes: the file of its best model, and beside it the state of the run."""

from __future__ import annotations

import errno
from pathlib import Path


def state_path(path: Path) -> Path:
    """Where the state of the run is that saves its best model at `path`.

    >>> state_path(Path("m.safetensors")).name
    'm.safetensors.state'
    """
    return path.with_name(f"{path.name}.state")


def check_place(path: Path) -> None:
    """Refuses a place that cannot be written to: better known now than after an epoch.

    Raises:
        OSError: there is no such folder, or the path is a folder itself.

    >>> check_place(Path("m.safetensors"))
    """
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder; --save names a file", str(path))
