"""Activation functions, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrows.arrays import Array, ArrayModule
from arrows.ops.comparison import greater, where
from arrows.ops.elementwise import add, erf, expm1, multiply, sign, square
from arrows.ops.primitive import Run
from arrows.ops.shaping import elementwise, floating
from arrows.ops.tensorlike import Operand, TensorLike


@elementwise(lambda g, result, x: (g * (1 - square(result)),), floating, c="tanh{f}({0})")
def tanh(x: Operand) -> TensorLike:
    """Hyperbolic tangent.

    >>> import numpy as np
    >>> tanh(np.array([0.0])).tolist()
    [0.0]
    """


_LARGEST_EXPONENT = {2: 11.0, 4: 88.0, 8: 709.0}
"""For each element size in bytes, the largest whole number whose exponential is finite."""


def _sigmoid_kernel(xp: ArrayModule) -> Run:
    minimum, exp, add, divide = xp.minimum, xp.exp, xp.add, xp.divide
    # From this bound on the result rounds to 1; without the bound, exp(x) would overflow. On NumPy, functions
    # of elements take an array of one number 0.4 us faster than a Python number.
    numbers: dict[int, tuple[Any, Any]] = {
        size: (np.array(most, f"f{size}"), np.array(1, f"f{size}")) if xp is np else (most, 1)
        for size, most in _LARGEST_EXPONENT.items()
    }

    def run(x: Array, out: Array | None = None) -> Array:
        if out is None:
            out = xp.empty(x.shape, x.dtype)
        largest, unit = numbers[x.itemsize]
        minimum(x, largest, out=out)
        exp(out, out=out)
        return divide(out, add(out, unit), out=out)

    return run


@elementwise(
    lambda g, result, x: (g * (result * (1 - result)),), floating, c="sigmoid{f}({0})", kernel=_sigmoid_kernel
)
def sigmoid(x: Operand) -> TensorLike:
    """1 / (1 + exp(-x)), computed as exp(x) / (1 + exp(x)), which keeps its digits where the result is small.

    >>> import numpy as np
    >>> sigmoid(np.array([0.0, 1000.0])).tolist()
    [0.5, 1.0]
    """


@elementwise(
    lambda g, result, x: (g * sign(result),),
    c="({0} < 0 ? 0 : {0})",
    kernel=lambda xp: lambda x, out=None: xp.maximum(x, 0, out=out),
)
def relu(x: Operand) -> TensorLike:
    """max(x, 0); its derivative at 0 is taken as 0.

    >>> import numpy as np
    >>> relu(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """


@elementwise(
    lambda g, result, x: (g * sigmoid(x),),
    floating,
    c="softplus{f}({0})",
    kernel=lambda xp: lambda x, out=None: xp.logaddexp(x, 0, out=out),
)
def softplus(x: Operand) -> TensorLike:
    """log(1 + exp(x)), without overflow.

    >>> import numpy as np
    >>> softplus(np.array([-1000.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """


def gelu(x: Operand) -> TensorLike:
    """x times the probability that a standard normal variable is less than x.

    Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016, section 2.

    >>> import numpy as np
    >>> gelu(np.array([-1.0, 0.0, 1.0])).round(4).tolist()
    [-0.1587, 0.0, 0.8413]
    """
    return multiply(multiply(x, 0.5), add(erf(multiply(x, 0.5**0.5)), 1))


def silu(x: Operand) -> TensorLike:
    """x * sigmoid(x), also called swish.

    Elfwing, Uchibe, Doya, "Sigmoid-Weighted Linear Units", 2017; Ramachandran, Zoph, Le, "Searching for
    Activation Functions", 2017.

    >>> import numpy as np
    >>> silu(np.array([0.0, 1.0])).round(4).tolist()
    [0.0, 0.7311]
    """
    return multiply(x, sigmoid(x))


def elu(x: Operand, alpha: float = 1.0) -> TensorLike:
    """x where it is positive, `alpha * (exp(x) - 1)` elsewhere.

    Clevert, Unterthiner, Hochreiter, "Fast and Accurate Deep Network Learning by Exponential Linear Units",
    ICLR 2016, (15).

    >>> import numpy as np
    >>> elu(np.array([-1.0, 2.0])).round(4).tolist()
    [-0.6321, 2.0]
    """
    below = where(greater(x, 0), 0, x)  # of which the exponential is finite
    return where(greater(x, 0), x, multiply(expm1(below), alpha))


def leaky_relu(x: Operand, slope: float = 0.01) -> TensorLike:
    """x where it is positive, `slope * x` elsewhere; the derivative at 0 is taken as the slope.

    Maas, Hannun, Ng, "Rectifier Nonlinearities Improve Neural Network Acoustic Models", ICML 2013.

    >>> import numpy as np
    >>> leaky_relu(np.array([-1.0, 2.0])).tolist()
    [-0.01, 2.0]
    """
    return where(greater(x, 0), x, multiply(x, slope))
