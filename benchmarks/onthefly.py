"""Batching ordinary code on the fly: each schedule against no batching, blocks, and code batched by hand.

Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017: the models
of table 1, trained under each schedule, and, as in figure 2, how the time of a step divides.

All systems of a model begin with the same parameters and work on the same batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.data import TAGS
from arrows.engine.running import Executor
from arrows.models import sentiment
from arrows.onthefly import runs
from arrows.onthefly.gradients import Differentiation
from arrows.onthefly.runs import Runs
from arrows.onthefly.wiring import Wirer
from arrows.training import Optimizer
from benchmarks import networks, programs
from benchmarks.baselines.bilstm_numpy import BiLSTM
from benchmarks.baselines.bilstm_torch import TorchCharTagger, TorchTagger
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.pytorch import Descent, installed
from benchmarks.baselines.treelstm_numpy import NumpyHand
from benchmarks.baselines.treelstm_torch import TorchNodewise
from benchmarks.datasets import Ints, load_sentences, load_trees, numbered_sentences, vocabularies, vocabulary
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


@dataclass(frozen=True, kw_only=True)
class Task:
    """A model of the paper: as a program, and what it is measured against.

    Attributes:
        program: gives the loss of an example, or a generator that returns it.
        examples: the examples.
        unit: what is counted a second.
        block: the same model as a block; None if no block can express it.
        others: makes the systems other than `arrows` from the parameters that all systems begin with.
        config: the config of the results.
    """

    program: programs.Program
    examples: Sequence[Any]
    unit: str
    block: networks.AnyBlock | None
    others: Callable[[Mapping[str, Any]], dict[str, System]]
    config: Mapping[str, object] = field(default_factory=dict)


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
    for name in ("treelstm",) if quick else TASKS:
        task = TASKS[name](batch, data, **sizes[name])
        if task is None:
            continue
        random = np.random.default_rng(0)
        first = random.integers(0, len(task.examples), batch)
        nets, systems = _systems(task)
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


def _bilstm(batch: int, data: Path | None, *, length: int, **sizes: int) -> Task:
    count = 8 * batch
    random = np.random.default_rng(0)
    words, labels = numbered_sentences(random, count, length, sizes["vocabulary"], sizes["labels"])

    def others(parameters: Mapping[str, Any]) -> dict[str, System]:
        by_numpy = BiLSTM(parameters)
        systems: dict[str, System] = {
            "numpy-hand": lambda batch, _: by_numpy.train_step(words[batch], labels[batch], rate=RATE)
        }
        if installed:
            by_torch = TorchTagger(parameters)
            systems["torch-one-by-one"] = _one_by_one(
                by_torch, lambda i: by_torch.loss(words[i : i + 1], labels[i : i + 1])
            )
        return systems

    return Task(
        program=programs.bilstm_tagger(**sizes),
        examples=list(zip(words.tolist(), labels.tolist(), strict=True)),
        unit="sentences/s",
        block=networks.bilstm_tagger(**sizes),
        others=others,
        config={"state": sizes["size"], "length": length},
    )


def _bilstm_char(batch: int, data: Path | None, **sizes: Any) -> Task:
    sentences, source = load_sentences(data)
    words, characters = vocabularies(sentences)

    def others(parameters: Mapping[str, Any]) -> dict[str, System]:
        if not installed:
            return {}
        by_torch = TorchCharTagger(parameters, words, characters, TAGS)
        prepared = by_torch.prepare(sentences)
        return {"torch-one-by-one": _one_by_one(by_torch, lambda i: by_torch.loss([prepared[i]]))}

    return Task(
        program=programs.character_tagger(words, characters, **sizes),
        examples=sentences,
        unit="sentences/s",
        block=networks.character_tagger(words, characters, **sizes),
        others=others,
        config={"state": sizes["size"], "sentences": source},
    )


def _treelstm(batch: int, data: Path | None, *, size: int) -> Task:
    trees, source = load_trees(data)
    numbers = vocabulary(trees)

    def others(parameters: Mapping[str, Any]) -> dict[str, System]:
        forest, by_numpy = Forest(trees, numbers), NumpyHand(parameters)
        systems: dict[str, System] = {
            "numpy-hand": lambda batch, _: by_numpy.train_step(forest.batch(batch), RATE)
        }
        if installed:
            nodewise = TorchNodewise(parameters, numbers)
            systems["torch-one-by-one"] = _one_by_one(nodewise, lambda i: nodewise.loss([trees[i]]))
        return systems

    return Task(
        program=programs.tree_lstm(numbers, size=size),
        examples=trees,
        unit="trees/s",
        block=sentiment(numbers, size=size).learn,
        others=others,
        config={"state": size, "trees": source},
    )


def _parser(batch: int, data: Path | None, **sizes: Any) -> Task | None:
    """The parser of the examples, on sentences with trees; None where there are none."""
    parser = programs.parser_and_sentences(data, **sizes)
    if parser is None:
        return None
    program, sentences = parser
    return Task(
        program=program,
        examples=sentences,
        unit="sentences/s",
        block=None,
        others=lambda _: {},
        config={"state": sizes["size"], "sentences": "ud"},
    )


TASKS: Mapping[str, Callable[..., Task | None]] = {
    "treelstm": _treelstm,
    "bilstm": _bilstm,
    "bilstm-char": _bilstm_char,
    "parser": _parser,
}
"""The models of the paper, by name; they give None where their data are not there."""


def _one_by_one(model: Descent, loss: Callable[[int], Any]) -> System:
    """A step of gradient descent by PyTorch, one example after another."""

    def step(batch: Ints, _: int) -> None:
        for i in batch.tolist():
            (loss(i) / len(batch)).backward()
        model.update(RATE)

    return step


def _systems(task: Task) -> tuple[dict[str, ar.OnTheFly], dict[str, System]]:
    """The networks on the fly, and all systems, which begin with the same parameters."""
    if task.block is None:
        nets = {system: ar.OnTheFly(schedule=how, jit=False) for system, how in SCHEDULES.items()}
        systems = {system: _training(net, task) for system, net in nets.items()}
        systems["alone"] = _alone(ar.OnTheFly(jit=False), task)
        return nets, systems | task.others({})
    model = ar.compile(task.block, loss="loss", jit=False)
    copies = {name: value.copy() for name, value in model.params.items()}
    nets = {system: ar.OnTheFly(schedule=how, jit=False, params=copies) for system, how in SCHEDULES.items()}
    systems = {system: _training(net, task) for system, net in nets.items()}
    systems["block"] = train_steps(model, task.examples)
    return nets, systems | task.others(copies)


def _training(net: ar.OnTheFly, task: Task) -> System:
    return programs.training(net, task.program, task.examples)


def _alone(net: ar.OnTheFly, task: Task) -> System:
    """Gradients of one example after another, each in a batch of its own."""

    def gradients(batch: Ints, _: int) -> None:
        for i in batch:
            with net.batch(training=True) as g:
                losses = programs.losses(g, task.program, task.examples, [i])
                if losses:
                    g.value_and_grad(losses[0])

    return gradients


def _counts(net: ar.OnTheFly, task: Task, batch: Ints) -> tuple[int, int]:
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
