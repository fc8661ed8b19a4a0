"""torch-hand: the tagger with attention in PyTorch, by `torch.nn.MultiheadAttention`, padded and masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.baselines.buffers import Array
from benchmarks.baselines.pytorch import TorchDescent, functional, parameter, torch

Example = tuple[list[int], list[int]]
"""The numbers of a sentence's words, and of their labels."""

PARTS = {
    "heads/in_proj_weight": "in_proj_weight",
    "heads/in_proj_bias": "in_proj_bias",
    "heads/out_proj_weight": "out_proj.weight",
    "heads/out_proj_bias": "out_proj.bias",
}


class TorchAttention(TorchDescent):
    """The model of `benchmarks.networks.attention_tagger`."""

    def __init__(self, parameters: Mapping[str, Array], heads: int) -> None:
        size = parameters["heads/out_proj_bias"].shape[0]
        own = {name: parameter(value) for name, value in parameters.items() if name not in PARTS}
        dtype = own["classify/bias"].dtype
        self.attention = torch.nn.MultiheadAttention(size, heads, batch_first=True, dtype=dtype)
        of_heads = dict(self.attention.named_parameters())
        with torch.no_grad():
            for name, theirs in PARTS.items():
                of_heads[theirs].copy_(torch.tensor(np.array(parameters[name])))
        self.weights: dict[str, Any] = {
            name: of_heads[PARTS[name]] if name in PARTS else own[name] for name in parameters
        }

    def prepare(self, examples: Sequence[Example]) -> list[tuple[Any, Any]]:
        """For each sentence its words and labels as tensors."""
        return [(torch.tensor(words), torch.tensor(labels)) for words, labels in examples]

    def loss(self, *batch: Any) -> Any:
        """The mean over the sentences of the sum over their words; takes a list of prepared sentences."""
        (prepared,) = batch
        lengths = torch.tensor([len(words) for words, _ in prepared])
        pad = torch.nn.utils.rnn.pad_sequence
        words = pad([words for words, _ in prepared], batch_first=True)
        x = functional.embedding(words, self.weights["words/weight"], sparse=True)
        inside = torch.arange(words.shape[1])[None] < lengths[:, None]
        mask = None if bool(inside.all()) else ~inside
        seen, _ = self.attention(x, x, x, key_padding_mask=mask, need_weights=False)
        states = seen.flatten(0, 1) if mask is None else seen[inside]
        scores = torch.addmm(self.weights["classify/bias"], states, self.weights["classify/weight"])
        labels = torch.cat([labels for _, labels in prepared])
        return functional.cross_entropy(scores, labels, reduction="sum") / len(prepared)
