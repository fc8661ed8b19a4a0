"""What `arrows.torch.Module` takes over `Model.value_and_grad`: the sentiment Tree-LSTM, state 300, 64 trees.

    python -m benchmarks.torch_module TREES [--sparse]

TREES is a file of the Stanford Sentiment Treebank. The two run in turns on one thread, each batch ten times;
the least processor time of each batch counts.
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np
import torch

import arrows as ar
from arrows.data import read_trees, words
from arrows.models import sentiment
from arrows.torch import Module


def main(path: str, *options: str) -> None:
    """Prints the milliseconds of a batch, and the overhead."""
    ar.set_threads(1)
    torch.set_num_threads(1)
    trees = read_trees(path).to_list()
    model = ar.compile(sentiment(ar.Vocabulary.of(words(trees)), size=300).learn, loss="loss")
    module, prepared = Module(model, sparse="--sparse" in options), model.prepare(trees[:384])
    times = np.full((6, 11, 2), np.inf)
    for repeat in range(11):  # the first makes programs and takes memory
        for batch, kind in np.ndindex(6, 2):
            examples = prepared[64 * batch : 64 * (batch + 1)]
            module.zero_grad()
            start = process_time()
            module.loss(examples).backward() if kind else model.value_and_grad(examples)
            times[batch, repeat, kind] = process_time() - start
    plain, wrapped = times.min(1).mean(0) * 1e3
    print(f"value_and_grad {plain:.1f} ms, Module {wrapped:.1f} ms: {100 * (wrapped / plain - 1):.1f} % more")


if __name__ == "__main__":
    main(*sys.argv[1:])
