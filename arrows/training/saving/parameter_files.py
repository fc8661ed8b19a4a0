"""Saves a model's parameters to a safetensors file, and loads them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from arrows.engine.planning import GrowingParams
from arrows.files import require_path
from arrows.ops.arrays import Array
from arrows.safetensors_file import (
    OURS,
    OpenFile,
    open_file,
    quoted,
    require_texts,
    write_file,
)
from arrows.training.arguments import require_model
from arrows.training.interrupt import undisturbed
from arrows.training.parameters import Described, Trainable, all_parameters, notation
from arrows.training.saving.existing import require_same_kind
from arrows.training.saving.unnamed_layers import (
    Sites,
    alike_layers,
    changed_order,
    confusable,
    sites_of,
    unnamed_layers,
)
from arrows.typesys import ArrowValueError

_KEY = OURS + "unnamed"
MOST = 20  # differences that a message lists


def save(model: Trainable, path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
    """Saves a model's parameters as a safetensors file, in one atomic write: a crash leaves no partial file.

    Name every layer whose weights you save (`ar.FC(2, name="mu")`). Weights are stored under the name of
    their layer. A layer without one is known by its class and its place in the expression, `FC_2`; if the
    expression changes, another layer may take that place.

    Args:
        model: the model whose parameters to save; they keep names, shapes and element types.
        path: the file to write or replace, in a folder that exists.
        metadata: texts to keep in the file, such as sizes or a vocabulary.

    Raises:
        ArrowTypeError: `model` is not a model, or `path` not a path.
        ArrowValueError: metadata that is not text, or the state of a run stands at `path`.
        OSError: the file cannot be written; a file that was at `path` is as it was.

    Warns:
        UserWarning: two layers without names have the same shapes, so their weights may be swapped unnoticed.

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
    warning = write_parameters(model, require_path("save(model, path): path", path), metadata or {}, {})
    if warning is not None:
        warnings.warn(warning, stacklevel=2)


def write_parameters(
    model: Trainable, path: Path, metadata: Mapping[str, str], ours: Mapping[str, str]
) -> str | None:
    """Writes a model's parameters with the user's texts and those of this package.

    Returns:
        A warning, if layers without names could take each other's weights.

    Raises:
        ArrowValueError, OSError: as `save`.
    """
    arrays = {name: model.device.to_numpy(array) for name, array in all_parameters(model).items()}
    unnamed = unnamed_layers(model)
    texts = dict(metadata)
    require_texts(texts)
    reserved = next((key for key in texts if key.startswith(OURS)), None)
    if reserved is not None:
        raise ArrowValueError(f"metadata: keys that begin with {OURS!r} are reserved; rename {reserved!r}")
    require_same_kind(path, state=False)
    write_file(path, arrays, texts | dict(ours) | ({_KEY: json.dumps(unnamed)} if unnamed else {}))
    return alike_layers(model)


def load(model: Trainable, path: str | Path) -> dict[str, str]:
    """Loads the parameters of a file that `save` wrote, in place.

    Weights go to the layer of their name; those of a layer without a name go to the layer that now has its
    place in the expression. If unnamed layers of equal shapes have changed places, loading raises an error
    where it can notice that: where they were made on different lines of one file. Where it cannot, they take
    each other's weights; so name every layer whose weights you save.

    An `OnTheFly` has the parameters of the layers that were called. The values of the others wait until their
    layer is first called, in `net.params.waiting`; from then on a layer that the file lacks is refused.

    Args:
        model: the model whose parameters to set; the file must hold exactly these, with the same shapes and
            element types, and for an `OnTheFly` may hold more.
        path: a safetensors file.

    Returns:
        The texts that were saved with the parameters.

    Raises:
        ArrowTypeError: `model` is not a model, or `path` not a path.
        ArrowValueError: the file is not a safetensors file, is damaged, or does not fit the model (the error
            names the parameters and both shapes), or layers without names have changed places. The model is
            as it was.
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
        read_parameters(file, model)
        return user_texts(file)


def read_parameters(file: OpenFile, model: Trainable) -> None:
    """Sets a model's parameters to those of an open file; see `load`."""
    path = file.path
    coming = names_to_come(model, file.entries)
    problems = differences(file.entries, model.params, coming)
    if (problems or coming) and any(name.startswith("parameter:") for name in file.entries):
        raise ArrowValueError(f"{path} is the state of a run: load_state(path, model, optimizer) reads it")
    if problems:
        raise ArrowValueError("\n  ".join([f"{path} does not fit the model:", *problems]))
    unnamed = _unnamed(file)
    swapped = changed_order(path, unnamed, model) or confusable(path, unnamed, file.entries, coming)
    if swapped is not None:
        raise ArrowValueError(swapped)
    values = {name: model.device.to_device(array) for name, array in file.arrays().items()}
    with undisturbed():
        set_parameters(model, values, only_from=str(path) if coming else None)


def read_metadata(path: str | Path) -> dict[str, str]:
    """Reads the texts that were saved with a model, without reading its parameters.

    Raises:
        ArrowTypeError: `path` is not a path.
        ArrowValueError: the file is not a safetensors file, or its header is damaged.
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
        return user_texts(file)


def names_to_come(model: Trainable, entries: Iterable[str]) -> set[str]:
    """Which parameters of a file belong to layers that may still be called, as on the fly."""
    params = model.params
    return {name for name in entries if name not in params} if isinstance(params, GrowingParams) else set()


def set_parameters(model: Trainable, values: Mapping[str, Array], only_from: str | None = None) -> None:
    """Sets the parameters of a model; on the fly, those of layers that have not been called yet wait.

    Args:
        model: the model.
        values: by parameter name, on its device.
        only_from: as `GrowingParams.expect`.
    """
    coming = names_to_come(model, values)
    for name, array in values.items():
        if name not in coming:
            model.params[name][...] = array
    if isinstance(model.params, GrowingParams):
        model.params.expect({name: values[name] for name in coming}, only_from)


def differences(
    entries: Mapping[str, Described], params: Mapping[str, Described], coming: Collection[str] = ()
) -> list[str]:
    """The differences between the arrays of a file and the parameters of a model, a line each.

    Args:
        entries: the arrays of the file.
        params: the parameters.
        coming: which arrays the model does not have to have.
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
        if name not in params and name not in coming
    ]
    return problems if len(problems) <= MOST else [*problems[:MOST], f"and {len(problems) - MOST} more"]


def user_texts(file: OpenFile) -> dict[str, str]:
    return {key: text for key, text in file.texts.items() if not key.startswith(OURS)}


def _unnamed(file: OpenFile) -> Sites:
    """The unnamed layers whose weights the file holds."""
    try:
        sites = sites_of(json.loads(file.texts.get(_KEY, "{}")))
    except (ValueError, RecursionError):
        sites = None
    if sites is None:
        raise ArrowValueError(f"{file.path} is damaged: {_KEY} does not say where layers were made")
    return sites
