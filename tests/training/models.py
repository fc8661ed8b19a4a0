"""A small model of sequences of words, with a table, a layer and dropout, and examples of it."""

from __future__ import annotations

from typing import Any

import numpy as np

import arrows as ar


def word_sums(words: int = 20, wide: int = 5, size: int = 4, dropout: float = 0.3) -> Any:
    """How far the sum over a sequence of words is from 1."""
    word = ar.Embedding(words, wide, name="words") >> ar.FC(size, name="fc") >> ar.Dropout(dropout)
    total = ar.Map(ar.Scalar("int32") >> word) >> ar.Sum()
    return total >> ar.Function(lambda v: ((v - 1.0) ** 2).sum())


def sequences(count: int, words: int = 20, longest: int = 6, seed: int = 3) -> list[list[int]]:
    """Sequences of words."""
    random = np.random.default_rng(seed)
    return [random.integers(0, words, random.integers(0, longest + 1)).tolist() for _ in range(count)]
