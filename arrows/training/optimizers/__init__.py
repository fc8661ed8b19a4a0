"""Optimizers: how parameters change, given gradients.

`algorithms.py` has the papers' updates, `optimizer.py` what all have in common: rates, clipping, state.
`rule.py` records an update as equations; `array_steps.py` runs them on arrays, `kernel_steps.py` on a device
that has kernels. `averages.py` averages parameters over the steps.
"""

from arrows.training.optimizers.algorithms import SGD, Adagrad, Adam, AdamW, RMSprop
from arrows.training.optimizers.optimizer import Optimizer

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop"]
