"""Training: optimizers, the loop, and checkpoints.

>>> from arrows.training import Adagrad, load, save, train
"""

from arrows.training.checkpoint import load, read_metadata, save
from arrows.training.loop import Epoch, train
from arrows.training.optimizers import SGD, Adagrad, Optimizer
from arrows.training.rules import AdaptiveSquares, Momentum, Rule

__all__ = [
    "SGD",
    "Adagrad",
    "AdaptiveSquares",
    "Epoch",
    "Momentum",
    "Optimizer",
    "Rule",
    "load",
    "read_metadata",
    "save",
    "train",
]
