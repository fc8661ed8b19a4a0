"""Batching ordinary code on the fly: each schedule against no batching, blocks, and code batched by hand.

Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017: the models
of table 1, trained under each schedule, and, as in figure 2, how the time of a step divides.

All systems of a model begin with the same parameters and work on the same batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.data import TAGS
from arrows.engine.running import Executor
from arrows.onthefly import runs
from arrows.onthefly.gradients import Differentiation
from arrows.onthefly.runs import Runs
from arrows.onthefly.wiring import Wirer
from arrows.training import Optimizer
from benchmarks import programs
from benchmarks.baselines.bilstm_numpy import BiLSTM
from benchmarks.baselines.bilstm_torch import TorchCharTagger, TorchTagger
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.pytorch import Descent, installed
from benchmarks.baselines.treelstm_numpy import NumpyHand
from benchmarks.baselines.treelstm_torch import TorchNodewise
from benchmarks.datasets import Ints, vocabularies, vocabulary
from benchmarks.programs import Setup
from benchmarks.report import Result
from benchmarks.stopwatch import Stopwatch
from benchmarks.systems import RATE, System, train_steps
from benchmarks.timing import interleaved, measure, random_batches

NAME = "onthefly"
PARTS = {
    (Wirer, "select"): "wire",
    (Wirer, "wire"): "wire",
    (runs, "merge"): "merge",
    (Runs, "compute"): "bind",
    (Executor, "forward"): "forward",
    (Differentiation, "train_step"): "backward",
    (Optimizer, "step"): "update",
}
SCHEDULES = {"arrows": "strata", "depth": "depth", "agenda": "agenda", "one-by-one": "none"}


def run(
    *,
    quick: bool = False,
    data: Path | None = None,
    batch: int = 64,
    sizes: Mapping[str, Mapping[str, Any]] = programs.SIZES,
    seconds: float | None = None,
    rounds: int | None = None,
) -> Iterator[Result]:
    """Measures training steps of each model, then how the time of a step divides, under each schedule.

    `--quick` takes the Tree-LSTM alone. `steps` are those of the forward pass. In the second table figures
    are microseconds a call; equal calls are one node. `build` is the time of the front end: the sum of
    `record` (the program's own time included), `wire` (choosing the nodes that must run, and their operands)
    and `merge` (the schedule). Then come `bind`, `forward`, `backward` and `update`.
    """
    seconds, rounds = seconds or (0.3 if quick else 1.0), rounds or (3 if quick else 11)
    for name in ("treelstm",) if quick else programs.SIZES:
        task = programs.setup(name, data, sizes[name], 8 * batch)
        if task is None:
            continue
        random = np.random.default_rng(0)
        first = random.integers(0, len(task.examples), batch)
        nets, systems = _systems(name, task)
        counts = {system: _counts(net, task, first) for system, net in nets.items()}
        batches = random_batches(random, systems["arrows"], first, len(task.examples), seconds)
        config = {"mode": f"train {name}", "batch": batch, **task.config}
        threads = {}
        for result in measure(NAME, config, systems, batches, rounds=rounds, unit=task.unit):
            threads[result.system] = int(result.figures["threads"])
            steps = {"steps": counts[result.system][0]} if result.system in counts else {}
            yield replace(result, figures={**result.figures, **steps})
        timed = {
            system: partial(systems[system], first, 0) for system in nets if not quick or system == "arrows"
        }
        nodes = {system: count for system, (_, count) in counts.items()}  # `none` has one for each call
        yield from _costs(timed, nodes, nodes["one-by-one"], config, threads, rounds)


def _others(name: str, task: Setup, parameters: Mapping[str, Any]) -> dict[str, System]:
    """What a model is measured against besides its block, from the parameters that all systems begin with."""
    systems: dict[str, System] = {}
    if name == "bilstm":
        words, labels = (np.array(column) for column in zip(*task.examples, strict=True))
        by_numpy = BiLSTM(parameters)
        systems["numpy-hand"] = lambda batch, _: by_numpy.train_step(words[batch], labels[batch], rate=RATE)
        if installed:
            by_torch = TorchTagger(parameters)
            systems["torch-one-by-one"] = _one_by_one(
                by_torch, lambda i: by_torch.loss(words[i : i + 1], labels[i : i + 1])
            )
    elif name == "bilstm-char" and installed:
        spelling = TorchCharTagger(parameters, *vocabularies(list(task.examples)), TAGS)
        prepared = spelling.prepare(task.examples)
        systems["torch-one-by-one"] = _one_by_one(spelling, lambda i: spelling.loss([prepared[i]]))
    elif name == "treelstm":
        numbers, hand = vocabulary(list(task.examples)), NumpyHand(parameters)
        forest = Forest(task.examples, numbers)
        systems["numpy-hand"] = lambda batch, _: hand.train_step(forest.batch(batch), RATE)
        if installed:
            nodewise = TorchNodewise(parameters, numbers)
            systems["torch-one-by-one"] = _one_by_one(nodewise, lambda i: nodewise.loss([task.examples[i]]))
    return systems


def _one_by_one(model: Descent, loss: Callable[[int], Any]) -> System:
    """A step of gradient descent by PyTorch, one example after another."""

    def step(batch: Ints, _: int) -> None:
        for i in batch.tolist():
            (loss(i) / len(batch)).backward()
        model.update(RATE)

    return step


def _systems(name: str, task: Setup) -> tuple[dict[str, ar.OnTheFly], dict[str, System]]:
    """The networks on the fly, and all systems, which begin with the same parameters."""
    if task.block is None:
        nets = {system: ar.OnTheFly(schedule=how, jit=False) for system, how in SCHEDULES.items()}
        systems = {system: _training(net, task) for system, net in nets.items()}
        systems["alone"] = _alone(ar.OnTheFly(jit=False), task)
        return nets, systems
    model = ar.compile(task.block, loss="loss", jit=False)
    copies = {name: value.copy() for name, value in model.params.items()}
    nets = {system: ar.OnTheFly(schedule=how, jit=False, params=copies) for system, how in SCHEDULES.items()}
    systems = {system: _training(net, task) for system, net in nets.items()}
    systems["block"] = train_steps(model, task.examples)
    return nets, systems | _others(name, task, copies)


def _training(net: ar.OnTheFly, task: Setup) -> System:
    return programs.training(net, task.program, task.examples)


def _alone(net: ar.OnTheFly, task: Setup) -> System:
    """Gradients of one example after another, each in a batch of its own."""

    def gradients(batch: Ints, _: int) -> None:
        for i in batch:
            with net.batch(training=True) as g:
                losses = programs.losses(g, task.program, task.examples, [i])
                if losses:
                    g.value_and_grad(losses[0])

    return gradients


def _counts(net: ar.OnTheFly, task: Setup, batch: Ints) -> tuple[int, int]:
    """The steps and the nodes of a batch forward."""
    with net.batch(training=True) as g:
        g.mean(programs.losses(g, task.program, task.examples, batch)).numpy()
        timelines = g.timelines
        return sum(len(line.steps) for line in timelines), sum(line.rows for line in timelines)


def _costs(
    systems: Mapping[str, Callable[[], object]],
    nodes: Mapping[str, int],
    calls: int,
    config: Mapping[str, object],
    threads: Mapping[str, int],
    rounds: int,
) -> Iterator[Result]:
    """How the time of a training step divides into its parts."""
    watches: dict[str, list[Stopwatch]] = {name: [] for name in systems}

    def watched(name: str) -> None:
        watch = Stopwatch(PARTS, "record")
        with watch.running():
            systems[name]()
        watches[name].append(watch)

    tasks = {name: partial(watched, name) for name in systems}
    for name, seconds in interleaved(tasks, rounds, threads=threads).items():
        each = {
            part: float(np.median([watch.seconds[part] for watch in watches[name][1:]])) * 1e6 / calls
            for part in watches[name][0].seconds
        }
        build = each["record"] + each["wire"] + each["merge"]
        yield Result(
            NAME,
            {**config, "mode": f"{config['mode']}, µs/call"},
            name,
            seconds,
            {"calls": calls, "nodes": nodes[name], "build": build, **each},
        )
