"""The trees of one shape of `manual`, batched by hand in PyTorch, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.baselines.buffers import Array
from benchmarks.baselines.manual import levels
from benchmarks.baselines.pytorch import functional, maybe_compiled, sent, torch
from benchmarks.datasets import Nested


class TorchManual:
    """The cell of `benchmarks.networks.random_trees` with copies of its parameters, for trees like `tree`.

    What selects rows is on the device before the first batch; `compiled`: what a level computes after its
    rows are selected goes through `torch.compile`.
    """

    def __init__(
        self, parameters: Mapping[str, Array], tree: Nested, device: str = "cpu", *, compiled: bool = False
    ) -> None:
        names = ("words/weight", "hidden/weight", "hidden/bias", "gates/weight", "gates/bias")
        self.device = device
        self.embed, *self.weights = (torch.tensor(parameters[name].copy(), device=device) for name in names)
        halves = [np.array(level).reshape(-1) for level in levels(tree)]
        self._halves = sent(halves, device) if halves else []
        self._level = maybe_compiled(_level, compiled)

    def by_level(self, words: Array) -> Any:
        """States of the roots as a tensor, `[trees, size]`; `words` as `manual.Manual` takes them."""
        with torch.inference_mode():
            (numbers,) = sent([np.ascontiguousarray(words.T)], self.device)
            states = functional.embedding(numbers, self.embed)
            for halves in self._halves:
                both = states.index_select(0, halves).unflatten(0, (-1, 2)).transpose(1, 2).flatten(2)
                states = torch.cat([states, self._level(both, *self.weights)])
            return states[-1]


def _level(both: Any, hidden: Any, hidden_bias: Any, gates: Any, gates_bias: Any) -> Any:
    """States of pairs `[pairs, trees, size]`, from those of their halves side by side."""
    n, rows = hidden.shape[1], both.flatten(0, 1)
    every = torch.addmm(gates_bias, torch.addmm(hidden_bias, rows, hidden).relu(), gates)
    opened, candidate = every[:, : 3 * n].sigmoid(), every[:, 3 * n :].tanh()
    kept = opened[:, n:] * rows
    result = opened[:, :n] * candidate + kept[:, :n] + kept[:, n:]
    return result.view(both.shape[0], both.shape[1], n)
