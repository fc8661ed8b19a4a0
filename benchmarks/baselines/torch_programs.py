"""torch-one-by-one: the networks of `benchmarks.ports` in PyTorch, as its users write them for one example.

Within an example, whatever needs no loop is one call: `torch.nn.LSTM` over a sentence, the scores of all its
words. A decoder's step is that of `torch.nn.LSTMCell`. Examples are those of `dynet_programs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.baselines.bilstm_torch import TorchTagger
from benchmarks.baselines.buffers import Array
from benchmarks.baselines.pytorch import functional, torch
from benchmarks.datasets import Ints
from benchmarks.task import RATE, System

LSTMS = [("forward", "backward"), ("spell_forward", "spell_backward"), ("decoder",), ("cell",)]


def system(name: str, parameters: Mapping[str, Array], examples: Sequence[Any]) -> System:
    """Steps of gradient descent of a network, or texts that the writer writes, one example after another."""
    network = TorchPrograms(name, parameters)

    def write(batch: Ints) -> int:
        return sum(sum(network.writer(*examples[i])) for i in batch)

    def step(batch: Ints) -> float:
        return network.one_by_one([examples[i] for i in batch], rate=RATE)

    return write if name == "writer" else step


class TorchPrograms(TorchTagger):
    """The parameters of a network, and the networks that read an example; `loss` is that of the name."""

    def __init__(self, name: str, parameters: Mapping[str, Array]) -> None:
        there = [cells for cells in LSTMS if f"{cells[0]}/bias" in parameters]
        self._start(parameters, [[cells] for cells in there])
        self.lstm = {cells[0]: lstm for cells, lstm in zip(there, self.lstms, strict=True)}
        self.name = name

    def loss(self, *batch: Any) -> Any:
        """The loss of one example."""
        return getattr(self, self.name)(*batch)

    def _looked_up(self, table: str, numbers: Sequence[int]) -> Any:
        return functional.embedding(torch.tensor(numbers), self.weights[f"{table}/weight"], sparse=True)

    def _layer(self, name: str, x: Any) -> Any:
        return torch.addmm(self.weights[f"{name}/bias"], x, self.weights[f"{name}/weight"])

    def _step(self, cell: str, x: Any, state: Any) -> Any:
        return torch.lstm_cell(x, state, *self.lstm[cell].all_weights[0])

    def _zeros(self, cell: str) -> Any:
        return 2 * [self.weights["classify/bias"].new_zeros(1, self.lstm[cell].hidden_size)]

    def _judged(self, states: Any, labels: Sequence[int]) -> Any:
        return self._cross_entropy(states, torch.tensor(labels))

    def treelstm(self, tree: list[Any]) -> Any:
        """A node is [label, word] or [label, left, right]."""
        states, labels = [], []

        def gate(name: str, x: Any) -> Any:
            return self._layer(name, x).sigmoid()

        def state(node: list[Any]) -> Any:
            if len(node) == 2:
                x, kind, c = self._looked_up("embed", node[1:]), "leaf", 0
            else:
                (left, left_cell), (right, right_cell) = state(node[1]), state(node[2])
                x, kind = torch.cat([left, right], 1), "pair"
                c = gate("forget_left", x) * left_cell + gate("forget_right", x) * right_cell
            c = c + gate(f"{kind}_i", x) * self._layer(f"{kind}_u", x).tanh()
            h = gate(f"{kind}_o", x) * c.tanh()
            states.append(h)
            labels.append(node[0])
            return h, c

        state(tree)
        return self._judged(torch.cat(states), labels)

    def tagger(self, sentence: list[Any]) -> Any:
        """A word is its number, its letters and its tag."""
        x = []
        for word, letters, _ in sentence:
            if word:
                x.append(self._looked_up("words", [word]))
            else:
                _, (last, _) = self.lstm["spell_forward"](self._looked_up("letters", letters))
                x.append(last.view(1, -1))
        states, _ = self.lstm["forward"](torch.cat(x))
        return self._judged(states, [tag for _, _, tag in sentence])

    def attention(self, text: list[int]) -> Any:
        """The text is said backwards."""
        values, _ = self.lstm["forward"](self._looked_up("letters", text))
        keys, state, states = self._layer("key", values), self._zeros("decoder"), []
        for before in self._looked_up("letters", [0, *text[:0:-1]]).split(1):
            looked = torch.tanh(keys + self._layer("query", state[0]))
            context = self._layer("relevance", looked).softmax(0).T @ values
            state = self._step("decoder", torch.cat([before, context], 1), state)
            states.append(state[0])
        return self._judged(torch.cat(states), text[::-1])

    def language_model(self, text: list[int]) -> Any:
        """Each letter from those before it."""
        states, _ = self.lstm["cell"](self._looked_up("letters", [0, *text[:-1]]))
        return self._judged(states, text)

    def writer(self, first: int, count: int) -> list[int]:
        """A text that begins with a letter, each next one the most probable."""
        with torch.inference_mode():
            state, text = self._zeros("cell"), [first]
            for _ in range(count):
                state = self._step("cell", self._looked_up("letters", text[-1:]), state)
                text.append(int(self._layer("classify", state[0]).argmax()))
        return text

    def parser(self, sentence: list[Any]) -> Any:
        """Words, and places and transition of each step."""
        words, steps = sentence
        vectors, _ = self.lstm["forward"](self._looked_up("words", words))
        vectors = torch.cat([vectors, self._looked_up("nothing", [0])])
        read = vectors[torch.tensor([places for *places, _ in steps])].flatten(1)
        return self._judged(self._layer("hidden", read).tanh(), [transition for *_, transition in steps])
