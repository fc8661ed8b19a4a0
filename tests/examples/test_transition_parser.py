"""The transition-based dependency parser: its oracle, its batches, and that it learns a tiny treebank."""

from __future__ import annotations

import itertools
import random
import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "transition_parser.py"
P: dict[str, Any] = runpy.run_path(str(EXAMPLE))
TRANSITIONS = P["LEFT"], P["RIGHT"], P["SHIFT"]


def is_tree(heads: tuple[int, ...]) -> bool:
    """Whether every word's chain of heads ends at the root, which has the number after the last word."""
    for word in range(len(heads)):
        for _ in heads:
            word = heads[word] if word < len(heads) else word
        if word < len(heads):
            return False
    return True


def projective(size: int) -> list[list[int]]:
    """All projective trees of a number of words."""
    every = itertools.product(range(size + 1), repeat=size)
    return [list(heads) for heads in every if is_tree(heads) and P["is_projective"](heads)]


def after(state: Any, transition: int) -> Any:
    copied = P["Configuration"](state.size, state.front, list(state.stack), dict(state.arcs))
    copied.take(transition, 0)
    return copied


def fewest_wrong(state: Any, heads: list[int], known: dict[Any, int]) -> int:
    """The fewest wrong heads of all trees that can still be built."""
    key = state.front, tuple(state.stack), tuple(sorted(state.arcs.items()))
    if key not in known:
        known[key] = (
            sum(state.arcs[word][0] != head for word, head in enumerate(heads))
            if not any(state.allowed)
            else min(fewest_wrong(after(state, t), heads, known) for t in TRANSITIONS if state.allowed[t])
        )
    return known[key]


def made_up(count: int, seed: int) -> str:
    """Sentences in CoNLL-U form whose trees follow from the parts of speech; the first is not projective."""
    generator = random.Random(seed)
    rows = [("sees", "VERB", 0), ("tall", "ADJ", 4), ("now", "ADV", 1), ("tree", "NOUN", 1)]
    sentences = [rows]
    for _ in range(count):
        rows = []
        for place, adjectives in enumerate((generator.randrange(3), generator.randrange(2))):
            noun = len(rows) + adjectives + 1
            verb = noun + 1 if place == 0 else rows.index(("sees", "VERB", 0)) + 1
            rows += [(generator.choice(["tall", "old", "green"]), "ADJ", noun)] * adjectives
            rows.append((generator.choice(["tree", "house", "town"]), "NOUN", verb))
            if place == 0:
                rows.append(("sees", "VERB", 0))
        sentences.append(rows)
    lines = []
    for sentence in sentences:
        for number, (form, tag, head) in enumerate(sentence, start=1):
            relation = {"ADJ": "amod", "NOUN": "obj", "VERB": "root", "ADV": "advmod"}[tag]
            lines.append("\t".join([str(number), form, "_", tag, "_", "_", str(head), relation, "_", "_"]))
        lines.append("")
    return "\n".join(lines)


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    (tmp_path / "a-train.conllu").write_text(made_up(60, 1), encoding="utf-8")
    (tmp_path / "a-test.conllu").write_text(made_up(15, 2), encoding="utf-8")
    return tmp_path


def some_sentences() -> tuple[Any, list[Any]]:
    """A parser that has learned nothing, and sentences of one to six words."""
    generator = random.Random(3)
    words = [
        [
            {"word": generator.choice("abcd"), "tag": generator.choice(["NOUN", "VERB"])}
            | {"head": str(number), "relation": generator.choice(["x", "y"])}
            for number in range(size)
        ]
        for size in (3, 1, 6, 4, 2)
    ]
    vocabulary = P["Numbers"](words)
    return P["Parser"](vocabulary, size=4, seed=1), [vocabulary.sentence(text) for text in words]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_transitions_without_cost_build_every_projective_tree(size: int) -> None:
    for heads in projective(size):
        state = P["Configuration"](size)
        while any(state.allowed):
            costs = state.costs(heads)
            state.take(next(t for t in TRANSITIONS if state.allowed[t] and costs[t] == 0), 0)
        assert [state.arcs[word][0] for word in range(size)] == heads


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_costs_are_those_of_trying_everything(size: int) -> None:
    """On random walks, mistakes included: how many more heads become wrong at best."""
    generator = random.Random(size)
    trees = (
        projective(min(size, 5)) if size < 6 else [[1, 6, 4, 4, 5, 1], [6, 0, 1, 2, 3, 4], [5, 2, 0, 2, 3, 6]]
    )
    for heads in generator.sample(trees, min(len(trees), 25)):
        known: dict[Any, int] = {}
        state = P["Configuration"](size)
        while any(state.allowed):
            least = fewest_wrong(state, heads, known)
            for t in TRANSITIONS:
                if state.allowed[t]:
                    cost = fewest_wrong(after(state, t), heads, known) - least
                    assert state.costs(heads)[t] == cost, (heads, state, t)
            state.take(generator.choice([t for t in TRANSITIONS if state.allowed[t]]), 0)


def test_parsing_together_is_parsing_one_by_one() -> None:
    parser, sentences = some_sentences()
    assert P["parse"](parser, sentences) == P["parse"](parser, sentences, 1)


def test_it_learns_a_tiny_treebank(treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--data", str(treebank), "--epochs", "6", "--size", "8", "--rate", "0.01", "--compare", "1"]
    unlabelled, labelled = P["main"](arguments)
    assert unlabelled > 0.9
    assert labelled > 0.9
    out = capsys.readouterr().out
    assert "61 sentences, 1 left out that are not projective" in out
    assert f"unlabelled attachment {unlabelled:.3f}, labelled {labelled:.3f}" in out
    assert "parsing: " in out
    assert "gradients: " in out


def test_without_a_treebank_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no sentences in .*train\*\.conllu: --data names a treebank"):
        P["main"](["--data", str(tmp_path)])
