"""PyTorch, if it is installed: benchmarks run without it too, and nothing else imports it.

>>> from benchmarks.baselines.pytorch import installed
>>> installed == (torch is not None)
True
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from typing import Any

from benchmarks.baselines.buffers import Array

torch: Any
functional: Any
try:
    torch = importlib.import_module("torch")
    functional = importlib.import_module("torch.nn.functional")
except ImportError:
    torch = functional = None

installed: bool = torch is not None


class Descent(ABC):
    """A model in PyTorch that learns by gradient descent.

    >>> issubclass(Descent, ABC)
    True
    """

    @abstractmethod
    def loss(self, *batch: Any) -> Any:
        """The loss of a batch, as a tensor with its graph."""

    @abstractmethod
    def learned(self) -> list[Any]:
        """The tensors that are learned."""

    def train_step(self, *batch: Any, rate: float) -> float:
        """One step of gradient descent; `batch` as `loss` takes it. Returns the loss before it."""
        loss = self.loss(*batch)
        loss.backward()
        value = float(loss.item())
        self.update(rate)
        return value

    def update(self, rate: float) -> None:
        """Takes a step of gradient descent by the present gradients, and drops them."""
        with torch.no_grad():
            for weight in self.learned():
                if weight.grad is not None:
                    weight.add_(weight.grad, alpha=-rate)
                    weight.grad = None


def gradient(weight: Any) -> Any:
    """The last gradient of a weight as a dense tensor, zeros where there is none."""
    if weight.grad is None:
        return torch.zeros_like(weight)
    return weight.grad.to_dense() if weight.grad.is_sparse else weight.grad


def parameter(value: Array) -> Any:
    """A copy of an array as a tensor that is learned."""
    return torch.tensor(value.copy(), requires_grad=True)
