"""What a benchmark is: tasks, each done by several systems, of which `arrows` is the first."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.training import SGD
from benchmarks.datasets import Ints
from benchmarks.networks import AnyBlock

RATE = 0.01  # the learning rate of every system
JIT = ["arrows-jit"] * bool(importlib.util.find_spec("numba"))

System = Callable[[Ints], Any]
"""Runs a batch, given the numbers of its examples; returns its loss or its results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is asked of a benchmark.

    Attributes:
        scale: "full"; "quick": fewer sizes and runs; "tiny": times that mean nothing, as for tests.
        data: the folder with real data; None: see `datasets`.
        device: of `arrows`; on another than the CPU PyTorch runs beside it, and nothing else.
        ours: leaves out all but `arrows` and `arrows-jit`.
    """

    scale: str = "full"
    data: Path | None = None
    device: str = "cpu"
    ours: bool = False

    def models(self, block: AnyBlock, *, one_by_one: bool = False, **options: Any) -> dict[str, ar.Model]:
        """Models of one block that share the same live parameters, by system.

        They are `arrows` on NumPy alone, `arrows-jit` where numba is installed, and `one-by-one`: the same
        kernels without batching. On another device there is `arrows` alone.

        >>> sorted(Setting().models(ar.Scalar() >> ar.Function(lambda x: x * x)).keys() - {"arrows-jit"})
        ['arrows']
        """
        if self.device != "cpu":
            return {"arrows": ar.compile(block, device=self.device, **options)}
        models = {"arrows": ar.compile(block, jit=False, **options)}
        options["params"] = models["arrows"].params
        models |= {name: ar.compile(block, jit=True, **options) for name in JIT}
        if one_by_one and not self.ours:
            models["one-by-one"] = ar.compile(block, jit=False, schedule="none", **options)
        return models


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Work that several systems do on the same batches.

    Attributes:
        config: what tells it from the benchmark's other tasks.
        systems: by name.
        batch, examples: how many examples are a batch, and how many there are to draw it from; if these are
            as many, all of them are the batch.
        each, count: what the figures are per, and how many of these a batch has; None: one for each example.
    """

    config: Mapping[str, object]
    systems: Mapping[str, System]
    batch: int = 1
    examples: int = 1
    each: str = "tree"
    count: float | None = None

    @property
    def title(self) -> str:
        """The config in words."""
        return ", ".join(f"{key} {value}" for key, value in self.config.items())

    def draw(self, random: np.random.Generator) -> Ints:
        """The numbers of a random batch's examples."""
        if self.batch == self.examples:
            return np.arange(self.batch)
        return random.integers(0, self.examples, self.batch)


def block_task(
    setting: Setting,
    block: AnyBlock,
    examples: Sequence[object],
    others: Callable[[Mapping[str, ar.Model]], Mapping[str, System]],
    *,
    one_by_one: bool = True,
    loss: str | None = "loss",
    **facts: Any,
) -> Task:
    """The task of a block: training steps, or calls, of each of its models and of `others`.

    Args:
        setting: of the benchmark.
        block: what is trained or called.
        examples: prepared here, by each model for itself.
        others: makes systems of the models, from copies of whose parameters they begin.
        one_by_one: whether one of the models runs without batching.
        loss: the metric that is learned by.
        facts: the other attributes of the task; training is what its config calls `mode` "train".
    """
    mode, options = facts["config"]["mode"], {}
    if mode != "inference":
        options["loss"] = loss
    models = setting.models(block, one_by_one=one_by_one, **options)
    run = calls if mode == "inference" else train_steps
    systems = {name: run(model, examples) for name, model in models.items()}
    systems |= {} if setting.ours else others(models)
    return Task(systems=systems, examples=len(examples), **facts)


def train_steps(model: ar.Model, examples: Sequence[object]) -> System:
    """Steps of gradient descent on batches of examples, which are prepared here."""
    prepared, optimizer = model.prepare(examples), SGD(RATE)
    return lambda batch: model.train_step(prepared[batch], optimizer)


def calls(model: ar.Model, examples: Sequence[object]) -> System:
    """Calls of the model on batches of examples, which are prepared here."""
    prepared = model.prepare(examples)
    return lambda batch: model(prepared[batch])


def by_hand(hand: Any, mode: str, batch: Callable[[Ints], Sequence[Any]]) -> System:
    """Steps or calls of a hand-written system; `batch` puts together what it takes for these examples."""
    if mode == "inference":
        return lambda numbers: hand(*batch(numbers))
    return lambda numbers: hand.step(*batch(numbers), rate=RATE)


def copies(model: ar.Model | ar.OnTheFly) -> dict[str, Any]:
    """The parameters of a model or a network, as arrays of NumPy."""
    return {name: np.array(ar.to_numpy(value)) for name, value in model.params.items()}


def whole(run: Callable[[], object]) -> System:
    """A system whose batch is always the same."""
    return lambda _: run()
