"""Training: optimizers, the training loop, parameter files, and checkpoints from which a run resumes.

>>> from arrows.training import Adagrad, load, save, train
"""

from arrows.training import schedules
from arrows.training.learning_rates import Rate, Schedule
from arrows.training.loop import train
from arrows.training.optimizers import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    AdamW,
    AdaptiveSquares,
    FadingDeltas,
    FadingSquares,
    Moments,
    Momentum,
    Optimizer,
    RMSprop,
    Rule,
)
from arrows.training.progress import Epoch, Progress
from arrows.training.saving import load, load_state, read_metadata, save, save_state
from arrows.typesys.errors import NotFiniteError

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "AdaptiveSquares",
    "Epoch",
    "FadingDeltas",
    "FadingSquares",
    "Moments",
    "Momentum",
    "NotFiniteError",
    "Optimizer",
    "Progress",
    "RMSprop",
    "Rate",
    "Rule",
    "Schedule",
    "load",
    "load_state",
    "read_metadata",
    "save",
    "save_state",
    "schedules",
    "train",
]
