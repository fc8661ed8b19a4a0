"""Sentiment trees as arrays, and the parameters: what every hand-written Tree-LSTM reads.

A tree is prepared once; a batch is put together inside the timed step, as the engine's is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows.data import Tree, Vocabulary
from benchmarks.baselines.buffers import Array

Ints = npt.NDArray[np.integer[Any]]
LEVEL, WORD, LABEL, LEFT, RIGHT = range(5)


@dataclass(frozen=True, slots=True)
class Batch:
    """Trees by level: leaves first, then the pairs of each height. A row is a node's place in this order.

    Attributes:
        words: numbers of the leaves' words, `[leaves]`.
        labels: of all nodes, `[rows]`.
        children: rows of the pairs' halves, `[pairs, 2]`.
        bounds: row at which each height begins, and the number of rows: `[heights + 1]`; leaves are height 0.
        roots: row of each tree, `[trees]`.

    >>> pair = {"label": 3, "left": {"label": 1, "word": "a"}, "right": {"label": 2, "word": "b"}}
    >>> batch = Forest([pair], Vocabulary(["a", "b"])).batch(np.array([0, 0]))
    >>> batch.words.tolist(), batch.bounds, batch.children.tolist(), batch.roots.tolist()
    ([1, 2, 1, 2], [0, 4, 6], [[0, 1], [2, 3]], [4, 5])
    """

    words: Ints
    labels: Ints
    children: Ints
    bounds: list[int]
    roots: Ints

    @property
    def levels(self) -> list[tuple[int, int]]:
        """First and last row of each height of pairs, from the lowest."""
        return list(zip(self.bounds[1:-1], self.bounds[2:], strict=True))

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return len(self.words)


class Forest:
    """Trees as integer arrays, made once; words outside the vocabulary are number 0.

    Attributes:
        nodes: of each tree, `int32[nodes, 5]`: height, word, label, and the places of the two halves within
            the tree (0 where there are none), halves before their pair.
    """

    def __init__(self, trees: Sequence[Tree], vocabulary: Vocabulary) -> None:
        self.nodes = [_nodes(tree, vocabulary) for tree in trees]

    def batch(self, indices: Ints) -> Batch:
        """The trees with these numbers, by level."""
        trees = [self.nodes[i] for i in indices.tolist()]
        sizes = np.array([len(nodes) for nodes in trees])
        nodes = np.concatenate(trees)
        ends = np.cumsum(sizes)
        levels = nodes[:, LEVEL].astype(np.int16)  # so few bits that NumPy's stable sort is a radix sort
        order = np.argsort(levels, kind="stable")
        row = np.empty(len(order), np.intp)
        row[order] = np.arange(len(order))
        bounds = [0, *np.cumsum(np.bincount(levels)).tolist()]
        pairs = order[bounds[1] :]
        children = nodes[pairs, LEFT:] + np.repeat(ends - sizes, sizes)[pairs, None]
        return Batch(
            words=nodes[order[: bounds[1]], WORD].astype(np.intp),
            labels=nodes[order, LABEL].astype(np.intp),
            children=row[children],
            bounds=bounds,
            roots=row[ends - 1],
        )


def parted(parameters: Mapping[str, Array]) -> dict[str, Array]:
    """The weights of `arrows.models.sentiment`, cut so that a row uses all of one or none.

    A leaf has no children and a pair no word, so each has a weight of its own, and those from words to forget
    gates are idle.
    """
    weight, bias = parameters["cell/weight"], parameters["cell/bias"]
    n = len(bias) // 5
    return {
        "words": parameters["embed/weight"],
        "leaf": weight[: -2 * n, : 3 * n],
        "idle": weight[: -2 * n, 3 * n :],
        "pair": weight[-2 * n :],
        "bias": bias,
        "classify": parameters["classify/weight"],
        "classify bias": parameters["classify/bias"],
    }


def joined(weights: Mapping[str, Array]) -> dict[str, Array]:
    """The opposite of `parted`, in copies."""
    leaves = np.concatenate([weights["leaf"], weights["idle"]], axis=1)
    return {
        "embed/weight": weights["words"].copy(),
        "cell/weight": np.concatenate([leaves, weights["pair"]]),
        "cell/bias": weights["bias"].copy(),
        "classify/weight": weights["classify"].copy(),
        "classify/bias": weights["classify bias"].copy(),
    }


def _nodes(tree: Tree, vocabulary: Vocabulary) -> npt.NDArray[np.int32]:
    rows: list[tuple[int, int, int, int, int]] = []

    def place(node: Tree) -> int:
        """Writes the rows of a sub-tree; returns the place of the last one, its root."""
        label = node.get("label", 0)
        if "word" in node:
            rows.append((0, vocabulary[node["word"]], label, 0, 0))
        else:
            left, right = place(node["left"]), place(node["right"])
            rows.append((1 + max(rows[left][LEVEL], rows[right][LEVEL]), 0, label, left, right))
        return len(rows) - 1

    place(tree)
    return np.array(rows, np.int32)
