"""torch-hand and torch-nodewise: the sentiment Tree-LSTM by eager PyTorch, level or node at a time.

Leaves and pairs have weights of their own, as a leaf has no children and a pair no word. In `torch-hand`, a
frontier holds the rows that are not yet consumed: each level selects its halves from it, drops them and adds
its own. Leaves are ordered by the level that consumes them and join the frontier there, so that none is
carried along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows.data import Tree
from benchmarks.baselines.buffers import Array
from benchmarks.baselines.forest import Batch
from benchmarks.baselines.pytorch import Descent, functional, gradient, parameter, torch


class TorchHand(Descent):
    """The model of `arrows.models.sentiment` with copies of its parameters, which come by name."""

    def __init__(self, parameters: Mapping[str, Array]) -> None:
        weight, bias = parameters["cell/weight"], parameters["cell/bias"]
        self.size = n = len(bias) // 5
        self.idle = weight[: -2 * n, 3 * n :].copy()  # from words to forget gates, which no leaf has
        self.embed, self.leaf, self.pair, self.bias, self.classify, self.classify_bias = self.weights = [
            parameter(value)
            for value in (
                parameters["embed/weight"],
                weight[: -2 * n, : 3 * n],
                weight[-2 * n :],
                bias,
                parameters["classify/weight"],
                parameters["classify/bias"],
            )
        ]

    @property
    def parameters(self) -> dict[str, Array]:
        """Copies of the parameters, by the `arrows` model's names."""
        return self._named([weight.detach().numpy().copy() for weight in self.weights], self.idle)

    @property
    def gradients(self) -> dict[str, Array]:
        """The gradients of the last `backward`, dense, by the `arrows` model's names."""
        gradients = [gradient(weight).numpy().copy() for weight in self.weights]
        return self._named(gradients, np.zeros_like(self.idle))

    def learned(self) -> list[Any]:
        """The tensors that are learned."""
        return self.weights

    def loss(self, *batch: Batch) -> Any:
        """The mean over the trees of the sum over their nodes."""
        (trees,) = batch
        scores, order = self._scores(trees)
        labels = torch.from_numpy(trees.labels[order])
        return functional.cross_entropy(scores, labels, reduction="sum") / trees.trees

    def scores(self, batch: Batch) -> Array:
        """Class scores of all nodes, `[rows, classes]`, in the order of the batch's rows."""
        with torch.inference_mode():
            scores, order = self._scores(batch)
            back = np.empty_like(order)
            back[order] = np.arange(len(order))
            return np.asarray(scores.index_select(0, torch.from_numpy(back)))

    def _scores(self, batch: Batch) -> tuple[Any, npt.NDArray[np.intp]]:
        """Class scores of all nodes, and the row of each."""
        n, leaves = self.size, batch.leaves
        height = np.repeat(np.arange(len(batch.bounds) - 1), np.diff(batch.bounds))
        consumer = np.zeros(batch.rows, np.intp)  # the height of the parent: 0 for roots
        consumer[batch.children] = height[leaves:, None]
        order = np.arange(batch.rows)
        order[:leaves] = np.argsort(consumer[:leaves].astype(np.int16), kind="stable")
        joining = np.bincount(consumer[:leaves], minlength=len(batch.bounds) - 1).tolist()

        words = torch.from_numpy(batch.words[order[:leaves]])
        x = functional.embedding(words, self.embed, sparse=True)
        gates = torch.addmm(self.bias[: 3 * n], x, self.leaf)
        u, io = gates.split([n, 2 * n], 1)
        i, o = io.sigmoid().chunk(2, 1)
        c = i * u.tanh()
        h = o * c.tanh()
        states = [h]
        leaf_h, leaf_c = h.split(joining), c.split(joining)
        place = np.empty(batch.rows, np.intp)  # of a row within the frontier
        waiting = np.zeros(0, np.intp)
        first_leaf = joining[0]
        frontier_h, frontier_c = h[:0], c[:0]
        for level, (first, last) in enumerate(batch.levels, start=1):
            joined = order[first_leaf : first_leaf + joining[level]]
            first_leaf += joining[level]
            frontier_h = torch.cat([leaf_h[level], frontier_h]) if len(joined) else frontier_h
            frontier_c = torch.cat([leaf_c[level], frontier_c]) if len(joined) else frontier_c
            rows = np.concatenate([joined, waiting])
            place[rows] = np.arange(len(rows))
            halves = torch.from_numpy(place[batch.children[first - leaves : last - leaves].reshape(-1)])
            both_h = frontier_h.index_select(0, halves).view(-1, 2 * n)
            both_c = frontier_c.index_select(0, halves).view(-1, 2 * n)
            u, iof = torch.addmm(self.bias, both_h, self.pair).split([n, 4 * n], 1)
            i, o, f = iof.sigmoid().split([n, n, 2 * n], 1)
            left, right = (f * both_c).chunk(2, 1)
            c = torch.addcmul(left + right, i, u.tanh())
            h = o * c.tanh()
            states.append(h)
            stays = np.flatnonzero(consumer[rows] > level)
            new = np.arange(first, last)
            if len(stays):
                keep = torch.from_numpy(stays)
                frontier_h = torch.cat([frontier_h.index_select(0, keep), h])
                frontier_c = torch.cat([frontier_c.index_select(0, keep), c])
                waiting = np.concatenate([rows[stays], new])
            else:
                frontier_h, frontier_c, waiting = h, c, new
        return torch.addmm(self.classify_bias, torch.cat(states), self.classify), order

    def _named(self, values: list[Array], idle: Array) -> dict[str, Array]:
        embed, leaf, pair, bias, classify, classify_bias = values
        return {
            "embed/weight": embed,
            "cell/weight": np.concatenate([np.concatenate([leaf, idle], axis=1), pair]),
            "cell/bias": bias,
            "classify/weight": classify,
            "classify/bias": classify_bias,
        }


class TorchNodewise(TorchHand):
    """The same without any batching: a product for each node. Words outside the vocabulary are number 0."""

    def __init__(self, parameters: Mapping[str, Any], vocabulary: Mapping[str, int]) -> None:
        super().__init__(parameters)
        self.vocabulary = vocabulary

    def loss(self, *batch: Any) -> Any:
        """The mean over a list of trees of the sum over their nodes."""
        (trees,) = batch
        losses: list[Any] = []
        for tree in trees:
            nodes: list[tuple[Any, int]] = []
            self._state(tree, nodes)
            losses += [
                functional.cross_entropy(scores, torch.tensor([label]), reduction="sum")
                for scores, label in nodes
            ]
        return torch.stack(losses).sum() / len(trees)

    def tree_scores(self, trees: Sequence[Tree]) -> list[list[Any]]:
        """Class scores of the nodes of each tree, halves before their pair, each `[1, classes]`."""
        with torch.inference_mode():
            scores_of_trees = []
            for tree in trees:
                nodes: list[tuple[Any, int]] = []
                self._state(tree, nodes)
                scores_of_trees.append([scores for scores, _ in nodes])
            return scores_of_trees

    def _state(self, tree: Tree, nodes: list[tuple[Any, int]]) -> tuple[Any, Any]:
        n = self.size
        if "word" in tree:
            number = torch.tensor([self.vocabulary.get(tree["word"], 0)])
            x = functional.embedding(number, self.embed, sparse=True)
            u, io = torch.addmm(self.bias[: 3 * n], x, self.leaf).split([n, 2 * n], 1)
            i, o = io.sigmoid().chunk(2, 1)
            c = i * u.tanh()
        else:
            left_h, left_c = self._state(tree["left"], nodes)
            right_h, right_c = self._state(tree["right"], nodes)
            gates = torch.addmm(self.bias, torch.cat([left_h, right_h], 1), self.pair)
            u, opened = gates.split([n, 4 * n], 1)
            i, o, left, right = opened.sigmoid().chunk(4, 1)
            c = i * u.tanh() + left * left_c + right * right_c
        h = o * c.tanh()
        nodes.append((torch.addmm(self.classify_bias, h, self.classify), tree.get("label", 0)))
        return h, c
