"""A small trained model, its files, and ways to damage them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.safetensors_file import read_file, write_file
from arrows.training import Adam, Checkpoint, Epoch, Optimizer, Progress, load_state, train

RUN = "arrows.run"


def block() -> Any:
    """With a table that gets row-sparse gradients, and one layer without a name."""
    score = ar.Map(ar.Scalar("int32") >> ar.Embedding(5, 2, name="words") >> ar.FC(2)) >> ar.Sum()
    return score >> ar.Function(lambda v: ((v - 1.0) ** 2).sum())


def trained(checkpoint: Path | None = None, **more: Any) -> tuple[ar.Model, Optimizer]:
    """A model after a short run."""
    model, optimizer = ar.compile(block(), seed=3), Adam(0.1, average=0.9)
    train(
        model,
        [[0, 1], [2, 3, 3], [1], []],
        optimizer,
        batch_size=2,
        epochs=2,
        seed=1,
        checkpoint=checkpoint and Checkpoint(checkpoint, metadata={"by": "us"}, **more),
        progress=False,
        evaluate=lambda: {"dev": 0.5},
        best_by="dev",
        lower=False,
    )
    return model, optimizer


def everything(model: Any, optimizer: Optimizer | None = None) -> dict[str, Any]:
    """Everything that loading may change, bit for bit."""

    def bits(value: Any) -> Any:
        return value if isinstance(value, (int, float)) else (value.dtype.str, value.shape, value.tobytes())

    found: dict[str, Any] = {name: bits(array) for name, array in model.params.items()}
    found["model"] = model.step, model.seed
    if optimizer is not None:
        assert optimizer.averages is not None
        found["optimizer"] = optimizer.steps, optimizer.learning_rate
        for kind, table in [
            ("counts", optimizer.counts),
            ("values", optimizer.averages.values),
            ("since", optimizer.averages.since),
        ]:
            found[kind] = {name: bits(value) for name, value in table.items()}
        for name, slots in optimizer.state.items():
            found[f"slots {name}"] = {slot: bits(array) for slot, array in slots.items()}
    return found


def resaved(path: Path, to: Path, change: Any) -> None:
    """Rewrites a run's state with correct checksums, after `change(arrays, numbers)`."""
    arrays, texts = read_file(path)
    numbers = json.loads(texts[RUN])
    arrays = dict(arrays)
    numbers = change(arrays, numbers) or numbers
    write_file(to, arrays, {RUN: numbers if isinstance(numbers, str) else json.dumps(numbers)})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places in a tree of tables and lists, the whole first."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    if isinstance(value, list):
        for number, part in enumerate(value):
            yield from places(part, (*path, number))


def at(tree: Any, path: tuple[Any, ...]) -> Any:
    """The value at a place."""
    for key in path:
        tree = tree[key]
    return tree


def put(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of a tree with another value at a place."""
    if not path:
        return value
    tree = copy.deepcopy(tree)
    at(tree, path[:-1])[path[-1]] = value
    return tree


def dropped(tree: Any, path: tuple[Any, ...]) -> Any:
    """A copy of a tree without the value at a place."""
    tree = copy.deepcopy(tree)
    del at(tree, path[:-1])[path[-1]]
    return tree


def safetensors(content: Any, numbers: bytes = b"") -> bytes:
    """A file with any header, whatever it says."""
    header = content if isinstance(content, bytes) else json.dumps(content).encode()
    return len(header).to_bytes(8, "little") + header + numbers


def loads(path: Path, model: Any, optimizer: Optimizer) -> tuple[Progress, dict[str, str]]:
    """Loads a state, and asserts that the result is sound."""
    progress, texts = load_state(path, model, optimizer)
    assert 0 <= progress.position <= progress.examples and progress.batch_size
    assert all(isinstance(epoch, Epoch) for epoch in progress.history)
    assert all(isinstance(text, str) for text in texts.values())
    assert optimizer.averages is not None
    for name, array in model.params.items():
        for slot in optimizer.state.get(name, {}).values():
            assert (slot.shape, slot.dtype) == (array.shape, array.dtype)
        mean = optimizer.averages.values.get(name)
        assert mean is None or (mean.shape, mean.dtype) == (array.shape, array.dtype)
    assert not callable(optimizer.learning_rate) and 0 <= optimizer.learning_rate < np.inf
    return progress, texts
