"""Layers: blocks with parameters, the losses, and the initializers of parameters.

A new layer is one file and a line in the exports below, which are those of `arrows`, too.  `layer_norm.py` is
the shortest with all parts: a docstring with the formula and its source, a field for each argument,
`parameters`, which makes a `Parameter` for each array once the input's type is known, and `forward`, which
computes one example.  `arguments.py` has the checks of fields, by their names; `cells.py` what the recurrent
cells share.
"""

from __future__ import annotations

from arrows.layers import initializers
from arrows.layers.cells import LSTMCell
from arrows.layers.conv1d import Conv1d
from arrows.layers.dropout import Dropout
from arrows.layers.embedding import Embedding
from arrows.layers.fc import FC
from arrows.layers.gru import GRUCell
from arrows.layers.layer_norm import LayerNorm
from arrows.layers.losses import (
    Hinge,
    Huber,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredError,
)
from arrows.layers.losses import Loss as Loss
from arrows.layers.multi_head_attention import MultiHeadAttention
from arrows.layers.tree_lstm import TreeLSTM

__all__ = [
    "FC",
    "Conv1d",
    "Dropout",
    "Embedding",
    "GRUCell",
    "Hinge",
    "Huber",
    "LSTMCell",
    "LayerNorm",
    "MultiHeadAttention",
    "SigmoidCrossEntropy",
    "SoftmaxCrossEntropy",
    "SquaredError",
    "TreeLSTM",
    "initializers",
]
