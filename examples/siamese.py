"""Finds records that are the same thing: one network reads both, and their vectors decide.

Each recipe is noted down twice, by people who leave out a third of the ingredients, mix up their order, and
swap two letters in a third of the others. Is another list of the same recipe, or of another one of the same
cuisine? A recipe's vector is the sum of those of its letters in threes, each fixed at random and weighted by
a number that is learned (Bromley et al., "Signature Verification using a Siamese Time Delay Neural Network",
NIPS 1993, has the idea of the twins).

    python examples/siamese.py --data DIR     (DIR holds recipes_train.jsonl and recipes_test.jsonl)

is right for 0.936 of 1,000 pairs of other recipes after 37 s of processor time; the best threshold on the
share of threes in common (Jaccard) is for 0.927.
"""

from __future__ import annotations

import argparse
import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.data import read_json_lines
from arrows.training import Adam, Checkpoint, train

THREES = 8192
"""So many vectors are there for letters in threes, which share them by chance."""


def threes(record: Any) -> list[int]:
    """The numbers of all letters in threes of a record."""
    texts = (f" {text} ".encode() for text in record)
    return [zlib.crc32(text[at : at + 3]) % THREES for text in texts for at in range(len(text) - 2)]


def alike(left: Any, right: Any) -> Any:
    """Ten times the cosine of two vectors of length 1, as a vector [1]."""
    return ar.ops.sum(10 * left * right, keepdims=True)


def model(size: int = 128) -> ar.Block[Any, Any]:
    """How much speaks for the same thing, of a pair of records."""
    vector = ar.Embedding(THREES, size, ar.initializers.normal(1.0), trainable=False, name="vector")
    weight = ar.Embedding(THREES, 1, ar.initializers.ones, name="weight")
    three = ar.Scalar("int32") >> (vector & weight) >> ar.Function(lambda v, w: v * w)
    record = ar.InputTransform(threes) >> ar.Map(three) >> ar.Sum() >> ar.Function(ar.ops.normalize)
    same: ar.Block[Any, Any] = ar.Function(alike) >> ar.FC([], name="same")
    return (ar.GetItem("left") >> record & ar.GetItem("right") >> record) >> same


def noted(texts: list[str], generator: random.Random) -> list[str]:
    """The texts as somebody else would note them."""
    kept = [text for text in texts if generator.random() < 2 / 3]
    for row, text in enumerate(kept):
        if generator.random() < 1 / 3:
            at = generator.randrange(len(text) - 1)
            kept[row] = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return generator.sample(kept, len(kept))


def pairs(path: Path, generator: random.Random, times: int) -> list[Any]:
    """Pairs of each record with itself and with another, noted anew so many times."""
    records = read_json_lines(path).to_list()
    examples = []
    for record in records * times:
        alike = [other for other in records if other["cuisine"] == record["cuisine"]]
        for other in (record, generator.choice(alike)):
            left, right = (noted(each["ingredients"], generator) for each in (record, other))
            examples.append({"left": left, "right": right, "same": float(other is record)})
    return examples


def main(arguments: list[str] | None = None) -> float:
    """Trains the model and returns its accuracy on other records."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of recipes")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="of matrix products; default: what is faster")
    parser.add_argument("--resume", type=Path, help="keep the state of the run here, and go on from it")
    options = parser.parse_args(arguments)
    generator = random.Random(options.seed)
    learn = pairs(options.data / "recipes_train.jsonl", generator, 8)
    test = pairs(options.data / "recipes_test.jsonl", generator, 1)
    same = model()
    learner = ar.compile(
        (same & ar.GetItem("same") >> ar.Scalar()) >> ar.SigmoidCrossEntropy(), seed=options.seed
    )
    judge = ar.compile(same, params=learner.params)

    def accuracy() -> dict[str, float]:
        right = (np.asarray(judge.predict(test)) > 0) == [each["same"] for each in test]
        return {"accuracy": float(right.mean())}

    history = train(
        learner,
        learn,
        Adam(0.01),
        epochs=options.epochs,
        seed=options.seed,
        threads=options.threads,
        evaluate=accuracy,
        callbacks=[print],
        checkpoint=options.resume and Checkpoint(options.resume, resume=True),
    )
    print(f"test: {history[-1].figures['accuracy']:.3f} of {len(test):,} pairs")
    return history[-1].figures["accuracy"]


if __name__ == "__main__":
    main()
