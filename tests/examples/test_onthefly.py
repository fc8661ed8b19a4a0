"""The examples on the fly: they learn, agree with one-by-one runs, and say when their data is absent."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import arrows as ar
from arrows.data import format_tree, generate
from arrows.models import sentiment, tagger_vocabularies
from arrows.training import Adagrad
from tests.compare import close, dense

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
SENTENCES = [
    "the/DET tree/NOUN grows/VERB ./PUNCT",
    "Trees/NOUN grow/VERB",
    "the/DET old/ADJ trees/NOUN of/ADP the/DET town/NOUN grow/VERB slowly/ADV ./PUNCT",
    "they/PRON grow/VERB ./PUNCT",
]


def names(example: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{example}.py"))


def sentences() -> list[list[dict[str, str]]]:
    return [
        [dict(zip(("word", "tag"), word.rsplit("/", 1), strict=True)) for word in text.split()]
        for text in SENTENCES
    ]


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    """A folder with sentences, and one with trees."""
    blocks = []
    for sentence in sentences():
        rows = [[str(i), w["word"], "_", w["tag"], *"______"] for i, w in enumerate(sentence, start=1)]
        blocks.append("".join("\t".join(row) + "\n" for row in rows))
    trees = [format_tree(tree) for tree in generate(40, num_words=(2, 5))]
    for part in ("train", "dev", "test"):
        (tmp_path / f"xx-{part}.conllu").write_text("\n".join([*blocks, ""]), encoding="utf-8")
        (tmp_path / f"{part}.txt").write_text("\n".join(trees), encoding="utf-8")
    return tmp_path


def tagging(characters: bool) -> tuple[Any, list[Any]]:
    words, letters = tagger_vocabularies(sentences())
    return names("onthefly_tagger")["Tagger"](words, letters, characters=characters, size=5), sentences()


def recursion() -> tuple[Any, list[Any]]:
    trees = generate(6, num_words=(1, 6))
    return names("onthefly_treelstm")["TreeLSTM"](
        ar.Vocabulary.of(ar.data.words(trees)), size=5, embedding=4
    ), trees


def translation() -> tuple[Any, list[Any]]:
    example = names("translate")
    return example["Translator"](6), example["pairs"](5)


def gradients_of(net: ar.OnTheFly, loss: Any, examples: list[Any]) -> tuple[float, dict[str, Any]]:
    """The sum of the losses of a batch, and its gradients."""
    with net.batch() as g:
        value, gradients = g.value_and_grad(g.sum([loss(g, example) for example in examples]))
    return float(value), {name: dense(gradient) for name, gradient in gradients.items()}


def test_words_are_spelled_if_asked() -> None:
    for characters in (False, True):
        layers, examples = tagging(characters)
        _, gradients = gradients_of(ar.OnTheFly(), layers.loss, examples)
        assert ("letters/weight" in gradients) == characters


def test_the_recursion_is_the_block() -> None:
    layers, trees = recursion()
    block = ar.compile(
        sentiment(layers.vocabulary, size=5, embedding=4).learn, loss="loss", float_type="float64"
    )
    net = ar.OnTheFly(float_type="float64", params=dict(block.params))
    optimizers = Adagrad(0.1), Adagrad(0.1)
    for _ in range(3):
        with net.batch() as g:
            loss = g.train_step(g.mean([layers.loss(g, tree) for tree in trees]), optimizers[0])
        assert close(float(loss), float(block.train_step(trees, optimizers[1])), 1e-9)
        for name in block.params:
            assert close(net.params[name], block.params[name], 1e-9), name


def test_greedy_decoding_is_a_beam_of_one() -> None:
    layers, examples = translation()
    with ar.OnTheFly().batch(gradients=False) as g:
        greedy = g.run_all(layers.greedy(g, words) for words, _ in examples)
        beam = g.run_all(layers.beam(g, words, 1) for words, _ in examples)
    assert greedy == beam


def test_a_wide_beam_finds_the_most_probable_digits() -> None:
    layers, examples = translation()
    scope = layers.beam.__func__.__globals__
    scope["LONGEST"], end, start = 2, scope["END"], scope["START"]
    # Digits alone and in pairs, with the end after one or none.
    outputs = [[end], *([a, b] for a in range(end) for b in range(end + 1))]
    net = ar.OnTheFly(float_type="float64")
    for words, _ in examples:
        with net.batch(gradients=False) as g:
            (beam,) = g.run_all([layers.beam(g, words, 200)])
            state, memory = layers.read(g, words)
            first, after_first = layers.step(start, state, memory)
            seconds = [layers.step(digit, after_first, memory)[0] for digit in range(end)]
            first, *second = g.numpy([first, *seconds])
        probable = max(outputs, key=lambda x: first[x[0]] + (second[x[0]][x[1]] if len(x) == 2 else 0))
        assert beam == [digit for digit in probable if digit != end]


def losses(printed: str) -> list[float]:
    return [float(loss) for loss in re.findall(r"loss ([\d.]+)", printed)]


def test_the_tagger_learns(treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = names("onthefly_tagger")["main"](treebank, characters=True, epochs=20)
    printed = capsys.readouterr().out
    assert losses(printed)[-1] < 0.6 * losses(printed)[0]
    assert f"test: accuracy {figures['accuracy']:.4f}, rare words {figures['rare words']:.4f}" in printed


def test_the_recursion_learns(treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = names("onthefly_treelstm")["main"](treebank, epochs=4, size=8)
    printed = capsys.readouterr().out
    assert losses(printed)[-1] < losses(printed)[0]
    assert f"test: fine {figures['fine']:.4f}, binary {figures['binary']:.4f}" in printed


def test_the_translator_learns(capsys: pytest.CaptureFixture[str]) -> None:
    greedy, beam = names("translate")["main"](examples=100, epochs=3, others=10, width=2)
    printed = capsys.readouterr().out
    assert losses(printed)[-1] < losses(printed)[0]
    assert f"greedy: {greedy:.3f} of 10" in printed
    assert f"beam of 2: {beam:.3f} of 10" in printed


@pytest.mark.parametrize("example", ["onthefly_tagger", "onthefly_treelstm"])
def test_data_that_is_not_there(example: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="train"):
        names(example)["main"](tmp_path)
