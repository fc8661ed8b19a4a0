"""How many steps a schedule needs for a batch, against the fewest that any could.

No schedule can do with fewer steps than, for each operation, the longest chain of its nodes within the batch.
What is timed is merging with scheduling; steps are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import arrows as ar
from arrows.data import vocabulary
from arrows.models import Lexicon, sentiment, tagger
from benchmarks.datasets import load_trees
from benchmarks.networks import AnyBlock, attention, bilstm_tagger, residual_lstms
from benchmarks.report import Result
from benchmarks.schedules import longest_chains, merge
from benchmarks.timing import interleaved

NAME = "steps"
SCHEDULES = {"arrows": "strata", "depth": "depth", "agenda": "agenda"}


def run(*, quick: bool = False, data: Path | None = None) -> Iterator[Result]:
    """Counts the steps of a batch of 64 of five networks under each schedule, and yields each result.

    Args:
        quick: fewer rounds.
        data: a folder with `train.txt` of the Stanford Sentiment Treebank.

    Yields:
        A result for each network and schedule; its figures are `steps`, `bound` (the fewest possible) and
        `nodes`.

    >>> results = list(run(quick=True))  # doctest: +SKIP
    """
    for name, (block, examples) in networks(data).items():
        models = {system: ar.compile(block, schedule=how) for system, how in SCHEDULES.items()}
        prepared = {system: model.prepare(examples) for system, model in models.items()}
        batch = np.arange(len(examples))
        bound, nodes = longest_chains(models["depth"], prepared["depth"], batch)

        tasks = {
            system: partial(merge, models[system], prepared[system], np.arange(len(examples)))
            for system in models
        }
        seconds = interleaved(tasks, 3 if quick else 11)
        for system, runs in seconds.items():
            figures = {
                "steps": float(len(tasks[system]().steps)),
                "bound": float(bound),
                "nodes": float(nodes),
            }
            config = {"mode": name, "batch": len(examples)}
            yield Result(NAME, config, system, runs, figures)


def networks(data: Path | None = None, batch: int = 64) -> dict[str, tuple[AnyBlock, Sequence[object]]]:
    """The networks, each with examples of uneven size.

    >>> sorted(networks(batch=2))
    ['attention', 'bilstm', 'bilstm-char', 'residual', 'treelstm']
    """
    random = np.random.default_rng(0)
    lengths = random.integers(1, 40, batch)
    trees = load_trees(data)[0][:batch]
    numbered = [
        (row, [word % 5 for word in row]) for row in (random.integers(0, 50, n).tolist() for n in lengths)
    ]
    letters = np.array(list("abcdefghij"))
    sentences = [
        [{"word": "".join(random.choice(letters, random.integers(1, 12))), "tag": "NOUN"} for _ in range(n)]
        for n in lengths
    ]
    vectors = [random.normal(size=(n, 8)).tolist() for n in lengths]
    return {
        "treelstm": (sentiment(vocabulary(trees), size=8).learn, trees),
        "bilstm": (
            bilstm_tagger(50, 8, 8, 2, 5),
            numbered,
        ),
        "bilstm-char": (tagger(Lexicon.of(sentences), size=8).learn, sentences),
        "residual": (residual_lstms(8), vectors),
        "attention": (attention(8), vectors),
    }
