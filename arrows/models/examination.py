"""Measures a sentiment model on labelled trees, by the accuracies of the literature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

import arrows as ar
from arrows.data import Tree
from arrows.ops.arrays import HostArray

CHUNK = 256  # trees classified at once: more would only need more memory


class Examination:
    """Labelled trees to measure a model with.

    Fine-grained accuracy is the share of correct classes. Binary accuracy only asks whether the positive side
    is more probable than the negative one, `P(3) + P(4) > P(0) + P(1)`, where the label is not neutral
    (Socher et al., "Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank", EMNLP
    2013, section 5.1).

    Args:
        judge: the compiled block `Sentiment.judge`, of five classes.
        trees: trees with labels at every node; they are prepared once, here.

    >>> from arrows.models import sentiment
    >>> trees = [{"label": 4, "left": {"label": 2, "word": "so"}, "right": {"label": 3, "word": "good"}}]
    >>> examination = Examination(ar.compile(sentiment({"good": 1}, size=4).judge), trees)
    >>> sorted(examination())
    ['binary', 'fine', 'nodes binary', 'nodes fine']
    """

    def __init__(self, judge: ar.Model, trees: Sequence[Tree]) -> None:
        self.judge = judge
        self.prepared = judge.prepare(trees)
        self.roots = np.array([tree["label"] for tree in trees], np.int64)
        self.nodes = np.array([label for tree in trees for label in node_labels(tree)], np.int64)

    def __call__(self) -> dict[str, float]:
        """The four accuracies, from 0 to 1: `fine` and `binary` at the roots, `nodes fine` and `nodes binary`
        at all nodes. An accuracy over nothing is 0."""
        roots, nodes = [], []
        for first in range(0, len(self.prepared), CHUNK):
            scores = self.judge(self.prepared[first : first + CHUNK])
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
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
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
