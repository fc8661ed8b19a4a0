"""numpy-hand: the bidirectional tagger in plain NumPy, for sentences that all have one length.

What its engineer knows: no index is needed, so arrays are [direction, step, sentence, unit], the backward
direction's steps counted from the end, and both directions of a step are one call. The inputs of all steps
are projected at once; a step adds the product with the last state. Every batch reuses the same buffers.
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

WAYS = ("forward", "backward")


class BiLSTM(NumpyDescent):
    """The model of `benchmarks.networks.bilstm_tagger` with copies of its parameters, which come by name.

    >>> import arrows as ar
    >>> from benchmarks.networks import bilstm_tagger
    >>> model = ar.compile(bilstm_tagger(9, 3, 4, 2, 5), loss="loss")
    >>> words, labels = np.array([[1, 2, 3]]), np.array([[0, 4, 1]])
    >>> expected = model.value_and_grad([(words[0].tolist(), labels[0].tolist())])[0]
    >>> bool(np.isclose(BiLSTM(model.params).value(words, labels), expected))
    True
    """

    def __init__(self, parameters: Mapping[str, Array]) -> None:
        self.layers = sum(name.startswith("forward_") for name in parameters) // 2
        self.size = n = len(parameters["forward_0/bias"]) // 4
        self.weights: dict[str, Array] = {
            "words": parameters["words/weight"].copy(),
            "classify": parameters["classify/weight"].copy(),
            "classify bias": parameters["classify/bias"].copy(),
        }
        for k in range(self.layers):
            both = [parameters[f"{way}_{k}/weight"] for way in WAYS]
            self.weights[f"input {k}"] = np.stack([weight[:-n] for weight in both])
            self.weights[f"state {k}"] = np.stack([weight[-n:] for weight in both])
            self.weights[f"bias {k}"] = np.stack([parameters[f"{way}_{k}/bias"] for way in WAYS])
        super().__init__(parameters["words/weight"].dtype)

    @short_buffer()
    def value(self, *batch: Array, factor: float = 1.0) -> float:
        """The mean over sentences of the sum over words; words and labels are `[sentences, length]`."""
        words, labels = batch
        count, length = words.shape
        weights, rows = self.weights, length * count
        x = self.rows("x 0", 2, length, count, weights["words"].shape[1])
        np.take(weights["words"], words.T, axis=0, out=x[0], mode="clip")
        x[1] = x[0, ::-1]
        for k in range(self.layers):
            above = self.rows(f"x {k + 1}", 2, length, count, 2 * self.size)
            self._forward(k, x, above[0])
            if k + 1 < self.layers:
                above[1] = above[0, ::-1]
            x = above
        scores = self.rows("scores", rows, weights["classify"].shape[1])
        np.matmul(x[0].reshape(rows, -1), weights["classify"], out=scores)
        np.add(scores, weights["classify bias"], out=scores)
        loss: float = cross_entropy(scores, labels.T.reshape(-1), factor / count) / count
        return loss

    @short_buffer()
    def backward(self, batch: Array) -> None:
        """The gradients of the loss whose `value` was just computed, of these words."""
        words, (count, length) = batch, batch.shape
        rows, n = length * count, self.size
        scores = self.rows("scores", rows, self.weights["classify"].shape[1])
        x = self.rows(f"x {self.layers}", 2, length, count, 2 * n)[0].reshape(rows, 2 * n)
        self.last = {"classify": x.T @ scores, "classify bias": scores.sum(axis=0)}
        up = self.rows("up", rows, 2 * n)
        np.matmul(scores, self.weights["classify"].T, out=up)
        up = up.reshape(length, count, 2 * n)
        for k in range(self.layers)[::-1]:
            up = self._backward(k, up)
        order = np.argsort(words.T.reshape(-1), kind="stable")
        self.read, first = np.unique(words.T.reshape(-1)[order], return_index=True)
        self.last["words"] = np.add.reduceat(up.reshape(rows, -1)[order], first, axis=0)

    def _forward(self, k: int, x: Array, out: Array) -> None:
        _, length, batch, width = x.shape
        n, weights = self.size, self.weights
        gates = self.rows(f"gates {k}", 2, length, batch, 4 * n)
        flat = gates.reshape(2, length * batch, 4 * n)
        np.matmul(x.reshape(2, length * batch, width), weights[f"input {k}"], out=flat)
        np.add(flat, weights[f"bias {k}"][:, None], out=flat)
        # Step 0 is what comes before the first word.
        h, c, t = (self.rows(f"{name} {k}", 2, length + 1, batch, n) for name in "hct")
        h[:, 0] = c[:, 0] = 0
        product, kept = self.rows("product", 2, batch, 4 * n), self.rows("kept", 2, batch, n)
        for s in range(length):
            g = gates[:, s]
            if s:
                np.add(g, np.matmul(h[:, s], weights[f"state {k}"], out=product), out=g)
            np.tanh(g[..., :n], out=g[..., :n])
            open_gates(g[..., n:])
            memory = np.multiply(g[..., :n], g[..., n : 2 * n], out=c[:, s + 1])
            np.add(memory, np.multiply(g[..., 3 * n :], c[:, s], out=kept), out=memory)
            np.tanh(memory, out=t[:, s + 1])
            np.multiply(g[..., 2 * n : 3 * n], t[:, s + 1], out=h[:, s + 1])
        out[..., :n] = h[0, 1:]
        out[..., n:] = h[1, :0:-1]

    def _backward(self, k: int, up: Array) -> Array:
        """Takes the gradient of a layer's output, and returns its input's: `[length, batch, width]` each."""
        length, batch, _ = up.shape
        n, rows, state = self.size, length * batch, self.weights[f"state {k}"]
        entry = self.weights[f"input {k}"]
        gates, d_gates = (self.rows(f"{name} {k}", 2, length, batch, 4 * n) for name in ("gates", "d gates"))
        h, c, t = (self.rows(f"{name} {k}", 2, length + 1, batch, n) for name in "hct")
        turned = self.rows("turned", 2, 4 * n, n)
        np.copyto(turned, state.transpose(0, 2, 1))  # small products are slower with a transposed operand
        dh, dc, spare = (self.rows(name, 2, batch, n) for name in ("dh", "dc", "spare"))
        dc[:] = 0
        for s in range(length)[::-1]:
            g, d = gates[:, s], d_gates[:, s]
            if s + 1 < length:
                np.matmul(d_gates[:, s + 1], turned, out=dh)
                np.add(dh[0], up[s, :, :n], out=dh[0])
                np.add(dh[1], up[length - 1 - s, :, n:], out=dh[1])
            else:
                dh[0], dh[1] = up[s, :, :n], up[0, :, n:]
            f, df = g[..., 3 * n :], d[..., 3 * n :]
            cell_gradient(g[..., : 3 * n], d[..., : 3 * n], h[:, s + 1], t[:, s + 1], dh, dc, spare)
            np.multiply(f, f, out=df)
            np.subtract(f, df, out=df)
            np.multiply(df, c[:, s], out=df)
            np.multiply(df, dc, out=df)
            np.multiply(dc, f, out=dc)
        flat = d_gates.reshape(2, rows, 4 * n)
        x = self.rows(f"x {k}", 2, length, batch, entry.shape[1]).reshape(2, rows, -1)
        before = np.ascontiguousarray(h[:, :-1]).reshape(2, rows, n)
        self.last[f"input {k}"] = np.matmul(x.transpose(0, 2, 1), flat)
        self.last[f"state {k}"] = np.matmul(before.transpose(0, 2, 1), flat)
        self.last[f"bias {k}"] = flat.sum(axis=1)
        both = self.rows(f"dx {k}", 2, length, batch, entry.shape[1])
        np.matmul(flat, entry.transpose(0, 2, 1), out=both.reshape(2, rows, -1))
        summed: Array = np.add(both[0], both[1, ::-1], out=both[0])
        return summed

    def named(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Copies of weights or gradients, by the `arrows` model's names."""
        named = {
            "words/weight": values["words"].copy(),
            "classify/weight": values["classify"].copy(),
            "classify/bias": values["classify bias"].copy(),
        }
        for k in range(self.layers):
            for j, way in enumerate(WAYS):
                both = [values[f"{name} {k}"][j] for name in ("input", "state")]
                named[f"{way}_{k}/weight"] = np.concatenate(both)
                named[f"{way}_{k}/bias"] = values[f"bias {k}"][j].copy()
        return named
