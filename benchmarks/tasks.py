"""What `python -m benchmarks pair` times in an old and a new checkout, and the process that times it.

Both checkouts run these same lines, so they use only names of the package that do not change: what
`import arrows`, `arrows.data`, `arrows.models` and `arrows.training` offer to users.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

import arrows as ar
from arrows.models import sentiment
from benchmarks import growth, programs
from benchmarks.datasets import (
    VOCABULARY,
    load_sentences,
    load_trees,
    numbered_sentences,
    random_tree,
    vocabularies,
    vocabulary,
)
from benchmarks.expressions import EXPRESSIONS
from benchmarks.networks import AnyBlock, bilstm_tagger, character_tagger, random_trees
from benchmarks.systems import calls, train_steps, variants

Tasks = dict[str, Callable[[], object]]


def treelstm(*, quick: bool, data: Path | None) -> Tasks:
    """Training and inference of the sentiment Tree-LSTM, in batches and one tree at a time."""
    trees, _ = load_trees(data)
    tasks: Tasks = {}
    for state, size in ((300, 64), (128, 25), (300, 1)):
        blocks = sentiment(vocabulary(trees), size=state)
        batch = np.random.default_rng(0).integers(0, len(trees), size)
        for system, model in variants(blocks.learn, one_by_one=False, loss="loss").items():
            tasks[f"train, state {state}, batch {size}, {system}"] = partial(
                train_steps(model, trees), batch, 0
            )
        for system, model in variants(blocks.judge, one_by_one=False).items():
            tasks[f"inference, state {state}, batch {size}, {system}"] = partial(
                calls(model, trees), batch, 0
            )
    return tasks


def bilstm(*, quick: bool, data: Path | None) -> Tasks:
    """Training of the bidirectional tagger on made-up sentences of 40 words; `quick` takes small layers."""
    words, labels = numbered_sentences(np.random.default_rng(0), 64, 40, 1000, 300)
    examples = list(zip(words.tolist(), labels.tolist(), strict=True))
    block = bilstm_tagger(size=64 if quick else 256)
    models = variants(block, one_by_one=False, loss="loss")
    batch = np.arange(len(examples))
    return {
        f"train, {system}": partial(train_steps(model, examples), batch, 0)
        for system, model in models.items()
    }


def bilstm_char(*, quick: bool, data: Path | None) -> Tasks:
    """Training of the tagger that reads rare words by their characters."""
    sentences, _ = load_sentences(data)
    models = variants(character_tagger(*vocabularies(sentences)), one_by_one=False, loss="loss")
    batch = np.random.default_rng(0).integers(0, len(sentences), 64)
    return {
        f"train, {system}": partial(train_steps(model, sentences), batch, 0)
        for system, model in models.items()
    }


def iclr(*, quick: bool, data: Path | None) -> Tasks:
    """Inference on random trees of 128 leaves; `quick` takes batches of 32 alone."""
    random = np.random.default_rng(0)
    models = variants(random_trees(1024, VOCABULARY), one_by_one=False)
    tasks: Tasks = {}
    for size in (32,) if quick else (1, 32, 128):
        trees = [random_tree(random, 128) for _ in range(size)]
        for system, model in models.items():
            tasks[f"batch {size}, {system}"] = partial(calls(model, trees), np.arange(size), 0)
    return tasks


def growing(*, quick: bool, data: Path | None) -> Tasks:
    """A value and its gradients, of wide batches of trees and of one deep chain."""
    wide, deep = ((10_000,), (1_000, 10_000)) if quick else ((10_000, 100_000), (1_000, 10_000, 50_000))
    return {
        f"{mode}, {count:.0f} nodes, {system}": make()
        for mode, count, _, systems in chain(growth.wide_batches(wide, 300, data), growth.deep_batches(deep))
        for system, make in systems.items()
        if system != "numpy-hand"
    }


def onthefly(*, quick: bool, data: Path | None) -> Tasks:
    """Training on the fly; `quick` takes the Tree-LSTM alone."""
    names = ("treelstm",) if quick else tuple(programs.SIZES)
    setups = {name: programs.setup(name, data, programs.SIZES[name]) for name in names}
    return {
        f"train, {name}": partial(
            programs.training(ar.OnTheFly(jit=False), setup.program, setup.examples), range(64), 0
        )
        for name, setup in setups.items()
        if setup is not None
    }


def host(*, quick: bool, data: Path | None) -> Tasks:
    """What the host does for a batch: preparing trees, and steps so small that little else is left."""
    trees = load_trees(data)[0][: 256 if quick else 2048]
    blocks = sentiment(vocabulary(trees), size=4)
    learn, judge = ar.compile(blocks.learn, loss="loss", jit=False), ar.compile(blocks.judge, jit=False)
    batch = np.random.default_rng(0).integers(0, len(trees), 64)
    return {
        "compile": lambda: ar.compile(blocks.learn, loss="loss", jit=False),
        "prepare": lambda: learn.prepare(trees),
        "train, state 4": partial(train_steps(learn, trees), batch, 0),
        "inference, state 4": partial(calls(judge, trees), batch, 0),
        "inference, state 4, not prepared": lambda: judge(trees[:64]),
    }


def infer(*, quick: bool, data: Path | None) -> Tasks:
    """Type inference of expressions of about 1,000 blocks, and of 10,000 unless `quick`."""
    sizes = (1_000,) if quick else (1_000, 10_000)
    return {
        f"{name}, {size}": inference_of_types(expression(size))
        for size in sizes
        for name, expression in EXPRESSIONS.items()
    }


def inference_of_types(block: AnyBlock) -> Callable[[], None]:
    """Infers the types of a block with the garbage collector on, as in a program; `serve` turns it off."""

    def run() -> None:
        gc.enable()
        ar.infer(block)
        gc.collect(0)

    return run


TASKS: dict[str, Callable[..., Tasks]] = {
    "treelstm": treelstm,
    "bilstm": bilstm,
    "bilstm-char": bilstm_char,
    "iclr": iclr,
    "growth": growing,
    "onthefly": onthefly,
    "host": host,
    "infer": infer,
}
"""Benchmark -> the function that makes its tasks."""


def serve(checkout: str, bench: str, quick: str, data: str) -> None:
    """Prints the names of the tasks, then the seconds that each line `[task, count]` of standard input takes.

    `checkout` is the folder whose package this process has imported; `quick` and `data` may be empty.
    """
    assert Path(ar.__file__).is_relative_to(checkout), f"{ar.__file__} is not of {checkout}"
    tasks = TASKS[bench](quick=bool(quick), data=Path(data) if data else None)
    print(json.dumps(list(tasks)), flush=True)
    for line in sys.stdin:
        name, count = json.loads(line)
        task = tasks[name]
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        for _ in range(count):
            task()
        seconds = time.perf_counter() - start
        gc.enable()
        print(seconds, flush=True)
