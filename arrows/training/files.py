"""Arrays and texts in a safetensors file, written so that a crash leaves a whole file, old or new."""

from __future__ import annotations

import os
from collections.abc import Mapping
from glob import escape
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from arrows.typesys.errors import ArrowValueError

HostArray = np.ndarray[Any, np.dtype[Any]]


def write_file(path: Path, arrays: Mapping[str, HostArray], texts: Mapping[str, str] | None = None) -> None:
    """Writes a file beside `path`, flushes it to the disk and renames it, so that at every moment `path` is
    either the old file or the whole new one.

    Raises:
        ArrowValueError: texts that are not text.
        OSError: the file cannot be written; what stood at `path` is as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(Path(folder) / "a", {"x": np.arange(2)}, {"by": "us"})
    ...     read_file(Path(folder) / "a")
    ({'x': array([0, 1])}, {'by': 'us'})
    """
    for key, value in (texts or {}).items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise ArrowValueError(f"metadata maps text to text; {key!r}: {value!r} is not")
    # safetensors writes an array's memory as it lies, whatever its strides say.
    tensors = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    temporary = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    try:
        try:
            save_file(tensors, temporary, dict(texts) if texts else None)
        except SafetensorError as error:
            raise OSError(f"cannot write {path}: {error}") from error
        _flush(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    if os.name == "posix":  # the rename itself; Windows cannot open folders
        _flush(path.parent)


def remove_remains(path: Path) -> None:
    """Removes what a process that was killed while it wrote `path` left beside it.

    >>> remove_remains(Path("nothing-here"))
    """
    for remains in path.parent.glob(f".{escape(path.name)}.*.tmp"):
        remains.unlink(missing_ok=True)


def read_file(path: Path, *, values: bool = True) -> tuple[dict[str, HostArray], dict[str, str]]:
    """The arrays (none if not `values`) and the texts of a file.

    Raises:
        ArrowValueError: the file is no safetensors file, or was cut off.
        OSError: the file cannot be read.

    >>> read_file(Path("/nowhere"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'
    """
    with open(path, "rb"):  # a missing or unreadable file as Python says it
        pass
    try:
        with safe_open(path, framework="numpy") as file:
            names = file.keys() if values else []
            return {name: file.get_tensor(name) for name in names}, file.metadata() or {}
    except SafetensorError as error:
        raise ArrowValueError(f"{path} is not a whole safetensors file: {error}") from error


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() or os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
