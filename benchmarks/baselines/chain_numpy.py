"""numpy-hand: an LSTM over one long chain, a step at a time, in plain NumPy.

What its engineer knows: there is one row a step, so a step is all overhead, and whatever does not depend on
the step before is computed for all steps at once: projections of the inputs and, going back, all slopes.
The gates stand in the order o, i, f, u, so that those with a sigmoid are one range; a sigmoid is
(tanh(x / 2) + 1) / 2, and the half is taken of the weights beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.baselines.buffers import Array


class Chain:
    """The model of `benchmarks.networks.chain` with its parameters, which come by name.

    >>> import arrows as ar
    >>> from benchmarks.networks import chain
    >>> model = ar.compile(chain(4, 10))
    >>> expected = model.value_and_grad([(((None, 3), 5), 7)])[0]
    >>> bool(np.isclose(Chain(model.params).value_and_gradients(np.array([3, 5, 7]))[0], expected))
    True
    """

    def __init__(self, parameters: Mapping[str, Array]) -> None:
        self.words = parameters["words/weight"]
        self.weight, self.bias = parameters["cell/weight"], parameters["cell/bias"]
        self.size = n = len(self.bias) // 4
        # The parameters of `arrows` have the order u, i, o, f.
        self.order = np.concatenate([np.arange(k * n, (k + 1) * n) for k in (2, 1, 3, 0)])

    def value_and_gradients(self, words: Array) -> tuple[float, dict[str, Array]]:
        """The sum of the squares of the last state h, and the gradients by the `arrows` model's names.

        `words` are numbers, from the beginning of the chain, `[length]`. The gradient of the word vectors has
        their distinct rows alone, whose numbers are under `rows`.
        """
        n, length, kind = self.size, len(words), self.bias.dtype
        weight, bias = self.weight[:, self.order], self.bias[self.order]
        x = self.words[words]
        state = weight[-n:].copy()
        state[:, : 3 * n] *= 0.5
        gates = x @ weight[:-n]
        gates += bias
        gates[:, : 3 * n] *= 0.5
        h, c, t = (np.empty((length + 1, n), kind) for _ in range(3))
        h[0] = c[0] = 0
        product, kept = np.empty(4 * n, kind), np.empty(n, kind)
        matmul, add, multiply, tanh = np.matmul, np.add, np.multiply, np.tanh
        opened, parts = gates[:, : 3 * n], gates.reshape(length, 4, n)
        for g, s, (o, i, f, u), h0, c0, h1, c1, t1 in zip(
            gates, opened, parts, h, c, h[1:], c[1:], t[1:], strict=False
        ):
            matmul(h0, state, out=product)
            add(g, product, out=g)
            tanh(g, out=g)
            multiply(s, 0.5, out=s)
            add(s, 0.5, out=s)
            multiply(i, u, out=c1)
            multiply(f, c0, out=kept)
            add(c1, kept, out=c1)
            tanh(c1, out=t1)
            multiply(o, t1, out=h1)
        loss = float(h[-1] @ h[-1])
        return loss, self._gradients(words, x, weight, parts, (h, c, t[1:]))

    def _gradients(
        self, words: Array, x: Array, weight: Array, parts: Array, states: tuple[Array, Array, Array]
    ) -> dict[str, Array]:
        h, c, t = states
        length, _, n = parts.shape
        o, i, f, u = (parts[:, k] for k in range(4))
        by_h, by_c = o * (1 - o) * t, o - h[1:] * t
        slopes = np.stack([i * (1 - i) * u, f * (1 - f) * c[:-1], (1 - u * u) * i], axis=1)
        d = np.empty_like(parts)
        dh, dc, spare = 2 * h[-1], np.zeros(n, h.dtype), np.empty(n, h.dtype)
        turned = np.ascontiguousarray(weight[-n:].T)
        multiply, add, matmul = np.multiply, np.add, np.matmul
        steps = zip(
            by_h[::-1],
            by_c[::-1],
            slopes[::-1],
            f[::-1],
            d[::-1, 0],
            d[::-1, 1:],
            d.reshape(length, -1)[::-1],
            strict=True,
        )
        for along_h, along_c, slope, forget, d_o, d_rest, d_all in steps:
            multiply(dh, along_c, out=spare)
            add(dc, spare, out=dc)
            multiply(dh, along_h, out=d_o)
            multiply(slope, dc, out=d_rest)
            multiply(dc, forget, out=dc)
            matmul(d_all, turned, out=dh)
        flat = d.reshape(length, -1)
        back = np.argsort(self.order)
        order = np.argsort(words, kind="stable")
        rows, first = np.unique(words[order], return_index=True)
        return {
            "cell/weight": np.concatenate([x.T @ flat, h[:-1].T @ flat])[:, back],
            "cell/bias": flat.sum(axis=0)[back],
            "words/weight": np.add.reduceat((flat @ weight[:-n].T)[order], first, axis=0),
            "rows": rows,
        }
