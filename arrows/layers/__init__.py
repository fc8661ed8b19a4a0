"""Layers: blocks with parameters, the losses, and the initializers of parameters."""

from __future__ import annotations

from arrows.layers import initializers
from arrows.layers.dropout import Dropout
from arrows.layers.embedding import Embedding
from arrows.layers.fc import FC, Linear
from arrows.layers.gru import GRUCell
from arrows.layers.layer_norm import LayerNorm
from arrows.layers.losses import (
    Hinge,
    Huber,
    Loss,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredError,
)
from arrows.layers.lstm import LSTMCell
from arrows.layers.tree_lstm import TreeLSTM

__all__ = [
    "FC",
    "Dropout",
    "Embedding",
    "GRUCell",
    "Hinge",
    "Huber",
    "LSTMCell",
    "LayerNorm",
    "Linear",
    "Loss",
    "SigmoidCrossEntropy",
    "SoftmaxCrossEntropy",
    "SquaredError",
    "TreeLSTM",
    "initializers",
]
