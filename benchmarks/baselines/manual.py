"""manual-paper and manual-level: trees of one shape, batched by hand (Looks et al., 2017, table 1).

Where every tree has the same shape, a batch needs no index: node k of all trees is one array. `manual-paper`
runs one call for each node of the tree over the whole batch, as the paper's manual batching does;
`manual-level` runs one call for each level, after copying the slices of its halves into the operand. Both
know the shape beforehand, write into buffers that the next batch uses again, and use the kernels that the
engine uses.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.baselines.buffers import Array, Buffers
from benchmarks.datasets import Nested

Shape = list[tuple[int, int]]


class Manual:
    """The cell of `benchmarks.networks.random_trees` with its parameters, for trees of the shape of `tree`.

    >>> import arrows as ar
    >>> from benchmarks.networks import random_trees
    >>> model = ar.compile(random_trees(4, 10))
    >>> hand = Manual(model.params, ((0, 0), 0))
    >>> words = np.array([[7, 8, 9]])
    >>> expected = model([((7, 8), 9)])
    >>> [bool(np.allclose(run(words), expected)) for run in (hand.by_node, hand.by_level)]
    [True, True]
    """

    def __init__(self, parameters: Mapping[str, Array], tree: Nested) -> None:
        self.embed = parameters["words/weight"]
        self.hidden, self.hidden_bias = parameters["hidden/weight"], parameters["hidden/bias"]
        self.gates, self.gates_bias = parameters["gates/weight"], parameters["gates/bias"]
        self.size = self.hidden.shape[1]
        self.leaves, self.pairs, _ = _numbered(tree)
        self._levels = levels(tree)
        self._rows = Buffers(self.embed.dtype)

    def by_node(self, words: Array) -> Array:
        """States of the roots, one call for each node: `[trees, size]`, valid until the next batch.

        `words` are the numbers of the words at the leaves, from left to right, `[trees, leaves]`.
        """
        states = self._leaf_states(words)
        for k, (left, right) in enumerate(self.pairs, start=self.leaves):
            self._level(states, [(left, right)], k)
        root: Array = states[-1]
        return root

    def by_level(self, words: Array) -> Array:
        """States of the roots, one call for each level; argument and result as those of `by_node`."""
        states = self._leaf_states(words)
        first = self.leaves
        for level in self._levels:
            self._level(states, level, first)
            first += len(level)
        root: Array = states[-1]
        return root

    def _leaf_states(self, words: Array) -> Array:
        trees, leaves = words.shape
        states = self._rows("states", leaves + len(self.pairs), trees, self.size)
        np.take(self.embed, words.T, axis=0, out=states[:leaves], mode="clip")
        return states

    def _level(self, states: Array, halves: Shape, first: int) -> None:
        n, trees = self.size, states.shape[1]
        operand = self._rows("operand", len(halves), trees, 2 * n)
        for k, (left, right) in enumerate(halves):
            operand[k, :, :n] = states[left]
            operand[k, :, n:] = states[right]
        rows = len(halves) * trees
        both = operand.reshape(rows, 2 * n)
        hidden = np.matmul(both, self.hidden, out=self._rows("hidden", rows, n))
        np.add(hidden, self.hidden_bias, out=hidden)
        np.maximum(hidden, 0, out=hidden)
        gates = np.matmul(hidden, self.gates, out=self._rows("gates", rows, 4 * n))
        np.add(gates, self.gates_bias, out=gates)
        opened = gates[:, : 3 * n]
        np.multiply(opened, 0.5, out=opened)
        np.tanh(gates, out=gates)
        np.multiply(opened, 0.5, out=opened)
        np.add(opened, 0.5, out=opened)
        result = states[first : first + len(halves)].reshape(rows, n)
        np.multiply(gates[:, :n], gates[:, 3 * n :], out=result)
        kept = np.multiply(gates[:, n : 3 * n], both, out=both)
        np.add(result, kept[:, :n], out=result)
        np.add(result, kept[:, n:], out=result)


def levels(tree: Nested) -> list[Shape]:
    """The pairs of each height, from the lowest: the places of their halves among leaves and earlier pairs.

    >>> levels(((0, 0), (0, (0, 0))))
    [[(0, 1), (3, 4)], [(2, 6)], [(5, 7)]]
    """
    leaves, pairs, heights = _numbered(tree)
    ranks = sorted(range(len(pairs)), key=heights.__getitem__)
    place = {leaves + pair: leaves + rank for rank, pair in enumerate(ranks)}
    result: list[Shape] = [[] for _ in range(max(heights, default=0))]
    for pair in ranks:
        left, right = pairs[pair]
        result[heights[pair] - 1].append((place.get(left, left), place.get(right, right)))
    return result


def _numbered(tree: Nested) -> tuple[int, Shape, list[int]]:
    """How many leaves there are, the pairs in an order in which they can run, and their heights.

    Leaves are numbered from left to right, pairs after them.
    """
    leaves, pairs, heights = _leaf_count(tree), [], []
    unread = iter(range(leaves))

    def numbered(node: Nested) -> tuple[int, int]:
        """The number of a sub-tree, and its height."""
        if not isinstance(node, tuple):
            return next(unread), 0
        (left, left_height), (right, right_height) = numbered(node[0]), numbered(node[1])
        pairs.append((left, right))
        heights.append(1 + max(left_height, right_height))
        return leaves + len(pairs) - 1, heights[-1]

    numbered(tree)
    return leaves, pairs, heights


def _leaf_count(tree: Nested) -> int:
    return _leaf_count(tree[0]) + _leaf_count(tree[1]) if isinstance(tree, tuple) else 1
