"""Small networks of several kinds, with examples, which several tests run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import arrows as ar
from arrows.data import generate
from arrows.models import sentiment, tagger
from benchmarks.datasets import vocabularies, vocabulary
from benchmarks.networks import AnyBlock, bilstm_tagger


def networks(batch: int = 64) -> dict[str, tuple[AnyBlock, Sequence[object]]]:
    """The networks, each with examples of uneven size; the last two have no loss."""
    random = np.random.default_rng(0)
    lengths = random.integers(1, 40, batch)
    trees = generate(batch, num_words=(2, 36))
    numbered = [
        (row, [word % 5 for word in row]) for row in (random.integers(0, 50, n).tolist() for n in lengths)
    ]
    letters = np.array(list("abcdefghij"))
    sentences = [
        [{"word": "".join(random.choice(letters, random.integers(1, 12))), "tag": "NOUN"} for _ in range(n)]
        for n in lengths
    ]
    vectors = [random.normal(size=(n, 8)).tolist() for n in lengths]
    return {
        "treelstm": (sentiment(vocabulary(trees), size=8).learn, trees),
        "bilstm": (bilstm_tagger(50, 8, 8, 2, 5), numbered),
        "bilstm-char": (tagger(*vocabularies(sentences, 2), size=8).learn, sentences),
        "residual": (residual_lstms(8), vectors),
        "attention": (attention(8), vectors),
    }


def residual_lstms(size: int = 8, layers: int = 2) -> AnyBlock:
    """LSTM layers over a sequence of vectors, each added to what it read by one and the same function.

    >>> ar.infer(residual_lstms(4)).output
    Sequence(float32[4])
    """
    add = ar.ZipWith(ar.Function(lambda x, y: x + y, name="add"))
    states: AnyBlock = ar.Map(ar.Vector(size))
    for layer in range(layers):
        states = states >> ar.AllOf(
            ar.Identity(), ar.RNN(ar.LSTMCell(size, name=f"layer_{layer}")) >> ar.GetItem(0)
        )
        states = states >> add
    return states


def attention(size: int = 8) -> AnyBlock:
    """Feed-forward attention over a sequence of vectors.

    Raffel, Ellis, "Feed-Forward Networks with Attention Can Solve Some Long-Term Memory Problems", 2015;
    Looks et al., ICLR 2017, appendix A.

    >>> ar.infer(attention(4)).output
    float32[2]
    """
    score = ar.FC(1, name="score") >> ar.Function(lambda x: x[0])
    hidden = (
        ar.Vector(size)
        >> ar.FC(size, activation=ar.ops.tanh, name="hidden")
        >> ar.AllOf(score, ar.Identity())
    )

    def attend(rows: Any) -> Any:
        scores, states = rows
        return ar.ops.segment_sum(ar.ops.reshape(ar.ops.segment_softmax(scores), (1,)) * states)

    return ar.Map(hidden) >> ar.Function(attend) >> ar.FC(2, name="classify")
