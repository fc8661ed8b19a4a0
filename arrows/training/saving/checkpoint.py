"""Checkpoints: the whole state of a training run in one file, from which a run that was cut off continues.

A checkpoint is a safetensors file. Its arrays are `parameter:NAME`, `slot:SLOT:NAME` (of the optimizer),
`count:NAME`, `average:NAME` and `since:NAME` (see `Optimizer` and `Averages`); its numbers and texts are JSON
in the metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol, SupportsInt, TypeVar, runtime_checkable

import numpy as np

from arrows.engine.device import host_array
from arrows.files import require_path
from arrows.ops.arrays import Array, HostArray
from arrows.safetensors_file import (
    OpenFile,
    open_file,
    quoted,
    read_file,
    require_texts,
    write_file,
)
from arrows.training.arguments import require_model, require_optimizer
from arrows.training.interrupt import undisturbed
from arrows.training.learning_rates import rate_text
from arrows.training.optimizers import Optimizer
from arrows.training.optimizers.update_rule import StepCount
from arrows.training.parameters import Trainable, all_parameters, notation
from arrows.training.progress import Progress
from arrows.training.saving.existing import STATE_KEY, require_same_kind
from arrows.training.saving.parameter_files import (
    differences,
    names_to_come,
    set_parameters,
)
from arrows.training.saving.saved_run import SavedRun
from arrows.training.saving.unnamed_layers import changed_order, confusable, unnamed_layers
from arrows.typesys import ArrowValueError
from arrows.typesys.quoting import escaped

T = TypeVar("T")


@runtime_checkable
class CountsSteps(Protocol):
    """A model whose dropout masks depend on the number of steps."""

    step: int


STATE = ("state", "averages", "settings", "rates_text")
"""The members of an optimizer that a checkpoint needs."""
_KINDS = ("parameter", "slot", "count", "average", "since")


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
            the state of parameters that the model does not have; `progress` is out of range; parameters or a
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
    target = _checked_path("save_state", path, model, optimizer)
    averages = optimizer.averages
    if averages is not None and averages.in_use:
        raise ArrowValueError("the state of a run is not saved while averages stand in for the parameters")
    require_texts(metadata or {})
    params = all_parameters(model)
    others = [name for name in optimizer.state if name not in params]
    if others:
        raise ArrowValueError(
            f"the optimizer holds the state of {others[0]!r}, which is no parameter of this model; "
            "save it with a model that has all that it trains"
        )
    arrays = _parameter_entries(params)
    for name, slots in optimizer.state.items():
        arrays |= {f"slot:{slot}:{name}": array for slot, array in slots.items()}
    if averages is not None:
        arrays |= {f"average:{name}": array for name, array in averages.values.items()}
    counts, count_arrays = _numbers_and_arrays("count", optimizer.counts)
    since, since_arrays = _numbers_and_arrays("since", {} if averages is None else averages.since)
    arrays |= count_arrays | since_arrays
    rate = optimizer.learning_rate
    text = SavedRun(
        optimizer=optimizer.settings,
        began=rate_text(optimizer.rule.learning_rate),
        learning_rate=None if callable(rate) else float(rate),
        steps=optimizer.steps,
        model_step=_as_int(getattr(model, "step", None)),
        model_seed=_as_int(getattr(model, "seed", None)),
        progress=progress or Progress(),
        metadata=dict(metadata or {}),
        unnamed=unnamed_layers(model),
        counts=counts,
        since=since,
    ).as_text()
    require_same_kind(target, state=True)
    try:
        SavedRun.of(text)
    except ArrowValueError as error:
        raise ArrowValueError(f"this state could not be loaded again: it {error}") from None
    # The optimizer's arrays lie where the model was in the last step, which need not be where it is now.
    write_file(target, {name: host_array(array) for name, array in arrays.items()}, {STATE_KEY: text})


def add_parameters(path: Path, params: Mapping[str, Array]) -> None:
    """Adds parameters to a state that was saved before they were there, as on the fly."""
    arrays, texts = read_file(path)
    added = {name: host_array(array) for name, array in _parameter_entries(params).items()}
    write_file(path, {**arrays, **added}, texts)


def _parameter_entries(params: Mapping[str, Array]) -> dict[str, Array]:
    """Parameters by the names of their entries."""
    return {f"parameter:{name}": array for name, array in params.items()}


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
    if optimizer.averages is not None and optimizer.averages.in_use:
        raise ArrowValueError("no state is loaded while averages stand in for the parameters")
    with open_file(path) as file:
        run = _run_of(file, model, optimizer)
        _check_entries(file, run, model, optimizer)
        host_arrays = file.arrays()
    _check_steps(path, host_arrays, run)
    if check is not None:
        check(run.progress, run.metadata)

    # All that can fail comes before the first change.
    on_device = {key: model.device.to_device(array) for key, array in host_arrays.items()}
    arrays = {kind: _of_kind(on_device, kind) for kind in _KINDS}
    state: dict[str, dict[str, Array]] = {name: {} for name in {**run.counts, **arrays["count"]}}
    for key, array in arrays["slot"].items():
        slot, _, name = key.partition(":")
        state[name][slot] = array

    with undisturbed():
        set_parameters(model, arrays["parameter"])
        optimizer.state = state
        optimizer.counts = {**run.counts, **arrays["count"]}
        if optimizer.averages is not None:
            optimizer.averages.values = arrays["average"]
            optimizer.averages.since = {**run.since, **arrays["since"]}
        optimizer.steps = run.steps
        if run.learning_rate is not None and rate_text(optimizer.learning_rate) == run.began:
            optimizer.learning_rate = run.learning_rate
        if run.model_step is not None and isinstance(model, CountsSteps):
            model.step = run.model_step
    return run.progress, dict(run.metadata)


def _run_of(file: OpenFile, model: Trainable, optimizer: Optimizer) -> SavedRun:
    """Reads the numbers and texts of the file; refuses those of another optimizer or model."""
    if STATE_KEY not in file.texts:
        raise ArrowValueError(f"{file.path} is not the state of a training run")
    try:
        run = SavedRun.of(file.texts[STATE_KEY])
    except ArrowValueError as error:
        raise ArrowValueError(f"{file.path} {error}") from None
    if run.optimizer != optimizer.settings:
        raise ArrowValueError(
            f"{file.path} is the state of another optimizer; only its learning rates may be others:\n"
            f"  saved  {escaped(run.optimizer)}\n  given  {optimizer.settings}"
        )
    seed = getattr(model, "seed", None)
    if None not in (run.model_seed, seed) and run.model_seed != seed:
        raise ArrowValueError(
            f"{file.path} is the state of a model with seed {run.model_seed}; this model has seed {seed}"
        )
    return run


def _check_entries(file: OpenFile, run: SavedRun, model: Trainable, optimizer: Optimizer) -> None:
    """Refuses a file whose arrays are not those that model and optimizer have."""
    path, entries = file.path, {kind: _of_kind(file.entries, kind) for kind in _KINDS}
    params = entries["parameter"]
    coming = names_to_come(model, params)
    problems = differences(params, model.params, coming)
    if problems:
        raise ArrowValueError("\n  ".join([f"{path} does not fit the model:", *problems]))
    swapped = changed_order(path, run.unnamed, model) or confusable(path, run.unnamed, params, coming)
    if swapped is not None:
        raise ArrowValueError(swapped)
    other = next((name for name in file.entries if name.partition(":")[0] not in _KINDS), None)
    if other is not None:
        raise ArrowValueError(f"{path} is damaged: {quoted(other)} is not part of a run's state")
    for kind, numbers in (("count", run.counts), ("since", run.since)):
        for name in (*numbers, *entries[kind]):
            rows = entries[kind].get(name)
            if name not in params or (rows is not None and name in numbers):
                raise ArrowValueError(
                    f"{path} is damaged: {kind} of {quoted(name)} belongs to no parameter, or occurs twice"
                )
            if rows is not None and (rows.dtype, rows.shape) != ("float64", params[name].shape[:1]):
                raise ArrowValueError(f"{path} is damaged: {kind} of {quoted(name)} is {notation(rows)}")
    slots: dict[str, set[str]] = {name: set() for name in (*run.counts, *entries["count"])}
    for key, entry in entries["slot"].items():
        slot, _, name = key.partition(":")
        if name not in slots or notation(entry) != notation(params[name]):
            raise ArrowValueError(f"{path} is damaged: {quoted(slot)} of {quoted(name)} is {notation(entry)}")
        slots[name].add(slot)
    expected = set(optimizer.rule.slots)
    for name, names in slots.items():
        if names != expected:
            raise ArrowValueError(
                f"{path} is damaged: the state of {quoted(name)} is {escaped(_listed(names))}, "
                f"and should be {_listed(expected)}"
            )
    averages = entries["average"]
    if optimizer.averages is None and (averages or run.since or entries["since"]):
        raise ArrowValueError(f"{path} is damaged: it has averages, and its optimizer keeps none")
    if set(averages) != {*run.since, *entries["since"]}:
        raise ArrowValueError(f"{path} is damaged: its averages do not match the steps that they belong to")
    for name, entry in averages.items():
        if notation(entry) != notation(params[name]):
            raise ArrowValueError(f"{path} is damaged: the average of {quoted(name)} is {notation(entry)}")


def _check_steps(path: Path, arrays: Mapping[str, HostArray], run: SavedRun) -> None:
    """Refuses counts of rows that cannot be numbers of steps."""
    for kind in ("count", "since"):
        for name, rows in _of_kind(arrays, kind).items():
            if not np.all((rows >= 0) & (rows <= run.steps) & (rows == np.floor(rows))):
                raise ArrowValueError(
                    f"{path} is damaged: {kind} of {quoted(name)} has values that are not numbers of steps"
                )


def _checked_path(function: str, path: object, model: object, optimizer: object) -> Path:
    """Returns the path; refuses arguments of the wrong kind."""
    call = f"{function}(path, model, optimizer)"
    checked = require_path(f"{call}: path", path)
    require_model(call, model)
    require_optimizer(call, optimizer, *STATE)
    return checked


def _numbers_and_arrays(kind: str, table: Mapping[str, StepCount]) -> tuple[dict[str, int], dict[str, Array]]:
    """Splits counts into single numbers, by parameter name, and counts by row, by their key in the file."""
    numbers: dict[str, int] = {}
    arrays: dict[str, Array] = {}
    for name, count in table.items():
        if isinstance(count, int):
            numbers[name] = count
        else:
            arrays[f"{kind}:{name}"] = count
    return numbers, arrays


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _as_int(value: SupportsInt | None) -> int | None:
    return None if value is None else int(value)


def _of_kind(table: Mapping[str, T], kind: str) -> dict[str, T]:
    start = kind + ":"
    return {key.removeprefix(start): value for key, value in table.items() if key.startswith(start)}
