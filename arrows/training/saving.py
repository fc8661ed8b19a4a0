"""Saves what training makes: the parameters of a model, or the whole state of a run (a checkpoint).

Both are safetensors files. One of parameters has an array for each, by its name. A checkpoint has the arrays
`parameter:NAME`, `slot:SLOT:NAME` (of the optimizer), `count:NAME`, `average:NAME` and `since:NAME` (see
`Optimizer` and `Averages`), and its numbers and texts as JSON.

Layers without names are known by their class and their order in the expression: `FC_1`, `FC_2`. Two of them
with the same shapes would take each other's weights if the expression were written in another order. So a
file that has such layers also says which expression it was, and is loaded into that one alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from arrows.arrays import Array, HostArray
from arrows.engine.device import host_array
from arrows.engine.planning import GrowingParams
from arrows.storage import CHECKSUM, read_arrays, read_texts, require_path, write_arrays
from arrows.training.arguments import require_model, require_optimizer
from arrows.training.interrupt import undisturbed
from arrows.training.optimizers import Optimizer
from arrows.training.outline import outline
from arrows.training.parameters import Trainable, all_parameters, notation
from arrows.training.progress import Progress
from arrows.training.schedules import rate_text
from arrows.typesys import ArrowValueError, escaped, message

Texts = Mapping[str, str]
Arrays = Mapping[str, Array] | Mapping[str, HostArray]

OURS = "arrows."
"""The beginning of the keys that this package reserves for its own texts."""
RUN, MODEL, UNNAMED = OURS + "run", OURS + "model", OURS + "unnamed"
STATE, TRAINED, PARAMETERS = "the state of a run", "a trained model", "parameters"
"""What a file may be."""
_VERSION = 1
_MOST = 20  # differences that a message lists


# ------------------------------------------------------------------------------------------- parameters


def save(model: Trainable, path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
    """Saves a model's parameters as a safetensors file, in one atomic write: a crash leaves no partial file.

    Name every layer whose weights you save (`ar.FC(2, name="mu")`). Weights are stored under the name of
    their layer. A layer without one is known by its class and its place in the expression, `FC_2`. Where two
    of these have the same shapes, the file is loaded into the same expression alone.

    Args:
        model: the model whose parameters to save; they keep names, shapes and element types.
        path: the file to write or replace, in a folder that exists.
        metadata: texts to keep in the file, such as sizes or a vocabulary.

    Raises:
        ArrowTypeError: `model` is not a model, or `path` not a path.
        ArrowValueError: metadata that is not text, or the state of a run stands at `path`.
        OSError: the file cannot be written; a file that was at `path` is as it was.

    Warns:
        UserWarning: two layers without names have the same shapes, so that only their order tells them apart.

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
    write_parameters(model, require_path("save(model, path): path", path), metadata or {}, {})


def write_parameters(model: Trainable, path: Path, metadata: Texts, ours: Texts) -> None:
    """Writes a model's parameters with the user's texts and this package's; raises and warns as `save`."""
    arrays = {name: model.device.to_numpy(array) for name, array in all_parameters(model).items()}
    places = _write(path, model, arrays, metadata, ours)
    if places:
        warnings.warn(
            f"{_listed(places)}: these layers have the same shapes and no names of their own; if they change "
            "places in an expression that is the same otherwise, they take each other's weights unnoticed "
            "when the file is loaded; give each a name, as in name='mu'",
            stacklevel=3,
        )


def _write(
    path: Path, model: Trainable, arrays: Mapping[str, Any], metadata: Texts, ours: Texts, keep: int = 0
) -> Texts:
    """Writes a file; the state of a run and parameters do not replace each other. Returns `_places`."""
    require_metadata(metadata)
    what, there = STATE if RUN in ours else "a model", kind_of(path)
    if there is not None and (there == STATE) != (what == STATE):
        reason = f"there is {described_file(path)}"
        raise ArrowValueError(
            message(f"cannot save {what} at {path}", reason=reason, hint="give another path")
        )
    places = _places(model)
    unnamed = {UNNAMED: json.dumps(places)} if places else {}
    write_arrays(path, arrays, {**metadata, **ours, **unnamed}, keep)
    return places


def require_metadata(metadata: Texts) -> None:
    """Refuses what cannot be the texts of a user in a file."""
    for key, value in metadata.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise ArrowValueError(f"metadata maps text to text; {key!r}: {value!r} is not")
        if key.startswith(OURS):
            raise ArrowValueError(f"metadata: keys that begin with {OURS!r} are reserved; rename {key!r}")


def load(model: Trainable, path: str | Path) -> dict[str, str]:
    """Loads the parameters of a file that `save` wrote, in place.

    Weights go to the layer of their name; those of a layer without a name go to the layer that has its place
    in the expression. If unnamed layers of equal shapes could have changed places, because the expression is
    another one, nothing is loaded: give each layer the name that its weights have in the file.

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
            names the parameters and both shapes), or layers without names may have changed places. The model
            is as it was.
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
    arrays, texts = read_arrays(path)
    set_parameters(path, model, arrays, texts)
    return user_texts(texts)


def set_parameters(path: Path, model: Trainable, arrays: Mapping[str, Any], texts: Texts) -> None:
    """Sets a model's parameters to those of a file; see `load`."""
    if RUN in texts:
        raise ArrowValueError(f"{path} is {STATE}: load_state(path, model, optimizer) reads it")
    _require_fit(path, model, arrays, texts)
    values = {name: model.device.to_device(array) for name, array in arrays.items()}
    with undisturbed():
        _assign(model, values, str(path) if _names_to_come(model, values) else None)


def read_metadata(path: str | Path) -> dict[str, str]:
    """Reads the texts that were saved with a model, without reading its parameters.

    Raises:
        ArrowTypeError: `path` is not a path.
        ArrowValueError: the file is not a safetensors file.
        OSError: the file cannot be read.

    >>> import tempfile
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from arrows.engine.device import get_device
    >>> model = SimpleNamespace(params={}, device=get_device("cpu"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder + "/m.safetensors", {"size": "64"})
    ...     read_metadata(folder + "/m.safetensors")
    {'size': '64'}
    """
    return user_texts(read_texts(require_path("read_metadata(path): path", path)))


def user_texts(texts: Texts) -> dict[str, str]:
    """The texts of a file that are the user's own."""
    return {key: text for key, text in texts.items() if not key.startswith(OURS)}


def differences(entries: Arrays, params: Arrays, coming: Collection[str] = ()) -> list[str]:
    """The differences between the arrays of a file and the parameters of a model, a line each.

    Args:
        entries: the arrays of the file.
        params: the parameters.
        coming: which arrays the model does not have to have.
    """
    entries, params, problems = dict(entries), dict(params), []
    for name in [*params, *(name for name in entries if name not in params and name not in coming)]:
        there, here = (notation(table[name]) if name in table else None for table in (entries, params))
        if there != here:
            words = f"{there} in the file" if there else "not in the file"
            problems.append(f"{name[:100]!r}: {words}, {f'{here} in' if here else 'not in'} the model")
    return problems if len(problems) <= _MOST else [*problems[:_MOST], f"and {len(problems) - _MOST} more"]


def _names_to_come(model: Trainable, names: Iterable[str]) -> set[str]:
    """Which parameters of a file belong to layers that may still be called, as on the fly."""
    params = model.params
    return {name for name in names if name not in params} if isinstance(params, GrowingParams) else set()


def _assign(model: Trainable, values: Mapping[str, Array], only_from: str | None = None) -> None:
    """Sets the parameters of a model; on the fly, those of layers that have not been called yet wait."""
    coming = _names_to_come(model, values)
    for name, array in values.items():
        if name not in coming:
            model.params[name][...] = array
    if isinstance(model.params, GrowingParams):
        model.params.expect({name: values[name] for name in coming}, only_from)


def _require_fit(path: Path, model: Trainable, arrays: Arrays, texts: Texts) -> None:
    """Refuses parameters that are not those of the model, or that may belong to other layers of it."""
    coming = _names_to_come(model, arrays)
    problems = differences(arrays, model.params, coming)
    if problems:
        raise ArrowValueError("\n  ".join([f"{path} does not fit the model:", *problems]))
    saved, here = json.loads(texts.get(UNNAMED, "{}")), _places(model)
    uncalled = {name.rpartition("/")[0] for name in coming}
    unsure = [layer for layer in saved if layer in uncalled or here.get(layer, saved[layer]) != saved[layer]]
    if unsure:
        when = "before they have been called" if uncalled else "into another expression than was saved"
        raise ArrowValueError(
            message(
                f"cannot load {path}: the layers {_listed(saved)} may have changed places",
                reason=f"they have the same shapes and no names of their own, and the file is loaded {when}",
                hint="give every layer a name; to load this file, the one that its weights have in it, as in "
                f"name={escaped(unsure[0])!r}",
            )
        )


def _places(model: Trainable) -> dict[str, str]:
    """The layers without names that have the class and shapes of another one, and what tells them apart.

    That is a hash of the expression; in a network on the fly, the line of code that made the layer.
    """
    shapes: dict[str, list[str]] = {}
    owners: dict[str, Any] = {}
    params: Any = model.params
    for name, array in params.items() if hasattr(params, "owner") else ():
        layer, _, part = name.rpartition("/")
        owners[layer] = params.owner(name)[0]
        if getattr(owners[layer], "name", None) is None:
            shapes.setdefault(layer, [layer.rpartition("_")[0]]).append(f"{part} {notation(array)}")
    count = Counter(map(tuple, shapes.values()))
    alike = [layer for layer, parts in shapes.items() if count[tuple(parts)] > 1]
    if isinstance(params, GrowingParams) or not alike:
        return {layer: str(getattr(owners[layer], "site", "")) for layer in alike}
    typed: Any = getattr(model, "typed", None)
    digest = hashlib.sha256(outline(typed).encode("utf-8", "surrogatepass")).hexdigest()
    return dict.fromkeys(alike, digest)


def _listed(layers: Iterable[str]) -> str:
    return escaped(", ".join(layers), 200)


# -------------------------------------------------------------------------------------- the state of a run


def save_state(
    path: str | Path,
    model: Trainable,
    optimizer: Optimizer,
    progress: Progress | None = None,
    metadata: Mapping[str, str] | None = None,
    *,
    keep: int = 0,
) -> None:
    """Saves parameters, the optimizer's state and averages, and the progress of the run, in one atomic write.

    Args:
        path: the file to write or replace, in a folder that exists; after a crash it is whole, old or new.
        model: the model whose parameters to save.
        optimizer: saved with its state, counts, averages, number of steps, and learning rate if that is a
            number.
        progress: how far the run has come.
        metadata: texts to keep with the state.
        keep: how many states before it to keep, as `PATH.1`, `PATH.2`, and so on.

    Raises:
        ArrowTypeError: an argument of the wrong kind.
        ArrowValueError: metadata that is not text; averages stand in for the parameters; parameters or a
            model stand at `path`.
        OSError: the file cannot be written; a file that was at `path` is as it was.

    >>> import tempfile
    >>> import arrows as ar
    >>> from arrows.training import Adagrad
    >>> model = ar.compile(ar.Vector(2) >> ar.FC(1) >> ar.Function(lambda y: y[0] ** 2))
    >>> optimizer = Adagrad(0.1)
    >>> _ = model.train_step([[1.0, 2.0]], optimizer)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_state(f"{folder}/run", model, optimizer, metadata={"by": "us"})
    ...     again = Adagrad(0.1)
    ...     load_state(f"{folder}/run", model, again)[1], again.steps
    ({'by': 'us'}, 1)
    """
    target, averages = _checked_path("save_state", path, model, optimizer), optimizer.averages
    slots = {
        f"{slot}:{name}": array for name, state in optimizer.state.items() for slot, array in state.items()
    }
    tables: dict[str, Mapping[str, Any]] = {
        "parameter": all_parameters(model),
        "slot": slots,
        "count": optimizer.counts,
        **({} if averages is None else {"average": averages.values, "since": averages.since}),
    }
    # The optimizer's arrays lie where the model was in the last step, which need not be where it is now.
    arrays = {f"{kind}:{name}": host_array(array) for kind in tables for name, array in tables[kind].items()}
    rate = optimizer.learning_rate
    run = {
        "version": _VERSION,
        "identity": _identity(model, optimizer),
        "began": rate_text(optimizer.given_rate),
        "learning_rate": None if callable(rate) else float(rate),
        "steps": optimizer.steps,
        "model_step": getattr(model, "step", None),
        "progress": asdict(progress or Progress()),
    }
    _write(target, model, arrays, metadata or {}, {RUN: json.dumps(run, default=int)}, keep)


def load_state(
    path: str | Path,
    model: Trainable,
    optimizer: Optimizer,
    check: Callable[[Progress, Mapping[str, str]], None] | None = None,
) -> tuple[Progress, dict[str, str]]:
    """Restores a model and an optimizer, bit for bit, from the state that `save_state` wrote.

    Args:
        path: the file.
        model: has the same parameters as the one that was saved, on any device; on the fly, those of layers
            that have not been called yet wait, as in `load`.
        optimizer: has the same class and hyperparameters as the one that was saved, but for its learning
            rates; its state is replaced.  If it has the learning rate that the saved one was made with, it
            takes the number that this has been changed to since; another one stays as it is.
        check: called with the result before anything is changed; may raise.

    Returns:
        How far the run had come, and the texts that were saved with the state.

    Raises:
        ArrowTypeError: an argument of the wrong kind.
        ArrowValueError: the file is not a saved state, is damaged, or does not fit model or optimizer (the
            error says where), or averages stand in for the parameters. Both are as they were.
        OSError: the file cannot be read.

    >>> import arrows as ar
    >>> from arrows.training import SGD
    >>> load_state("nowhere", ar.compile(ar.Vector(2) >> ar.FC(1)), SGD(0.1))
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """
    path, averages = _checked_path("load_state", path, model, optimizer), optimizer.averages
    arrays, texts = read_arrays(path)
    run, progress = _run_of(path, texts)
    tables: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, array in arrays.items():
        kind, _, name = key.partition(":")
        is_count = kind in ("count", "since") and not array.ndim
        tables[kind][name] = int(array) if is_count else model.device.to_device(array)
    counts = tables["count"]
    require_same(path, run["identity"], _identity(model, optimizer))
    _require_fit(path, model, tables["parameter"], texts)
    try:
        state = {
            name: {slot: tables["slot"][f"{slot}:{name}"] for slot in optimizer.slots} for name in counts
        }
    except KeyError as error:
        raise ArrowValueError(f"{path} is the state of another optimizer, without {error}") from None
    if check is not None:
        check(progress, user_texts(texts))
    with undisturbed():  # all that can fail has come before
        _assign(model, tables["parameter"])
        optimizer.state, optimizer.counts, optimizer.steps = state, counts, run["steps"]
        if averages is not None:
            averages.values, averages.since = tables["average"], tables["since"]
        if run["learning_rate"] is not None and rate_text(optimizer.learning_rate) == run["began"]:
            optimizer.learning_rate = run["learning_rate"]
        if run["model_step"] is not None and hasattr(model, "step"):
            model.step = run["model_step"]
    return progress, user_texts(texts)


def _identity(model: Trainable, optimizer: Optimizer) -> dict[str, Any]:
    return {"optimizer": optimizer.settings, "seed of the model": getattr(model, "seed", None)}


def require_same(path: Path, saved: Mapping[str, object], given: Mapping[str, object]) -> None:
    """Refuses the state of a run with other settings or data: resumed, it would give other numbers."""
    differences = [
        f"{escaped(name)}: {escaped(str(saved.get(name)), 200)} in the saved state, "
        f"{escaped(str(given.get(name)), 200)} now"
        for name in sorted({*saved, *given})
        if saved.get(name) != given.get(name)
    ]
    if differences:
        hint = "hint  give what it was saved with, or begin a new run at another path"
        raise ArrowValueError("\n  ".join([f"{path} is the state of another run:", *differences, hint]))


def _run_of(path: Path, texts: Texts) -> tuple[dict[str, Any], Progress]:
    """The numbers of a checkpoint."""
    if RUN not in texts:
        raise ArrowValueError(f"{path} is not {STATE}")
    try:
        run = json.loads(texts[RUN])
        if CHECKSUM not in texts or run["version"] != _VERSION:
            raise ValueError("another program, or another version of arrows, has written it")
        return run, Progress.of(run["progress"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArrowValueError(f"{path} cannot be read: {escaped(str(error), 300)}") from None


def _checked_path(function: str, path: object, model: object, optimizer: Optimizer) -> Path:
    """Returns the path; refuses what cannot be saved or loaded."""
    call = f"{function}(path, model, optimizer)"
    require_model(call, model)
    require_optimizer(call, optimizer)
    if optimizer.averages is not None and optimizer.averages.in_use:
        raise ArrowValueError(f"{call}: not while averages stand in for the parameters")
    return require_path(f"{call}: path", path)


# --------------------------------------------------------------------------- what stands at a path already


def kind_of(path: Path) -> str | None:
    """Whether a file is the state of a run, a trained model or parameters; None if it is another one."""
    try:
        texts = read_texts(path)
    except (ArrowValueError, OSError):
        return None
    return STATE if RUN in texts else TRAINED if MODEL in texts else PARAMETERS


def described_file(path: Path) -> str:
    """What a file is, in a few words; of a run, how far it came.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "notes").write_text("film")
    ...     described_file(Path(folder, "notes")).partition(",")[0]
    'a file of 4 bytes'
    """
    status = os.stat(path)
    kind = kind_of(path) or f"a file of {status.st_size:,} bytes"
    text = f"{kind}, written {time.strftime('%Y-%m-%d %H:%M', time.localtime(status.st_mtime))}"
    if kind != STATE:
        return text
    run, progress = _run_of(path, read_texts(path))
    loss = f", loss {progress.history[-1].loss:.4g}" if progress.history else ""
    return f"{text}: {len(progress.history)} of {progress.epochs} epochs, {run['steps']:,} steps{loss}"
