"""Layers: blocks with parameters, the losses, and the initializers of parameters.

A new layer is one file and an import below, by which it is in `arrows`, too.  `layer_norm.py` is the shortest
with all parts: a docstring with the formula and its source, a field for each argument, `parameters`, which
makes a `Parameter` for each array once the input's type is known, and `forward`, which computes one example.
`arguments.py` has the checks of fields, by their names; `cells.py` what the recurrent cells share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.layers import initializers as initializers
from arrows.layers.arguments import CHECKS as CHECKS
from arrows.layers.cells import LSTMCell as LSTMCell, Stacked as Stacked
from arrows.layers.conv1d import Conv1d as Conv1d
from arrows.layers.dropout import Dropout as Dropout
from arrows.layers.embedding import Embedding as Embedding
from arrows.layers.fc import FC as FC
from arrows.layers.gru import GRUCell as GRUCell
from arrows.layers.layer_norm import LayerNorm as LayerNorm
from arrows.layers.losses import (
    Hinge as Hinge,
    Huber as Huber,
    SigmoidCrossEntropy as SigmoidCrossEntropy,
    SoftmaxCrossEntropy as SoftmaxCrossEntropy,
    SquaredError as SquaredError,
)
from arrows.layers.multi_head_attention import MultiHeadAttention as MultiHeadAttention
from arrows.layers.tree_lstm import TreeLSTM as TreeLSTM
from arrows.typesys import names

if not TYPE_CHECKING:  # a type checker goes by the imports
    __all__ = list(names.exported(globals(), "initializers"))
