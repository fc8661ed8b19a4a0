"""How `arrows` itself runs a block: on NumPy alone, compiled where numba is there, and one node at a time."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import arrows as ar
from arrows.training import SGD
from benchmarks.networks import AnyBlock

RATE = 0.01  # the learning rate of every system

System = Callable[[Any, int], object]  # runs a batch, given the indices of its examples and its own number


def compiled() -> tuple[str, ...]:
    """The name of the compiled system, where numba is installed."""
    return ("arrows-jit",) if importlib.util.find_spec("numba") is not None else ()


def variants(block: AnyBlock, *, one_by_one: bool = True, **options: Any) -> dict[str, ar.Model]:
    """Models of one block that share the same live parameters, by system.

    They are `arrows` on NumPy alone, `arrows-jit` where numba is installed, and `one-by-one`: the same
    kernels without batching.

    >>> sorted(variants(ar.Scalar() >> ar.Function(lambda x: x * x)).keys() - {"arrows-jit"})
    ['arrows', 'one-by-one']
    """
    first = ar.compile(block, jit=False, **options)
    options["params"] = first.params
    models = {"arrows": first}
    for name in compiled():
        models[name] = ar.compile(block, jit=True, **options)
    if one_by_one:
        models["one-by-one"] = ar.compile(block, jit=False, schedule="none", **options)
    return models


def train_steps(model: ar.Model, examples: Sequence[object]) -> System:
    """Steps of gradient descent on batches of examples, which are prepared here."""
    prepared, optimizer = model.prepare(examples), SGD(RATE)
    return lambda batch, _: model.train_step(prepared[batch], optimizer)


def calls(model: ar.Model, examples: Sequence[object]) -> System:
    """Calls of the model on batches of examples, which are prepared here."""
    prepared = model.prepare(examples)
    return lambda batch, _: model(prepared[batch])
