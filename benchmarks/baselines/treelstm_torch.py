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

from arrows.data import Tree, Vocabulary
from benchmarks.baselines.buffers import Array
from benchmarks.baselines.forest import Batch
from benchmarks.baselines.pytorch import (
    Descent,
    functional,
    gradient,
    maybe_compiled,
    parameter,
    sent,
    torch,
)


class TorchHand(Descent):
    """The model of `arrows.models.sentiment` with copies of its parameters, which come by name.

    `compiled`: what a leaf and a pair compute after their rows are selected goes through `torch.compile`.
    """

    def __init__(
        self, parameters: Mapping[str, Array], device: str = "cpu", *, compiled: bool = False
    ) -> None:
        self.device = device
        self._leaf_cell = maybe_compiled(_leaf_cell, compiled)
        self._pair_cell = maybe_compiled(_pair_cell, compiled)
        weight, bias = parameters["cell/weight"], parameters["cell/bias"]
        self.size = n = len(bias) // 5
        self.idle = weight[: -2 * n, 3 * n :].copy()  # from words to forget gates, which no leaf has
        self.embed, self.leaf, self.pair, self.bias, self.classify, self.classify_bias = self.weights = [
            parameter(value, device)
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
        return self._named([weight.detach().cpu().numpy().copy() for weight in self.weights], self.idle)

    @property
    def gradients(self) -> dict[str, Array]:
        """The gradients of the last `backward`, dense, by the `arrows` model's names."""
        gradients = [gradient(weight).cpu().numpy().copy() for weight in self.weights]
        return self._named(gradients, np.zeros_like(self.idle))

    def learned(self) -> list[Any]:
        """The tensors that are learned."""
        return self.weights

    def loss(self, *batch: Batch) -> Any:
        """The mean over the trees of the sum over their nodes."""
        (trees,) = batch
        plan = _Plan(trees)
        labels, *indices = sent([trees.labels[plan.order], *plan.indices], self.device)
        scores = self._scores(plan, indices)
        return functional.cross_entropy(scores, labels, reduction="sum") / trees.trees

    def scores(self, batch: Batch) -> Array:
        """Class scores of all nodes, `[rows, classes]`, in the order of the batch's rows."""
        return np.asarray(self.scores_there(batch).cpu())

    def scores_there(self, batch: Batch) -> Any:
        """The same as a tensor: the host need not wait for a GPU."""
        with torch.inference_mode():
            plan = _Plan(batch)
            back = np.empty_like(plan.order)
            back[plan.order] = np.arange(len(plan.order))
            places, *indices = sent([back, *plan.indices], self.device)
            return self._scores(plan, indices).index_select(0, places)

    def _scores(self, plan: _Plan, indices: list[Any]) -> Any:
        """Class scores of all nodes, in the plan's order."""
        n, (words, *rest) = self.size, indices
        selected = iter(rest)
        x = functional.embedding(words, self.embed, sparse=True)
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

    def _named(self, values: list[Array], idle: Array) -> dict[str, Array]:
        embed, leaf, pair, bias, classify, classify_bias = values
        return {
            "embed/weight": embed,
            "cell/weight": np.concatenate([np.concatenate([leaf, idle], axis=1), pair]),
            "cell/bias": bias,
            "classify/weight": classify,
            "classify/bias": classify_bias,
        }


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
        consumer = np.zeros(batch.rows, np.intp)  # the height of the parent: 0 for roots
        consumer[batch.children] = height[leaves:, None]
        self.order = np.arange(batch.rows)
        self.order[:leaves] = np.argsort(consumer[:leaves].astype(np.int16), kind="stable")
        self.joining = np.bincount(consumer[:leaves], minlength=len(batch.bounds) - 1).tolist()
        self.indices: list[npt.NDArray[Any]] = [batch.words[self.order[:leaves]]]
        self.stays: list[bool] = []
        place = np.empty(batch.rows, np.intp)  # of a row within the frontier
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
            number = torch.tensor([self.vocabulary[tree["word"]]])
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
