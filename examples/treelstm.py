"""The Tree-LSTM on one page: the sentiment of every phrase of a sentence.

The model is that of Tai, Socher, Manning, "Improved Semantic Representations From Tree-Structured Long
Short-Term Memory Networks", ACL 2015, section 3.2, on the Stanford Sentiment Treebank, with word vectors that
begin at random. `examples/sentiment.py` trains it with all that a real run wants: the best epoch, averages,
pretrained vectors, many machines.

    python examples/treelstm.py --data DIR     (DIR holds train.txt, dev.txt and test.txt)

is right for 0.462 of the 2,210 test sentences (five classes) after 33 s of processor time.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import arrows as ar
from arrows.data import Tree, read_trees, words
from arrows.training import Adagrad, Checkpoint, History, train


# ------------------------------------------------------------------------------------------ the model
def model(vocabulary: ar.Vocabulary, size: int = 150, embedding: int = 300) -> ar.Block[Any, Any]:
    """The scores of a sentence's classes; the metric "loss" has the cross-entropy of each of its phrases."""
    cell = ar.TreeLSTM(size, children=2, name="cell")
    scores = ar.GetItem(0) >> ar.Dropout(0.5) >> ar.FC(5, name="classify")
    word = vocabulary.block() >> ar.Embedding(len(vocabulary), embedding, name="embed") >> ar.Dropout(0.3)
    leaf = (ar.GetItem("word") >> word & ar.Zeros((cell.state, cell.state))) >> cell
    label = ar.GetItem("label") >> ar.Scalar("int32")

    @ar.fix
    def tree(me: Any) -> Any:
        pair = (ar.Zeros([embedding]) & (ar.GetItem("left") >> me & ar.GetItem("right") >> me)) >> cell
        node: ar.Block[Any, Any] = ar.OneOf(lambda tree: "word" in tree).case(True, leaf).case(False, pair)

        @ar.arrow
        def labelled(tree: Any) -> Any:
            state = node(tree)
            ar.Metric("loss")(ar.SoftmaxCrossEntropy()(scores(state), label(tree)))
            return state

        return labelled

    return tree >> scores


def learn(learner: ar.Model, trees: list[Tree], **options: Any) -> History:
    return train(learner, trees, Adagrad(0.05, weight_decay=1e-4), batch_size=25, **options)


# ------------------------------------------------------------------------------------------ end of the model


def main(arguments: list[str] | None = None) -> float:
    """Trains the model and returns its accuracy on test."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with train.txt, dev.txt, test.txt")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="of matrix products; default: what is faster")
    parser.add_argument("--resume", type=Path, help="keep the state of the run here, and go on from it")
    options = parser.parse_args(arguments)
    trees, dev, test = (
        read_trees(options.data / f"{part}.txt").to_list() for part in ("train", "dev", "test")
    )
    learner = ar.compile(model(ar.Vocabulary.of(words(trees))), loss="loss", seed=options.seed)

    def accuracy(trees: list[Tree]) -> dict[str, float]:
        accuracy = ar.metrics.Accuracy()
        accuracy.update(learner.predict(trees), [tree["label"] for tree in trees])
        return accuracy.figures()

    learn(
        learner,
        trees,
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
