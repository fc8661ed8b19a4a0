"""torch-nodewise: the sentiment Tree-LSTM in PyTorch, one node after the other, by recursion over a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arrows.data import Tree
from benchmarks.baselines.pytorch import functional, torch
from benchmarks.baselines.torch_hand import TorchHand


class TorchNodewise(TorchHand):
    """The parameters of `TorchHand`, run without any batching: a product for each node.

    Args:
        parameters: those of the `arrows` model, by name.
        vocabulary: word -> its number; other words are number 0.

    >>> hand = TorchNodewise(model.params, vocabulary)  # doctest: +SKIP
    """

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
