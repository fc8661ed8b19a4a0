"""What `arrows.torch.Module` takes over `Model.value_and_grad`: the sentiment Tree-LSTM, state 300, 64 trees.

    python -m benchmarks.torch_module TREES [--sparse]

TREES is a file of the Stanford Sentiment Treebank. The two run in turns on one thread, six batches each time;
the least of ten processor times counts.
"""

from __future__ import annotations

import sys
from time import process_time

import arrows as ar
from arrows.data import read_trees, words
from arrows.models import sentiment
from arrows.torch import Module
from benchmarks.timing import interleaved


def main(path: str, *options: str) -> None:
    """Prints the milliseconds of a batch, and the overhead."""
    trees = read_trees(path).to_list()
    model = ar.compile(sentiment(ar.Vocabulary.of(words(trees)), size=300).learn, loss="loss")
    module, prepared = Module(model, sparse="--sparse" in options), model.prepare(trees[:384])
    batches = [prepared[first : first + 64] for first in range(0, 384, 64)]

    def wrapped() -> None:
        for batch in batches:
            module.zero_grad()
            module.loss(batch).backward()

    systems = {"plain": lambda: [model.value_and_grad(batch) for batch in batches], "wrapped": wrapped}
    seconds = interleaved(systems, 10, threads=dict.fromkeys(systems, 1), clock=process_time)
    plain, more = (1e3 * min(times) / len(batches) for times in seconds.values())
    print(f"value_and_grad {plain:.1f} ms, Module {more:.1f} ms: {100 * (more / plain - 1):.1f} % more")


if __name__ == "__main__":
    main(*sys.argv[1:])
