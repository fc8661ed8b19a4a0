"""Training: optimizers, the training loop, parameter files, and checkpoints from which a run resumes.

>>> from arrows.training import Adagrad, load, save, train
"""

import sys
from typing import TYPE_CHECKING, NoReturn

from arrows.training import schedules as schedules
from arrows.training.callbacks import (
    Callback as Callback,
    EarlyStopping as EarlyStopping,
    JsonLines as JsonLines,
    Log as Log,
    Plateau as Plateau,
    StepLoss as StepLoss,
)
from arrows.training.checkpointer import Checkpoint as Checkpoint
from arrows.training.loop import train as train
from arrows.training.optimizers import (
    SGD as SGD,
    Adagrad as Adagrad,
    Adam as Adam,
    AdamW as AdamW,
    Optimizer as Optimizer,
    RMSprop as RMSprop,
)
from arrows.training.parallel import world as world
from arrows.training.progress import (
    Epoch as Epoch,
    Evaluation as Evaluation,
    History as History,
    Progress as Progress,
)
from arrows.training.saving import (
    load as load,
    load_state as load_state,
    read_metadata as read_metadata,
    save as save,
    save_state as save_state,
)
from arrows.training.schedules import Rate as Rate, Schedule as Schedule
from arrows.typesys import NotFiniteError as NotFiniteError, did_you_mean, exports

if not TYPE_CHECKING:  # a type checker would accept any misspelt name
    __all__ = list(exports.exported(globals(), "Rate", "Schedule", "schedules"))

    def __getattr__(name: str) -> NoReturn:
        raise did_you_mean.missing_name(
            "arrows.training", name, lambda: did_you_mean.likely_name(name, __all__), sys._getframe(1)
        )
