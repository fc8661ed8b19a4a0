"""Optimizers: how parameters change, given gradients.

`algorithms.py` has the papers' updates, `optimizer.py` what all have in common: rates, clipping, state.
`update.py` records an update as equations; `steps.py` runs them on arrays, `kernels.py` on a device that has
kernels. `averages.py` averages parameters over the steps.
"""

from arrows.training.optimizers.algorithms import SGD, Adadelta, Adagrad, Adam, AdamW, RMSprop
from arrows.training.optimizers.optimizer import Optimizer

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop"]
