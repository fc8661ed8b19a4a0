"""A Tree-LSTM for sentiment, written for one tree, and the accuracies by which papers measure it.

A tree is a nested dict: `{"label": 3, "word": "good"}` or `{"label": 3, "left": tree, "right": tree}`. The
state of a leaf comes from its word, and that of a pair from its two halves; the state of every node is
classified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import arrows as ar
from arrows.arrays import HostArray
from arrows.combinators import AnyBlock, Unfit
from arrows.data import Tree


@dataclass(frozen=True, slots=True)
class Sentiment:
    """Two blocks made of the same layers: one to train and one to predict with.

    Attributes:
        learn: reads trees with labels; the metric `loss` is the cross-entropy of each node.
        judge: reads trees with or without labels and returns the class scores of the root,
            `float32[num_classes]`; the metric `scores` holds those of each node, in the order left half,
            right half, then the pair.

    >>> sentiment(ar.Vocabulary(["good"]), size=4).learn is not None
    True
    """

    learn: AnyBlock
    judge: AnyBlock


@ar.builder
def sentiment(
    vocabulary: ar.Vocabulary,
    *,
    size: int = 64,
    embedding: int | None = None,
    num_classes: int = 5,
    dropout: float = 0.0,
    word_dropout: float = 0.0,
    recurrent_dropout: float = 0.0,
) -> Sentiment:
    """A binary Tree-LSTM with a classifier at every node.

    Tai, Socher, Manning, "Improved Semantic Representations From Tree-Structured Long Short-Term Memory
    Networks", ACL 2015, section 3.2 with N = 2, and section 4.1.

    Args:
        vocabulary: the words, with a number for unknown ones, such as `ar.Vocabulary.of` gives.
        size: size of the hidden state and of the memory cell.
        embedding: size of the word vectors; default: `size`.
        num_classes: labels run from 0 to `num_classes - 1`.
        dropout: dropout rate of the hidden state before the classifier.
        word_dropout: dropout rate of the word vectors.
        recurrent_dropout: dropout rate of what a node adds to its memory cell.

    >>> import arrows as ar
    >>> model = ar.compile(sentiment(ar.Vocabulary(["not", "good"]), size=8).judge)
    >>> tree = {"left": {"word": "not"}, "right": {"word": "good"}}
    >>> model([tree, {"word": "good"}]).shape, model.metrics["scores"].lengths.tolist()
    ((2, 5), [3, 1])
    """
    embedding = size if embedding is None else embedding
    embed = ar.Embedding(len(vocabulary), embedding, name="embed")
    cell = ar.TreeLSTM(size, children=2, dropout=recurrent_dropout, name="cell")
    classify = ar.FC(num_classes, name="classify")
    scores = ar.Dropout(dropout) >> classify if dropout else classify
    vector = embed >> ar.Dropout(word_dropout) if word_dropout else embed
    cross_entropy = ar.SoftmaxCrossEntropy()

    leaf = (ar.GetItem("word") >> vocabulary.block() >> vector & ar.Zeros((cell.state, cell.state))) >> cell
    label = ar.GetItem("label") >> ar.Scalar("int32")

    def node(tree: AnyBlock) -> AnyBlock:
        """The state of a node, given the block for its halves."""
        halves = ar.GetItem("left") >> tree & ar.GetItem("right") >> tree
        pair = (ar.Zeros([embedding]) & halves) >> cell
        return ar.OneOf(_is_leaf).case(True, leaf).case(False, pair)

    @ar.fix
    def tree(me: Any) -> Any:
        @ar.arrow
        def labelled(t: Any) -> Any:
            state = node(me)(t)
            ar.Metric("loss")(cross_entropy(scores(state[0]), label(t)))
            return state

        return labelled

    @ar.fix
    def bare_tree(me: Any) -> Any:
        @ar.arrow
        def scored(t: Any) -> Any:
            state = node(me)(t)
            ar.Metric("scores")(classify(state[0]))
            return state

        return scored

    return Sentiment(tree, bare_tree >> ar.GetItem(0) >> classify)


def _is_leaf(tree: Any) -> bool:
    try:
        return "word" in tree
    except TypeError:
        raise Unfit(f"expected a tree, which is a dict, got {type(tree).__name__}") from None


class Examination:
    """Labelled trees to measure a model with.

    Fine-grained accuracy is the share of correct classes. Binary accuracy only asks whether the positive side
    is more probable than the negative one, `P(3) + P(4) > P(0) + P(1)`, where the label is not neutral
    (Socher et al., "Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank", EMNLP
    2013, section 5.1).

    Args:
        judge: the compiled block `Sentiment.judge`, of five classes.
        trees: trees with labels at every node; they are prepared once, here.

    >>> trees = [{"label": 4, "left": {"label": 2, "word": "so"}, "right": {"label": 3, "word": "good"}}]
    >>> examination = Examination(ar.compile(sentiment(ar.Vocabulary(["good"]), size=4).judge), trees)
    >>> sorted(examination())
    ['binary', 'fine', 'nodes binary', 'nodes fine']
    """

    def __init__(self, judge: ar.Model, trees: Sequence[Tree]) -> None:
        self.judge = judge
        self.prepared = judge.prepare(trees)
        self.roots = np.array([tree["label"] for tree in trees], np.int64)
        self.nodes = np.array([label for tree in trees for label in node_labels(tree)], np.int64)

    def __call__(self, batch_size: int = 256) -> dict[str, float]:
        """The four accuracies, from 0 to 1: `fine` and `binary` at the roots, `nodes fine` and `nodes binary`
        at all nodes. An accuracy over no nodes is 0. Larger batches take more memory and no less time."""
        roots, nodes = [], []
        for first in range(0, len(self.prepared), batch_size):
            scores = self.judge(self.prepared[first : first + batch_size])
            roots.append(ar.to_numpy(scores))
            nodes.append(ar.to_numpy(self.judge.metrics["scores"].values))
        fine, binary = accuracies(np.concatenate(roots or [np.zeros((0, 5))]), self.roots)
        nodes_fine, nodes_binary = accuracies(np.concatenate(nodes or [np.zeros((0, 5))]), self.nodes)
        return {"fine": fine, "binary": binary, "nodes fine": nodes_fine, "nodes binary": nodes_binary}


def accuracies(scores: HostArray, labels: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Fine-grained and binary accuracy.

    Args:
        scores: the class scores before the softmax, `[n, 5]`.
        labels: from 0 to 4, `[n]`.

    >>> accuracies(np.array([[0.0, 2, 3, 0, 0], [0, 0, 0, 0, 1]]), np.array([1, 4]))
    (0.5, 1.0)
    """
    if not len(labels):
        return 0.0, 0.0
    shares = ar.ops.softmax(scores)
    positive = shares[:, 3] + shares[:, 4] > shares[:, 0] + shares[:, 1]
    sided = labels != 2
    fine = float(np.mean(scores.argmax(axis=1) == labels))
    return fine, float(np.mean((positive == (labels > 2))[sided])) if sided.any() else 0.0


def node_labels(tree: Tree) -> list[int]:
    """The labels of a tree in the order in which the model visits its nodes: left, right, then their parent.

    >>> node_labels({"label": 3, "left": {"label": 1, "word": "not"}, "right": {"label": 2, "word": "bad"}})
    [1, 2, 3]
    """
    backwards, stack = [], [tree]
    while stack:
        node = stack.pop()
        backwards.append(node["label"])
        if "left" in node:
            stack += (node["left"], node["right"])
    return backwards[::-1]
