"""torch-hand: the bidirectional taggers in PyTorch, by `torch.nn.LSTM`, which is fused native code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.baselines.buffers import Array
from benchmarks.baselines.pytorch import (
    TorchDescent,
    functional,
    maybe_compiled,
    parameter,
    sent,
    torch,
)


class TorchTagger(TorchDescent):
    """The model of `benchmarks.networks.bilstm_tagger`, for sentences that all have one length.

    `compiled`: all but the embedding, whose gradient is sparse, goes through `torch.compile`, which leaves
    `torch.nn.LSTM` as it is.
    """

    def __init__(
        self, parameters: Mapping[str, Array], device: str = "cpu", *, compiled: bool = False
    ) -> None:
        layers = sum(name.startswith("forward_") for name in parameters) // 2
        self._start(parameters, [[(f"forward_{k}", f"backward_{k}") for k in range(layers)]], device)
        self._loss_of_vectors = maybe_compiled(self._loss_of, compiled)

    def _start(
        self, parameters: Mapping[str, Array], cells: Sequence[Sequence[tuple[str, ...]]], device: str = "cpu"
    ) -> None:
        """Takes the parameters, those of some cells, by layer, into a `torch.nn.LSTM` each."""
        self.device, self.cells = device, cells
        self.lstms = [_lstm(parameters, each).to(device) for each in cells]
        within = {name for layers in cells for names in layers for name in names}
        self.weights = {
            name: parameter(value, device)
            for name, value in parameters.items()
            if name.partition("/")[0] not in within
        }

    def loss(self, *batch: Any) -> Any:
        """The mean over the sentences of the sum over words; words and labels are `[sentences, length]`."""
        words, labels = batch
        arrays = [np.ascontiguousarray(numbers.T) for numbers in (words, labels)]
        words_there, right = sent(arrays, self.device)
        x = functional.embedding(words_there, self.weights["words/weight"], sparse=True)
        return self._loss_of_vectors(x, right) / len(words)

    def _loss_of(self, x: Any, labels: Any) -> Any:
        """The sum over words, whose vectors these are."""
        states, _ = self.lstms[0](x)
        return self._cross_entropy(states.flatten(0, 1), labels.flatten())

    def _cross_entropy(self, states: Any, labels: Any) -> Any:
        scores = torch.addmm(self.weights["classify/bias"], states, self.weights["classify/weight"])
        return functional.cross_entropy(scores, labels, reduction="sum")

    def learned(self) -> list[Any]:
        """The tensors that are learned."""
        cells = [weight for lstm in self.lstms for weight in lstm.parameters()]
        return [*self.weights.values(), *(weight for weight in cells if weight.requires_grad)]

    def named(self, value: Callable[[Any], Any]) -> dict[str, Array]:
        """What `value` makes of each weight, by the `arrows` model's names."""
        named = {name: value(weight) for name, weight in self.weights.items()}
        for cells, lstm in zip(self.cells, self.lstms, strict=True):
            for name, end in _directions(cells):
                both = [value(getattr(lstm, f"weight_{part}_{end}")).T for part in ("ih", "hh")]
                named[f"{name}/weight"] = _gates(np.concatenate(both), back=True)
                named[f"{name}/bias"] = _gates(value(getattr(lstm, f"bias_ih_{end}")), back=True)
        return named


class TorchCharTagger(TorchTagger):
    """The model of `benchmarks.networks.character_tagger`, with packed sequences."""

    def __init__(self, parameters: Mapping[str, Array]) -> None:
        self._start(parameters, [[("forward", "backward")], [("spelling_forward", "spelling_backward")]])

    def prepare(self, sentences: Sequence[Any]) -> list[tuple[Any, list[Any], Any]]:
        """For each sentence the numbers of its words, the characters of each rare word, and the labels.

        None of these depends on the batch, so they are computed once, from `datasets.numbered`.
        """
        prepared = []
        for sentence in sentences:
            numbers, spellings, labels = zip(*sentence, strict=True)
            rare = [torch.tensor(s) for number, s in zip(numbers, spellings, strict=True) if not number]
            prepared.append((torch.tensor(numbers), rare, torch.tensor(labels)))
        return prepared

    def loss(self, *batch: Any) -> Any:
        """The mean over the sentences of the sum over their words; takes a list of prepared sentences."""
        (prepared,) = batch
        lengths = torch.tensor([len(numbers) for numbers, _, _ in prepared])
        numbers = torch.cat([numbers for numbers, _, _ in prepared])
        spellings = [letters for _, rare, _ in prepared for letters in rare]
        x = functional.embedding(numbers, self.weights["words/weight"], sparse=True)
        if spellings:
            x = self._with_spellings(x, numbers, spellings)
        pack = torch.nn.utils.rnn.pack_padded_sequence
        padded = torch.nn.utils.rnn.pad_sequence(x.split(lengths.tolist()))
        packed = pack(padded, lengths, enforce_sorted=False)
        states, _ = self.lstms[0](packed)
        labels = torch.nn.utils.rnn.pad_sequence([labels for _, _, labels in prepared])
        right = pack(labels, lengths, enforce_sorted=False).data
        return self._cross_entropy(states.data, right) / len(prepared)

    def _with_spellings(self, x: Any, numbers: Any, spellings: list[Any]) -> Any:
        """The vectors of words, those of rare words from their characters."""
        letters = torch.nn.utils.rnn.pad_sequence(spellings)
        lengths = torch.tensor([len(letters) for letters in spellings])
        vectors = functional.embedding(letters, self.weights["characters/weight"], sparse=True)
        packed = torch.nn.utils.rnn.pack_padded_sequence(vectors, lengths, enforce_sorted=False)
        _, (last, _) = self.lstms[1](packed)
        rare = torch.nonzero(numbers == 0).squeeze(1)
        return x.index_copy(0, rare, torch.cat([last[0], last[1]], 1))


def _gates(columns: Array, *, back: bool = False) -> Array:
    """Reorders the columns u, i, o, f to PyTorch's order i, f, u, o, or back."""
    parts = np.split(columns, 4, axis=-1)
    return np.concatenate([parts[k] for k in ((2, 0, 3, 1) if back else (1, 3, 0, 2))], axis=-1)


def _directions(cells: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    """The cells of each layer, forwards and perhaps backwards, with the end of PyTorch's names of weights."""
    return [
        (name, f"l{k}{end}")
        for k, names in enumerate(cells)
        for name, end in zip(names, ("", "_reverse"), strict=False)
    ]


def _lstm(parameters: Mapping[str, Array], cells: Sequence[tuple[str, ...]]) -> Any:
    """A `torch.nn.LSTM` with the weights of these cells. Its second bias stays zero: `arrows` has one."""
    n = len(parameters[f"{cells[0][0]}/bias"]) // 4
    entry = len(parameters[f"{cells[0][0]}/weight"]) - n
    lstm = torch.nn.LSTM(entry, n, num_layers=len(cells), bidirectional=len(cells[0]) == 2)
    lstm = lstm.to(torch.from_numpy(np.array(parameters[f"{cells[0][0]}/bias"])).dtype)
    with torch.no_grad():
        for name, end in _directions(cells):
            weight, bias = (torch.tensor(_gates(parameters[f"{name}/{part}"])) for part in ("weight", "bias"))
            getattr(lstm, f"weight_ih_{end}").copy_(weight[:-n].T)
            getattr(lstm, f"weight_hh_{end}").copy_(weight[-n:].T)
            getattr(lstm, f"bias_ih_{end}").copy_(bias)
            getattr(lstm, f"bias_hh_{end}").zero_().requires_grad_(False)
    return lstm
