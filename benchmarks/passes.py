"""`python -m benchmarks.passes [PASS ...]`: what a training step takes without a pass over its programs.

Models with all passes and without one of them take the same batches in turns, in one process with one thread.
A figure is the median of the ratios, round by round, of processor time without the pass to that with it: 1.10
says that a step takes 10 % more without.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

import arrows as ar
from arrows.engine.program.pipeline import BACKWARD, FORWARD, LAST, without_passes
from arrows.models import sentiment
from benchmarks import taggers
from benchmarks.datasets import load_sentences, load_trees, vocabularies, vocabulary
from benchmarks.networks import AnyBlock, bilstm_tagger, chain, character_tagger
from benchmarks.task import train_steps
from benchmarks.timing import interleaved

PASSES = (*(each.__name__ for each in (*FORWARD, *BACKWARD, *LAST)), "reuse")
_COMPILED = "fuse"  # does nothing without numba, which it needs here
_MAKES_ROWS = "push_sums"  # without it the rows of outer products are made: gigabytes, but for the chain
_EXAMPLES = 640  # which each model prepares for itself


class Network(NamedTuple):
    """A block and examples, so many of them a batch; the loss is a metric of the block, or its result."""

    block: AnyBlock
    examples: Sequence[Any]
    batch: int
    loss: str | None = "loss"


def _trees(size: int, batch: int) -> Network:
    trees = load_trees(None)[0][:_EXAMPLES]
    return Network(sentiment(vocabulary(trees), size=size).learn, trees, batch)


def _characters() -> Network:
    sentences, _ = load_sentences(None)
    block = character_tagger(*vocabularies(sentences), **taggers.CHARACTER_SIZES)
    return Network(block, sentences[:_EXAMPLES], 64)


def _chain() -> Network:
    nested: Any = None
    for word in range(1000):
        nested = (nested, word)
    return Network(chain(), [nested], 1, None)


NETWORKS: Mapping[str, Callable[[], Network]] = {
    "treelstm 300/64": lambda: _trees(300, 64),
    "treelstm 128/25": lambda: _trees(128, 25),
    "bilstm 256/16": lambda: Network(bilstm_tagger(**taggers.SIZES), taggers.made_up()[2][:128], 16),
    "bilstm-char 128/64": _characters,
    "chain 100/1": _chain,
}
"""By name, with the size of the state and of a batch."""


def ratios(
    network: Network,
    passes: Sequence[str],
    *,
    rounds: int = 15,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """By pass, the time of a training step without it, divided by that with it."""
    random = np.random.default_rng(0)
    batches = [random.integers(0, len(network.examples), network.batch) for _ in range(rounds)]

    def step(name: str, jit: bool) -> Callable[[], object]:
        with without_passes(*() if name == "all" else (name,)):
            model = ar.compile(network.block, loss=network.loss, jit=jit)
            steps = map(train_steps(model, network.examples), cycle(batches))
            next(steps)  # makes the programs
        return partial(next, steps)

    jits = {name: name == _COMPILED for name in passes}
    tasks = {f"all {jit}": step("all", jit) for jit in sorted(set(jits.values()))}
    tasks |= {name: step(name, jit) for name, jit in jits.items()}
    seconds = interleaved(tasks, rounds, threads=dict.fromkeys(tasks, 1), clock=clock)
    return {
        name: float(np.median(np.divide(seconds[name], seconds[f"all {jit}"]))) for name, jit in jits.items()
    }


def lines(passes: Sequence[str] = PASSES) -> Iterator[str]:
    """The table, in Markdown."""
    columns: dict[str, dict[str, float]] = {}
    for name, make in NETWORKS.items():
        small = [each for each in passes if each != _MAKES_ROWS or name.startswith("chain")]
        columns[name] = ratios(make(), small)
    yield f"| without | {' | '.join(columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    for name in passes:
        figures = [f"{column[name]:.2f}" if name in column else "" for column in columns.values()]
        yield f"| `{name}` | {' | '.join(figures)} |"


if __name__ == "__main__":
    print("\n".join(lines(sys.argv[1:] or PASSES)))
