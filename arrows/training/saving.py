"""Saves what training makes: the parameters of a model, or the whole state of a run (a checkpoint).

Both are safetensors files. One of parameters has an array for each, by its name. A checkpoint has the arrays
`parameter:NAME`, `slot:SLOT:NAME` (of the optimizer), `count:NAME`, `average:NAME` and `since:NAME` (see
`Optimizer` and `Averages`), and its numbers and texts as JSON.

Layers without names are known by their class and their order in the expression: `FC_1`, `FC_2`. Two of them
with the same shapes would take each other's weights if the expression were written in another order. So a
file that has such layers also has the outline of the expression, and is loaded into that one alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from arrows.engine.device import host_array
from arrows.engine.planning import GrowingParams
from arrows.ops.arrays import Array
from arrows.storage import ArrayFile, open_arrays, require_path, write_arrays
from arrows.training.arguments import require_model, require_optimizer
from arrows.training.interrupt import undisturbed
from arrows.training.optimizers import Optimizer
from arrows.training.outline import outline
from arrows.training.parameters import Described, Trainable, all_parameters, notation
from arrows.training.progress import Progress
from arrows.training.schedules import rate_text
from arrows.typesys import ArrowValueError
from arrows.typesys.errors import Message, message
from arrows.typesys.quoting import escaped

T = TypeVar("T")

OURS = "arrows."
"""The beginning of the keys that this package reserves for its own texts."""
RUN, MODEL, UNNAMED = OURS + "run", OURS + "model", OURS + "unnamed"
EVALUATION = "evaluation"
"""The key of the text by which a command says of which evaluation a model file is."""
STATE = ("state", "averages", "settings", "rates_text")
"""The members of an optimizer that a checkpoint needs."""
_VERSION = 1
_NUMBERS = (
    "version",
    "optimizer",
    "began",
    "learning_rate",
    "steps",
    "model_step",
    "model_seed",
    "progress",
    "metadata",
)
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
    warning = write_parameters(model, require_path("save(model, path): path", path), metadata or {}, {})
    if warning:
        warnings.warn(warning, stacklevel=2)


def write_parameters(
    model: Trainable, path: Path, metadata: Mapping[str, str], ours: Mapping[str, str]
) -> str | None:
    """Writes a model's parameters with the user's texts and those of this package; raises as `save`.

    Returns:
        A warning, if only their order tells some layers apart.
    """
    reserved = next((key for key in metadata if str(key).startswith(OURS)), None)
    if reserved is not None:
        raise ArrowValueError(f"metadata: keys that begin with {OURS!r} are reserved; rename {reserved!r}")
    _require_same_kind(path, state=False)
    arrays = {name: model.device.to_numpy(array) for name, array in all_parameters(model).items()}
    layers = _alike(model)
    write_arrays(path, arrays, {**metadata, **ours, **_places(model, layers)})
    if not layers:
        return None
    return (
        f"{_listed(layers)}: these layers have the same shapes and no names of their own; if they change "
        "places in an expression that is the same otherwise, they take each other's weights unnoticed when "
        "the file is loaded; give each a name, as in name='mu'"
    )


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
    with open_arrays(require_path("load(model, path): path", path)) as file:
        read_parameters(file, model)
        return user_texts(file)


def read_parameters(file: ArrayFile, model: Trainable) -> None:
    """Sets a model's parameters to those of an open file; see `load`."""
    if RUN in file.texts:
        raise ArrowValueError(
            f"{file.path} is the state of a run: load_state(path, model, optimizer) reads it"
        )
    _require_fit(file, model, file.entries)
    values = {name: model.device.to_device(array) for name, array in file.arrays().items()}
    with undisturbed():
        _set_parameters(model, values, str(file.path) if _names_to_come(model, values) else None)


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
    with open_arrays(require_path("read_metadata(path): path", path)) as file:
        return user_texts(file)


def user_texts(file: ArrayFile) -> dict[str, str]:
    """The texts that the user has saved in a file."""
    return {key: text for key, text in file.texts.items() if not key.startswith(OURS)}


def differences(
    entries: Mapping[str, Described], params: Mapping[str, Described], coming: Collection[str] = ()
) -> list[str]:
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


def _set_parameters(model: Trainable, values: Mapping[str, Array], only_from: str | None = None) -> None:
    """Sets the parameters of a model; on the fly, those of layers that have not been called yet wait."""
    coming = _names_to_come(model, values)
    for name, array in values.items():
        if name not in coming:
            model.params[name][...] = array
    if isinstance(model.params, GrowingParams):
        model.params.expect({name: values[name] for name in coming}, only_from)


def _require_fit(file: ArrayFile, model: Trainable, entries: Mapping[str, Described]) -> None:
    """Refuses parameters that are not those of the model, or that may belong to other layers of it."""
    coming = _names_to_come(model, entries)
    problems = differences(entries, model.params, coming)
    if problems:
        raise ArrowValueError("\n  ".join([f"{file.path} does not fit the model:", *problems]))
    saved = _parsed(file, UNNAMED, {"layers": [], "outline": ""})
    unnamed = _unnamed(model)
    layers = [layer for layer in saved["layers"] if layer in unnamed]
    uncalled = {name.rpartition("/")[0] for name in coming}.intersection(saved["layers"])
    if uncalled or (len(layers) > 1 and saved["outline"] != _outline(model, saved["layers"])):
        raise ArrowValueError(_confusable(file.path, saved["layers"], called=not uncalled))


def _unnamed(model: Trainable) -> dict[str, object]:
    """The layers of a model that the user has not named."""
    owner_of = getattr(model.params, "owner", None)
    layers = {name.rpartition("/")[0]: owner_of(name)[0] for name in model.params if owner_of is not None}
    return {layer: owner for layer, owner in layers.items() if getattr(owner, "name", None) is None}


def _alike(model: Trainable) -> list[str]:
    """The layers of a model that have no names, and the class and shapes of another one."""
    shapes: dict[str, list[str]] = {layer: [layer.rpartition("_")[0]] for layer in _unnamed(model)}
    for name, array in model.params.items():
        layer, _, part = name.rpartition("/")
        if layer in shapes:
            shapes[layer].append(f"{part} {notation(array)}")
    count = Counter(map(tuple, shapes.values()))
    return [layer for layer, parts in shapes.items() if count[tuple(parts)] > 1]


def _places(model: Trainable, layers: list[str]) -> dict[str, str]:
    """The text by which a file tells such layers apart, by its key; without layers, none."""
    return {UNNAMED: json.dumps({"layers": layers, "outline": _outline(model, layers)})} if layers else {}


def _outline(model: Trainable, layers: Iterable[str]) -> str:
    """A hash of the expression; of a network on the fly, the lines of code that made its layers."""
    typed: Any = getattr(model, "typed", None)
    if not isinstance(model.params, GrowingParams):
        return hashlib.sha256(outline(typed).encode("utf-8", "surrogatepass")).hexdigest()
    unnamed = _unnamed(model)
    return "\n".join(str(getattr(unnamed.get(layer), "site", "")) for layer in layers)


def _confusable(path: Path, layers: list[str], *, called: bool) -> Message:
    alike = "these layers have the same shapes and no names of their own, and "
    if not called:
        return message(
            f"cannot load {path} before the layers {_listed(layers)} have been called",
            reason=f"{alike}which is which is known by the order of their first calls",
            hint="give each a name before training, as in name='mu'; or compute an example before loading",
        )
    return message(
        f"{path} may not fit the model: the layers {_listed(layers)} may have changed places",
        reason=f"{alike}their weights belong to their places in the expression that was saved, which is "
        "another one than this",
        hint="give every layer a name; to load this file, give each the name that its weights have in it, as "
        f"in name={escaped(layers[0])!r}",
    )


def _listed(layers: list[str]) -> str:
    return escaped(", ".join(layers[:6]) + (", ..." if len(layers) > 6 else ""))


# -------------------------------------------------------------------------------------- the state of a run


def save_state(
    path: str | Path,
    model: Trainable,
    optimizer: Optimizer,
    progress: Progress | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Saves parameters, the optimizer's state and averages, and the progress of the run, in one atomic write.

    Args:
        path: the file to write or replace, in a folder that exists; after a crash it is whole, old or new.
        model: the model whose parameters to save.
        optimizer: saved with its state, counts, averages, number of steps, and learning rate if that is a
            number.
        progress: how far the run has come.
        metadata: texts to keep with the state.

    Raises:
        ArrowTypeError: an argument of the wrong kind.
        ArrowValueError: metadata that is not text; averages stand in for the parameters; the optimizer holds
            the state of parameters that the model does not have; parameters or a model stand at `path`.
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
    target = _checked_path("save_state", path, model, optimizer)
    averages, params = optimizer.averages, all_parameters(model)
    if averages is not None and averages.in_use:
        raise ArrowValueError("the state of a run is not saved while averages stand in for the parameters")
    for key, value in (metadata or {}).items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise ArrowValueError(f"metadata maps text to text; {key!r}: {value!r} is not")
    other = next((name for name in optimizer.state if name not in params), None)
    if other is not None:
        raise ArrowValueError(
            f"the optimizer holds the state of {other!r}, which is no parameter of this model; "
            "save it with a model that has all that it trains"
        )
    arrays: dict[str, Any] = {f"parameter:{name}": array for name, array in params.items()}
    for name, slots in optimizer.state.items():
        arrays |= {f"slot:{slot}:{name}": array for slot, array in slots.items()}
    arrays |= {f"count:{name}": count for name, count in optimizer.counts.items()}
    if averages is not None:
        arrays |= {f"average:{name}": array for name, array in averages.values.items()}
        arrays |= {f"since:{name}": step for name, step in averages.since.items()}
    rate = optimizer.learning_rate
    numbers = {
        "version": _VERSION,
        "optimizer": optimizer.settings,
        "began": rate_text(optimizer.given_rate),
        "learning_rate": None if callable(rate) else float(rate),
        "steps": optimizer.steps,
        "model_step": getattr(model, "step", None),
        "model_seed": getattr(model, "seed", None),
        "progress": (progress or Progress()).as_dict(),
        "metadata": dict(metadata or {}),
    }
    _require_same_kind(target, state=True)
    # The optimizer's arrays lie where the model was in the last step, which need not be where it is now.
    host = {name: host_array(array) for name, array in arrays.items()}
    write_arrays(target, host, {RUN: json.dumps(numbers, default=int), **_places(model, _alike(model))})


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
    path = _checked_path("load_state", path, model, optimizer)
    averages = optimizer.averages
    if averages is not None and averages.in_use:
        raise ArrowValueError("no state is loaded while averages stand in for the parameters")
    with open_arrays(path) as file:
        run, progress = _run_of(file)
        _require_same_run(path, run, model, optimizer)
        _require_fit(file, model, _of_kind(file.entries, "parameter"))
        _require_slots(path, file.entries, optimizer)
        host = file.arrays()
    if check is not None:
        check(progress, run["metadata"])

    # All that can fail comes before the first change.
    on_device: dict[str, Any] = {
        key: model.device.to_device(array) if array.ndim or not _is_count(key) else int(array)
        for key, array in host.items()
    }
    counts = _of_kind(on_device, "count")
    state: dict[str, dict[str, Array]] = {name: {} for name in counts}
    for key, array in _of_kind(on_device, "slot").items():
        slot, _, name = key.partition(":")
        state[name][slot] = array
    with undisturbed():
        _set_parameters(model, _of_kind(on_device, "parameter"))
        optimizer.state, optimizer.counts, optimizer.steps = state, counts, run["steps"]
        if averages is not None:
            averages.values, averages.since = _of_kind(on_device, "average"), _of_kind(on_device, "since")
        if run["learning_rate"] is not None and rate_text(optimizer.learning_rate) == run["began"]:
            optimizer.learning_rate = run["learning_rate"]
        if run["model_step"] is not None and hasattr(model, "step"):
            model.step = run["model_step"]
    return progress, run["metadata"]


def _run_of(file: ArrayFile) -> tuple[dict[str, Any], Progress]:
    """The numbers and texts of a checkpoint, whose checksum tells that it is as it was written."""
    if RUN not in file.texts:
        raise ArrowValueError(f"{file.path} is not the state of a training run")
    run = _parsed(file, RUN, dict.fromkeys(_NUMBERS))
    if file.checksum is None or run.get("version") != _VERSION:
        raise ArrowValueError(f"{file.path} was written by another program, or another version of arrows")
    try:
        return run, Progress.of(run["progress"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArrowValueError(f"{file.path} is damaged: {escaped(str(error), 300)}") from None


def _require_same_run(path: Path, run: Mapping[str, Any], model: Trainable, optimizer: Optimizer) -> None:
    """Refuses the state of another optimizer, or of a model whose random numbers are others."""
    if run["optimizer"] != optimizer.settings:
        raise ArrowValueError(
            f"{path} is the state of another optimizer; only its learning rates may be others:\n"
            f"  saved  {escaped(run['optimizer'])}\n  given  {optimizer.settings}"
        )
    saved, seed = run["model_seed"], getattr(model, "seed", None)
    if None not in (saved, seed) and saved != seed:
        raise ArrowValueError(f"{path} is the state of a model with seed {saved}; this model has seed {seed}")


def _require_slots(path: Path, names: Iterable[str], optimizer: Optimizer) -> None:
    """Refuses a state of an optimizer whose rule keeps other arrays for a parameter."""
    found = {name for name in names if name.startswith("slot:")}
    counted = [name.removeprefix("count:") for name in names if name.startswith("count:")]
    other = found ^ {f"slot:{slot}:{name}" for name in counted for slot in optimizer.slots}
    if other:
        raise ArrowValueError(f"{path} is the state of another optimizer, by {min(other)[:100]!r}")


def _checked_path(function: str, path: object, model: object, optimizer: object) -> Path:
    """Returns the path; refuses arguments of the wrong kind."""
    call = f"{function}(path, model, optimizer)"
    checked = require_path(f"{call}: path", path)
    require_model(call, model)
    require_optimizer(call, optimizer, *STATE)
    return checked


def _is_count(key: str) -> bool:
    return key.startswith(("count:", "since:"))


def _of_kind(table: Mapping[str, T], kind: str) -> dict[str, T]:
    start = kind + ":"
    return {key.removeprefix(start): value for key, value in table.items() if key.startswith(start)}


def _parsed(file: ArrayFile, key: str, default: dict[str, Any]) -> dict[str, Any]:
    """What stands in a file under a key of ours."""
    try:
        value = json.loads(file.texts[key]) if key in file.texts else default
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not value.keys() >= default.keys():
        raise ArrowValueError(f"{file.path} is damaged: its text {key!r} cannot be read")
    return value


# --------------------------------------------------------------------------- what stands at a path already


def holds_state(path: Path) -> bool | None:
    """Whether a file is the state of a run; None if it is neither that nor parameters or a model."""
    try:
        with open_arrays(path) as file:
            return RUN in file.texts
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
        with open_arrays(path) as file:
            if RUN in file.texts:
                run, progress = _run_of(file)
                done = f"{len(progress.history)} of {progress.epochs} epochs, {run['steps']:,} steps"
                return f"the state of a run, {written}: {done}{_figures(progress)}"
            kind = "parameters"
            if MODEL in file.texts:
                built = escaped(str(_parsed(file, MODEL, {"builder": ""})["builder"]), 80)
                evaluation = f" ({escaped(file.texts[EVALUATION], 120)})" if EVALUATION in file.texts else ""
                kind = f"a trained model{evaluation}, built by {built}"
            names = ", ".join(escaped(name, 40) for name in [*file.entries][:4])
            more = ", ..." if len(file.entries) > 4 else ""
            return f"{kind}, {written}: {len(file.entries)} parameters ({names}{more})"
    except (ArrowValueError, OSError):
        return f"a file of {status.st_size:,} bytes, {written}"


def _figures(progress: Progress) -> str:
    """The loss of the last epoch, and the figures of the best evaluation or else the last."""
    loss = f", loss {progress.history[-1].loss:.4g}" if progress.history else ""
    shown = sorted(progress.evaluations, key=lambda each: (each.best, each.step))[-1:]
    figures = [f"{name[:40]} {value:.4g}" for each in shown for name, value in each.figures.items()]
    best = "at best " if shown and shown[0].best else ""
    return loss + (f", {best}{', '.join(figures[:4])}" if figures else "")


def _require_same_kind(path: Path, *, state: bool) -> None:
    """Refuses to save the state of a run over parameters, or parameters over the state of a run."""
    if holds_state(path) is (not state):
        raise ArrowValueError(
            message(
                f"cannot save {'the state of a run' if state else 'a model'} at {path}",
                reason=f"there is {described_file(path)}",
                hint="give another path; or remove the file",
            )
        )
