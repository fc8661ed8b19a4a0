"""numba-hand: one tree at a time in a single compiled loop over its nodes, halves before their pair.

A node's gates are a product of a vector and a matrix, which no library call needs: LLVM writes the loop over
a row of the matrix in vector instructions, and nothing is allocated but the result.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from arrows.data import Tree
from benchmarks.baselines.buffers import Array
from benchmarks.baselines.forest import LEFT, LEVEL, WORD, Forest
from benchmarks.baselines.treelstm_numpy import NumpyHand

numba: Any
try:
    numba = importlib.import_module("numba")
except ImportError:
    numba = None


class NumbaNodewise:
    """Inference of the model of `arrows.models.sentiment` with copies of its parameters.

    >>> from benchmarks.baselines.treelstm_numba import NumbaNodewise
    >>> NumbaNodewise.__name__
    'NumbaNodewise'
    """

    def __init__(self, parameters: Mapping[str, Array], vocabulary: Mapping[str, int]) -> None:
        hand = NumpyHand(parameters)
        self.vocabulary = vocabulary
        self.weights = (hand.embed, hand.leaf, hand.pair, hand.bias, hand.classify, hand.classify_bias)
        self.run = numba.njit(_scores, error_model="numpy")

    def tree_scores(self, tree: Tree) -> Array:
        """Class scores of all nodes of a tree, `[nodes, classes]`, halves before their pair."""
        (nodes,) = Forest([tree], self.vocabulary).nodes
        scores: Array = self.run(nodes, *self.weights)
        return scores


def _scores(
    nodes: Any, embed: Any, leaf: Any, pair: Any, bias: Any, classify: Any, classify_bias: Any
) -> Any:
    count, size = len(nodes), len(bias) // 5
    h, c = np.empty((count, size), embed.dtype), np.empty((count, size), embed.dtype)
    scores = np.empty((count, len(classify_bias)), embed.dtype)
    gates = np.empty(5 * size, embed.dtype)
    one = embed.dtype.type(1)
    for row in range(count):
        inner = nodes[row, LEVEL] > 0
        width = 5 * size if inner else 3 * size
        for j in range(width):
            gates[j] = bias[j]
        if inner:
            left, right = nodes[row, LEFT], nodes[row, LEFT + 1]
            for half in range(2):
                state = h[left if half == 0 else right]
                for k in range(size):
                    x, weights = state[k], pair[half * size + k]
                    for j in range(width):
                        gates[j] += x * weights[j]
        else:
            word = embed[nodes[row, WORD]]
            for k in range(len(word)):
                x, weights = word[k], leaf[k]
                for j in range(width):
                    gates[j] += x * weights[j]
        for j in range(size):
            memory = math.tanh(gates[j]) / (one + math.exp(-gates[size + j]))
            if inner:
                memory += c[left, j] / (one + math.exp(-gates[3 * size + j]))
                memory += c[right, j] / (one + math.exp(-gates[4 * size + j]))
            c[row, j] = memory
            h[row, j] = math.tanh(c[row, j]) / (one + math.exp(-gates[2 * size + j]))
        for k in range(len(classify_bias)):
            total = classify_bias[k]
            for j in range(size):
                total += h[row, j] * classify[j, k]
            scores[row, k] = total
    return scores
