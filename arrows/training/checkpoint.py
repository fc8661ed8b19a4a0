"""Parameters to a file and back: safetensors, written so that a crash leaves a whole file, old or new."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from arrows.training.trainable import Trainable, notation
from arrows.typesys.errors import ArrowValueError

HostArray = np.ndarray[Any, np.dtype[Any]]


def save(model: Trainable, path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
    """Saves a model's parameters as a safetensors file.

    The file is written beside `path` under another name, flushed to the disk and then renamed, so that at
    every moment `path` is either the old file or the whole new one.

    Args:
        model: whose parameters to save; they keep names, shapes and element types.
        path: the file to write or replace, in a folder that exists.
        metadata: texts to keep in the file, such as sizes or a vocabulary.

    Raises:
        ArrowValueError: metadata that is not text.
        OSError: the file cannot be written; what stood at `path` is as it was.

    >>> import tempfile
    >>> from types import SimpleNamespace
    >>> from arrows.engine.backend import backend
    >>> model = SimpleNamespace(params={"w": np.ones(2)}, backend=backend("cpu"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.safetensors", {"size": "2"})
    ...     model.params["w"][...] = 0
    ...     load(model, Path(folder) / "model.safetensors")
    {'size': '2'}
    >>> model.params["w"].tolist()
    [1.0, 1.0]
    """
    path = Path(path)
    for key, value in (metadata or {}).items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise ArrowValueError(f"metadata maps text to text; {key!r}: {value!r} is not")
    # safetensors writes an array's memory as it lies, whatever its strides say.
    tensors = {
        name: np.ascontiguousarray(model.backend.to_numpy(array)).reshape(array.shape)
        for name, array in model.params.items()
    }
    temporary = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    try:
        try:
            save_file(tensors, temporary, dict(metadata) if metadata else None)
        except SafetensorError as error:
            raise OSError(f"cannot write {path}: {error}") from error
        _flush(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    if os.name == "posix":  # the rename itself; Windows cannot open folders
        _flush(path.parent)


def load(model: Trainable, path: str | Path) -> dict[str, str]:
    """Loads parameters that `save` wrote into a model, in place.

    Args:
        model: whose parameters to set; the file must hold exactly these, with the same shapes and element
            types.
        path: a safetensors file.

    Returns:
        The texts that were saved with them.

    Raises:
        ArrowValueError: the file is no safetensors file, or does not fit: it says which parameters, and both
            shapes. The model is as it was.
        OSError: the file cannot be read.

    >>> import tempfile
    >>> from types import SimpleNamespace
    >>> from arrows.engine.backend import backend
    >>> small = SimpleNamespace(params={"w": np.ones(2)}, backend=backend("cpu"))
    >>> large = SimpleNamespace(params={"w": np.ones((2, 3))}, backend=backend("cpu"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(small, folder + "/w.safetensors")
    ...     try:
    ...         load(large, folder + "/w.safetensors")
    ...     except ArrowValueError as error:
    ...         print(str(error).replace(folder, "here"))
    here/w.safetensors does not fit the model:
      'w': float64[2] in the file, float64[2, 3] in the model
    """
    path = Path(path)
    found, texts = _read(path)
    problems = _differences(found, model.params)
    if problems:
        raise ArrowValueError("\n  ".join([f"{path} does not fit the model:", *problems]))
    for name, values in found.items():
        model.params[name][...] = model.backend.to_device(values)
    return texts


def read_metadata(path: str | Path) -> dict[str, str]:
    """The texts that were saved with a model, without a model to load it into.

    Raises:
        ArrowValueError: the file is no safetensors file.
        OSError: the file cannot be read.

    >>> import tempfile
    >>> from types import SimpleNamespace
    >>> from arrows.engine.backend import backend
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(
    ...         SimpleNamespace(params={}, backend=backend("cpu")), folder + "/m.safetensors", {"size": "64"}
    ...     )
    ...     read_metadata(folder + "/m.safetensors")
    {'size': '64'}
    """
    return _read(Path(path), values=False)[1]


def _read(path: Path, *, values: bool = True) -> tuple[dict[str, HostArray], dict[str, str]]:
    with open(path, "rb"):  # a missing or unreadable file as Python says it
        pass
    try:
        with safe_open(path, framework="numpy") as file:
            names = file.keys() if values else []
            return {name: file.get_tensor(name) for name in names}, file.metadata() or {}
    except SafetensorError as error:
        raise ArrowValueError(f"{path} is not a whole safetensors file: {error}") from error


def _differences(found: Mapping[str, HostArray], params: Mapping[str, Any]) -> list[str]:
    problems = []
    for name, array in params.items():
        expected = notation(array)
        if name not in found:
            problems.append(f"{name!r}: not in the file, {expected} in the model")
        elif notation(found[name]) != expected:
            problems.append(f"{name!r}: {notation(found[name])} in the file, {expected} in the model")
    problems += [
        f"{name!r}: {notation(array)} in the file, not in the model"
        for name, array in found.items()
        if name not in params
    ]
    return problems


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() or os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
