"""Training: optimizers, the loop, checkpoints, and the state from which a run goes on.

>>> from arrows.training import Adagrad, load, save, train
"""

from arrows.training import schedules
from arrows.training.adaptive import FadingDeltas, FadingSquares, Moments
from arrows.training.learning_rates import Rate, Schedule
from arrows.training.loop import train
from arrows.training.optimizer import Optimizer
from arrows.training.optimizers import SGD, Adadelta, Adagrad, Adam, AdamW, RMSprop
from arrows.training.progress import Epoch, Progress
from arrows.training.saving.checkpoint import load_state, save_state
from arrows.training.saving.parameter_files import load, read_metadata, save
from arrows.training.update_rules import AdaptiveSquares, Momentum, Rule
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
