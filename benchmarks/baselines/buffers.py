"""What hand-written systems in NumPy share: buffers, the pointwise parts of a cell, and gradient descent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Buffers:
    """Arrays of one element type by name, whose memory the next batch uses again.

    >>> buffers = Buffers(np.dtype("float32"))
    >>> first = buffers("gates", 4, 3)
    >>> np.shares_memory(first, buffers("gates", 2, 5))
    True
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._held: dict[str, Array] = {}

    def __call__(self, name: str, *shape: int) -> Array:
        """An array of this shape, of unspecified content."""
        size = prod(shape)
        held = self._held.get(name)
        if held is None or len(held) < size:
            capacity = size if held is None else size + size // 4  # batches of trees differ in size
            held = self._held[name] = np.empty(capacity, self._dtype)
        return held[:size].reshape(shape)


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


class NumpyDescent(ABC):
    """A model in NumPy that learns by gradient descent, its word vectors by the rows that a batch reads.

    Attributes:
        weights: what is learned, by names of the system's own; the vectors of words are `words`.
        last: the gradients of the last `backward`, by the same names; of `words` the rows `read` alone.
        rows: buffers.
    """

    weights: dict[str, Array]

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.last: dict[str, Array] = {}
        self.read: Array = np.zeros(0, np.intp)
        self.rows = Buffers(dtype)

    @abstractmethod
    def value(self, *batch: Any, factor: float = 1.0) -> float:
        """The loss; leaves its gradient with respect to the scores, times a factor, for `backward`."""

    @abstractmethod
    def backward(self, batch: Any) -> None:
        """The gradients of the loss whose `value` was just computed."""

    @abstractmethod
    def named(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Copies of weights or gradients, by the `arrows` model's names."""

    @property
    def parameters(self) -> dict[str, Array]:
        """Copies of the parameters, by the `arrows` model's names."""
        return self.named(self.weights)

    @property
    def gradients(self) -> dict[str, Array]:
        """The gradients of the last `backward`, dense, by the `arrows` model's names."""
        dense = {name: np.zeros_like(weight) for name, weight in self.weights.items()} | self.last
        dense["words"] = np.zeros_like(self.weights["words"])
        dense["words"][self.read] = self.last["words"]
        return self.named(dense)

    def step(self, *batch: Any, rate: float) -> float:
        """Takes a step of gradient descent; returns the loss before it."""
        loss = self.value(*batch, factor=rate)  # the scores are the fewest numbers that the rate can multiply
        self.backward(batch[0])
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
