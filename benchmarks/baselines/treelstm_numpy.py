"""numpy-hand: the sentiment Tree-LSTM in plain NumPy, level by level, for this model alone.

What its engineer knows: leaves have no children and pairs no word, so each has a weight of its own and no
zero is multiplied; every node but a root has one parent, so a gradient is gathered from there and nothing is
summed into place; the gradient of a weight is one product over all rows of the batch. Every large array is a
buffer that the next batch uses again, and every kernel writes to where its result is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.baselines.buffers import (
    Array,
    NumpyDescent,
    cell_gradient,
    cross_entropy,
    open_gates,
    short_buffer,
)
from benchmarks.baselines.forest import Batch, Ints, joined, parted


class NumpyHand(NumpyDescent):
    """The model of `arrows.models.sentiment` with copies of its parameters, which come by name.

    >>> import arrows as ar
    >>> from benchmarks.baselines.forest import Forest
    >>> from arrows.models import sentiment
    >>> words = ar.Vocabulary(["a"])
    >>> model = ar.compile(sentiment(words, size=4).learn, loss="loss")
    >>> tree = {"label": 1, "word": "a"}
    >>> value = NumpyHand(model.params).value(Forest([tree], words).batch(np.array([0])))
    >>> bool(np.isclose(value, model.value_and_grad([tree])[0]))
    True
    """

    def __init__(self, parameters: Mapping[str, Array]) -> None:
        self.weights = {name: weight.copy() for name, weight in parted(parameters).items()}
        self.size = len(self.weights["bias"]) // 5
        super().__init__(self.weights["bias"].dtype)

    def named(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Copies of weights or gradients, by the `arrows` model's names."""
        return joined(values)

    def __call__(self, batch: Batch) -> Array:
        """Class scores of the roots, `[trees, classes]`."""
        roots: Array = self.scores(batch)[batch.roots]
        return roots

    def scores(self, batch: Batch) -> Array:
        """Class scores of all nodes, `[rows, classes]`; valid until the next batch."""
        self.states(batch)
        classify, bias = self.weights["classify"], self.weights["classify bias"]
        scores = self.rows("scores", len(batch.labels), len(bias))
        np.matmul(self.rows("h", len(batch.labels), self.size), classify, out=scores)
        return np.add(scores, bias, out=scores)

    @short_buffer()
    def states(self, batch: Batch) -> None:
        """Computes the states of all nodes, and keeps what `backward` reads."""
        n, leaves, rows, weights = self.size, batch.leaves, len(batch.labels), self.weights
        h, c, t = (self.rows(name, rows, n) for name in "hct")
        x = self.rows("x", leaves, weights["words"].shape[1])
        np.take(weights["words"], batch.words, axis=0, out=x, mode="clip")
        gates = np.matmul(x, weights["leaf"], out=self.rows("leaf gates", leaves, 3 * n))
        np.add(gates, weights["bias"][: 3 * n], out=gates)
        open_gates(gates[:, n:])
        u = np.tanh(gates[:, :n], out=gates[:, :n])
        np.multiply(gates[:, n : 2 * n], u, out=c[:leaves])
        np.tanh(c[:leaves], out=t[:leaves])
        np.multiply(gates[:, 2 * n :], t[:leaves], out=h[:leaves])

        all_gates = self.rows("gates", rows - leaves, 5 * n)
        both_h = self.rows("children h", 2 * (rows - leaves), n)
        both_c = self.rows("children c", 2 * (rows - leaves), n)
        all_kept = self.rows("kept", rows - leaves, 2 * n)
        for first, last in batch.levels:
            a, b = first - leaves, last - leaves
            index = batch.children[a:b].reshape(-1)
            gates, operand, memory = all_gates[a:b], both_h[2 * a : 2 * b], both_c[2 * a : 2 * b]
            np.take(h, index, axis=0, out=operand, mode="clip")
            np.take(c, index, axis=0, out=memory, mode="clip")
            np.matmul(operand.reshape(b - a, 2 * n), weights["pair"], out=gates)
            np.add(gates, weights["bias"], out=gates)
            open_gates(gates[:, n:])
            u, f = np.tanh(gates[:, :n], out=gates[:, :n]), gates[:, 3 * n :]
            kept = np.multiply(f, memory.reshape(b - a, 2 * n), out=all_kept[a:b])
            here = np.multiply(gates[:, n : 2 * n], u, out=c[first:last])
            np.add(here, kept[:, :n], out=here)
            np.add(here, kept[:, n:], out=here)
            np.tanh(here, out=t[first:last])
            np.multiply(gates[:, 2 * n : 3 * n], t[first:last], out=h[first:last])

    def value(self, *batch: Batch, factor: float = 1.0) -> float:
        """The mean over trees of the sum over nodes, and its gradient."""
        (trees,) = batch
        return cross_entropy(self.scores(trees), trees.labels, factor / len(trees.roots)) / len(trees.roots)

    @short_buffer()
    def backward(self, batch: Batch) -> None:
        """The gradients of the loss whose `value` was just computed."""
        n, leaves, rows, weights = self.size, batch.leaves, len(batch.labels), self.weights
        pairs = rows - leaves
        h, t, dh = (self.rows(name, rows, n) for name in ("h", "t", "dh"))
        by_scores = self.rows("scores", rows, len(weights["classify bias"]))
        np.matmul(by_scores, weights["classify"].T, out=dh)
        gates, d_gates = (self.rows(name, pairs, 5 * n) for name in ("gates", "d gates"))
        both_h, kept = (self.rows(name, pairs, 2 * n) for name in ("children h", "kept"))
        # What each half gets from its parent; the last row is what a root gets: nothing.
        from_h, from_c = (self.rows(name, 2 * pairs + 1, n) for name in ("from h", "from c"))
        from_h[-1] = from_c[-1] = 0
        parent = np.full(rows, 2 * pairs)
        parent[batch.children.reshape(-1)] = np.arange(2 * pairs)

        def arriving(first: int, last: int) -> tuple[Array, Array, Array]:
            """The gradients of h and c of some rows, and scratch memory of their shape."""
            spare, dc, above = (self.rows(name, last - first, n) for name in ("spare", "dc", "above"))
            np.take(from_h, parent[first:last], axis=0, out=above, mode="clip")
            np.take(from_c, parent[first:last], axis=0, out=dc, mode="clip")
            return np.add(above, dh[first:last], out=above), dc, spare

        # OpenBLAS takes 0.3 ms longer for each product with a transposed operand of this size.
        turned = self.rows("turned", 5 * n, 2 * n)
        if pairs:
            np.copyto(turned, weights["pair"].T)
        for first, last in reversed(batch.levels):
            a, b = first - leaves, last - leaves
            g, d = gates[a:b], d_gates[a:b]
            above, dc, spare = arriving(first, last)
            cell_gradient(g[:, : 3 * n], d[:, : 3 * n], h[first:last], t[first:last], above, dc, spare)
            f, df = g[:, 3 * n :], d[:, 3 * n :]
            np.multiply(kept[a:b], f, out=df)
            np.subtract(kept[a:b], df, out=df)
            shape, twice = (b - a, 2, n), dc[:, None]
            np.multiply(df.reshape(shape), twice, out=df.reshape(shape))
            np.multiply(f.reshape(shape), twice, out=from_c[2 * a : 2 * b].reshape(shape))
            np.matmul(d, turned, out=from_h[2 * a : 2 * b].reshape(b - a, 2 * n))
        g, d = (self.rows(name, leaves, 3 * n) for name in ("leaf gates", "d leaf gates"))
        cell_gradient(g, d, h[:leaves], t[:leaves], *arriving(0, leaves))

        x = self.rows("x", leaves, len(weights["leaf"]))
        dx = np.matmul(d, weights["leaf"].T, out=self.rows("dx", *x.shape))
        bias = self.rows("d bias", 5 * n)
        d_gates.sum(axis=0, out=bias)
        bias[: 3 * n] += d.sum(axis=0)
        self.read, by_word = self._by_word(batch.words, dx)
        self.last = {
            "words": by_word,
            "leaf": np.matmul(x.T, d, out=self.rows("d leaf", *weights["leaf"].shape)),
            "pair": np.matmul(both_h.T, d_gates, out=self.rows("d pair", *weights["pair"].shape)),
            "bias": bias,
            "classify": h.T @ by_scores,
            "classify bias": by_scores.sum(axis=0),
        }

    def _by_word(self, words: Ints, rows: Array) -> tuple[Ints, Array]:
        """Sums the rows of each word: the distinct words, and a row for each."""
        order = np.argsort(words, kind="stable")
        ordered = self.rows("by word", *rows.shape)
        np.take(rows, order, axis=0, out=ordered, mode="clip")
        distinct, first, counts = np.unique(words[order], return_index=True, return_counts=True)
        sums = self.rows("sums", len(distinct), rows.shape[1])
        np.take(ordered, first, axis=0, out=sums, mode="clip")
        # A sum for each repeated word takes half the time of one `np.add.reduceat` over all.
        for k in np.flatnonzero(counts > 1).tolist():
            np.add.reduce(ordered[first[k] : first[k] + counts[k]], axis=0, out=sums[k])
        return distinct, sums
