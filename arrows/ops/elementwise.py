"""Element-wise arithmetic and functions.  Shapes broadcast as in NumPy; element types do not mix."""

from __future__ import annotations

from typing import Any, cast

from arrows.ops.bind import bind, constant
from arrows.ops.errors import ShapeError
from arrows.ops.kernels import put, ufunc
from arrows.ops.primitive import Primitive
from arrows.ops.registry import register
from arrows.ops.rules import arithmetic, broadcast, floating, one_operand, same_dtype, two_operands
from arrows.ops.shaping import cast as cast_to
from arrows.ops.shaping import sum_to
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


def tanh(x: Operand) -> TensorLike:
    """Hyperbolic tangent.

    >>> import numpy as np
    >>> tanh(np.array([0.0])).tolist()
    [0.0]
    """
    return bind(_tanh, x)


def sigmoid(x: Operand) -> TensorLike:
    """1 / (1 + exp(-x)), computed as (tanh(x / 2) + 1) / 2: no overflow, and NumPy's tanh is vectorised.

    >>> import numpy as np
    >>> sigmoid(np.array([0.0, 1000.0])).tolist()
    [0.5, 1.0]
    """
    return bind(_sigmoid, x)


def relu(x: Operand) -> TensorLike:
    """max(x, 0); its derivative at 0 is taken as 0.

    >>> import numpy as np
    >>> relu(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return bind(_relu, x)


def softplus(x: Operand) -> TensorLike:
    """log(1 + exp(x)), without overflow.

    >>> import numpy as np
    >>> softplus(np.array([-1000.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    return bind(_softplus, x)


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


def maximum(a: Operand, b: Operand) -> TensorLike:
    """The greater of two, element by element; where they are equal, each gets half of the gradient.

    >>> import numpy as np
    >>> maximum(np.array([-1.0, 2.0]), 0.5).tolist()
    [0.5, 2.0]
    """
    return bind(_maximum, a, b)


def minimum(a: Operand, b: Operand) -> TensorLike:
    """The lesser of two, element by element; where they are equal, each gets half of the gradient.

    >>> import numpy as np
    >>> minimum(np.array([-1.0, 2.0]), 0.5).tolist()
    [-1.0, 0.5]
    """
    return bind(_minimum, a, b)


def greater(a: Operand, b: Operand) -> TensorLike:
    """a > b, as truth values; no gradient passes.

    >>> import numpy as np
    >>> greater(np.array([1.0, 2.0]), 1).tolist()
    [False, True]
    """
    return bind(_greater, a, b)


def greater_equal(a: Operand, b: Operand) -> TensorLike:
    """a >= b, as truth values; no gradient passes.

    >>> import numpy as np
    >>> greater_equal(np.array([1.0, 2.0]), 2).tolist()
    [False, True]
    """
    return bind(_greater_equal, a, b)


def less(a: Operand, b: Operand) -> TensorLike:
    """a < b, as truth values; no gradient passes.

    >>> import numpy as np
    >>> less(np.array([1.0, 2.0]), 2).tolist()
    [True, False]
    """
    return bind(_greater, b, a)


def less_equal(a: Operand, b: Operand) -> TensorLike:
    """a <= b, as truth values; no gradient passes.

    >>> import numpy as np
    >>> less_equal(np.array([1.0, 2.0]), 1).tolist()
    [True, False]
    """
    return bind(_greater_equal, b, a)


def equal(a: Operand, b: Operand) -> TensorLike:
    """a == b, as truth values; no gradient passes.

    >>> import numpy as np
    >>> equal(np.array([1, 2]), 2).tolist()
    [False, True]
    """
    return bind(_equal, a, b)


def where(condition: Operand, a: Operand, b: Operand) -> TensorLike:
    """`a` where the condition holds, `b` elsewhere.

    Args:
        condition: truth values.
        a, b: of one element type; Python numbers take the other's.

    >>> import numpy as np
    >>> where(np.array([True, False]), np.array([1.0, 2.0]), 0.0).tolist()
    [1.0, 0.0]
    """
    beside = next((x for x in (a, b) if isinstance(x, TensorLike)), None)
    if beside is None:
        known = next((x for x in (a, b) if not isinstance(x, (bool, int, float))), 0.0)
        beside = cast("TensorLike", _Typed(Tensor((), constant(known).dtype.name)))
    a, b = (x if isinstance(x, TensorLike) else constant(x, beside) for x in (a, b))
    return bind(_where, condition, a, b)


class _Typed:
    """Just the type of an array, for `constant`."""

    def __init__(self, kind: Tensor) -> None:
        self.type = kind
        self.dtype = kind.dtype


def _two(name: str, vjp: Any, check: Any = arithmetic, **fields: Any) -> Primitive:
    rule = two_operands(name, check)
    return register(Primitive(name, rule, ufunc(name), vjp, elementwise=True, **fields))


def _one(name: str, kernel: Any, vjp: Any, check: Any = floating, **fields: Any) -> Primitive:
    rule = one_operand(name, check)
    return register(Primitive(name, rule, kernel, vjp, elementwise=True, **fields))


def _compare(name: str, check: Any = arithmetic) -> Primitive:
    return register(Primitive(name, two_operands(name, check, "bool"), ufunc(name), elementwise=True))


def _multiply_sum_rows(xp: Any, has_rows: tuple[bool, ...], types: tuple[Tensor, ...]) -> Any:
    """The gradient of a gain: sum over rows of a * b without the product."""
    a, b = types
    if has_rows != (True, True) or a.shape != b.shape or a.ndim != 1:
        return None

    def run(a: Any, b: Any, out: Any = None) -> Any:
        return put(xp.einsum("ij,ij->j", a, b), out)

    return run


def _add_vjp(g: Any, result: Any, a: Any, b: Any) -> Any:
    return sum_to(g, a.shape), sum_to(g, b.shape)


def _subtract_vjp(g: Any, result: Any, a: Any, b: Any) -> Any:
    return sum_to(g, a.shape), negative(sum_to(g, b.shape))


def _multiply_vjp(g: Any, result: Any, a: Any, b: Any) -> Any:
    return sum_to(g * b, a.shape), sum_to(g * a, b.shape)


def _divide_vjp(g: Any, result: Any, a: Any, b: Any) -> Any:
    ga = g / b
    return sum_to(ga, a.shape), sum_to(negative(ga * result), b.shape)


def _share_vjp(g: Any, a: Any, b: Any, first: Any) -> Any:
    # Half where the two are equal, so that maximum(a, b) and maximum(b, a) have the same gradient.
    share = (cast_to(greater(*first), g.dtype) + cast_to(greater_equal(*first), g.dtype)) * 0.5
    ga = g * share
    return sum_to(ga, a.shape), sum_to(g - ga, b.shape)


def _power_vjp(g: Any, result: Any, x: Any, exponent: float) -> Any:
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


def _power_kernel(xp: Any, exponent: float) -> Any:
    def run(x: Any, out: Any = None) -> Any:
        return xp.power(x, exponent, out=out)

    return run


def _sigmoid_kernel(xp: Any) -> Any:
    def run(x: Any, out: Any = None) -> Any:
        if out is None:
            out = xp.empty(x.shape, x.dtype)
        xp.multiply(x, 0.5, out=out)
        xp.tanh(out, out=out)
        xp.multiply(out, 0.5, out=out)
        return xp.add(out, 0.5, out=out)

    return run


def _relu_kernel(xp: Any) -> Any:
    def run(x: Any, out: Any = None) -> Any:
        return xp.maximum(x, 0, out=out)

    return run


def _softplus_kernel(xp: Any) -> Any:
    def run(x: Any, out: Any = None) -> Any:
        return xp.logaddexp(x, 0, out=out)

    return run


def _where_rule(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    if condition.dtype != "bool":
        raise ShapeError(
            f"where: the condition holds truth values, and {condition} does not", hint="compare first"
        )
    return Tensor(broadcast("where", condition, a, b), same_dtype("where", a, b))


def _where_kernel(xp: Any) -> Any:
    def run(condition: Any, a: Any, b: Any, out: Any = None) -> Any:
        return put(xp.where(condition, a, b), out)

    return run


def _where_vjp(g: Any, result: Any, condition: Any, a: Any, b: Any) -> Any:
    return None, sum_to(where(condition, g, 0), a.shape), sum_to(where(condition, 0, g), b.shape)


_add = _two("add", _add_vjp, additive=True)
_subtract = _two("subtract", _subtract_vjp, additive=True)
_multiply = _two("multiply", _multiply_vjp, sum_rows=_multiply_sum_rows)
_divide = _two("divide", _divide_vjp, floating)
_maximum = _two("maximum", lambda g, result, a, b: _share_vjp(g, a, b, (a, b)))
_minimum = _two("minimum", lambda g, result, a, b: _share_vjp(g, a, b, (b, a)))
_greater, _greater_equal = _compare("greater"), _compare("greater_equal")
_equal = _compare("equal", lambda name, kind: kind)
_negative = _one(
    "negative", ufunc("negative"), lambda g, result, x: (negative(g),), arithmetic, additive=True
)
_abs = _one("abs", ufunc("absolute"), lambda g, result, x: (g * sign(x),), arithmetic)
_sign = register(Primitive("sign", one_operand("sign", arithmetic), ufunc("sign"), elementwise=True))
_square = _one("square", ufunc("square"), lambda g, result, x: (g * (x * 2),), arithmetic)
_exp = _one("exp", ufunc("exp"), lambda g, result, x: (g * result,))
_log = _one("log", ufunc("log"), lambda g, result, x: (g / x,))
_sqrt = _one("sqrt", ufunc("sqrt"), lambda g, result, x: (g / (result * 2),))
_tanh = _one("tanh", ufunc("tanh"), lambda g, result, x: (g * (1 - square(result)),))
_sigmoid = _one("sigmoid", _sigmoid_kernel, lambda g, result, x: (g * (result * (1 - result)),))
_relu = _one("relu", _relu_kernel, lambda g, result, x: (g * sign(result),), arithmetic)
_softplus = _one("softplus", _softplus_kernel, lambda g, result, x: (g * sigmoid(x),))
_power = register(Primitive("power", _power_rule, _power_kernel, _power_vjp, elementwise=True))
_where = register(Primitive("where", _where_rule, _where_kernel, _where_vjp, elementwise=True))
