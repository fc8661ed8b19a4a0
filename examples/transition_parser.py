"""A dependency parser that must read the scores of one transition before it can take the next.

What it computes depends on its results, so no batch can be laid out in advance. The parser is therefore
written for one sentence, as a generator that yields the scores it waits for; `g.run_all` advances all
sentences of a batch together, and computes what they wait for in one large batch.

    python examples/transition_parser.py --data DIR

trains it on a treebank of Universal Dependencies, whose files `*train*.conllu` and `*test*.conllu` DIR holds:
0.85 of the words in test of English ParTUT get the right head, 0.82 its label too, after some minutes.

The transitions are the arc-hybrid system (Kuhlmann, Gómez-Rodríguez, Satta, "Dynamic Programming Algorithms
for Transition-Based Dependency Parsers", ACL 2011). The model is that of Kiperwasser, Goldberg, "Simple and
Accurate Dependency Parsing Using Bidirectional LSTM Feature Representations", TACL 2016: a BiLSTM over words
and parts of speech, and four of its vectors to score a transition. It learns from its own mistakes, with the
dynamic oracle of Goldberg, Nivre, "Training Deterministic Parsers with Non-Deterministic Oracles", TACL 2013.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import arrows as ar
from arrows import ops
from arrows.data import TAGS, read_conllu
from arrows.onthefly import LazyBatch
from arrows.training import Adam

LEFT, RIGHT, SHIFT = range(3)
UNKNOWN, ROOT = range(2)  # numbers of words
MARKS = ("<unknown>", "<root>")
DROPPED = 0.25  # a word that occurs n times becomes unknown with probability DROPPED / (DROPPED + n)
EXPLORED = 0.1  # how often to take a wrong transition that scores almost as well as the best correct one


@dataclass(slots=True)
class Configuration:
    """A stack of words, a buffer of all words from `front` on, and the part of the tree that is built.

    Words are numbered from 0, and the root has the number after the last word. SHIFT moves the front of the
    buffer to the stack; LEFT and RIGHT take the top of the stack away, and make its head the front of the
    buffer (LEFT) or the word below it on the stack (RIGHT).
    """

    size: int
    front: int = 0
    stack: list[int] = field(default_factory=list)
    arcs: dict[int, tuple[int, int]] = field(default_factory=dict)  # word -> head and label

    @property
    def allowed(self) -> tuple[bool, bool, bool]:
        """Whether LEFT, RIGHT and SHIFT can be taken."""
        return len(self.stack) > 0, len(self.stack) > 1, self.front < self.size

    @property
    def positions(self) -> list[int]:
        """The three words at the top of the stack, -1 where there are fewer, and the front of the buffer."""
        return [*([-1, -1, -1, *self.stack][-3:]), self.front]

    def take(self, transition: int, label: int) -> None:
        if transition == SHIFT:
            self.stack.append(self.front)
            self.front += 1
        else:
            word = self.stack.pop()
            self.arcs[word] = (self.front if transition == LEFT else self.stack[-1]), label

    def costs(self, heads: Sequence[int]) -> tuple[int, int, int]:
        """How many arcs of a projective tree LEFT, RIGHT and SHIFT each put out of reach."""
        left = right = shift = 0
        if self.stack:
            *below, top = self.stack
            dependents = heads[self.front :].count(top)  # in the buffer: lost once `top` leaves the stack
            left = dependents + (heads[top] > self.front or heads[top] in below[-1:])
            right = dependents + (heads[top] >= self.front)
        if self.front < self.size:  # between words of the stack, only neighbours can still be joined
            shift = sum(heads[word] == self.front for word in self.stack)
            shift += heads[self.front] in self.stack[:-1]
        return left, right, shift


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no two arcs cross: only such trees can be built."""
    arcs = [(min(arc), max(arc)) for arc in enumerate(heads)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


@dataclass(frozen=True, slots=True)
class Sentence:
    """The numbers of words, parts of speech, heads and labels; heads as in `Configuration`."""

    words: list[int]
    tags: list[int]
    heads: list[int]
    labels: list[int]


class Numbers:
    """The numbers of the words and labels of a treebank."""

    def __init__(self, treebank: list[Any]) -> None:
        words = [word for sentence in treebank for word in sentence]
        counts = Counter(word["word"].lower() for word in words)
        self.words = ar.Vocabulary([MARKS[ROOT], *(form for form in counts if form not in MARKS)])
        self.counts = [counts[form] for form in self.words.words]  # none of UNKNOWN and ROOT
        self.labels = ar.Vocabulary(sorted({word["relation"] for word in words}), unknown=None)

    def sentence(self, words: list[Any]) -> Sentence:
        heads = [int(word["head"]) for word in words]
        labels = [word["relation"] for word in words]
        return Sentence(
            words=self.words.numbers(word["word"].lower() for word in words),
            tags=[TAGS.index(word["tag"]) for word in words],
            heads=[head - 1 if head else len(words) for head in heads],
            # A label that no training sentence has gets a number that the parser never predicts.
            labels=[self.labels[label] if label in self.labels else len(self.labels) for label in labels],
        )


def margin(scores: Any, right: Any, wrong: Any) -> Any:
    """The hinge loss: a right transition should score higher than a wrong one by 1 at least."""
    return ops.relu(1 - ops.pick(scores, right) + ops.pick(scores, wrong))


class Parser:
    """The layers, and two programs for one sentence: `parse` and `learn`."""

    def __init__(self, vocabulary: Numbers, *, size: int = 64, seed: int = 0) -> None:
        self.net = ar.OnTheFly(seed=seed)
        self.counts, self.labels = vocabulary.counts, len(vocabulary.labels)
        start = ar.initializers.uniform(0.7)  # from the default, 0.1, it begins to learn later
        self.word = ar.Embedding(len(self.counts), 100, initializer=start, name="words")
        self.tag = ar.Embedding(len(TAGS) + 1, 25, initializer=start, name="tags")  # the last: the root's
        self.nothing = ar.Embedding(1, 2 * size, name="nothing")  # where the stack has no word
        names = [(f"forward_{layer}", f"backward_{layer}") for layer in range(2)]
        self.layers = [ar.Bidirectional(*(ar.LSTMCell(size, name=name) for name in pair)) for pair in names]
        hidden = ar.FC(100, activation=ops.tanh, name="hidden")
        scores = ar.FC(2 * self.labels + 1, name="scores")  # LEFT and RIGHT by label, and SHIFT
        self.score: Any = ar.Function(lambda *vectors: scores(hidden(ops.concat(vectors))), name="score")
        self.loss: Any = ar.Function(margin)

    def vectors(self, words: list[int], tags: list[int]) -> list[Any]:
        """The BiLSTM's vectors of the words and the root; and last, at -1, that of no word."""
        pairs = zip([*words, ROOT], [*tags, len(TAGS)], strict=True)
        x = [ops.concat([self.word(word), self.tag(tag)]) for word, tag in pairs]
        for layer in self.layers:
            x, _ = layer(x)
        return [*x, self.nothing(0)]

    def open(self, allowed: Sequence[bool]) -> Any:
        """For each score, whether its transition is allowed."""
        return np.repeat(allowed, [self.labels, self.labels, 1])

    def parse(self, g: LazyBatch, sentence: Sentence) -> Generator[Any, Any, Configuration]:
        """Takes the transition with the best score until the tree is built."""
        vectors = self.vectors(sentence.words, sentence.tags)
        state = Configuration(len(sentence.words))
        while any(state.allowed):
            scores = yield self.score(*[vectors[k] for k in state.positions])
            best = int(np.where(self.open(state.allowed), scores, -np.inf).argmax())
            state.take(*divmod(best, self.labels))
        return state

    def learn(
        self, g: LazyBatch, sentence: Sentence, generator: random.Random, explore: bool
    ) -> Generator[Any, Any, list[Any]]:
        """Builds a tree, with mistakes if it explores; returns a loss for each score that is too high."""
        known = [generator.random() * (DROPPED + self.counts[word]) >= DROPPED for word in sentence.words]
        vectors = self.vectors(np.where(known, sentence.words, UNKNOWN).tolist(), sentence.tags)
        state, losses = Configuration(len(sentence.words)), []
        while any(state.allowed):
            lazy = self.score(*[vectors[k] for k in state.positions])
            scores = yield lazy
            allowed, costs = state.allowed, state.costs(sentence.heads)
            correct = np.zeros(len(scores), bool)
            for transition in (LEFT, RIGHT, SHIFT):
                if allowed[transition] and costs[transition] == 0:
                    label = 0 if transition == SHIFT else sentence.labels[state.stack[-1]]
                    correct[transition * self.labels + label] = True
            right = int(np.where(correct, scores, -np.inf).argmax())
            mistakes = np.where(self.open(allowed) & ~correct, scores, -np.inf)
            wrong = int(mistakes.argmax())
            margin = scores[right] - mistakes[wrong]  # infinite if nothing is wrong
            if margin < 1:
                losses.append(self.loss(lazy, right, wrong))
            errs = explore and margin < 1 and (margin < 0 or generator.random() < EXPLORED)
            state.take(*divmod(wrong if errs else right, self.labels))
        return losses


def batches(sentences: list[Sentence], size: int) -> list[list[Sentence]]:
    return [sentences[first : first + size] for first in range(0, len(sentences), size)]


def train(parser: Parser, batch: list[Sentence], step: Any, generator: random.Random, explore: bool) -> None:
    """Calls `step` with the mean loss of a batch, unless all its transitions were right by the margin."""
    with parser.net.batch(training=True) as g:
        results = g.run_all(parser.learn(g, sentence, generator, explore) for sentence in batch)
        if any(results):
            step(g, g.mean([loss for losses in results for loss in losses]))


def parse(parser: Parser, sentences: list[Sentence], size: int = 64) -> list[Configuration]:
    trees = []
    for batch in batches(sentences, size):
        with parser.net.batch(gradients=False) as g:
            trees += g.run_all(parser.parse(g, sentence) for sentence in batch)
    return trees


def attachment(parser: Parser, sentences: list[Sentence]) -> tuple[float, float]:
    """The shares of words with the right head, and with the right head and label; punctuation counts."""
    right = [
        (tree.arcs[word][0] == head, tree.arcs[word] == (head, label))
        for sentence, tree in zip(sentences, parse(parser, sentences), strict=True)
        for word, (head, label) in enumerate(zip(sentence.heads, sentence.labels, strict=True))
    ]
    unlabelled, labelled = np.mean(right, axis=0).tolist()
    return unlabelled, labelled


def compare(parser: Parser, sentences: list[Sentence], rounds: int) -> None:
    """Compares the throughput of all parsers advanced together with that of one after another, in turns."""

    def gradients(size: int) -> None:
        for batch in batches(sentences, size):
            train(parser, batch, LazyBatch.value_and_grad, random.Random(0), True)

    works: dict[str, Callable[[int], object]] = {
        "parsing": partial(parse, parser, sentences),
        "gradients": gradients,
    }
    for name, work in works.items():
        seconds: dict[int, list[float]] = {len(sentences): [], 1: []}
        for _ in range(rounds + 1):  # the first warms up
            for size, measured in seconds.items():
                start = time.perf_counter()
                work(size)
                measured.append(time.perf_counter() - start)
        together, alone = (len(sentences) / median(measured[1:]) for measured in seconds.values())
        print(f"{name}: {together:.1f} sentences/s together, {alone:.1f} alone: {together / alone:.1f} times")


def main(arguments: Sequence[str] | None = None) -> tuple[float, float]:
    """Trains a parser; returns its unlabelled and labelled attachment scores on the test sentences."""
    options = argparse.ArgumentParser(description="Train a transition-based dependency parser.")
    options.add_argument("--data", type=Path, metavar="DIR", required=True, help="a UD treebank")
    options.add_argument("--epochs", type=int, default=8)
    options.add_argument("--batch", type=int, default=16, help="sentences a step")
    options.add_argument("--size", type=int, default=64, help="size of the LSTMs, in each direction")
    options.add_argument("--rate", type=float, default=0.002)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--compare", type=int, default=0, help="rounds to measure batching in")
    given = options.parse_args(arguments)

    texts: dict[str, list[Any]] = {"train": [], "test": []}
    for part, text in texts.items():
        for path in sorted(given.data.glob(f"*{part}*.conllu")):
            text += read_conllu(path, trees=True)
        if not text:
            raise SystemExit(f"no sentences in {given.data}/*{part}*.conllu: --data names a treebank of UD")
    vocabulary = Numbers(texts["train"])
    treebank, test = ([vocabulary.sentence(words) for words in text] for text in texts.values())
    projective = [sentence for sentence in treebank if is_projective(sentence.heads)]
    print(f"{len(treebank)} sentences, {len(treebank) - len(projective)} left out that are not projective")
    parser = Parser(vocabulary, size=given.size, seed=given.seed)
    optimizer, generator = Adam(given.rate), random.Random(given.seed)
    start = time.perf_counter()
    for epoch in range(1, given.epochs + 1):
        # A batch takes as many rounds as its longest sentence: so its sentences are of about one length.
        projective.sort(key=lambda sentence: len(sentence.words) + 8 * generator.random())
        for batch in sorted(batches(projective, given.batch), key=lambda _: generator.random()):
            # The mistakes of the first epoch, of a parser that knows nothing, are not explored.
            train(parser, batch, partial(LazyBatch.train_step, optimizer=optimizer), generator, epoch > 1)
        print(f"epoch {epoch}: {time.perf_counter() - start:.0f} s", flush=True)
    unlabelled, labelled = attachment(parser, test)
    print(f"test: unlabelled attachment {unlabelled:.3f}, labelled {labelled:.3f}, punctuation counted")
    if given.compare:
        compare(parser, test[:64], given.compare)
    return unlabelled, labelled


if __name__ == "__main__":
    main()
