"""numpy-hand: the sentiment Tree-LSTM in plain NumPy, level by level, for this model alone.

What its engineer knows: leaves have no children and pairs no word, so each has a weight of its own and no
zero is multiplied; every node but a root has one parent, so a gradient is gathered from there and nothing is
summed into place; the gradient of a weight is one product over all rows of the batch. Every large array is a
buffer that the next batch uses again, and every kernel writes to where its result is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.baselines.buffers import Array, Buffers, short_buffer
from benchmarks.baselines.forest import Batch, Ints


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
    """

    def __init__(self, parameters: Mapping[str, Array]) -> None:
        weight, bias = parameters["cell/weight"], parameters["cell/bias"]
        self.size = n = len(bias) // 5
        self.embed = parameters["embed/weight"].copy()
        self.leaf = weight[: -2 * n, : 3 * n].copy()
        self.idle = weight[: -2 * n, 3 * n :].copy()  # from words to forget gates, which no leaf has
        self.pair = weight[-2 * n :].copy()
        self.bias = bias.copy()
        self.classify = parameters["classify/weight"].copy()
        self.classify_bias = parameters["classify/bias"].copy()
        self._rows = Buffers(bias.dtype)
        self._gradients: dict[str, Any] = {}

    @property
    def parameters(self) -> dict[str, Array]:
        """Copies of the parameters, by the `arrows` model's names."""
        words = np.concatenate([self.leaf, self.idle], axis=1)
        return {
            "embed/weight": self.embed.copy(),
            "cell/weight": np.concatenate([words, self.pair]),
            "cell/bias": self.bias.copy(),
            "classify/weight": self.classify.copy(),
            "classify/bias": self.classify_bias.copy(),
        }

    @property
    def gradients(self) -> dict[str, Array]:
        """The gradients of the last `backward`, dense, by the `arrows` model's names."""
        last = self._gradients
        embed = np.zeros_like(self.embed)
        embed[last["words"]] = last["embed"]
        words = np.concatenate([last["leaf"], np.zeros_like(self.idle)], axis=1)
        return {
            "embed/weight": embed,
            "cell/weight": np.concatenate([words, last["pair"]]),
            "cell/bias": last["bias"],
            "classify/weight": last["classify"],
            "classify/bias": last["classify_bias"],
        }

    def train_step(self, batch: Batch, rate: float) -> float:
        """Takes a step of gradient descent; the loss before it, a mean over trees of sums over nodes."""
        loss = self.value(batch, rate)  # the scores are the fewest numbers that the rate can multiply
        self.backward(batch)
        self.update(1.0)
        return loss

    def scores(self, batch: Batch) -> Array:
        """Class scores of all nodes, `[rows, classes]`; valid until the next batch."""
        self.states(batch)
        h = self._rows("h", batch.rows, self.size)
        scores = self._rows("scores", batch.rows, len(self.classify_bias))
        np.matmul(h, self.classify, out=scores)
        return np.add(scores, self.classify_bias, out=scores)

    @short_buffer()
    def states(self, batch: Batch) -> None:
        """Computes the states of all nodes, and keeps what `backward` reads."""
        n, leaves, rows = self.size, batch.leaves, batch.rows
        h, c, t = (self._rows(name, rows, n) for name in "hct")
        x = self._rows("x", leaves, self.embed.shape[1])
        np.take(self.embed, batch.words, axis=0, out=x, mode="clip")
        gates = np.matmul(x, self.leaf, out=self._rows("leaf gates", leaves, 3 * n))
        np.add(gates, self.bias[: 3 * n], out=gates)
        _sigmoid(gates[:, n:])
        u = np.tanh(gates[:, :n], out=gates[:, :n])
        np.multiply(gates[:, n : 2 * n], u, out=c[:leaves])
        np.tanh(c[:leaves], out=t[:leaves])
        np.multiply(gates[:, 2 * n :], t[:leaves], out=h[:leaves])

        all_gates = self._rows("gates", rows - leaves, 5 * n)
        both_h = self._rows("children h", 2 * (rows - leaves), n)
        both_c = self._rows("children c", 2 * (rows - leaves), n)
        all_kept = self._rows("kept", rows - leaves, 2 * n)
        for first, last in batch.levels:
            a, b = first - leaves, last - leaves
            index = batch.children[a:b].reshape(-1)
            gates, operand, memory = all_gates[a:b], both_h[2 * a : 2 * b], both_c[2 * a : 2 * b]
            np.take(h, index, axis=0, out=operand, mode="clip")
            np.take(c, index, axis=0, out=memory, mode="clip")
            np.matmul(operand.reshape(b - a, 2 * n), self.pair, out=gates)
            np.add(gates, self.bias, out=gates)
            _sigmoid(gates[:, n:])
            u, f = np.tanh(gates[:, :n], out=gates[:, :n]), gates[:, 3 * n :]
            kept = np.multiply(f, memory.reshape(b - a, 2 * n), out=all_kept[a:b])
            here = np.multiply(gates[:, n : 2 * n], u, out=c[first:last])
            np.add(here, kept[:, :n], out=here)
            np.add(here, kept[:, n:], out=here)
            np.tanh(here, out=t[first:last])
            np.multiply(gates[:, 2 * n : 3 * n], t[first:last], out=h[first:last])

    def value(self, batch: Batch, factor: float = 1.0) -> float:
        """The loss; leaves its gradient with respect to the scores, times a factor, for `backward`."""
        scores = self.scores(batch)
        every = np.arange(batch.rows)
        np.subtract(scores, scores.max(axis=1, keepdims=True), out=scores)
        right = scores[every, batch.labels].sum()
        np.exp(scores, out=scores)
        total = scores.sum(axis=1, keepdims=True)
        loss = np.log(total).sum() - right
        np.divide(scores, total, out=scores)
        scores[every, batch.labels] -= 1
        np.multiply(scores, factor / batch.trees, out=scores)
        return float(loss) / batch.trees

    @short_buffer()
    def backward(self, batch: Batch) -> None:
        """The gradients of the loss whose `value` was just computed."""
        n, leaves, rows = self.size, batch.leaves, batch.rows
        pairs = rows - leaves
        h, t, dh = (self._rows(name, rows, n) for name in ("h", "t", "dh"))
        by_scores = self._rows("scores", rows, len(self.classify_bias))
        np.matmul(by_scores, self.classify.T, out=dh)
        gates, d_gates = (self._rows(name, pairs, 5 * n) for name in ("gates", "d gates"))
        both_h, kept = self._rows("children h", pairs, 2 * n), self._rows("kept", pairs, 2 * n)
        # What each half gets from its parent; the last row is what a root gets: nothing.
        from_h, from_c = (self._rows(name, 2 * pairs + 1, n) for name in ("from h", "from c"))
        from_h[-1] = from_c[-1] = 0
        parent = np.full(rows, 2 * pairs)
        parent[batch.children.reshape(-1)] = np.arange(2 * pairs)

        def arriving(first: int, last: int) -> tuple[Array, Array, Array]:
            """The gradients of h and c of some rows, and scratch memory of their shape."""
            spare, dc, above = (self._rows(name, last - first, n) for name in ("spare", "dc", "above"))
            np.take(from_h, parent[first:last], axis=0, out=above, mode="clip")
            np.take(from_c, parent[first:last], axis=0, out=dc, mode="clip")
            return np.add(above, dh[first:last], out=above), dc, spare

        # OpenBLAS takes 0.3 ms longer for each product with a transposed operand of this size.
        turned = self._rows("turned", 5 * n, 2 * n)
        if pairs:
            np.copyto(turned, self.pair.T)
        for first, last in reversed(batch.levels):
            a, b = first - leaves, last - leaves
            g, d = gates[a:b], d_gates[a:b]
            above, dc, spare = arriving(first, last)
            _cell_gradient(g[:, : 3 * n], d[:, : 3 * n], h[first:last], t[first:last], above, dc, spare)
            f, df = g[:, 3 * n :], d[:, 3 * n :]
            np.multiply(kept[a:b], f, out=df)
            np.subtract(kept[a:b], df, out=df)
            shape, twice = (b - a, 2, n), dc[:, None]
            np.multiply(df.reshape(shape), twice, out=df.reshape(shape))
            np.multiply(f.reshape(shape), twice, out=from_c[2 * a : 2 * b].reshape(shape))
            np.matmul(d, turned, out=from_h[2 * a : 2 * b].reshape(b - a, 2 * n))
        g, d = (self._rows(name, leaves, 3 * n) for name in ("leaf gates", "d leaf gates"))
        _cell_gradient(g, d, h[:leaves], t[:leaves], *arriving(0, leaves))

        x = self._rows("x", leaves, len(self.leaf))
        dx = np.matmul(d, self.leaf.T, out=self._rows("dx", *x.shape))
        bias = self._rows("d bias", 5 * n)
        d_gates.sum(axis=0, out=bias)
        bias[: 3 * n] += d.sum(axis=0)
        words, by_word = self._by_word(batch.words, dx)
        self._gradients = {
            "words": words,
            "embed": by_word,
            "leaf": np.matmul(x.T, d, out=self._rows("d leaf", *self.leaf.shape)),
            "pair": np.matmul(both_h.T, d_gates, out=self._rows("d pair", *self.pair.shape)),
            "bias": bias,
            "classify": h.T @ by_scores,
            "classify_bias": by_scores.sum(axis=0),
        }

    def update(self, rate: float) -> None:
        """Gradient descent by the last gradients."""
        last = self._gradients
        for name in ("leaf", "pair", "bias", "classify", "classify_bias"):
            parameter = getattr(self, name)
            step = last[name]
            if rate != 1:
                step = np.multiply(step, rate, out=self._rows("step", *parameter.shape))
            np.subtract(parameter, step, out=parameter)
        self.embed[last["words"]] -= rate * last["embed"]

    def _by_word(self, words: Ints, rows: Array) -> tuple[Ints, Array]:
        """Sums the rows of each word: the distinct words, and a row for each."""
        order = np.argsort(words, kind="stable")
        ordered = self._rows("by word", *rows.shape)
        np.take(rows, order, axis=0, out=ordered, mode="clip")
        distinct, first, counts = np.unique(words[order], return_index=True, return_counts=True)
        sums = self._rows("sums", len(distinct), rows.shape[1])
        np.take(ordered, first, axis=0, out=sums, mode="clip")
        # A sum for each repeated word takes half the time of one `np.add.reduceat` over all.
        for k in np.flatnonzero(counts > 1).tolist():
            np.add.reduce(ordered[first[k] : first[k] + counts[k]], axis=0, out=sums[k])
        return distinct, sums


def _sigmoid(x: Array) -> Array:
    """In place, by way of tanh, which NumPy computes faster than a quotient of exponentials."""
    np.multiply(x, 0.5, out=x)
    np.tanh(x, out=x)
    np.multiply(x, 0.5, out=x)
    return np.add(x, 0.5, out=x)


def _cell_gradient(g: Array, d: Array, h: Array, t: Array, above: Array, dc: Array, spare: Array) -> None:
    """Computes the gradients `d` of the gates u, i, o from those of h, `above`, and of c, `dc`, in place.

    Adds to `dc` the part of the gradient of c that comes by way of h.
    With h = o * t and t = tanh(c), the slope of h by c is o * (1 - t * t) = o - h * t.
    """
    n = h.shape[1]
    u, i, o = g[:, :n], g[:, n : 2 * n], g[:, 2 * n :]
    du, di, do = d[:, :n], d[:, n : 2 * n], d[:, 2 * n :]
    np.multiply(h, t, out=spare)
    np.subtract(o, spare, out=spare)
    np.multiply(spare, above, out=spare)
    np.add(dc, spare, out=dc)
    np.multiply(g, g, out=d)
    np.subtract(g[:, n:], d[:, n:], out=d[:, n:])
    np.subtract(1, du, out=du)
    np.multiply(above, t, out=above)
    np.multiply(do, above, out=do)
    np.multiply(di, u, out=di)
    np.multiply(di, dc, out=di)
    np.multiply(du, i, out=du)
    np.multiply(du, dc, out=du)
