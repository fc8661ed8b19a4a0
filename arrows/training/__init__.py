"""Training: optimizers, the training loop, parameter files, and checkpoints from which a run resumes.

>>> from arrows.training import Adagrad, load, save, train
"""

import sys
from typing import TYPE_CHECKING, NoReturn

from arrows.training import schedules as schedules
from arrows.training.arguments import (
    described as described,
    require_range as require_range,
    whole_number as whole_number,
)
from arrows.training.batching import Bucketed as Bucketed
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
from arrows.training.outline import outline as outline
from arrows.training.parallel import world as world
from arrows.training.progress import (
    Epoch as Epoch,
    Evaluation as Evaluation,
    History as History,
    Progress as Progress,
)
from arrows.training.saving import (
    MODEL as MODEL,
    PARAMETERS as PARAMETERS,
    RUN as RUN,
    STATE as STATE,
    described_file as described_file,
    kind_of as kind_of,
    load as load,
    load_state as load_state,
    read_metadata as read_metadata,
    save as save,
    save_state as save_state,
    set_parameters as set_parameters,
    user_texts as user_texts,
    write_parameters as write_parameters,
)
from arrows.training.schedules import Rate as Rate, Schedule as Schedule
from arrows.typesys import NotFiniteError as NotFiniteError, names

if not TYPE_CHECKING:  # a type checker would accept any misspelt name
    _INNER = (
        *("Bucketed", "described", "described_file", "kind_of", "outline", "require_range"),
        *("set_parameters", "user_texts", "whole_number", "write_parameters"),
    )
    __all__ = list(names.exported(globals(), "Rate", "Schedule", "schedules", inner=_INNER))

    def __getattr__(name: str) -> NoReturn:
        raise names.missing_name(
            "arrows.training", name, lambda: names.likely_name(name, __all__), sys._getframe(1)
        )
