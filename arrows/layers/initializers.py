"""First values of parameters: small frozen callables `(generator, shape, dtype) -> array`.

The caller passes the generator, so that a model's seed fixes its values.  Values are drawn in float64 and
then rounded, so that float32 and float64 models start from the same values.  The last axis of a shape is the
output of a layer, the axes before it are its input.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from arrows.arrays import HostArray
from arrows.combinators import wrong_value
from arrows.typesys import ArrowValueError, defined


@dataclass(frozen=True)
class Scaled:
    """Random values whose variance is `scale / n`, where n counts inputs, outputs or both.

    Args:
        scale: the variance times n.
        fan: "in": n = number of inputs; "average": the mean of the numbers of inputs and outputs.
        law: the distribution, "uniform" or "normal".

    Raises:
        ArrowValueError: the scale is not positive.

    >>> Scaled(2.0, "in", "normal")(np.random.default_rng(0), (400, 300), "float32").std().round(2)
    np.float32(0.07)
    """

    scale: float
    fan: Literal["in", "average"]
    law: Literal["uniform", "normal"]

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise wrong_value("an initializer", f"its scale is positive, got {self.scale}")

    def __call__(self, generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> HostArray:
        inputs, outputs = prod(shape[:-1]), shape[-1] if shape else 1
        n = inputs if self.fan == "in" else (inputs + outputs) / 2
        std = sqrt(self.scale / max(n, 1))
        if self.law == "normal":
            return (generator.standard_normal(shape) * std).astype(dtype)
        return generator.uniform(-sqrt(3) * std, sqrt(3) * std, shape).astype(dtype)


@dataclass(frozen=True)
class uniform:
    """Uniform between -limit and limit.

    >>> bool(abs(uniform(0.1)(np.random.default_rng(0), (9,), "float32")).max() < 0.1)
    True
    """

    limit: float = 0.05

    def __call__(self, generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> HostArray:
        return generator.uniform(-self.limit, self.limit, shape).astype(dtype)


@dataclass(frozen=True)
class normal:
    """Normal with mean 0 and a standard deviation.

    >>> normal(0.5)(np.random.default_rng(0), (2,), "float32").dtype
    dtype('float32')
    """

    std: float = 0.05

    def __call__(self, generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> HostArray:
        return (generator.standard_normal(shape) * self.std).astype(dtype)


@dataclass(frozen=True)
class orthogonal:
    """Columns (or rows, where these are fewer) at right angles to each other, each of length `gain`.

    Saxe, McClelland, Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks", ICLR 2014.  All axes but the last are rows; a shape with one axis is refused.

    Raises:
        ArrowValueError: when called, the shape has fewer than two axes.

    >>> w = orthogonal()(np.random.default_rng(0), (4, 3), "float64")
    >>> bool(np.allclose(w.T @ w, np.eye(3)))
    True
    """

    gain: float = 1.0

    def __call__(self, generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> HostArray:
        if len(shape) < 2:
            raise ArrowValueError(f"an orthogonal matrix needs at least two axes, got shape {list(shape)}")
        rows, columns = prod(shape[:-1]), shape[-1]
        q, r = np.linalg.qr(generator.standard_normal((max(rows, columns), min(rows, columns))))
        # Only with a positive diagonal of r is q unique, and uniformly distributed.
        q = q * np.where(np.diagonal(r) < 0, -1.0, 1.0)
        return np.asarray((q if rows >= columns else q.T) * self.gain).reshape(shape).astype(dtype)


class given:
    """Given numbers, such as a table of word vectors.

    Args:
        values: an array of the parameter's shape; it is copied.

    Raises:
        ArrowValueError: when called, the parameter has another shape.

    >>> given([1.0, 2.0])(np.random.default_rng(0), (2,), "float32").tolist()
    [1.0, 2.0]
    """

    def __init__(self, values: npt.ArrayLike) -> None:
        self.values = np.array(values, subok=True)  # a mask stays, and is refused where the parameter is made
        self.values.flags.writeable = False

    def __call__(self, generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> HostArray:
        if self.values.shape != tuple(shape):
            raise ArrowValueError(
                f"the given array has shape {list(self.values.shape)}, but the parameter {list(shape)}"
            )
        return self.values.astype(dtype)


@dataclass(frozen=True)
class constant:
    """One value everywhere.

    >>> constant(1.0)(np.random.default_rng(0), (2,), "float32").tolist()
    [1.0, 1.0]
    """

    value: float

    def __call__(self, generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> HostArray:
        return np.full(shape, self.value, dtype)


zeros = constant(0.0)
"""Zeros everywhere."""
ones = constant(1.0)
"""Ones everywhere."""
glorot_uniform = Scaled(1.0, "average", "uniform")
"""Glorot, Bengio, "Understanding the difficulty of training deep feedforward nets", AISTATS 2010, (16)."""
glorot_normal = Scaled(1.0, "average", "normal")
"""As `glorot_uniform`, from a normal distribution."""
he_uniform = Scaled(2.0, "in", "uniform")
"""He, Zhang, Ren, Sun, "Delving Deep into Rectifiers", ICCV 2015, section 2.2; uniform distribution."""
he_normal = Scaled(2.0, "in", "normal")
"""He, Zhang, Ren, Sun, "Delving Deep into Rectifiers", ICCV 2015, (10)."""
lecun_uniform = Scaled(1.0, "in", "uniform")
"""LeCun, Bottou, Orr, Müller, "Efficient BackProp", 1998, (16), from a uniform distribution."""
lecun_normal = Scaled(1.0, "in", "normal")
"""LeCun, Bottou, Orr, Müller, "Efficient BackProp", 1998, (16)."""

__all__ = list(defined(globals()))
