"""numpy-hand: the sentiment Tree-LSTM in plain NumPy, level by level, for this model alone.

What its engineer knows: leaves have no children and pairs no word, so each has a weight of its own and no
zero is multiplied; every node but a root has one parent, so a gradient is gathered from there and nothing is
summed into place; the gradient of a weight is one product over all rows of the batch. Every large array is a
buffer that the next batch uses again, and every kernel writes to where its result is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from benchmarks.baselines.buffers import Array, Buffers
from benchmarks.baselines.forest import Batch, Ints, joined, parted


@contextmanager
def short_buffer() -> Iterator[None]:
    """Within it, NumPy's buffer has 1,024 numbers instead of 8,192.

    Operands that are not contiguous go through the buffer as long as some of their rows fit in, which for
    rows of 300 to 1,200 numbers takes longer than the work itself. By hand, a Tree-LSTM of state 300 trains
    a twentieth faster with the shorter one (measured). `arrows` hardly reads slices, and leaves it alone.
    """
    before = np.setbufsize(1024)
    try:
        yield
    finally:
        np.setbufsize(before)


class NumpyHand:
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

    Attributes:
        weights: what is learned, by the names of `parted`.
        last: the gradients of the last `backward`, by the same names; of `words` the rows `read` alone.
        rows: buffers.
    """

    def __init__(self, parameters: Mapping[str, Array]) -> None:
        self.weights = {name: weight.copy() for name, weight in parted(parameters).items()}
        self.size = len(self.weights["bias"]) // 5
        self.last: dict[str, Array] = {}
        self.read: Ints = np.zeros(0, np.intp)
        self.rows = Buffers(self.weights["bias"].dtype)

    @property
    def parameters(self) -> dict[str, Array]:
        """Copies of the parameters, by the `arrows` model's names."""
        return joined(self.weights)

    @property
    def gradients(self) -> dict[str, Array]:
        """The gradients of the last `backward`, dense, by the `arrows` model's names."""
        dense = {name: np.zeros_like(weight) for name, weight in self.weights.items()} | self.last
        dense["words"] = np.zeros_like(self.weights["words"])
        dense["words"][self.read] = self.last["words"]
        return joined(dense)

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

    def step(self, batch: Batch, *, rate: float) -> float:
        """Takes a step of gradient descent; returns the loss before it."""
        loss = self.value(batch, factor=rate)  # the scores are the fewest numbers that the rate can multiply
        self.backward(batch)
        self.update(1.0)
        return loss

    def update(self, rate: float) -> None:
        """Gradient descent by the last gradients."""
        for name, step in self.last.items():
            weight = self.weights[name]
            if rate != 1:
                step = np.multiply(step, rate, out=self.rows("step", *step.shape))
            if name == "words":
                weight[self.read] -= step
            else:
                np.subtract(weight, step, out=weight)

    def value(self, batch: Batch, factor: float = 1.0) -> float:
        """The mean over trees of the sum over nodes; leaves its gradient, times a factor, for `backward`."""
        return cross_entropy(self.scores(batch), batch.labels, factor / len(batch.roots)) / len(batch.roots)

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


def open_gates(gates: Array) -> None:
    """The sigmoid in place, by way of tanh, which NumPy computes faster than a quotient of exponentials."""
    np.multiply(gates, 0.5, out=gates)
    np.tanh(gates, out=gates)
    np.multiply(gates, 0.5, out=gates)
    np.add(gates, 0.5, out=gates)


def cross_entropy(scores: Array, labels: Array, factor: float) -> float:
    """The summed cross-entropy of scores `[rows, classes]`, which become its gradient times a factor."""
    every = np.arange(len(scores))
    np.subtract(scores, scores.max(axis=1, keepdims=True), out=scores)
    right = scores[every, labels].sum()
    np.exp(scores, out=scores)
    total = scores.sum(axis=1, keepdims=True)
    np.multiply(scores, factor / total, out=scores)
    scores[every, labels] -= factor
    return float(np.log(total).sum() - right)


def cell_gradient(g: Array, d: Array, h: Array, t: Array, above: Array, dc: Array, spare: Array) -> None:
    """Computes the gradients `d` of the gates u, i, o from those of h, `above`, and of c, `dc`, in place.

    Adds to `dc` the part of the gradient of c that comes by way of h.
    With h = o * t and t = tanh(c), the slope of h by c is o * (1 - t * t) = o - h * t.
    """
    n = h.shape[-1]
    u, i, o = g[..., :n], g[..., n : 2 * n], g[..., 2 * n :]
    du, di, do = d[..., :n], d[..., n : 2 * n], d[..., 2 * n :]
    np.multiply(h, t, out=spare)
    np.subtract(o, spare, out=spare)
    np.multiply(spare, above, out=spare)
    np.add(dc, spare, out=dc)
    np.multiply(g, g, out=d)
    np.subtract(g[..., n:], d[..., n:], out=d[..., n:])
    np.subtract(1, du, out=du)
    np.multiply(above, t, out=above)
    np.multiply(do, above, out=do)
    for part, by in ((di, u), (di, dc), (du, i), (du, dc)):
        np.multiply(part, by, out=part)
