"""Element-wise arithmetic and functions.  Shapes broadcast as in NumPy; element types do not mix."""

from __future__ import annotations

from arrows.ops.arrays import Array, ArrayModule, ufunc
from arrows.ops.bind import bind
from arrows.ops.errors import ShapeError
from arrows.ops.primitive import (
    Gradients,
    HasRows,
    Kernel,
    Primitive,
    Run,
    SumRows,
    SumRun,
    Types,
    Vjp,
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


def power(x: Operand, exponent: float) -> TensorLike:
    """x to the power of a Python number.

    Args:
        x: numbers; integers only to a whole power >= 0.
        exponent: a Python number; a tensor as an exponent is `exp(exponent * log(x))`.

    >>> import numpy as np
    >>> power(np.array([1.0, 2.0]), 3).tolist()
    [1.0, 8.0]
    """
    if not isinstance(exponent, (int, float)) or isinstance(exponent, bool):
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


def binary(
    name: str, vjp: Vjp, check: Check = arithmetic, additive: bool = False, sum_rows: SumRows | None = None
) -> Primitive:
    """Registers an element-wise primitive of two operands whose kernel is NumPy's function of that name."""
    rule = two_operands(name, check)
    kernel = ufunc(name)
    return register(
        Primitive(name, rule, kernel, vjp, elementwise=True, additive=additive, sum_rows=sum_rows)
    )


def unary(name: str, kernel: Kernel, vjp: Vjp, check: Check = floating, additive: bool = False) -> Primitive:
    """Registers an element-wise primitive of one operand."""
    rule = one_operand(name, check)
    return register(Primitive(name, rule, kernel, vjp, elementwise=True, additive=additive))


def _multiply_sum_rows(xp: ArrayModule, has_rows: HasRows, types: Types) -> SumRun | None:
    """The gradient of a gain: sum over rows of a * b without the product."""
    a, b = types
    if has_rows != (True, True) or a.shape != b.shape or a.ndim != 1:
        return None

    def run(a: Array, b: Array, out: Array | None = None) -> Array:
        return sum_products(xp, a, b, out)

    return run


def _add_vjp(g: TensorLike, result: TensorLike, a: TensorLike, b: TensorLike) -> Gradients:
    return sum_to(g, a.shape), sum_to(g, b.shape)


def _subtract_vjp(g: TensorLike, result: TensorLike, a: TensorLike, b: TensorLike) -> Gradients:
    return sum_to(g, a.shape), negative(sum_to(g, b.shape))


def _multiply_vjp(g: TensorLike, result: TensorLike, a: TensorLike, b: TensorLike) -> Gradients:
    return sum_to(g * b, a.shape), sum_to(g * a, b.shape)


def _divide_vjp(g: TensorLike, result: TensorLike, a: TensorLike, b: TensorLike) -> Gradients:
    ga = g / b
    return sum_to(ga, a.shape), sum_to(negative(ga * result), b.shape)


def _power_vjp(g: TensorLike, result: TensorLike, x: TensorLike, exponent: float) -> Gradients:
    if exponent == 0:
        return (None,)
    return (g * (power(x, exponent - 1) * exponent),)


def _power_rule(x: Tensor, exponent: float) -> Tensor:
    arithmetic("power", x)
    if not x.floating and (exponent < 0 or not isinstance(exponent, int)):
        raise ShapeError(
            f"power: {x} takes whole exponents >= 0, got {exponent}", hint='cast it: x.cast("float32")'
        )
    return x


def _power_kernel(xp: ArrayModule, exponent: float) -> Run:
    def run(x: Array, out: Array | None = None) -> Array:
        return xp.power(x, exponent, out=out)

    return run


_add = binary("add", _add_vjp, additive=True)

_subtract = binary("subtract", _subtract_vjp, additive=True)

_multiply = binary("multiply", _multiply_vjp, sum_rows=_multiply_sum_rows)

_divide = binary("divide", _divide_vjp, floating)

_negative = unary(
    "negative", ufunc("negative"), lambda g, result, x: (negative(g),), arithmetic, additive=True
)

_abs = unary("abs", ufunc("absolute"), lambda g, result, x: (g * sign(x),), arithmetic)

_sign = register(Primitive("sign", one_operand("sign", arithmetic), ufunc("sign"), elementwise=True))

_square = unary("square", ufunc("square"), lambda g, result, x: (g * (x * 2),), arithmetic)

_exp = unary("exp", ufunc("exp"), lambda g, result, x: (g * result,))

_log = unary("log", ufunc("log"), lambda g, result, x: (g / x,))

_sqrt = unary("sqrt", ufunc("sqrt"), lambda g, result, x: (g / (result * 2),))

_power = register(Primitive("power", _power_rule, _power_kernel, _power_vjp, elementwise=True))
