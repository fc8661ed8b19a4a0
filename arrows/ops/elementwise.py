"""Element-wise arithmetic and functions.  Shapes broadcast as in NumPy; element types do not mix."""

from __future__ import annotations

from math import inf, pi
from math import log as math_log

from arrows.ops.arrays import ArrayModule, ufunc
from arrows.ops.bind import bind
from arrows.ops.erf_kernel import erf_kernel
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import (
    Gradients,
    HasRows,
    Kernel,
    Primitive,
    ShapeRule,
    SumRows,
    SumRun,
    Types,
    Vjp,
    no_gradient,
    register,
)
from arrows.ops.shape_rules import Check, arithmetic, floating, one_operand, two_operands
from arrows.ops.shaping import sum_to
from arrows.ops.sums import sum_products
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys.types import Tensor


def add(a: Operand, b: Operand) -> TensorLike:
    """Sum of two tensors.

    >>> import numpy as np
    >>> add(np.array([1.0, 2.0]), 1).tolist()
    [2.0, 3.0]
    """
    return bind(_add, a, b)


def subtract(a: Operand, b: Operand) -> TensorLike:
    """Difference of two tensors.

    >>> import numpy as np
    >>> subtract(1, np.array([1.0, 2.0])).tolist()
    [0.0, -1.0]
    """
    return bind(_subtract, a, b)


def multiply(a: Operand, b: Operand) -> TensorLike:
    """Product, element by element.

    >>> import numpy as np
    >>> multiply(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()
    [3.0, 8.0]
    """
    return bind(_multiply, a, b)


def divide(a: Operand, b: Operand) -> TensorLike:
    """Quotient of floating tensors, element by element.

    >>> import numpy as np
    >>> divide(np.array([1.0, 2.0]), 2).tolist()
    [0.5, 1.0]
    """
    return bind(_divide, a, b)


def negative(x: Operand) -> TensorLike:
    """-x.

    >>> import numpy as np
    >>> negative(np.array([1, -2])).tolist()
    [-1, 2]
    """
    return bind(_negative, x)


def power(x: Operand, exponent: Operand) -> TensorLike:
    """x to the power of a Python number, or a positive Python number to the power of a tensor.

    Args:
        x: numbers, integers only to a whole power >= 0; or a Python number above 0.
        exponent: a Python number; floating numbers if `x` is a Python number, whose power is
            `exp(exponent * log(x))`. Where both are tensors, write that.

    >>> import numpy as np
    >>> power(np.array([1.0, 2.0]), 3).tolist()
    [1.0, 8.0]
    >>> power(4, np.array([0.0, 0.5])).round(6).tolist()
    [1.0, 2.0]
    """
    if not isinstance(exponent, (int, float)) or isinstance(exponent, bool):
        if isinstance(x, (int, float)) and not isinstance(x, bool) and not isinstance(exponent, str):
            return _power_of_number(x, exponent)
        raise ShapeError(
            f"power: the exponent is a Python number, got {type(exponent).__name__}",
            hint="write exp(exponent * log(x)) where it is a tensor",
        )
    if exponent == 1 and isinstance(x, TensorLike):
        return x
    if exponent == 2:
        return square(x)
    if exponent == 0.5:
        return sqrt(x)
    return bind(_power, x, exponent=exponent)


def _power_of_number(base: float, exponent: Operand) -> TensorLike:
    if not 0 < base < inf:
        raise ShapeError(
            f"power: a number to the power of a tensor is above 0 and finite, and this one is {base}"
        )
    if isinstance(exponent, TensorLike):
        floating("power", exponent.type)
    return exp(multiply(exponent, math_log(base)))


def exp(x: Operand) -> TensorLike:
    """e to the power of x.

    >>> import numpy as np
    >>> exp(np.array([0.0])).tolist()
    [1.0]
    """
    return bind(_exp, x)


def log(x: Operand) -> TensorLike:
    """Natural logarithm.

    >>> import numpy as np
    >>> log(np.array([1.0])).tolist()
    [0.0]
    """
    return bind(_log, x)


def sqrt(x: Operand) -> TensorLike:
    """Square root.

    >>> import numpy as np
    >>> sqrt(np.array([9.0])).tolist()
    [3.0]
    """
    return bind(_sqrt, x)


def square(x: Operand) -> TensorLike:
    """x * x.

    >>> import numpy as np
    >>> square(np.array([-3.0])).tolist()
    [9.0]
    """
    return bind(_square, x)


def abs(x: Operand) -> TensorLike:
    """Absolute value; its derivative at 0 is taken as 0.

    >>> import numpy as np
    >>> abs(np.array([-1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return bind(_abs, x)


def sign(x: Operand) -> TensorLike:
    """-1, 0 or 1; no gradient passes.

    >>> import numpy as np
    >>> sign(np.array([-3.0, 0.0, 2.0])).tolist()
    [-1.0, 0.0, 1.0]
    """
    return bind(_sign, x)


def expm1(x: Operand) -> TensorLike:
    """exp(x) - 1, exact near zero.

    >>> import numpy as np
    >>> expm1(np.array([0.0, 1e-12])).tolist()
    [0.0, 1.0000000000005e-12]
    """
    return bind(_expm1, x)


def log1p(x: Operand) -> TensorLike:
    """log(1 + x), exact near zero.

    >>> import numpy as np
    >>> log1p(np.array([0.0])).tolist()
    [0.0]
    """
    return bind(_log1p, x)


def sin(x: Operand) -> TensorLike:
    """Sine, of radians.

    >>> import numpy as np
    >>> sin(np.array([0.0])).tolist()
    [0.0]
    """
    return bind(_sin, x)


def cos(x: Operand) -> TensorLike:
    """Cosine, of radians.

    >>> import numpy as np
    >>> cos(np.array([0.0])).tolist()
    [1.0]
    """
    return bind(_cos, x)


def erf(x: Operand) -> TensorLike:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x.

    Cody, "Rational Chebyshev Approximations for the Error Function", Mathematics of Computation 23, 1969; to
    within 1e-15 in float64.

    >>> import numpy as np
    >>> erf(np.array([0.0, 1.0])).round(6).tolist()
    [0.0, 0.842701]
    """
    return bind(_erf, x)


def binary(
    name: str,
    c: str | None,
    vjp: Vjp = no_gradient,
    rule: ShapeRule | None = None,
    *,
    function: str | None = None,
    additive: bool = False,
    sum_rows: SumRows | None = None,
) -> Primitive:
    """Registers an element-wise primitive of two operands, whose kernel is NumPy's `function` or its name."""
    rule = rule or two_operands(name, arithmetic)
    kernel = ufunc(function or name)
    return register(
        Primitive(name, rule, kernel, vjp, elementwise=True, additive=additive, sum_rows=sum_rows, c=c)
    )


def unary(
    name: str,
    vjp: Vjp = no_gradient,
    check: Check = floating,
    *,
    kernel: Kernel | None = None,
    c: str | None = "",
    additive: bool = False,
) -> Primitive:
    """Registers an element-wise primitive of one operand.

    Its kernel is NumPy's function of the name, and its C is C's function of the name; or both are given.
    """
    assert kernel is None or c != "", f"give c= for {name!r}, too: its C, or None where it has none"
    rule, kernel, c = one_operand(name, check), kernel or ufunc(name), f"{name}{{f}}({{0}})" if c == "" else c
    return register(Primitive(name, rule, kernel, vjp, elementwise=True, additive=additive, c=c))


def _multiply_sum_rows(xp: ArrayModule, has_rows: HasRows, types: Types) -> SumRun | None:
    """Sums a * b over the rows without making the product, as the gradient of a gain needs it."""
    a, b = types
    if has_rows != (True, True) or a.shape != b.shape or a.ndim != 1:
        return None

    return lambda a, b, out=None: sum_products(xp, a, b, out)


def _divide_vjp(g: TensorLike, result: TensorLike, a: TensorLike, b: TensorLike) -> Gradients:
    ga = g / b
    return sum_to(ga, a.shape), sum_to(negative(ga * result), b.shape)


def _power_vjp(g: TensorLike, result: TensorLike, x: TensorLike, exponent: float) -> Gradients:
    return (g * (power(x, exponent - 1) * exponent) if exponent else None,)


def _power_rule(x: Tensor, exponent: float) -> Tensor:
    arithmetic("power", x)
    if not x.floating and (exponent < 0 or not isinstance(exponent, int)):
        raise ShapeError(
            f"power: {x} takes whole exponents >= 0, got {exponent}", hint='cast it: x.cast("float32")'
        )
    return x


_add = binary(
    "add", "{0} + {1}", lambda g, result, a, b: (sum_to(g, a.shape), sum_to(g, b.shape)), additive=True
)

_subtract = binary(
    "subtract",
    "{0} - {1}",
    lambda g, result, a, b: (sum_to(g, a.shape), negative(sum_to(g, b.shape))),
    additive=True,
)

_multiply = binary(
    "multiply",
    "{0} * {1}",
    lambda g, result, a, b: (sum_to(g * b, a.shape), sum_to(g * a, b.shape)),
    sum_rows=_multiply_sum_rows,
)

_divide = binary("divide", "{0} / {1}", _divide_vjp, two_operands("divide", floating))

_negative = unary("negative", lambda g, result, x: (negative(g),), arithmetic, c="-{0}", additive=True)

_abs = unary("abs", lambda g, result, x: (g * sign(x),), arithmetic, kernel=ufunc("absolute"), c=None)

_sign = unary("sign", check=arithmetic, c="({0} > 0 ? 1 : {0} < 0 ? -1 : {0})")

_square = unary("square", lambda g, result, x: (g * (x * 2),), arithmetic, c="{0} * {0}")

_exp = unary("exp", lambda g, result, x: (g * result,))

_log = unary("log", lambda g, result, x: (g / x,))

_sqrt = unary("sqrt", lambda g, result, x: (g / (result * 2),))

_power = register(
    Primitive(
        "power",
        _power_rule,
        lambda xp, exponent: lambda x, out=None: xp.power(x, exponent, out=out),
        _power_vjp,
        elementwise=True,
    )
)

_expm1 = unary("expm1", lambda g, result, x: (g * (result + 1),))

_log1p = unary("log1p", lambda g, result, x: (g / (x + 1),))

_sin = unary("sin", lambda g, result, x: (g * cos(x),))

_cos = unary("cos", lambda g, result, x: (negative(g * sin(x)),))

_erf = unary(
    "erf",
    lambda g, result, x: (g * multiply(exp(negative(square(x))), 2 / pi**0.5),),
    kernel=erf_kernel,
    c="erf{f}({0})",
)
