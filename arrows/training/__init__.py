"""Training: optimizers, the training loop, parameter files, and checkpoints from which a run resumes.

>>> from arrows.training import Adagrad, load, save, train
"""

import sys
from typing import TYPE_CHECKING, NoReturn

from arrows.training import schedules
from arrows.training.callbacks import Callback, EarlyStopping, JsonLines, Log, Plateau, StepLoss
from arrows.training.checkpointer import Checkpoint
from arrows.training.loop import train
from arrows.training.optimizers import (
    SGD,
    Adagrad,
    Adam,
    AdamW,
    Optimizer,
    RMSprop,
)
from arrows.training.parallel import world
from arrows.training.progress import Epoch, Evaluation, History, Progress
from arrows.training.saving import load, load_state, read_metadata, save, save_state
from arrows.training.schedules import Rate, Schedule
from arrows.typesys.did_you_mean import likely_name, missing_name
from arrows.typesys.errors import NotFiniteError

if not TYPE_CHECKING:  # a type checker would accept any misspelt name

    def __getattr__(name: str) -> NoReturn:
        raise missing_name("arrows.training", name, lambda: likely_name(name, __all__), sys._getframe(1))


__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "Epoch",
    "Evaluation",
    "History",
    "JsonLines",
    "Log",
    "NotFiniteError",
    "Optimizer",
    "Plateau",
    "Progress",
    "RMSprop",
    "Rate",
    "Schedule",
    "StepLoss",
    "load",
    "load_state",
    "read_metadata",
    "save",
    "save_state",
    "schedules",
    "train",
    "world",
]
