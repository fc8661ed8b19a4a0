"""The whole state of a training run in one file: what a run that was cut off needs to go on as if it had not.

The file is safetensors. Its arrays are `parameter:NAME`, `slot:SLOT:NAME` (the optimizer's), `count:NAME`,
`average:NAME` and `since:NAME` (see `Optimizer` and `Averages`); numbers and texts are JSON in its metadata.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from arrows.training.arguments import require_model, require_optimizer, require_path
from arrows.training.checkpoint import differences
from arrows.training.files import HostArray, read_file, write_file
from arrows.training.optimizer import Optimizer
from arrows.training.progress import Progress
from arrows.training.trainable import Trainable, notation
from arrows.training.unnamed import changed_order, unnamed_layers
from arrows.typesys.errors import ArrowValueError

_KEY = "arrows.run"


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
        ArrowValueError: metadata that is not text; averages stand in the place of the parameters.
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
    for key, value in (metadata or {}).items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise ArrowValueError(f"metadata maps text to text; {key!r}: {value!r} is not")
    arrays: dict[str, Any] = {f"parameter:{name}": array for name, array in model.params.items()}
    for name, slots in optimizer.state.items():
        arrays |= {f"slot:{slot}:{name}": array for slot, array in slots.items()}
    numbers: dict[str, Any] = {
        "version": 1,
        "optimizer": optimizer.description,
        "learning_rate": None if callable(optimizer.learning_rate) else float(optimizer.learning_rate),
        "steps": optimizer.steps,
        # What dropout depends on, in a model that has it.
        "model_step": getattr(model, "step", None),
        "model_seed": getattr(model, "seed", None),
        "progress": (progress or Progress()).as_dict(),
        "metadata": dict(metadata or {}),
        "unnamed": unnamed_layers(model),
        "counts": {},
        "since": {},
    }
    tables: list[tuple[str, str, Mapping[str, Any]]] = [("counts", "count", optimizer.counts)]
    if averages is not None:
        arrays |= {f"average:{name}": array for name, array in averages.values.items()}
        tables.append(("since", "since", averages.since))
    for key, kind, table in tables:
        for name, value in table.items():
            if isinstance(value, int):
                numbers[key][name] = value
            else:
                arrays[f"{kind}:{name}"] = value
    down = {name: model.backend.to_numpy(array) for name, array in arrays.items()}
    write_file(place, down, {_KEY: json.dumps(numbers)})


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
        ArrowValueError: the file is no saved state, or does not fit model or optimizer: it says where. Both
            are as they were.
        OSError: the file cannot be read.

    >>> import arrows as ar
    >>> from arrows.training import SGD
    >>> load_state("nowhere", ar.compile(ar.Vector(2) >> ar.FC(1)), SGD(0.1))
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """
    path = _placed("load_state", path, model, optimizer)
    arrays, texts = read_file(path)
    if _KEY not in texts:
        raise ArrowValueError(f"{path} is not the state of a training run")
    numbers = json.loads(texts[_KEY])
    if numbers["version"] != 1:
        raise ArrowValueError(f"{path} was written by another version of arrows")
    if numbers["optimizer"] != optimizer.description:
        raise ArrowValueError(
            f"{path} is the state of another optimizer:\n"
            f"  saved  {numbers['optimizer']}\n  given  {optimizer.description}"
        )
    seeds = numbers["model_seed"], getattr(model, "seed", None)
    if None not in seeds and seeds[0] != seeds[1]:
        raise ArrowValueError(f"{path} is of a model with seed {seeds[0]}, and this one's is {seeds[1]}")
    params = _of_kind(arrays, "parameter")
    problems = differences(params, model.params)
    if problems:
        raise ArrowValueError("\n  ".join([f"{path} does not fit the model:", *problems]))
    swapped = changed_order(path, numbers.get("unnamed", {}), model)
    if swapped is not None:
        raise ArrowValueError(swapped)
    state: dict[str, dict[str, HostArray]] = {
        name: {} for name in numbers["counts"] | _of_kind(arrays, "count")
    }
    for key, array in _of_kind(arrays, "slot").items():
        slot, _, name = key.partition(":")
        if name not in state or notation(array) != notation(params[name]):
            raise ArrowValueError(f"{path} is damaged: {slot!r} of {name!r} is {notation(array)}")
        state[name][slot] = array
    for name, slots in state.items():
        if set(slots) != set(optimizer.rule.slots):
            there, wanted = (", ".join(sorted(names)) or "none" for names in (slots, optimizer.rule.slots))
            raise ArrowValueError(
                f"{path} is damaged: the state of {name!r} is {there}, and should be {wanted}"
            )

    found = Progress.of(numbers["progress"])
    if check is not None:
        check(found, numbers["metadata"])

    up = model.backend.to_device
    for name, array in params.items():
        model.params[name][...] = up(array)
    # Copies: what was read belongs to the reader, who may hand out memory that cannot be written.
    optimizer.state = {
        name: {slot: up(array.copy()) for slot, array in slots.items()} for name, slots in state.items()
    }
    optimizer.counts = numbers["counts"] | _up(model, _of_kind(arrays, "count"))
    if optimizer.averages is not None:
        optimizer.averages.values = _up(model, _of_kind(arrays, "average"))
        optimizer.averages.since = numbers["since"] | _up(model, _of_kind(arrays, "since"))
    optimizer.steps = numbers["steps"]
    if numbers["learning_rate"] is not None:
        optimizer.learning_rate = numbers["learning_rate"]
    live: Any = model
    if numbers["model_step"] is not None and hasattr(live, "step"):
        live.step = numbers["model_step"]
    return found, numbers["metadata"]


def _placed(function: str, path: Any, model: Any, optimizer: Any) -> Path:
    """The path, once all arguments are of the right kind."""
    call = f"{function}(path, model, optimizer)"
    place = require_path(f"{call}: path", path)
    require_model(call, model)
    require_optimizer(call, optimizer, "state", "averages", "description")
    return place


def _of_kind(arrays: Mapping[str, HostArray], kind: str) -> dict[str, HostArray]:
    start = kind + ":"
    return {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}


def _up(model: Trainable, arrays: Mapping[str, HostArray]) -> dict[str, Any]:
    return {name: model.backend.to_device(array.copy()) for name, array in arrays.items()}
