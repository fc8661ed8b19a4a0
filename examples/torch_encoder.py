"""A transformer of PyTorch below a Tree-LSTM: words are read in their sentences, the tree joins them.

The leaves of the tree are the outputs of `torch.nn.TransformerEncoder`, and one optimizer of PyTorch trains
both, on the Stanford Sentiment Treebank. It takes `pip install '.[torch]'`.

    python examples/torch_encoder.py --data DIR

is right for 0.405 of dev's roots after three epochs and 35 s of processor time.

DIR holds train.txt and dev.txt: trees in brackets, one a line.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm

import arrows as ar
from arrows.data import Tree, read_trees, words
from arrows.torch import Module


def scores(size: int = 64) -> ar.Block[Any, Any]:
    """The scores of a tree's root, with a loss at each node; the vectors of words come from outside."""
    cell, classify = ar.TreeLSTM(size, children=2, name="cell"), ar.FC(5, name="classify")
    nothing = np.zeros(size, np.float32)  # in its place stands a row of the tensor `word`
    word: ar.Block[Any, Any] = ar.InputTransform(lambda _: nothing) >> ar.Vector(size, name="word")
    leaf = (word & ar.Zeros((cell.state, cell.state))) >> cell

    @ar.fix
    def tree(me: Any) -> Any:
        pair: Any = (ar.Zeros([size]) & (ar.GetItem("left") >> me & ar.GetItem("right") >> me)) >> cell
        state: Any = ar.OneOf(lambda t: "word" in t).case(True, leaf).case(False, pair)

        @ar.arrow
        def labelled(t: Any) -> Any:
            h, c = ar.unpack(state(t), 2)
            label = ar.Scalar("int32")(t["label"])
            ar.Metric("loss")(ar.SoftmaxCrossEntropy()(classify(h), label))
            return h, c

        return labelled

    return tree >> ar.GetItem(0) >> classify


class Reader(torch.nn.Module):
    """Words, an encoder of whole sentences, and a tree on top."""

    def __init__(self, vocabulary: ar.Vocabulary, size: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.embed = torch.nn.Embedding(len(vocabulary) + 1, size, padding_idx=0)
        self.places = torch.nn.Embedding(100, size)
        layer = torch.nn.TransformerEncoderLayer(size, 4, 2 * size, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.tree = Module(ar.compile(scores(size), loss="loss"))

    def encoded(self, trees: list[Tree]) -> Any:
        """The vector of each word, sentence by sentence."""
        numbers = [torch.tensor([self.vocabulary[word] + 1 for word in words([tree])]) for tree in trees]
        padded = pad_sequence(numbers, batch_first=True)
        vectors = self.embed(padded) + self.places(torch.arange(padded.shape[1]))
        return self.encoder(vectors, src_key_padding_mask=padded == 0)[padded != 0]


def main(arguments: list[str] | None = None) -> float:
    """Trains, and returns the accuracy at the roots of dev."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, metavar="DIR", required=True)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    learn, dev = (read_trees(options.data / f"{part}.txt").to_list() for part in ("train", "dev"))
    ar.set_threads(1)  # the products are small, and threads of two libraries wait for each other
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    reader = Reader(ar.Vocabulary.of(words(learn), min_freq=2), options.size)
    optimizer = torch.optim.AdamW(reader.parameters(), lr=0.002)
    loader: Any = torch.utils.data.DataLoader(learn, batch_size=32, shuffle=True, collate_fn=list)
    right = 0.0
    for epoch in range(1, options.epochs + 1):
        losses = []
        for trees in tqdm(loader, desc=f"epoch {epoch}"):
            optimizer.zero_grad()
            loss = reader.tree.loss(trees, word=reader.encoded(trees))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(reader.parameters(), 5.0)
            optimizer.step()
            losses.append(loss.item())
        reader.eval()
        with torch.no_grad():
            found = torch.cat([reader.tree(part, word=reader.encoded(part)) for part in batches(dev, 256)])
        reader.train()
        right = float((found.argmax(1) == torch.tensor([tree["label"] for tree in dev])).float().mean())
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}, right at the roots of dev {right:.3f}", flush=True)
    return right


def batches(trees: list[Tree], size: int) -> list[list[Tree]]:
    """The trees, so many at a time."""
    return [trees[start : start + size] for start in range(0, len(trees), size)]


if __name__ == "__main__":
    main()
