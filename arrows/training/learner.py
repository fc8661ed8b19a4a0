"""What the training loop needs of a model besides its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from arrows.arrays import Array
from arrows.engine.scheduling import AtOnce
from arrows.training.optimizers import Optimizer
from arrows.training.parameters import Trainable


class Learner(Trainable, Protocol):
    """A model that learns: `arrows.compile` and `OnTheFly.learner` return such models."""

    def prepare(self, examples: Any, /) -> Any:
        """Reads the examples once for all epochs; the result has a length, and parts by index."""

    def train_step(
        self,
        batch: Any,
        optimizer: Optimizer,
        /,
        *,
        check: Callable[[Array], None] | None = None,
        at_once: AtOnce = None,
    ) -> Array:
        """Takes an optimizer's step on a batch and returns the loss, which `check` sees before the step.

        At most `at_once` examples run at a time, or as many as have so many nodes, whose gradients are summed
        up; None: all of them.
        """
