"""Training: optimizers, the training loop, parameter files, and checkpoints from which a run resumes.

>>> from arrows.training import Adagrad, load, save, train
"""

import sys
from typing import TYPE_CHECKING, NoReturn

from arrows.training import schedules as schedules
from arrows.training.callbacks import Callback as Callback
from arrows.training.callbacks import EarlyStopping as EarlyStopping
from arrows.training.callbacks import JsonLines as JsonLines
from arrows.training.callbacks import Log as Log
from arrows.training.callbacks import Plateau as Plateau
from arrows.training.callbacks import StepLoss as StepLoss
from arrows.training.checkpointer import Checkpoint as Checkpoint
from arrows.training.loop import train as train
from arrows.training.optimizers import SGD as SGD
from arrows.training.optimizers import Adagrad as Adagrad
from arrows.training.optimizers import Adam as Adam
from arrows.training.optimizers import AdamW as AdamW
from arrows.training.optimizers import Optimizer as Optimizer
from arrows.training.optimizers import RMSprop as RMSprop
from arrows.training.parallel import world as world
from arrows.training.progress import Epoch as Epoch
from arrows.training.progress import Evaluation as Evaluation
from arrows.training.progress import History as History
from arrows.training.progress import Progress as Progress
from arrows.training.saving import load as load
from arrows.training.saving import load_state as load_state
from arrows.training.saving import read_metadata as read_metadata
from arrows.training.saving import save as save
from arrows.training.saving import save_state as save_state
from arrows.training.schedules import Rate as Rate
from arrows.training.schedules import Schedule as Schedule
from arrows.typesys import NotFiniteError as NotFiniteError
from arrows.typesys import did_you_mean, exports

if not TYPE_CHECKING:  # a type checker would accept any misspelt name
    __all__ = list(exports.exported(globals(), "Rate", "Schedule", "schedules"))

    def __getattr__(name: str) -> NoReturn:
        raise did_you_mean.missing_name(
            "arrows.training", name, lambda: did_you_mean.likely_name(name, __all__), sys._getframe(1)
        )
