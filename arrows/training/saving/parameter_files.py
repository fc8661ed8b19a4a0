"""Parameters to a safetensors file and back."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arrows.training.arguments import require_model, require_path
from arrows.training.interrupt import undisturbed
from arrows.training.parameters import Trainable, notation
from arrows.training.saving.safetensors_file import OURS, OpenFile, open_file, require_texts, write_file
from arrows.training.saving.safetensors_header import quoted
from arrows.training.saving.unnamed_layers import alike_layers, changed_order, is_table, unnamed_layers
from arrows.typesys.errors import ArrowValueError

_KEY = OURS + "unnamed"
MOST = 20  # lines of a message


def save(model: Trainable, path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
    """Saves a model's parameters as a safetensors file; a crash leaves a whole file, old or new.

    Name every layer whose weights you save (`ar.FC(2, name="mu")`). Weights go by the name of their layer,
    and a layer without one goes by its kind and its place in the expression, `FC_2`: in an expression that
    has changed since, another layer may have that place.

    Args:
        model: whose parameters to save; they keep names, shapes and element types.
        path: the file to write or replace, in a folder that exists.
        metadata: texts to keep in the file, such as sizes or a vocabulary.

    Raises:
        ArrowTypeError: `model` is no model, or `path` no path.
        ArrowValueError: metadata that is not text.
        OSError: the file cannot be written; what stood at `path` is as it was.

    Warns:
        UserWarning: two layers without names have the same shapes: their weights may change places unseen.

    >>> import tempfile
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from arrows.engine.device import get_device
    >>> model = SimpleNamespace(params={"w": np.ones(2)}, device=get_device("cpu"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.safetensors", {"size": "2"})
    ...     model.params["w"][...] = 0
    ...     load(model, Path(folder) / "model.safetensors")
    {'size': '2'}
    >>> model.params["w"].tolist()
    [1.0, 1.0]
    """
    require_model("save(model, path)", model)
    place = require_path("save(model, path): path", path)
    arrays = {name: model.device.to_numpy(array) for name, array in model.params.items()}
    unnamed = unnamed_layers(model)
    ours = {_KEY: json.dumps(unnamed)} if unnamed else {}
    texts = dict(metadata or {})
    require_texts(texts)
    taken = next((key for key in texts if key.startswith(OURS)), None)
    if taken is not None:
        raise ArrowValueError(f"metadata: keys that begin with {OURS!r} are ours; call {taken!r} otherwise")
    write_file(place, arrays, texts | ours)
    alike = alike_layers(model)
    if alike is not None:
        warnings.warn(alike, stacklevel=2)


def load(model: Trainable, path: str | Path) -> dict[str, str]:
    """Loads parameters that `save` wrote into a model, in place.

    Weights go to the layer of their name, those of a layer without one to the layer that has its place in the
    expression now. If such layers of equal shapes have changed places, that is an error where it shows: where
    they were made on lines of their own, in one file. Where it does not, they take each other's weights; so
    name every layer whose weights you save.

    Args:
        model: whose parameters to set; the file must hold exactly these, with the same shapes and element
            types.
        path: a safetensors file.

    Returns:
        The texts that were saved with them.

    Raises:
        ArrowTypeError: `model` is no model, or `path` no path.
        ArrowValueError: the file is no safetensors file, is damaged, or does not fit: it says which
            parameters, and both shapes; or layers without names have changed places. The model is as it was.
        OSError: the file cannot be read.

    >>> import tempfile
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from arrows.engine.device import get_device
    >>> small = SimpleNamespace(params={"w": np.ones(2)}, device=get_device("cpu"))
    >>> large = SimpleNamespace(params={"w": np.ones((2, 3))}, device=get_device("cpu"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(small, folder + "/w.safetensors")
    ...     try:
    ...         load(large, folder + "/w.safetensors")
    ...     except ArrowValueError as error:
    ...         print(str(error).replace(folder, "here"))
    here/w.safetensors does not fit the model:
      'w': float64[2] in the file, float64[2, 3] in the model
    """
    require_model("load(model, path)", model)
    path = require_path("load(model, path): path", path)
    with open_file(path) as file:
        problems = differences(file.entries, model.params)
        if problems and any(name.startswith("parameter:") for name in file.entries):
            raise ArrowValueError(
                f"{path} is the state of a run: load_state(path, model, optimizer) reads it"
            )
        if problems:
            raise ArrowValueError("\n  ".join([f"{path} does not fit the model:", *problems]))
        swapped = changed_order(path, _unnamed(file), model)
        if swapped is not None:
            raise ArrowValueError(swapped)
        arrays = file.arrays()
        texts = _theirs(file)
    values = {name: model.device.to_device(array) for name, array in arrays.items()}
    with undisturbed():
        for name, array in values.items():
            model.params[name][...] = array
    return texts


def read_metadata(path: str | Path) -> dict[str, str]:
    """The texts that were saved with a model, without a model to load it into.

    Raises:
        ArrowTypeError: `path` is no path.
        ArrowValueError: the file is no safetensors file, or its header is damaged.
        OSError: the file cannot be read.

    >>> import tempfile
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from arrows.engine.device import get_device
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(
    ...         SimpleNamespace(params={}, device=get_device("cpu")),
    ...         folder + "/m.safetensors",
    ...         {"size": "64"},
    ...     )
    ...     read_metadata(folder + "/m.safetensors")
    {'size': '64'}
    """
    with open_file(require_path("read_metadata(path): path", path)) as file:
        return _theirs(file)


def differences(entries: Mapping[str, Any], params: Mapping[str, Any]) -> list[str]:
    """What keeps the arrays of a file from being the parameters of a model, a line each.

    Args:
        entries: the file's arrays, or what its header says of them, by name.
        params: arrays or descriptions, by name.

    >>> import numpy as np
    >>> differences({"w": np.zeros(2)}, {"w": np.zeros(3)})
    ["'w': float64[2] in the file, float64[3] in the model"]
    """
    problems = []
    for name, array in params.items():
        expected = notation(array)
        if name not in entries:
            problems.append(f"{name!r}: not in the file, {expected} in the model")
        elif notation(entries[name]) != expected:
            problems.append(f"{name!r}: {notation(entries[name])} in the file, {expected} in the model")
    problems += [
        f"{quoted(name)}: {notation(entry)} in the file, not in the model"
        for name, entry in entries.items()
        if name not in params
    ]
    return problems if len(problems) <= MOST else [*problems[:MOST], f"and {len(problems) - MOST} more"]


def _theirs(file: OpenFile) -> dict[str, str]:
    return {key: text for key, text in file.texts.items() if not key.startswith(OURS)}


def _unnamed(file: OpenFile) -> Mapping[str, Any]:
    """Where the layers without names were made that the file has weights of."""
    try:
        table = json.loads(file.texts.get(_KEY, "{}"))
    except (ValueError, RecursionError):
        table = None
    if not is_table(table):
        raise ArrowValueError(f"{file.path} is damaged: {_KEY} does not say where layers were made")
    return table
