"""bound: the matrix products of the sentiment Tree-LSTM alone, at the row counts that are left after sharing.

No way of computing the model can be faster than its products with this BLAS. All other time of a system goes
to gathering, element-wise work, updates and the host's part.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.baselines.buffers import Array


class Bound:
    """The products of a batch with these rows (`Forest.shared`), on random numbers."""

    def __init__(self, parameters: Mapping[str, Array], rows: list[int]) -> None:
        weight, self.classify = parameters["cell/weight"], parameters["classify/weight"]
        n = len(self.classify)
        self.leaf, self.pair = weight[: -2 * n, : 3 * n].copy(), weight[-2 * n :].copy()
        self.turned = self.pair.T.copy()  # the faster operand where there are few rows
        random, kind = np.random.default_rng(0), weight.dtype

        def operand(*shape: int) -> Array:
            return random.standard_normal(shape, np.float32).astype(kind)

        leaves, pairs = rows[0], sum(rows[1:])
        self.bounds = np.cumsum([0, *rows[1:]]).tolist()
        self.words, self.halves = operand(leaves, len(self.leaf)), operand(pairs, 2 * n)
        self.states = operand(sum(rows), n)
        self.leaf_gates, self.gates = operand(leaves, 3 * n), operand(pairs, 5 * n)
        self.scores = operand(sum(rows), self.classify.shape[1])
        self.gradients = [np.empty_like(w) for w in (self.leaf, self.pair, self.classify)]

    def inference(self) -> None:
        """The products of a forward pass."""
        np.matmul(self.words, self.leaf, out=self.leaf_gates)
        for a, b in zip(self.bounds, self.bounds[1:], strict=False):
            np.matmul(self.halves[a:b], self.pair, out=self.gates[a:b])
        np.matmul(self.states, self.classify, out=self.scores)

    def training(self) -> None:
        """Those of a forward and a backward pass; weights' gradients are one product each."""
        self.inference()
        leaf, pair, classify = self.gradients
        np.matmul(self.scores, self.classify.T, out=self.states)
        for a, b in zip(self.bounds[-2::-1], self.bounds[:0:-1], strict=True):
            np.matmul(self.gates[a:b], self.turned, out=self.halves[a:b])
        np.matmul(self.leaf_gates, self.leaf.T, out=self.words)
        np.matmul(self.halves.T, self.gates, out=pair)
        np.matmul(self.words.T, self.leaf_gates, out=leaf)
        np.matmul(self.states.T, self.scores, out=classify)
