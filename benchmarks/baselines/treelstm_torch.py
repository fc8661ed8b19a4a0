"""torch-hand and torch-nodewise: the sentiment Tree-LSTM by eager PyTorch, level or node at a time.

Leaves and pairs have weights of their own, as a leaf has no children and a pair no word. In `torch-hand`, a
frontier holds the rows that are not yet consumed: each level selects its halves from it, drops them and adds
its own. Leaves are ordered by the level that consumes them and join the frontier there, so that none is
carried along.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows.data import Tree, Vocabulary
from benchmarks.baselines.buffers import Array
from benchmarks.baselines.forest import Batch, joined, parted
from benchmarks.baselines.pytorch import TorchDescent, functional, maybe_compiled, parameter, sent, torch


class TorchHand(TorchDescent):
    """The model of `arrows.models.sentiment` with copies of its parameters, which come by name.

    `compiled`: what a leaf and a pair compute after their rows are selected goes through `torch.compile`.
    """

    def __init__(
        self, parameters: Mapping[str, Array], device: str = "cpu", *, compiled: bool = False
    ) -> None:
        self.device = device
        self._leaf_cell = maybe_compiled(_leaf_cell, compiled)
        self._pair_cell = maybe_compiled(_pair_cell, compiled)
        self.weights = {name: parameter(weight, device) for name, weight in parted(parameters).items()}
        self.words, self.leaf, _, self.pair, self.bias, self.classify, self.classify_bias = (
            self.weights.values()
        )
        self.size = len(self.bias) // 5

    def named(self, value: Callable[[Any], Any]) -> dict[str, Array]:
        """What `value` makes of each weight, by the `arrows` model's names."""
        return joined({name: value(weight) for name, weight in self.weights.items()})

    def loss(self, *batch: Batch) -> Any:
        """The mean over the trees of the sum over their nodes."""
        (trees,) = batch
        plan = _Plan(trees)
        labels, *indices = sent([trees.labels[plan.order], *plan.indices], self.device)
        scores = self._scores(plan, indices)
        return functional.cross_entropy(scores, labels, reduction="sum") / len(trees.roots)

    def __call__(self, batch: Batch) -> Any:
        """Class scores of the roots, `[trees, classes]`, as a tensor; those of all nodes are computed."""
        with torch.inference_mode():
            plan = _Plan(batch)
            back = np.empty_like(plan.order)
            back[plan.order] = np.arange(len(plan.order))
            roots, *indices = sent([back[batch.roots], *plan.indices], self.device)
            return self._scores(plan, indices).index_select(0, roots)

    def _scores(self, plan: _Plan, indices: list[Any]) -> Any:
        """Class scores of all nodes, in the plan's order."""
        n, (words, *rest) = self.size, indices
        selected = iter(rest)
        x = functional.embedding(words, self.words, sparse=True)
        h, c = self._leaf_cell(x, self.leaf, self.bias[: 3 * n])
        states = [h]
        leaf_h, leaf_c = h.split(plan.joining), c.split(plan.joining)
        frontier_h, frontier_c = h[:0], c[:0]
        for level, stays in enumerate(plan.stays, start=1):
            if plan.joining[level]:
                frontier_h = torch.cat([leaf_h[level], frontier_h])
                frontier_c = torch.cat([leaf_c[level], frontier_c])
            halves = next(selected)
            both_h = frontier_h.index_select(0, halves).view(-1, 2 * n)
            both_c = frontier_c.index_select(0, halves).view(-1, 2 * n)
            h, c = self._pair_cell(both_h, both_c, self.pair, self.bias)
            states.append(h)
            if stays:
                keep = next(selected)
                frontier_h = torch.cat([frontier_h.index_select(0, keep), h])
                frontier_c = torch.cat([frontier_c.index_select(0, keep), c])
            else:
                frontier_h, frontier_c = h, c
        return torch.addmm(self.classify_bias, torch.cat(states), self.classify)


class _Plan:
    """What the host works out for a batch before anything is computed.

    Attributes:
        order: the row of each node, in the order in which scores come.
        joining: how many leaves join the frontier at each level; at level 0, those that no pair consumes.
        stays: for each level of pairs, whether rows of the frontier stay in it.
        indices: numbers of words; for each level the places of its halves, and of the rows that stay, if any.
    """

    def __init__(self, batch: Batch) -> None:
        leaves = batch.leaves
        height = np.repeat(np.arange(len(batch.bounds) - 1), np.diff(batch.bounds))
        consumer = np.zeros(len(batch.labels), np.intp)  # the height of the parent: 0 for roots
        consumer[batch.children] = height[leaves:, None]
        self.order = np.arange(len(batch.labels))
        self.order[:leaves] = np.argsort(consumer[:leaves].astype(np.int16), kind="stable")
        self.joining = np.bincount(consumer[:leaves], minlength=len(batch.bounds) - 1).tolist()
        self.indices: list[npt.NDArray[Any]] = [batch.words[self.order[:leaves]]]
        self.stays: list[bool] = []
        place = np.empty(len(batch.labels), np.intp)  # of a row within the frontier
        waiting = np.zeros(0, np.intp)
        first_leaf = self.joining[0]
        for level, (first, last) in enumerate(batch.levels, start=1):
            joined = self.order[first_leaf : first_leaf + self.joining[level]]
            first_leaf += self.joining[level]
            rows = np.concatenate([joined, waiting])
            place[rows] = np.arange(len(rows))
            self.indices.append(place[batch.children[first - leaves : last - leaves].reshape(-1)])
            stays = np.flatnonzero(consumer[rows] > level)
            self.stays.append(bool(len(stays)))
            if len(stays):
                self.indices.append(stays)
            waiting = np.concatenate([rows[stays], np.arange(first, last)])


def _leaf_cell(x: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    """States of leaves, from the vectors of their words."""
    n = len(bias) // 3
    u, io = torch.addmm(bias, x, weight).split([n, 2 * n], 1)
    i, o = io.sigmoid().chunk(2, 1)
    c = i * u.tanh()
    return o * c.tanh(), c


def _pair_cell(both_h: Any, both_c: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    """States of pairs, from those of their halves side by side."""
    n = len(bias) // 5
    u, iof = torch.addmm(bias, both_h, weight).split([n, 4 * n], 1)
    i, o, f = iof.sigmoid().split([n, n, 2 * n], 1)
    left, right = (f * both_c).chunk(2, 1)
    c = torch.addcmul(left + right, i, u.tanh())
    return o * c.tanh(), c


class TorchNodewise(TorchHand):
    """The same without any batching: a product for each node. Words outside the vocabulary are number 0."""

    def __init__(self, parameters: Mapping[str, Any], vocabulary: Vocabulary) -> None:
        super().__init__(parameters)
        self.vocabulary = vocabulary

    def loss(self, *batch: Any) -> Any:
        """The mean over a list of trees of the sum over their nodes."""
        (trees,) = batch
        losses = [
            functional.cross_entropy(scores, torch.tensor([label]), reduction="sum")
            for tree in trees
            for scores, label in self._nodes(tree)
        ]
        return torch.stack(losses).sum() / len(trees)

    def __call__(self, batch: Any) -> Any:
        """Class scores of the roots of a list of trees; those of all nodes are computed."""
        with torch.inference_mode():
            return torch.cat([self._nodes(tree)[-1][0] for tree in batch])

    def _nodes(self, tree: Tree) -> list[tuple[Any, int]]:
        """Class scores `[1, classes]` and label of each node, halves before their pair."""
        nodes: list[tuple[Any, int]] = []

        def state(node: Tree) -> tuple[Any, Any]:
            if "word" in node:
                number = torch.tensor([self.vocabulary[node["word"]]])
                x = functional.embedding(number, self.words, sparse=True)
                h, c = _leaf_cell(x, self.leaf, self.bias[: 3 * self.size])
            else:
                halves = zip(state(node["left"]), state(node["right"]), strict=True)
                both_h, both_c = (torch.cat(pair, 1) for pair in halves)
                h, c = _pair_cell(both_h, both_c, self.pair, self.bias)
            nodes.append((torch.addmm(self.classify_bias, h, self.classify), node.get("label", 0)))
            return h, c

        state(tree)
        return nodes
