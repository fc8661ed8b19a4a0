"""The programs of the benchmark are the models of the blocks, and a tiny run has every system."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import arrows as ar
from arrows.data import format_tree, generate, vocabulary
from arrows.models import Lexicon, sentiment
from arrows.training import SGD
from benchmarks import networks, onthefly, programs
from benchmarks.datasets import numbered_sentences
from benchmarks.stopwatch import Stopwatch
from tests.benchmarks.agreement import agree

TORCH = ["torch-one-by-one"] * bool(importlib.util.find_spec("torch"))
SENTENCES = [
    [{"word": word, "tag": tag} for word, tag in zip(text.split(), tags.split(), strict=True)]
    for text, tags in [
        ("the tree grows", "DET NOUN VERB"),
        ("the other tree", "DET ADJ NOUN"),
        ("grass", "NOUN"),
        ("tree the tree grows the", "NOUN DET NOUN VERB DET"),
    ]
]


def bilstm():
    words, labels = numbered_sentences(np.random.default_rng(0), 4, 5, 12, 6)
    sizes = {"vocabulary": 12, "embedding": 5, "size": 4, "layers": 2, "labels": 6}
    examples = list(zip(words.tolist(), labels.tolist(), strict=True))
    return networks.bilstm_tagger(**sizes), programs.bilstm_tagger(**sizes), examples


def bilstm_char():
    sizes = {"embedding": 6, "size": 4, "character_embedding": 3}
    lexicon = Lexicon.of(SENTENCES, least=2)
    return networks.character_tagger(lexicon, **sizes), programs.character_tagger(lexicon, **sizes), SENTENCES


def treelstm():
    trees = generate(4, words=(1, 7))
    numbers = vocabulary(trees[:3])
    return sentiment(numbers, size=4).learn, programs.tree_lstm(numbers, size=4), trees


@pytest.mark.parametrize("model", [bilstm, bilstm_char, treelstm])
@pytest.mark.parametrize("schedule", list(onthefly.SCHEDULES.values()))
def test_a_program_learns_what_its_block_learns(model, schedule):
    block, program, examples = model()
    compiled = ar.compile(block, loss="loss", float_type="float64", jit=False)
    net = ar.OnTheFly(schedule=schedule, float_type="float64", params=dict(compiled.params), jit=False)
    for _ in range(2):
        loss, gradients = compiled.value_and_grad(examples)
        with net.batch(training=True) as g:
            value, others = g.value_and_grad(g.mean([program(g, example) for example in examples]))
            assert abs(value - loss) <= 1e-10 * (1 + abs(loss))
            dense = {name: x.to_dense(np) if hasattr(x, "to_dense") else x for name, x in others.items()}
            agree(dense, gradients, 1e-10)
            SGD(0.1).step(net, others)
        SGD(0.1).step(compiled, gradients)
        agree(dict(net.params), dict(compiled.params), 1e-10)


def test_a_tiny_run_has_every_system(tmp_path):
    trees = "\n".join(format_tree(tree) for tree in generate(20, words=(1, 6)))
    (tmp_path / "train.txt").write_text(trees, encoding="utf-8")
    lines = [
        "\n".join(
            f"{k}\t{word['word']}\t_\t{word['tag']}\t_\t_\t{k - 1}\tdep\t_\t_"
            for k, word in enumerate(sentence, 1)
        )
        for sentence in SENTENCES
    ]
    (tmp_path / "a-train.conllu").write_text("\n\n".join(lines) + "\n\n", encoding="utf-8")
    sizes = {
        "treelstm": {"size": 4},
        "bilstm": {"vocabulary": 9, "embedding": 3, "size": 2, "layers": 2, "labels": 4, "length": 3},
        "bilstm-char": {"embedding": 4, "size": 2, "character_embedding": 2},
        "parser": {"size": 2},
    }
    results = list(onthefly.run(data=tmp_path, batch=3, sizes=sizes, seconds=0.001, rounds=2))
    ours = list(onthefly.SCHEDULES)
    by_numpy = ["numpy-hand"]
    others = {
        "treelstm": ["block", *by_numpy, *TORCH],
        "bilstm": ["block", *by_numpy, *TORCH],
        "bilstm-char": ["block", *TORCH],
        "parser": ["alone"],
    }
    for name, beside in others.items():
        here = [r for r in results if r.config["mode"] == f"train {name}"]
        assert [r.system for r in here] == [*ours, *beside]
        steps = {r.system: r.figures["steps"] for r in here if r.system in ours}
        assert steps["arrows"] <= steps["depth"] <= steps["one-by-one"]
        costs = [r for r in results if r.config["mode"] == f"train {name}, µs/call"]
        assert [r.system for r in costs] == ours
        for result in costs:
            parts = [result.figures[part] for part in ("record", "wire", "merge")]
            assert result.figures["build"] == pytest.approx(sum(parts)) and min(parts) > 0
            assert result.figures["nodes"] <= result.figures["calls"] == steps["one-by-one"]


def test_a_stopwatch_counts_to_the_innermost_part():
    now = 0.0

    class Shop:
        def open(self):
            nonlocal now
            now += 1
            self.sell()
            now += 2

        def sell(self):
            nonlocal now
            now += 10
            raise ValueError("sold out")

    before = dict(vars(Shop))
    watch = Stopwatch({(Shop, "open"): "open", (Shop, "sell"): "sale"}, "rest", clock=lambda: now)
    with watch.running():
        now += 5
        with pytest.raises(ValueError, match="sold out"):
            Shop().open()
    assert watch.seconds == {"rest": 5, "open": 1, "sale": 10}
    assert dict(vars(Shop)) == before
