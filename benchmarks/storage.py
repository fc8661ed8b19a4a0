"""`python -m benchmarks.storage`: the memory of a training step of a Tree-LSTM, by how values are stored.

Counted and not run: the memory of a batch is planned before anything is computed.  So no GPU is needed, only
a C compiler, since "fake-kernels" makes the programs of a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import arrows as ar
from arrows.data import vocabulary
from arrows.engine.device import Arena
from arrows.engine.running.executors import arena_sizes
from arrows.engine.scheduling import DropoutSeed
from arrows.models import sentiment
from benchmarks.datasets import load_trees

STORAGES = ("float32", "bfloat16", "float16")


def step_bytes(
    storage: str, *, size: int = 300, batch: int = 64, data: Path | None = None
) -> tuple[int, int]:
    """The bytes of a training step on the first sentiment trees, beside parameters and optimizer.

    Args:
        storage: as for `arrows.compile`.
        size: of the state and of the embedding.
        batch: how many trees.
        data: the folder of the treebank.

    Returns:
        What grows with the batch, and the gradients of parameters with the matrices in 16 bits.
    """
    trees = load_trees(data)[0]
    block = sentiment(vocabulary(trees), size=size).learn
    model = ar.compile(block, loss="loss", device="fake-kernels", storage=storage)
    executor = model.executors.get(training=True, gradients=True)
    wired = model.prepare(trees[:batch])[:].wired
    planned = executor.merge(wired, DropoutSeed(0, 0, np.arange(batch)))
    return Arena(model.device).bytes_with(arena_sizes(executor, planned)), executor.fixed_bytes


def lines() -> Iterator[str]:
    """The table, in Markdown."""
    yield "| storage | for the batch | for parameters |"
    yield "|---|---|---|"
    for storage in STORAGES:
        rows, fixed = step_bytes(storage)
        yield f"| `{storage}` | {rows / 1e6:.1f} MB | {fixed / 1e6:.1f} MB |"


if __name__ == "__main__":
    print("\n".join(lines()))
