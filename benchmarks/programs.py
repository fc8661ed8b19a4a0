"""The networks of Neubig, Goldberg, Dyer (NIPS 2017) as programs on the fly, written for one example.

Each has the layers of a block of `benchmarks.networks` or `arrows.models`, by the same names, so that both
can work on the same parameters.
"""

from __future__ import annotations

import inspect
import random
import runpy
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import arrows as ar
from arrows.data import TAGS, Sentence, Tree, read_conllu
from arrows.models import sentiment
from arrows.onthefly import LazyBatch, LazyTensor
from arrows.training import SGD
from benchmarks import networks
from benchmarks.datasets import (
    UNIVERSAL_DEPENDENCIES,
    load_sentences,
    load_trees,
    numbered_sentences,
    vocabularies,
    vocabulary,
)
from benchmarks.systems import RATE, System

PARSER = Path(__file__).resolve().parents[1] / "examples" / "transition_parser.py"
Program = Callable[[LazyBatch, Any], Any]
"""Takes a batch and an example; returns the example's loss, or a generator that returns it."""

SIZES: Mapping[str, Mapping[str, Any]] = {
    "bilstm": {"vocabulary": 1000, "embedding": 200, "size": 256, "layers": 2, "labels": 300, "length": 40},
    "bilstm-char": {"embedding": 128, "size": 128, "character_embedding": 20},
    "treelstm": {"size": 300},
    "parser": {"size": 64},
}
"""The sizes that the benchmark `onthefly` takes."""


def training(net: ar.OnTheFly, program: Program, examples: Sequence[Any]) -> System:
    """Steps of gradient descent on the fly."""
    optimizer = SGD(RATE)

    def step(batch: Iterable[int], _: int) -> None:
        with net.batch(training=True) as g:
            g.train_step(g.mean(losses(g, program, examples, batch)), optimizer)

    return step


def losses(g: LazyBatch, program: Program, examples: Sequence[Any], batch: Iterable[int]) -> list[Any]:
    """The losses of the examples that have one; programs that are generators run together."""
    results: list[Any] = [program(g, examples[i]) for i in batch]
    if inspect.isgenerator(results[0]):
        results = [loss for loss in g.run_all(results) if loss is not None]
    return results


def bilstm_tagger(
    vocabulary: int = 1000, embedding: int = 200, size: int = 256, layers: int = 2, labels: int = 300
) -> Program:
    """The network of `networks.bilstm_tagger`.

    >>> net = ar.OnTheFly()
    >>> with net.batch() as g:
    ...     float(bilstm_tagger(5, 3, 4, 1, 2)(g, ([1, 2, 4], [0, 1, 1]))) > 0
    True
    """
    embed = ar.Embedding(vocabulary, embedding, name="words")
    cells = [_both_ways(size, f"_{layer}") for layer in range(layers)]
    classify, cross_entropy = ar.FC(labels, name="classify"), ar.SoftmaxCrossEntropy()

    def loss(g: LazyBatch, example: tuple[Sequence[int], Sequence[int]]) -> LazyTensor:
        words, right = example
        states = [embed(word) for word in words]
        for forward, backward in cells:
            states = _bidirectional(g, forward, backward, states)
        return g.sum([cross_entropy(classify(h), label) for h, label in zip(states, right, strict=True)])

    return loss


def character_tagger(
    words: ar.Vocabulary,
    characters: ar.Vocabulary,
    *,
    embedding: int = 128,
    size: int = 128,
    character_embedding: int = 20,
    tags: Sequence[str] = TAGS,
) -> Program:
    """The network of `networks.character_tagger`.

    >>> tagger = character_tagger(ar.Vocabulary(["trees"]), ar.Vocabulary(["g"]), embedding=4, size=3)
    >>> net = ar.OnTheFly()
    >>> with net.batch() as g:
    ...     float(tagger(g, [{"word": "trees", "tag": "NOUN"}, {"word": "grow", "tag": "VERB"}])) > 0
    True
    """
    letters = ar.Embedding(len(characters), character_embedding, name="characters")
    spell = [ar.LSTMCell(embedding // 2, name=f"spelling_{way}") for way in ("forward", "backward")]
    embed = ar.Embedding(len(words), embedding, name="words")
    forward, backward = _both_ways(size)
    classify, cross_entropy = ar.FC(len(tags), name="classify"), ar.SoftmaxCrossEntropy()
    numbers = {tag: number for number, tag in enumerate(tags)}

    def vector(g: LazyBatch, form: str) -> Any:
        number = words[form.lower()]
        if number:
            return embed(number)
        x = [letters(letter) for letter in characters.numbers(list(form))]
        return ar.ops.concat([_outputs(g, spell[0], x)[-1], _outputs(g, spell[1], x[::-1])[-1]])

    def loss(g: LazyBatch, sentence: Sentence) -> LazyTensor:
        vectors = [vector(g, word["word"]) for word in sentence]
        states = _bidirectional(g, forward, backward, vectors)
        return g.sum(
            [
                cross_entropy(classify(h), numbers[word["tag"]])
                for h, word in zip(states, sentence, strict=True)
            ]
        )

    return loss


def tree_lstm(vocabulary: ar.Vocabulary, *, size: int = 64, classes: int = 5) -> Program:
    """The network of `arrows.models.sentiment`.

    >>> net = ar.OnTheFly()
    >>> with net.batch() as g:
    ...     float(tree_lstm(ar.Vocabulary(["good"]), size=4)(g, {"label": 3, "word": "good"})) > 0
    True
    """
    embed = ar.Embedding(len(vocabulary), size, name="embed")
    cell = ar.TreeLSTM(size, children=2, name="cell")
    classify, cross_entropy = ar.FC(classes, name="classify"), ar.SoftmaxCrossEntropy()

    def loss(g: LazyBatch, tree: Tree) -> LazyTensor:
        no_word, no_halves = g.zeros([size]), g.zeros((cell.state, cell.state))
        losses = []

        def state(node: Tree) -> Any:
            if "word" in node:
                h = cell(embed(vocabulary[node["word"]]), no_halves)
            else:
                h = cell(no_word, (state(node["left"]), state(node["right"])))
            losses.append(cross_entropy(classify(h[0]), node["label"]))
            return h

        state(tree)
        return g.sum(losses)

    return loss


def transition_parser(parser: Any) -> Program:
    """The parser of `examples/transition_parser.py`, which reads the scores of each transition; no block can.

    The loss of a sentence is None if all its transitions are right by the margin.
    """

    def loss(g: LazyBatch, sentence: Any) -> Generator[Any, Any, LazyTensor | None]:
        losses = yield from parser.learn(g, sentence, random.Random(0), explore=True)
        return g.sum(losses) if losses else None

    return loss


class Setup(NamedTuple):
    """A model of the paper: as a program and as a block, with its examples.

    Attributes:
        program: gives the loss of an example, or a generator that returns it.
        block: the same model as a block; None if no block can express it.
        examples: the examples.
        unit: what is counted a second.
        config: the config of the results.
    """

    program: Program
    block: networks.AnyBlock | None
    examples: Sequence[Any]
    unit: str
    config: Mapping[str, object]


def setup(name: str, data: Path | None, sizes: Mapping[str, Any], count: int = 64) -> Setup | None:
    """A model by the name that it has in `SIZES`; the parser's is None where there is no treebank.

    Args:
        name: of the model.
        data: the folder of the trees or sentences; None: see `load_trees`, `load_sentences`.
        sizes: of the model's layers.
        count: how many sentences to make up.
    """
    state = {"state": sizes["size"]}
    if name == "treelstm":
        trees, source = load_trees(data)
        words = vocabulary(trees)
        block = sentiment(words, **sizes).learn
        return Setup(tree_lstm(words, **sizes), block, trees, "trees/s", state | {"trees": source})
    if name == "bilstm":
        rest = dict(sizes)
        length, random = rest.pop("length"), np.random.default_rng(0)
        numbers = numbered_sentences(random, count, length, rest["vocabulary"], rest["labels"])
        examples = list(zip(*(column.tolist() for column in numbers), strict=True))
        program, block = bilstm_tagger(**rest), networks.bilstm_tagger(**rest)
        return Setup(program, block, examples, "sentences/s", state | {"length": length})
    if name == "bilstm-char":
        sentences, source = load_sentences(data)
        numbered = vocabularies(sentences)
        program, block = character_tagger(*numbered, **sizes), networks.character_tagger(*numbered, **sizes)
        return Setup(program, block, sentences, "sentences/s", state | {"sentences": source})
    files = sorted((UNIVERSAL_DEPENDENCIES if data is None else data).glob("*train*.conllu"))
    if not files:
        return None
    example = runpy.run_path(str(PARSER))
    treebank = [words for file in files for words in read_conllu(file, trees=True)]
    known = example["Numbers"](treebank)
    projective = [x for x in map(known.sentence, treebank) if example["is_projective"](x.heads)]
    program = transition_parser(example["Parser"](known, **sizes))
    return Setup(program, None, projective, "sentences/s", state | {"sentences": "ud"})


def _both_ways(size: int, end: str = "") -> tuple[Any, Any]:
    """The cells of a bidirectional layer."""
    return ar.LSTMCell(size, name=f"forward{end}"), ar.LSTMCell(size, name=f"backward{end}")


def _outputs(g: LazyBatch, cell: Any, x: list[Any]) -> list[Any]:
    """The outputs of a cell that reads vectors one by one."""
    state, outputs = g.zeros(cell.state), []
    for vector in x:
        state = cell(vector, state)
        outputs.append(state[0])
    return outputs


def _bidirectional(g: LazyBatch, forward: Any, backward: Any, x: list[Any]) -> list[Any]:
    """The outputs of two cells, of which the second reads backwards, joined at each step."""
    pairs = zip(_outputs(g, forward, x), _outputs(g, backward, x[::-1])[::-1], strict=True)
    return [ar.ops.concat(pair) for pair in pairs]
