"""The Tree-LSTM, random trees and the tagger on a GPU, beside PyTorch on the same GPU: eager and compiled.

All systems start from the same parameters and work on the same batches; before anything is timed, PyTorch's
first results are held to those of `arrows`. A run ends when the GPU has finished its work; within a run no
system makes the host wait.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.engine.device import get_device
from arrows.models import sentiment
from benchmarks import iclr, treelstm
from benchmarks.baselines.bilstm_torch import TorchTagger
from benchmarks.baselines.forest import Forest
from benchmarks.baselines.manual_torch import TorchManual
from benchmarks.baselines.pytorch import installed, torch
from benchmarks.baselines.treelstm_torch import TorchHand
from benchmarks.bilstm import SIZES
from benchmarks.datasets import (
    VOCABULARY,
    load_trees,
    numbered_sentences,
    random_tree,
    vocabulary,
    with_words,
)
from benchmarks.networks import bilstm_tagger, random_trees
from benchmarks.report import Result
from benchmarks.systems import RATE, System, calls, train_steps
from benchmarks.timing import measure, random_batches

NAME = "gpu"
COMPILED = {"torch": False, "torch-compile": True}
TOLERANCE = 1e-4  # of float32 losses and states, relative to the largest number


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What is measured: models, batches, and the seconds that a run of `arrows` takes, about.

    Attributes:
        examples: how many trees of the treebank are there to draw batches from, at most.
        treelstm: states and batches of the Tree-LSTM.
        state, leaves: of random trees.
        trees: batches of random trees.
        tagger: sizes of the tagger's layers.
        sentences, length: a batch of the tagger, and the words of each sentence.
    """

    examples: int = 10_000
    treelstm: Sequence[treelstm.Size] = tuple(treelstm.SIZES)
    state: int = 1024
    leaves: int = 128
    trees: Sequence[int] = iclr.BATCHES
    tagger: Mapping[str, int] = field(default_factory=lambda: dict(SIZES))
    sentences: int = 64
    length: int = 40
    seconds: float = 1.0
    rounds: int = 11


QUICK = Sizes(treelstm=tuple(treelstm.SIZES[:1]), trees=(32,), seconds=0.3, rounds=5)
REHEARSAL = Sizes(
    examples=20,
    treelstm=(treelstm.Size(8, 3),),
    state=8,
    leaves=6,
    trees=(1, 3),
    tagger={"vocabulary": 20, "embedding": 5, "size": 4, "layers": 2, "labels": 7},
    sentences=4,
    length=5,
    seconds=0.001,
    rounds=2,
)


def run(
    *, quick: bool = False, data: Path | None = None, device: str = "cuda", sizes: Sizes | None = None
) -> Iterator[Result]:
    """Measures training and inference on a GPU.

    On a device that is none it rehearses that: in sizes whose times mean nothing, with PyTorch on the CPU.
    """
    there = _Device(device)
    sizes = sizes or (QUICK if quick else Sizes() if there.is_gpu else REHEARSAL)
    yield from _tree_lstm(there, data, sizes)
    yield from _random_trees(there, sizes)
    yield from _tagger(there, sizes)


def described(device: str) -> dict[str, object]:
    """The device and the versions of what drives it, for the line of the machine.

    >>> described("fake")["device"]
    'fake'
    """
    facts: dict[str, object] = {"device": get_device(device).name}
    if device.startswith("cuda") or device == "auto":
        cupy = importlib.import_module("cupy")
        runtime = cupy.cuda.runtime
        number = int(get_device(device).name.partition(":")[2] or 0)
        facts["gpu"] = runtime.getDeviceProperties(number)["name"].decode()
        facts |= {"cupy": cupy.__version__, "driver": runtime.driverGetVersion()}
        facts["runtime"] = runtime.runtimeGetVersion()
    if installed:
        facts["torch"] = torch.__version__
    return facts


class _Device:
    """The device of `arrows`, and PyTorch's name for it."""

    def __init__(self, name: str) -> None:
        self.arrows = get_device(name)
        self.is_gpu = self.arrows.name.startswith("cuda")
        self.torch = self.arrows.name if self.is_gpu else "cpu"
        if installed and self.is_gpu:
            # cuDNN would round the operands of an LSTM's products to 10 bits, which nothing else here does.
            torch.backends.cudnn.allow_tf32 = False

    def wait(self) -> None:
        """Waits until all work of both has been done."""
        self.arrows.synchronize()
        if installed and self.is_gpu:
            torch.cuda.synchronize(self.torch)

    def finished(self, system: System) -> System:
        """The system, each call of which waits until its work has been done."""

        def call(batch: Any, number: int) -> None:
            system(batch, number)
            self.wait()

        return call


def _tree_lstm(device: _Device, data: Path | None, sizes: Sizes) -> Iterator[Result]:
    trees, source = load_trees(data)
    trees = trees[: sizes.examples]
    numbers = vocabulary(trees)
    forest = Forest(trees, numbers)
    for size in sizes.treelstm:
        blocks = sentiment(numbers, size=size.state)
        for mode in ("train", "inference"):
            random = np.random.default_rng(0)
            first = random.integers(0, len(trees), size.batch)
            if mode == "train":
                model = ar.compile(blocks.learn, loss="loss", device=device.arrows)
            else:
                model = ar.compile(blocks.judge, device=device.arrows)
            parameters = _on_host(model)
            systems = {"arrows": (train_steps if mode == "train" else calls)(model, trees)}
            for name, compiled in COMPILED.items() if installed else ():
                hand = TorchHand(parameters, device.torch, compiled=compiled)
                if mode == "train":
                    _agree(
                        name,
                        hand.loss(forest.batch(first)),
                        model.value_and_grad([trees[i] for i in first])[0],
                    )
                    systems[name] = partial(_torch_trees, hand, forest)
                else:
                    scores = hand.scores_there(forest.batch(first))[forest.batch(first).roots]
                    _agree(name, scores, model([trees[i] for i in first]))
                    systems[name] = partial(_torch_scores, hand, forest)
            batches = random_batches(
                random, device.finished(systems["arrows"]), first, len(trees), sizes.seconds
            )
            config = {"model": treelstm.NAME, "mode": mode, "state": size.state, "batch": size.batch}
            yield from _measured(device, config | {"trees": source}, systems, batches, sizes, "trees/s")


def _torch_trees(hand: TorchHand, forest: Forest, batch: Any, _: int) -> object:
    return hand.step(forest.batch(batch), rate=RATE)


def _torch_scores(hand: TorchHand, forest: Forest, batch: Any, _: int) -> object:
    return hand.scores_there(forest.batch(batch))


def _random_trees(device: _Device, sizes: Sizes) -> Iterator[Result]:
    """`arrows` runs trees that all differ, `arrows-equal` and PyTorch trees of one shape that it knows."""
    random = np.random.default_rng(0)
    model = ar.compile(random_trees(sizes.state, VOCABULARY), device=device.arrows)
    parameters = _on_host(model)
    shape = random_tree(random, sizes.leaves)
    hands = {
        name: TorchManual(parameters, shape, device.torch, compiled=compiled)
        for name, compiled in (COMPILED.items() if installed else ())
    }
    for batch in sizes.trees:
        different = [random_tree(random, sizes.leaves) for _ in range(batch)]
        words = random.integers(0, VOCABULARY, (batch, sizes.leaves))
        equal = [with_words(shape, row) for row in words.tolist()]
        systems = {"arrows": calls(model, different), "arrows-equal": calls(model, equal)}
        for name, hand in hands.items():
            _agree(name, hand.by_level(words), model(equal))
            systems[name] = partial(_torch_levels, hand, words)
        every = np.arange(batch)
        count = len(random_batches(random, device.finished(systems["arrows"]), every, batch, sizes.seconds))
        config = {"model": iclr.NAME, "mode": "inference", "state": sizes.state, "batch": batch}
        config["leaves"] = sizes.leaves
        yield from _measured(device, config, systems, [every] * count, sizes, "trees/s")


def _torch_levels(hand: TorchManual, words: Any, batch: Any, _: int) -> object:
    return hand.by_level(words)


def _tagger(device: _Device, sizes: Sizes) -> Iterator[Result]:
    random = np.random.default_rng(0)
    count = 8 * sizes.sentences
    words, labels = numbered_sentences(
        random, count, sizes.length, sizes.tagger["vocabulary"], sizes.tagger["labels"]
    )
    examples = list(zip(words.tolist(), labels.tolist(), strict=True))
    model = ar.compile(bilstm_tagger(**sizes.tagger), loss="loss", device=device.arrows)
    parameters = _on_host(model)
    systems = {"arrows": train_steps(model, examples)}
    first = np.arange(sizes.sentences)
    for name, compiled in COMPILED.items() if installed else ():
        hand = TorchTagger(parameters, device.torch, compiled=compiled)
        _agree(
            name, hand.loss(words[first], labels[first]), model.value_and_grad(examples[: sizes.sentences])[0]
        )
        systems[name] = partial(_torch_sentences, hand, words, labels)
    batches = random_batches(random, device.finished(systems["arrows"]), first, count, sizes.seconds)
    config = {"model": "bilstm", "mode": "train", "state": sizes.tagger["size"], "batch": sizes.sentences}
    config["length"] = sizes.length
    yield from _measured(device, config, systems, batches, sizes, "sentences/s")


def _torch_sentences(hand: TorchTagger, words: Any, labels: Any, batch: Any, _: int) -> object:
    return hand.step(words[batch], labels[batch], rate=RATE)


def _measured(
    device: _Device,
    config: Mapping[str, object],
    systems: Mapping[str, System],
    batches: Sequence[Any],
    sizes: Sizes,
    unit: str,
) -> Iterator[Result]:
    yield from measure(NAME, config, systems, batches, rounds=sizes.rounds, unit=unit, wait=device.wait)


def _on_host(model: ar.Model) -> dict[str, Any]:
    """Copies of the parameters that all systems begin with."""
    return {name: np.array(ar.to_numpy(value)) for name, value in model.params.items()}


def _agree(system: str, result: Any, expected: Any) -> None:
    """Raises AssertionError unless PyTorch computes the same: what differs must not be compared in time."""
    right, value = ar.to_numpy(expected), result.detach().cpu().numpy()
    error = float(np.max(np.abs(value - right), initial=0)) / float(np.max(np.abs(right), initial=1e-30))
    if not error <= TOLERANCE:
        raise AssertionError(f"{system} and arrows differ by {error:.1e} of the largest number")
