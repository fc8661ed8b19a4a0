"""Tells good reviews from bad ones: the mean of the vectors of words and of pairs of words, and one layer.

Joulin et al., "Bag of Tricks for Efficient Text Classification", EACL 2017, on the sentences of the Stanford
Sentiment Treebank that are not neutral: 6,920 to learn from, 872 dev, 1,821 test.

    python examples/text_classifier.py --data DIR     (DIR holds train.txt, dev.txt and test.txt)

is right for 0.811 of test after 7 s of processor time.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Any

import arrows as ar
from arrows.data import read_trees, words
from arrows.training import Adam, Checkpoint, train


def model(vocabulary: ar.Vocabulary, size: int = 64) -> ar.Block[Any, Any]:
    """The scores of "bad" and "good", of a text."""
    vector = vocabulary.block() >> ar.Embedding(len(vocabulary), size, name="embed") >> ar.Dropout(0.3)
    return ar.GetItem("grams") >> ar.Map(vector) >> ar.Mean() >> ar.Dropout(0.5) >> ar.FC(2, name="classify")


def read(path: Path) -> list[dict[str, Any]]:
    """Sentences, as their words and pairs of words, and whether they are good."""
    sentences = []
    for tree in read_trees(path):
        text = [word.lower() for word in words([tree])]
        if tree["label"] != 2:
            sentences.append({"grams": [*text, *map(" ".join, pairwise(text))], "good": tree["label"] > 2})
    return sentences


def main(arguments: list[str] | None = None) -> float:
    """Trains the model and returns its accuracy on test."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with train.txt, dev.txt, test.txt")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="of matrix products; default: what is faster")
    parser.add_argument("--resume", type=Path, help="keep the state of the run here, and go on from it")
    options = parser.parse_args(arguments)
    learn, dev, test = (read(options.data / f"{part}.txt") for part in ("train", "dev", "test"))
    scores = model(ar.Vocabulary.of((gram for text in learn for gram in text["grams"]), min_freq=2))
    loss = (scores & ar.GetItem("good") >> ar.Scalar("int32")) >> ar.SoftmaxCrossEntropy()
    learner = ar.compile(loss, seed=options.seed)
    judge = ar.compile(scores, params=learner.params)

    def accuracy(texts: list[dict[str, Any]]) -> dict[str, float]:
        accuracy = ar.metrics.Accuracy()
        accuracy.update(judge.predict(texts), [int(text["good"]) for text in texts])
        return accuracy.figures()

    train(
        learner,
        learn,
        Adam(0.005, average=0.99),
        epochs=options.epochs,
        seed=options.seed,
        threads=options.threads,
        evaluate=lambda: accuracy(dev),
        callbacks=[print],
        checkpoint=options.resume and Checkpoint(options.resume, resume=True),
    )
    figures = accuracy(test)
    print(f"test: {figures['accuracy']:.3f} of {len(test):,} sentences")
    return figures["accuracy"]


if __name__ == "__main__":
    main()
