"""Labels the arcs of dependency trees: a child-sum Tree-LSTM over each tree of a treebank.

Which relation has a word to its head: subject, object, modifier? The head tells, and the state of the
Tree-LSTM at the word, which has read all that depends on it (Tai, Socher, Manning, "Improved Semantic
Representations From Tree-Structured Long Short-Term Memory Networks", ACL 2015, section 3.1).

    python examples/dependency_treelstm.py --data DIR     (DIR holds *train.conllu, *dev.conllu, *test.conllu)

is right for 0.935 of the 3,255 arcs in test of English ParTUT after 10 s of processor time; the most frequent
relation between the two parts of speech is for 0.795.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import arrows as ar
from arrows.data import TAGS, read_conllu
from arrows.training import Adam, Checkpoint, train


def model(words: ar.Vocabulary, relations: ar.Vocabulary, size: int = 100) -> ar.Block[Any, Any]:
    """The state of a tree; the metric "loss" has the cross-entropies of its arcs, and "right" the answers."""
    tags = ar.Vocabulary(TAGS)
    form = ar.GetItem("word") >> words.block() >> ar.Embedding(len(words), 64, name="words")
    tag = ar.GetItem("tag") >> tags.block() >> ar.Embedding(len(tags), 32, name="tags")
    word: Any = (form & tag) >> ar.Concat() >> ar.Dropout(0.4)
    cell = ar.TreeLSTM(size, children=None, name="cell")
    score: Any = ar.Concat() >> ar.Dropout(0.4) >> ar.FC(len(relations), name="score")
    answer = ar.GetItem("relation") >> relations.block()

    @ar.arrow
    def arc(head: Any, state: Any, relation: Any) -> Any:
        scores = score(head, state[0])
        ar.Metric("loss")(ar.SoftmaxCrossEntropy()(scores, relation))
        return ar.Metric("right")(
            ar.Function(lambda x, y: ar.ops.argmax(x).cast("int32") == y)(scores, relation)
        )

    @ar.fix
    def tree(me: Any) -> Any:
        @ar.arrow
        def node(t: Any) -> Any:
            x, children = word(t), ar.GetItem("children")(t)
            states = ar.Map(me)(children)
            ar.ZipWith(arc)(ar.Broadcast()(x), states, ar.Map(answer)(children))
            return cell(x, states)

        return node

    return tree


def read(folder: Path, part: str) -> list[Any]:
    """The trees of a part of the treebank: a word has "children", which are words with theirs."""
    roots: list[Any] = []
    path = next(folder.glob(f"*{part}.conllu"), folder / f"{part}.conllu")
    for sentence in read_conllu(path, trees=True):
        nodes = [{**word, "word": word["word"].lower(), "children": []} for word in sentence]
        for node in nodes:
            siblings = nodes[int(node["head"]) - 1]["children"] if node["head"] != "0" else roots
            siblings.append(node)
    return roots


def nodes(tree: Any) -> list[Any]:
    """All nodes of a tree."""
    return [tree, *(node for child in tree["children"] for node in nodes(child))]


def main(arguments: list[str] | None = None) -> float:
    """Trains the model and returns its accuracy on test."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of a Universal Dependencies treebank"
    )
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="of matrix products; default: what is faster")
    parser.add_argument("--resume", type=Path, help="keep the state of the run here, and go on from it")
    options = parser.parse_args(arguments)
    learn, dev, test = (read(options.data, part) for part in ("train", "dev", "test"))
    every = [node for tree in learn for node in nodes(tree)]
    words = ar.Vocabulary.of((node["word"] for node in every), min_freq=2)
    learner = ar.compile(
        model(words, ar.Vocabulary.of(node["relation"] for node in every)), loss="loss", seed=options.seed
    )

    def accuracy(trees: list[Any]) -> dict[str, float]:
        learner(trees)
        return {"accuracy": ar.to_numpy(learner.metrics["right"]).values.mean()}

    train(
        learner,
        learn,
        Adam(0.003, clip_norm=5.0),
        epochs=options.epochs,
        batch_size=32,
        seed=options.seed,
        threads=options.threads,
        evaluate=lambda: accuracy(dev),
        callbacks=[print],
        checkpoint=options.resume and Checkpoint(options.resume, resume=True),
    )
    figures = accuracy(test)
    print(f"test: {figures['accuracy']:.3f} of the arcs")
    return figures["accuracy"]


if __name__ == "__main__":
    main()
