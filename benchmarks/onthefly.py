"""Batching ordinary code on the fly: each schedule against no batching, blocks, and PyTorch.

Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017: the models
of table 1 but one, trained under each schedule. All systems of a model begin with the same parameters and
work on the same batches. A program makes its nodes anew in each step.
"""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import arrows as ar
from arrows.data import Tree, read_conllu
from arrows.models import sentiment
from arrows.onthefly import LazyBatch, LazyTensor
from benchmarks import networks, programs, taggers
from benchmarks.baselines import dynet, pytorch
from benchmarks.baselines.bilstm_torch import TorchTagger
from benchmarks.baselines.treelstm_torch import TorchNodewise
from benchmarks.datasets import (
    UNIVERSAL_DEPENDENCIES,
    Ints,
    load_trees,
    vocabulary,
)
from benchmarks.task import RATE, Setting, System, Task, copies, train_steps

PARSER = Path(__file__).resolve().parents[1] / "examples" / "transition_parser.py"
SCHEDULES = {"one-by-one": "none", "agenda": "agenda", "depth": "depth", "arrows": "strata"}


def tasks(setting: Setting) -> Iterator[Task]:
    """Training steps of each model: of the Tree-LSTM alone unless the scale is "full"."""
    models = (_tree_lstm, _gated_tree_lstm, _bilstm, _parser)
    for model in models if setting.scale == "full" else models[:2]:
        yield from model(setting)


def _tree_lstm(setting: Setting) -> Iterator[Task]:
    size = 4 if setting.scale == "tiny" else 300
    trees, _ = load_trees(setting.data)
    words = vocabulary(trees)

    def others(parameters: Any) -> System:
        hand = TorchNodewise(parameters, words)
        return _one_by_one(hand, lambda i: hand.loss([trees[i]]))

    block = sentiment(words, size=size).learn
    yield _task(setting, "treelstm", block, programs.tree_lstm(words, size=size), trees, others, "tree")


def _gated_tree_lstm(setting: Setting) -> Iterator[Task]:
    """The model of DyNet's README, written as its users write it, and with a `Function` for each node."""
    tiny = setting.scale == "tiny"
    batch = 3 if tiny else 100
    trees, _ = load_trees(setting.data)
    trees = trees[:20] if tiny else trees
    words = vocabulary(trees)
    sizes: dict[str, Any] = {"size": 4, "embedding": 4} if tiny else {}
    first = ar.OnTheFly(jit=False)
    with first.batch() as g:  # a tree of several words makes all parameters
        g.numpy(programs.gated_tree_lstm(words, **sizes)(g, next(tree for tree in trees if "left" in tree)))
    systems = {}
    for system, functions in (("arrows", False), ("functions", True)):
        net = ar.OnTheFly(jit=False, params=copies(first))
        program = programs.gated_tree_lstm(words, functions=functions, **sizes)
        systems[system] = programs.training(net, program, trees)
    if dynet.PYTHON is not None:
        systems["dynet"] = dynet.system("treelstm", copies(first), [_numbered(x, words) for x in trees])
    config = {"mode": "train treelstm, a call for each gate", "batch": batch}
    yield Task(config=config, systems=systems, batch=batch, examples=len(trees), each="tree")


def _numbered(tree: Tree, words: ar.Vocabulary) -> list[Any]:
    """A tree as lists, with the number of each word."""
    if "word" in tree:
        return [tree["label"], words[tree["word"]]]
    return [tree["label"], _numbered(tree["left"], words), _numbered(tree["right"], words)]


def _bilstm(setting: Setting) -> Iterator[Task]:
    words, labels, examples = taggers.made_up()

    def others(parameters: Any) -> System:
        hand = TorchTagger(parameters)
        return _one_by_one(hand, lambda i: hand.loss(words[i : i + 1], labels[i : i + 1]))

    block, program = (room.bilstm_tagger(**taggers.SIZES) for room in (networks, programs))
    yield _task(setting, "bilstm", block, program, examples, others)


def _parser(setting: Setting) -> Iterator[Task]:
    """The parser of `examples`, which no block can be; `alone` trains on one sentence after another."""
    files = sorted((setting.data or UNIVERSAL_DEPENDENCIES).glob("*train*.conllu"))
    if not files:
        return
    example = runpy.run_path(str(PARSER))
    treebank = [words for file in files for words in read_conllu(file, trees=True)]
    known = example["Numbers"](treebank)
    sentences = [x for x in map(known.sentence, treebank) if example["is_projective"](x.heads)]
    parser = example["Parser"](known, size=64)

    def program(g: LazyBatch, sentence: Any) -> Generator[Any, Any, LazyTensor | None]:
        losses = yield from parser.learn(g, sentence, random.Random(0), explore=True)
        return g.sum(losses) if losses else None

    yield _task(setting, "parser", None, program, sentences, None)


def _task(
    setting: Setting,
    name: str,
    block: networks.AnyBlock | None,
    program: programs.Program,
    examples: Sequence[Any],
    others: Callable[[Any], System] | None,
    each: str = "sentence",
) -> Task:
    options: dict[str, Any] = {"jit": False}
    systems: dict[str, System] = {}
    if block is not None:
        model = ar.compile(block, loss="loss", jit=False)
        options["params"] = copies(model)
        systems["block"] = train_steps(model, examples)
    else:
        one = programs.training(ar.OnTheFly(jit=False), program, examples)
        systems["alone"] = lambda batch: [one(batch[k : k + 1]) for k in range(len(batch))]
    if others is not None and pytorch.installed:
        systems["torch-one-by-one"] = others(options["params"])
    for system, schedule in SCHEDULES.items():
        net = ar.OnTheFly(schedule=schedule, **options)
        systems[system] = programs.training(net, program, examples)
    batch = 3 if setting.scale == "tiny" else 64
    config = {"mode": f"train {name}", "batch": batch}
    return Task(
        config=config, systems=dict(reversed(systems.items())), batch=batch, examples=len(examples), each=each
    )


def _one_by_one(model: pytorch.TorchDescent, loss: Callable[[int], Any]) -> System:
    """A step of gradient descent by PyTorch, one example after another."""

    def step(batch: Ints) -> None:
        for i in batch.tolist():
            (loss(i) / len(batch)).backward()
        model.update(RATE)

    return step
