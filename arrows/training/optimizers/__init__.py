"""Optimizers: `Optimizer` applies an update rule; each algorithm is one file with its rule.

`optimizer.py` clips gradients, looks up learning rates and keeps the state of each parameter. An update rule
(`update_rule.py`) says how one parameter changes. `averages.py` averages parameters over the steps.
"""

from arrows.training.optimizers.adadelta import Adadelta, FadingDeltas
from arrows.training.optimizers.adagrad import Adagrad, AdaptiveSquares
from arrows.training.optimizers.adam import Adam, AdamW, Moments
from arrows.training.optimizers.counters import Counters
from arrows.training.optimizers.optimizer import Optimizer
from arrows.training.optimizers.rmsprop import FadingSquares, RMSprop
from arrows.training.optimizers.sgd import SGD, Momentum
from arrows.training.optimizers.update_rule import Rule

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "AdaptiveSquares",
    "Counters",
    "FadingDeltas",
    "FadingSquares",
    "Moments",
    "Momentum",
    "Optimizer",
    "RMSprop",
    "Rule",
]
