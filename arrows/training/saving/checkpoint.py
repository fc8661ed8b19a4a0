"""The whole state of a training run in one file: what a run that was cut off needs to go on as if it had not.

The file is safetensors. Its arrays are `parameter:NAME`, `slot:SLOT:NAME` (the optimizer's), `count:NAME`,
`average:NAME` and `since:NAME` (see `Optimizer` and `Averages`); numbers and texts are JSON in its metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from arrows.training.arguments import escaped, require_model, require_optimizer, require_path
from arrows.training.interrupt import undisturbed
from arrows.training.optimizers import Optimizer
from arrows.training.parameters import Trainable, notation
from arrows.training.progress import Progress
from arrows.training.saving.parameter_files import differences
from arrows.training.saving.safetensors_file import (
    OURS,
    HostArray,
    OpenFile,
    open_file,
    require_texts,
    write_file,
)
from arrows.training.saving.safetensors_header import quoted
from arrows.training.saving.saved_run import SavedRun
from arrows.training.saving.unnamed_layers import changed_order, unnamed_layers
from arrows.typesys.errors import ArrowValueError

T = TypeVar("T")

_KEY = OURS + "run"
STATE = ("state", "averages", "description", "began", "continues")
"""What the state of a run needs of an optimizer."""
_KINDS = ("parameter", "slot", "count", "average", "since")


def save_state(
    path: str | Path,
    model: Trainable,
    optimizer: Optimizer,
    progress: Progress | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Saves parameters, the optimizer's state and averages, and the place in the run, in one atomic write.

    Args:
        path: the file to write or replace, in a folder that exists; a crash leaves it whole, old or new.
        model: whose parameters to save.
        optimizer: with its state, counts, averages, number of steps, and learning rate if that is a number.
        progress: where the run stands.
        metadata: texts to keep with it.

    Raises:
        ArrowTypeError: an argument of the wrong kind.
        ArrowValueError: metadata that is not text; averages stand in the place of the parameters; the
            optimizer holds the state of parameters that the model does not have, or has a schedule that
            cannot be told from others; `progress` is out of its range.
        OSError: the file cannot be written; what stood at `path` is as it was.

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
    place = _placed("save_state", path, model, optimizer)
    averages = optimizer.averages
    if averages is not None and averages.in_use:
        raise ArrowValueError("the state of a run is not saved while averages stand for the parameters")
    require_texts(metadata or {})
    others = [name for name in optimizer.state if name not in model.params]
    if others:
        raise ArrowValueError(
            f"the optimizer holds the state of {others[0]!r}, which is no parameter of this model; "
            "save it with a model that has all that it trains"
        )
    arrays: dict[str, Any] = {f"parameter:{name}": array for name, array in model.params.items()}
    for name, slots in optimizer.state.items():
        arrays |= {f"slot:{slot}:{name}": array for slot, array in slots.items()}
    numbers: dict[str, dict[str, int]] = {"count": {}, "since": {}}
    tables: list[tuple[str, Mapping[str, Any]]] = [("count", optimizer.counts)]
    if averages is not None:
        arrays |= {f"average:{name}": array for name, array in averages.values.items()}
        tables.append(("since", averages.since))
    for kind, table in tables:
        for name, value in table.items():
            if isinstance(value, int):
                numbers[kind][name] = value
            else:
                arrays[f"{kind}:{name}"] = value
    rate = optimizer.learning_rate
    text = SavedRun(
        optimizer=optimizer.description,
        began=optimizer.began,
        learning_rate=None if callable(rate) else float(rate),
        steps=optimizer.steps,
        model_step=_as_int(getattr(model, "step", None)),
        model_seed=_as_int(getattr(model, "seed", None)),
        progress=progress or Progress(),
        metadata=dict(metadata or {}),
        unnamed=unnamed_layers(model),
        counts=numbers["count"],
        since=numbers["since"],
    ).as_text()
    try:
        SavedRun.of(text)
    except ArrowValueError as error:
        raise ArrowValueError(f"this state could not be loaded again: it {error}") from None
    down = {name: model.device.to_numpy(array) for name, array in arrays.items()}
    write_file(place, down, {_KEY: text})


def load_state(
    path: str | Path,
    model: Trainable,
    optimizer: Optimizer,
    check: Callable[[Progress, Mapping[str, str]], None] | None = None,
) -> tuple[Progress, dict[str, str]]:
    """Puts a model and an optimizer into the state that `save_state` wrote, bit by bit.

    Args:
        path: the file.
        model: with the same parameters as the one that was saved, on any device.
        optimizer: of the same kind, with the same hyperparameters; what it held is replaced.
        check: called with what will be returned before anything is changed; may raise.

    Returns:
        The place in the run, and the texts that were saved with it.

    Raises:
        ArrowTypeError: an argument of the wrong kind.
        ArrowValueError: the file is no saved state, is damaged, or does not fit model or optimizer: it says
            where. Both are as they were. Averages stand in the place of the parameters.
        OSError: the file cannot be read.

    >>> import arrows as ar
    >>> from arrows.training import SGD
    >>> load_state("nowhere", ar.compile(ar.Vector(2) >> ar.FC(1)), SGD(0.1))
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """
    path = _placed("load_state", path, model, optimizer)
    if optimizer.averages is not None and optimizer.averages.in_use:
        raise ArrowValueError("no state is loaded while averages stand for the parameters")
    with open_file(path) as file:
        run = _run_of(file, model, optimizer)
        _check_entries(file, run, model, optimizer)
        everything = file.arrays()
    arrays = {kind: _of_kind(everything, kind) for kind in _KINDS}
    _check_steps(path, arrays, run)
    if check is not None:
        check(run.progress, run.metadata)

    # All that can fail comes first.
    to_device = model.device.to_device
    up = {
        kind: {name: to_device(array) for name, array in of_kind.items()} for kind, of_kind in arrays.items()
    }
    state: dict[str, dict[str, Any]] = {name: {} for name in {**run.counts, **up["count"]}}
    for key, array in up["slot"].items():
        slot, _, name = key.partition(":")
        state[name][slot] = array

    with undisturbed():
        for name, array in up["parameter"].items():
            model.params[name][...] = array
        optimizer.state = state
        optimizer.counts = {**run.counts, **up["count"]}
        if optimizer.averages is not None:
            optimizer.averages.values = up["average"]
            optimizer.averages.since = {**run.since, **up["since"]}
        optimizer.steps = run.steps
        if run.learning_rate is not None:
            optimizer.learning_rate = run.learning_rate
        live: Any = model
        if run.model_step is not None and hasattr(live, "step"):
            live.step = run.model_step
    return run.progress, dict(run.metadata)


def _run_of(file: OpenFile, model: Trainable, optimizer: Optimizer) -> SavedRun:
    """The numbers and texts of the file, if they are of this optimizer and a model of this seed."""
    if _KEY not in file.texts:
        raise ArrowValueError(f"{file.path} is not the state of a training run")
    try:
        run = SavedRun.of(file.texts[_KEY])
    except ArrowValueError as error:
        raise ArrowValueError(f"{file.path} {error}") from None
    if not optimizer.continues(run.optimizer, run.began, run.learning_rate):
        raise ArrowValueError(
            f"{file.path} is the state of another optimizer:\n"
            f"  saved  {escaped(run.optimizer)}\n  given  {optimizer.description}"
        )
    seed = getattr(model, "seed", None)
    if None not in (run.model_seed, seed) and run.model_seed != seed:
        raise ArrowValueError(
            f"{file.path} is of a model with seed {run.model_seed}, and this one's is {seed}"
        )
    return run


def _check_entries(file: OpenFile, run: SavedRun, model: Trainable, optimizer: Optimizer) -> None:
    """Refuses a file whose arrays are not those that model and optimizer have."""
    path, entries = file.path, {kind: _of_kind(file.entries, kind) for kind in _KINDS}
    params = entries["parameter"]
    problems = differences(params, model.params)
    if problems:
        raise ArrowValueError("\n  ".join([f"{path} does not fit the model:", *problems]))
    swapped = changed_order(path, run.unnamed, model)
    if swapped is not None:
        raise ArrowValueError(swapped)
    other = next((name for name in file.entries if name.partition(":")[0] not in _KINDS), None)
    if other is not None:
        raise ArrowValueError(f"{path} is damaged: {quoted(other)} is no part of a run's state")
    for kind, numbers in (("count", run.counts), ("since", run.since)):
        for name in (*numbers, *entries[kind]):
            rows = entries[kind].get(name)
            if name not in params or (rows is not None and name in numbers):
                raise ArrowValueError(
                    f"{path} is damaged: {kind} of {quoted(name)} is of no parameter, or twice"
                )
            if rows is not None and (rows.dtype, rows.shape) != ("float64", params[name].shape[:1]):
                raise ArrowValueError(f"{path} is damaged: {kind} of {quoted(name)} is {notation(rows)}")
    slots: dict[str, set[str]] = {name: set() for name in (*run.counts, *entries["count"])}
    for key, entry in entries["slot"].items():
        slot, _, name = key.partition(":")
        if name not in slots or notation(entry) != notation(params[name]):
            raise ArrowValueError(f"{path} is damaged: {quoted(slot)} of {quoted(name)} is {notation(entry)}")
        slots[name].add(slot)
    for name, there in slots.items():
        if there != set(optimizer.rule.slots):
            found = escaped(", ".join(sorted(there)) or "none")
            wanted = ", ".join(sorted(optimizer.rule.slots)) or "none"
            raise ArrowValueError(
                f"{path} is damaged: the state of {quoted(name)} is {found}, and should be {wanted}"
            )
    averages = entries["average"]
    if optimizer.averages is None and (averages or run.since or entries["since"]):
        raise ArrowValueError(f"{path} is damaged: it has averages, and its optimizer keeps none")
    if set(averages) != {*run.since, *entries["since"]}:
        raise ArrowValueError(f"{path} is damaged: averages and the steps that they are of do not match")
    for name, entry in averages.items():
        if notation(entry) != notation(params[name]):
            raise ArrowValueError(f"{path} is damaged: the average of {quoted(name)} is {notation(entry)}")


def _check_steps(path: Path, arrays: Mapping[str, Mapping[str, HostArray]], run: SavedRun) -> None:
    """Refuses counts of rows that are no numbers of steps."""
    for kind in ("count", "since"):
        for name, rows in arrays[kind].items():
            if not np.all((rows >= 0) & (rows <= run.steps) & (rows == np.floor(rows))):
                raise ArrowValueError(
                    f"{path} is damaged: {kind} of {quoted(name)} has numbers that are none of steps"
                )


def _placed(function: str, path: Any, model: Any, optimizer: Any) -> Path:
    """The path, once all arguments are of the right kind."""
    call = f"{function}(path, model, optimizer)"
    place = require_path(f"{call}: path", path)
    require_model(call, model)
    require_optimizer(call, optimizer, *STATE)
    return place


def _as_int(value: Any) -> int | None:
    return None if value is None else int(value)


def _of_kind(table: Mapping[str, T], kind: str) -> dict[str, T]:
    start = kind + ":"
    return {key.removeprefix(start): value for key, value in table.items() if key.startswith(start)}
