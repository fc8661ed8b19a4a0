"""PyTorch, if it is installed: benchmarks run without it too, and nothing else imports it.

>>> from benchmarks.baselines.pytorch import installed
>>> installed == (torch is not None)
True
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.baselines.buffers import Array

torch: Any
functional: Any
try:
    torch = importlib.import_module("torch")
    functional = importlib.import_module("torch.nn.functional")
except ImportError:
    torch = functional = None

installed: bool = torch is not None


COMPILED = {"torch-hand": False, "torch-compile": True}


def systems(make: Callable[..., Any], device: str) -> dict[str, Any]:
    """A model in PyTorch as it is and, on other devices than the CPU, by `torch.compile` too.

    Args:
        make: takes `device` and `compiled`.
        device: of `arrows`; where that is no GPU, PyTorch computes on the CPU.
    """
    there = device if device.startswith("cuda") else "cpu"
    return {
        name: make(device=there, compiled=compiled)
        for name, compiled in COMPILED.items()
        if installed and (device != "cpu" or not compiled)
    }


class TorchDescent(ABC):
    """A model in PyTorch that learns by gradient descent.

    Attributes:
        weights: what is learned, by names of the system's own.
    """

    weights: dict[str, Any]

    @abstractmethod
    def loss(self, *batch: Any) -> Any:
        """The loss of a batch, as a tensor with its graph."""

    def learned(self) -> list[Any]:
        """The tensors that are learned."""
        return list(self.weights.values())

    def named(self, value: Callable[[Any], Any]) -> dict[str, Array]:
        """What `value` makes of each weight, by the `arrows` model's names."""
        return {name: value(weight) for name, weight in self.weights.items()}

    @property
    def parameters(self) -> dict[str, Array]:
        """Copies of the parameters, by the `arrows` model's names."""
        return self.named(lambda weight: weight.detach().cpu().numpy().copy())

    @property
    def gradients(self) -> dict[str, Array]:
        """The gradients of the last backward pass, dense, by the `arrows` model's names."""
        return self.named(lambda weight: gradient(weight).cpu().numpy().copy())

    def step(self, *batch: Any, rate: float) -> Any:
        """One step of gradient descent; the loss before it as a tensor: the host need not wait for a GPU."""
        loss = self.loss(*batch)
        loss.backward()
        self.update(rate)
        return loss.detach()

    def one_by_one(self, examples: Sequence[Any], *, rate: float) -> float:
        """One step by the gradients of one example after another; the mean loss before it."""
        mean = 0.0
        for example in examples:
            loss = self.loss(example) / len(examples)
            loss.backward()
            mean += loss.item()
        self.update(rate)
        return mean

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


def parameter(value: Array, device: str = "cpu") -> Any:
    """A copy of an array as a tensor that is learned."""
    return torch.tensor(value.copy(), device=device, requires_grad=True)


def sent(arrays: Sequence[Array], device: str = "cpu") -> list[Any]:
    """Arrays of one element type as tensors of a device.

    On the CPU they share memory with the arrays; to a GPU they go together, in one copy that the host does
    not wait for.
    """
    if device == "cpu":
        return [torch.from_numpy(array) for array in arrays]
    together = torch.from_numpy(np.concatenate([array.reshape(-1) for array in arrays]))
    parts = together.pin_memory().to(device, non_blocking=True).split([array.size for array in arrays])
    return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


def maybe_compiled(function: Callable[..., Any], compiled: bool) -> Callable[..., Any]:
    """The function, by `torch.compile` if asked; batches differ in size, so one version takes all sizes."""
    result: Callable[..., Any] = torch.compile(function, dynamic=True) if compiled else function
    return result
