"""manual-paper and manual-level: trees of one shape, batched by hand (Looks et al., 2017, table 1).

Where every tree has the same shape, a batch needs no index: node k of all trees is one array. `manual-paper`
runs one call for each node of the tree over the whole batch, as the paper's manual batching does;
`manual-level` runs one call for each level, after copying the slices of its halves into the operand. Both
know the shape beforehand, write into buffers that the next batch uses again, and use the kernels that the
engine uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

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
        self._levels = levels(tree)
        self._rows = Buffers(self.embed.dtype)

    def by_node(self, words: Array) -> Array:
        """States of the roots, one call for each node: `[trees, size]`, valid until the next batch.

        `words` are the numbers of the words at the leaves, from left to right, `[trees, leaves]`.
        """
        return self._roots(words, [[pair] for level in self._levels for pair in level])

    def by_level(self, words: Array) -> Array:
        """States of the roots, one call for each level; argument and result as those of `by_node`."""
        return self._roots(words, self._levels)

    def _roots(self, words: Array, calls: list[Shape]) -> Array:
        trees, first = words.shape
        states = self._rows("states", first + sum(map(len, calls)), trees, self.size)
        np.take(self.embed, words.T, axis=0, out=states[:first], mode="clip")
        for pairs in calls:
            self._level(states, pairs, first)
            first += len(pairs)
        root: Array = states[-1]
        return root

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
    rows: list[list[Any]] = [[]]  # of each height its pairs; the leaves are of height 0

    def place(node: Nested) -> tuple[int, int]:
        """The height of a sub-tree, and its number among those of this height."""
        row = [place(half) for half in node] if isinstance(node, tuple) else []
        height = 1 + max((height for height, _ in row), default=-1)
        if height == len(rows):
            rows.append([])
        rows[height].append(row)
        return height, len(rows[height]) - 1

    place(tree)
    first = list(accumulate(map(len, rows), initial=0))
    return [[(first[a] + left, first[b] + right) for (a, left), (b, right) in pairs] for pairs in rows[1:]]
