"""A reader that parses and understands in one pass: SPINN, a shift-reduce encoder with a tracking LSTM.

It moves words from a buffer to a stack (SHIFT) and joins the two topmost phrases of the stack (REDUCE), as
the tracking LSTM, which sees the tops of both, tells it to. In training the transitions are those of the
treebank; afterwards the reader takes its own, and must know the scores of each before the next. It is written
for one sentence, as a generator that yields the scores it waits for: `g.run_all` advances all sentences
together. Bowman, Gauthier, Rastogi, Gupta, Manning, Potts, "A Fast Unified Model for Parsing and Sentence
Understanding", ACL 2016.

    python examples/spinn.py --data DIR

trains it on the Stanford Sentiment Treebank, whose train.txt and test.txt DIR holds. It takes 0.901 of the
transitions of the test trees, and classifies 0.442 of the sentences right that it parses itself, after 289 s.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import arrows as ar
from arrows import ops
from arrows.data import Tree, generate, read_trees, words
from arrows.models import accuracies, node_labels
from arrows.onthefly import LazyBatch, LazyTensor
from arrows.training import Adam, train

SHIFT, REDUCE = 0, 1

# ---------------------------------------------------------------------------------------------- the sentences


@dataclass(frozen=True, slots=True)
class Sentence:
    """A tree as its words from left to right, and the transitions that build it from them.

    Attributes:
        words: their numbers.
        transitions: SHIFT or REDUCE.
        labels: the class of the phrase that each transition puts on the stack; the last is the sentence's.
    """

    words: list[int]
    transitions: list[int]
    labels: list[int]

    @classmethod
    def of(cls, tree: Tree, vocabulary: ar.Vocabulary) -> Sentence:
        return cls(vocabulary.numbers(words([tree])), transitions(tree), node_labels(tree))


def transitions(tree: Tree) -> list[int]:
    """The transitions that build a tree: left half, right half, REDUCE; or SHIFT for a word."""
    if "word" in tree:
        return [SHIFT]
    return [*transitions(tree["left"]), *transitions(tree["right"]), REDUCE]


# -------------------------------------------------------------------------------------------------- the model


@dataclass(frozen=True, slots=True)
class Reading:
    """The steps by which a sentence was read, and their results.

    Attributes:
        transitions: those that were taken.
        choices: the places of those that were a choice: words were left, and two phrases on the stack.
        tracked: what the tracker gave before each transition.
        phrases: what each transition put on the stack; the last stands for the sentence.
    """

    transitions: list[int] = field(default_factory=list)
    choices: list[int] = field(default_factory=list)
    tracked: list[LazyTensor] = field(default_factory=list)
    phrases: list[LazyTensor] = field(default_factory=list)


class Spinn:
    """The layers, and the programs for one sentence that use them."""

    def __init__(
        self,
        vocabulary: int,
        *,
        size: int = 64,
        tracking: int = 32,
        num_classes: int = 5,
        dropout: float = 0.2,
    ) -> None:
        embed, project = ar.Embedding(vocabulary, size, name="words"), ar.FC(2 * size, name="project")
        drop = ar.Dropout(dropout)
        cross_entropy = ar.SoftmaxCrossEntropy()
        self.size = size
        self.tracker = tracker = ar.LSTMCell(tracking, name="tracker")
        self.choose, self.classify = choose, classify = (
            ar.FC(2, name="choose"),
            ar.FC(num_classes, name="classify"),
        )
        self.join = ar.TreeLSTM(size, children=2, name="join")

        def shift(word: Any) -> tuple[Any, Any]:
            both = project(drop(embed(word)))
            return both[:size], both[size:]

        # One function is one node for each sentence, however much it computes.
        self.shift = ar.Function(shift, name="shift")
        self.track = ar.Function(
            lambda front, top, below, state: tracker(ops.concat([front, top, below]), state), name="track"
        )
        self.choice_loss = ar.Function(lambda x, right: cross_entropy(choose(x), right), name="choice loss")
        self.class_loss = ar.Function(lambda x, right: cross_entropy(classify(x), right), name="class loss")

    def read(
        self, g: LazyBatch, words: Sequence[int], right: Sequence[int] | None = None
    ) -> Generator[Any, Any, Reading]:
        """Reads a sentence by the right transitions, or by its own, whose scores it yields."""
        nothing = (g.tensor(np.zeros(self.size, np.float32)), None)
        buffer: list[Any] = [self.shift(word) for word in reversed(words)]
        stack: list[Any] = [nothing, nothing]
        reading, state = Reading(), g.zeros(self.tracker.state)
        while buffer or len(stack) > 3:
            place = len(reading.transitions)
            state = self.track((buffer or [nothing])[-1][0], stack[-1][0], stack[-2][0], state)
            transition = SHIFT if buffer else REDUCE
            if buffer and len(stack) > 3:
                reading.choices.append(place)
                transition = int((yield self.choose(state[0])).argmax()) if right is None else right[place]
            if transition == SHIFT:
                stack.append(buffer.pop())
            else:
                second, first = stack.pop(), stack.pop()
                stack.append(self.join(state[0], (first, second)))
            reading.transitions.append(transition)
            reading.tracked.append(state[0])
            reading.phrases.append(stack[-1][0])
        return reading

    def loss(self, g: LazyBatch, sentence: Sentence) -> Generator[Any, Any, LazyTensor]:
        """The cross-entropies of all transitions and of the classes of all phrases."""
        reading = yield from self.read(g, sentence.words, sentence.transitions)
        losses = [
            self.class_loss(x, label) for x, label in zip(reading.phrases, sentence.labels, strict=True)
        ]
        losses += [self.choice_loss(reading.tracked[k], sentence.transitions[k]) for k in reading.choices]
        return g.sum(losses)


# -------------------------------------------------------------------------------------------------- measuring


@dataclass(frozen=True, slots=True)
class Scores:
    """How good a reader is, as shares of 1.

    Attributes:
        transitions: choices as in the treebank, each after the treebank's own transitions.
        fine, binary: classes of sentences that the reader parsed itself, among five and among two.
        fine_given: the same as `fine`, of sentences parsed as in the treebank.
    """

    transitions: float
    fine: float
    binary: float
    fine_given: float


def evaluate(net: ar.OnTheFly, spinn: Spinn, sentences: Sequence[Sentence], batch: int = 128) -> Scores:
    """Scores a reader on sentences."""
    own, given, hits = [], [], []
    for first in range(0, len(sentences), batch):
        here = sentences[first : first + batch]
        with net.batch(gradients=False) as g:
            readings = g.run_all(spinn.read(g, s.words) for s in here)
            own += g.numpy([spinn.classify(reading.phrases[-1]) for reading in readings])
            readings = g.run_all(spinn.read(g, s.words, s.transitions) for s in here)
            given += g.numpy([spinn.classify(reading.phrases[-1]) for reading in readings])
            scores = g.numpy([[spinn.choose(r.tracked[k]) for k in r.choices] for r in readings])
        for sentence, reading, row in zip(here, readings, scores, strict=True):
            right = [sentence.transitions[k] for k in reading.choices]
            hits += [x.argmax() == transition for x, transition in zip(row, right, strict=True)]
    labels = np.array([sentence.labels[-1] for sentence in sentences])
    fine, binary = accuracies(np.stack(own), labels)
    return Scores(float(np.mean(hits)), fine, binary, accuracies(np.stack(given), labels)[0])


def throughput(
    net: ar.OnTheFly, spinn: Spinn, sentences: Sequence[Sentence], rounds: int = 5
) -> tuple[float, float]:
    """Sentences read a second, all together and one after another; medians of alternating runs."""

    def together(sentences: Sequence[Sentence]) -> None:
        with net.batch(gradients=False) as g:
            readings = g.run_all(spinn.read(g, s.words) for s in sentences)
            g.numpy([spinn.classify(reading.phrases[-1]) for reading in readings])

    seconds: list[tuple[float, float]] = []
    for _ in range(1 + rounds):  # the first round does not count
        start = time.perf_counter()
        together(sentences)
        middle = time.perf_counter()
        for sentence in sentences:
            together([sentence])
        seconds.append((middle - start, time.perf_counter() - middle))
    batched, alone = (median(column) for column in zip(*seconds[1:], strict=True))
    return len(sentences) / batched, len(sentences) / alone


def treebank(folder: Path | None, count: int | None) -> tuple[list[Tree], list[Tree]]:
    """Trees to train on and to test on; without a folder, generated ones."""
    if folder is None:
        return generate(count or 2000, num_words=(1, 20)), generate(count or 2000, seed=1, num_words=(1, 20))
    training, test = (read_trees(folder / f"{part}.txt").to_list() for part in ("train", "test"))
    return training[:count], test[:count]


def main(
    folder: Path | None = None,
    *,
    count: int | None = None,
    epochs: int = 4,
    size: int = 64,
    batch: int = 32,
    rate: float = 0.002,
    timed: int = 64,
) -> tuple[Scores, Scores]:
    """Trains a reader and returns its scores on the test trees, before and after."""
    training, test = treebank(folder, count)
    vocabulary = ar.Vocabulary.of(words(training))
    learn, unseen = ([Sentence.of(tree, vocabulary) for tree in trees] for trees in (training, test))
    net, spinn = ar.OnTheFly(seed=0), Spinn(len(vocabulary), size=size)
    before = evaluate(net, spinn, unseen)
    start = time.perf_counter()
    train(net.learner(spinn.loss), learn, Adam(rate), epochs=epochs, batch_size=batch, seed=0)
    print(f"{epochs} epochs of {len(learn)} sentences: {time.perf_counter() - start:.0f} s")
    after = evaluate(net, spinn, unseen)
    for name in ("transitions", "fine", "binary", "fine_given"):
        print(f"{name}: {getattr(before, name):.3f} before training, {getattr(after, name):.3f} after")
    together, alone = throughput(net, spinn, unseen[:timed])
    print(
        f"{together:.0f} sentences a second together, {alone:.0f} one after another: {together / alone:.1f} x"
    )
    return before, after


if __name__ == "__main__":
    options = argparse.ArgumentParser(description="SPINN on the Stanford Sentiment Treebank.")
    options.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with train.txt and test.txt; default: made-up trees"
    )
    options.add_argument("--epochs", type=int, default=4)
    options.add_argument("--size", type=int, default=64)
    arguments = options.parse_args()
    main(arguments.data, epochs=arguments.epochs, size=arguments.size)
