"""How many steps a schedule needs for a batch, against a lower bound for any schedule.

The nodes of one operation on a path need a step each. So the bound is the sum, over the operations, of the
most nodes of one on any path of the batch. Steps are counted; the time is that of merging and scheduling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import arrows as ar
from arrows.engine import scheduling
from arrows.engine.planning import ElementOperation
from arrows.engine.scheduling.node_table import node_table
from arrows.models import sentiment, tagger
from benchmarks.datasets import Ints, load_trees, vocabularies, vocabulary
from benchmarks.networks import AnyBlock, attention, bilstm_tagger, residual_lstms
from benchmarks.report import Result
from benchmarks.timing import interleaved

NAME = "steps"
SCHEDULES = {"arrows": "strata", "depth": "depth", "agenda": "agenda"}


def run(*, quick: bool = False, data: Path | None = None) -> Iterator[Result]:
    """Counts the steps of a batch of each network by each schedule; `bound` is the fewest possible."""
    for name, (block, examples) in networks(data).items():
        models = {system: ar.compile(block, schedule=how) for system, how in SCHEDULES.items()}
        prepared = {system: model.prepare(examples) for system, model in models.items()}
        batch = np.arange(len(examples))
        bound, nodes = longest_chains(models["depth"], prepared["depth"], batch)

        tasks = {system: partial(merge, model, prepared[system], batch) for system, model in models.items()}
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
    """The networks, each with examples of uneven size."""
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
        "bilstm": (bilstm_tagger(50, 8, 8, 2, 5), numbered),
        "bilstm-char": (tagger(*vocabularies(sentences, 2), size=8).learn, sentences),
        "residual": (residual_lstms(8), vectors),
        "attention": (attention(8), vectors),
    }


def merge(model: ar.Model, prepared: ar.Prepared, indices: Ints) -> scheduling.Merged:
    """Merges the wirings of these examples into a schedule, without executing it.

    >>> model = ar.compile(ar.Scalar() >> ar.Function(lambda x: x * x))
    >>> merge(model, model.prepare([1.0, 2.0, 3.0]), np.array([0, 2])).examples
    2
    """
    return scheduling.merge(model.plan, prepared[indices].wired)


def longest_chains(model: ar.Model, prepared: ar.Prepared, indices: Ints) -> tuple[int, int]:
    """The lower bound on the steps of any schedule, and how many nodes run.

    The model is compiled with `schedule="depth"`, whose wirings hold the depth of each node.

    >>> add = ar.Function(lambda total, x: total + x)
    >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Fold(add, ar.Zeros([])), schedule="depth")
    >>> longest_chains(model, model.prepare([[1.0, 2.0, 3.0], [4.0]]), np.arange(2))
    (3, 4)
    """
    plan, wirings = model.plan, prepared.wirings.select(indices)
    site, depth = wirings.site.values, wirings.depth.values
    operation = plan.sites.operation[site]
    is_element = np.array([isinstance(each, ElementOperation) for each in plan.operations])[operation]
    # The rows of a sequence come when their operation runs.
    owner = np.maximum.accumulate(np.where(is_element, 0, np.arange(len(site))))
    table = node_table(plan, wirings, share=False)
    target = np.repeat(np.arange(len(site)), table.length[table.numbers.values])
    source = (table.sources >> plan.shift) - len(plan.lowered.constants)
    target, source = target[source >= 0], owner[table.place[source[source >= 0]]]
    runs = plan.applies[operation]
    chain = np.zeros((len(plan.operations), len(site)), np.int32)
    for level in range(int(depth.max(initial=0)) + 1):
        into = np.flatnonzero((depth[target] == level) & runs[target])
        for row in chain:
            np.maximum.at(row, target[into], row[source[into]])
        here = np.flatnonzero((depth == level) & runs)
        chain[operation[here], here] += 1
    return int(chain.max(axis=1, initial=0).sum()), int(runs.sum())
