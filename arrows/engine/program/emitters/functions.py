"""Element types and element-wise primitives in C, and those in Python that loops for numba have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from arrows.ops import Primitive, Var
from arrows.ops.splitmix import GOLDEN

TYPES: Mapping[str, str] = {
    "float32": "float",
    "float64": "double",
    "bool": "unsigned char",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
}
"""The element types of kernels; what has another one is left to the array module."""

# Written so that not-a-number passes through every function, as it does in NumPy's.  NVRTC reads no headers,
# where the host finds INFINITY.
FUNCTIONS = """\
#ifndef ARROWS_FUNCTIONS
#define ARROWS_FUNCTIONS
#ifndef INFINITY
  #define INFINITY __int_as_float(0x7f800000)
  #define NAN __int_as_float(0x7fffffff)
#endif
#ifdef LANES
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
  #define LANES 32
  #define LANE_SWAP(x, s) __shfl_xor_sync(0xffffffffu, x, s)
#else
  #define LANES 1
  #define LANE_SWAP(x, s) (x)
#endif
FUNCTION float sigmoidf(float x) { float e = expf(x > 88.0f ? 88.0f : x); return e / (e + 1.0f); }
FUNCTION double sigmoid(double x) { double e = exp(x > 709.0 ? 709.0 : x); return e / (e + 1.0); }
FUNCTION float softplusf(float x) { return (x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x))); }
FUNCTION double softplus(double x) { return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x))); }
FUNCTION long long whole_power(long long x, long long n) {
  long long result = 1;
  for (; n > 0; --n) result *= x;
  return result;
}
FUNCTION unsigned long long finalise(unsigned long long x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}
FUNCTION unsigned long long hashed(unsigned long long key, long long place) {
  return finalise(finalise(key + GOLDENULL) + (unsigned long long)(place + 1) * GOLDENULL);
}
FUNCTION long long clipped(long long index, long long size) {
  return index < 0 ? 0 : index < size ? index : size - 1;
}
#endif
""".replace("GOLDENULL", f"{GOLDEN}ULL")
"""What stands before a kernel; `clipped` keeps an index that is out of range inside of the memory."""


class NotInC(Exception):
    """No kernel can do it; the array module does."""


def c_type(var: Var) -> str:
    """The C type of a value's numbers."""
    if var.type.dtype not in TYPES:
        raise NotInC(var.type.dtype)
    return TYPES[var.type.dtype]


Attributes: TypeAlias = Mapping[str, Any]
Writer: TypeAlias = Callable[[Sequence[str], str, Attributes], str]
"""``writer(operands, dtype of the first, attributes)`` is an expression in C."""


def number(value: float, dtype: str) -> str:
    """A Python number as C."""
    if dtype in ("float32", "float64"):
        text = repr(float(value)).replace("inf", "INFINITY").replace("nan", "NAN")
        return f"({TYPES[dtype]})({text})"
    if dtype == "uint64":
        return f"{int(value)}ULL"
    return f"({TYPES[dtype]})({int(value)}LL)"


def _library(name: str) -> Writer:
    """A function of C's library, of float or of double."""
    return lambda operands, dtype, attributes: (
        f"{name}{'f' if dtype == 'float32' else ''}({', '.join(operands)})"
    )


def _absolute(operands: Sequence[str], dtype: str, attributes: Attributes) -> str:
    if dtype in ("float32", "float64"):
        return _library("fabs")(operands, dtype, attributes)
    return f"({operands[0]} < 0 ? -{operands[0]} : {operands[0]})"


def _power(operands: Sequence[str], dtype: str, attributes: Attributes) -> str:
    exponent = attributes["exponent"]
    if dtype not in ("float32", "float64"):
        return f"whole_power({operands[0]}, {int(exponent)})"
    return _library("pow")([operands[0], number(exponent, dtype)], dtype, attributes)


def _clip(operands: Sequence[str], dtype: str, attributes: Attributes) -> str:
    value = operands[0]
    if attributes["low"] is not None:
        low = number(attributes["low"], dtype)
        value = f"({value} < {low} ? {low} : {value})"
    if attributes["high"] is not None:
        high = number(attributes["high"], dtype)
        value = f"({value} > {high} ? {high} : {value})"
    return value


def _elu(operands: Sequence[str], dtype: str, attributes: Attributes) -> str:
    below = _library("expm1")(operands, dtype, attributes)
    return f"({operands[0]} > 0 ? {operands[0]} : {number(attributes['alpha'], dtype)} * {below})"


def _leaky_relu(operands: Sequence[str], dtype: str, attributes: Attributes) -> str:
    (x,) = operands
    return f"({x} > 0 ? {x} : {number(attributes['slope'], dtype)} * {x})"


def _cast(operands: Sequence[str], dtype: str, attributes: Attributes) -> str:
    if attributes["dtype"] == "bool":
        return f"({operands[0]} != 0)"
    return f"({TYPES[attributes['dtype']]}){operands[0]}"


_BY_TYPE: Mapping[str, Writer] = {
    "abs": _absolute,
    "elu": _elu,
    "leaky_relu": _leaky_relu,
    "power": _power,
    "clip": _clip,
    "cast": _cast,
}
"""How primitives are written whose C depends on element types or attributes."""


def is_in_c(primitive: Primitive) -> bool:
    """Whether an element-wise primitive can be written in C."""
    return primitive.c is not None or primitive.name in _BY_TYPE


def in_c(primitive: Primitive, operands: Sequence[str], dtype: str, attributes: Attributes) -> str:
    """An element-wise primitive of names of numbers, as an expression in C."""
    if primitive.c is None:
        return _BY_TYPE[primitive.name](operands, dtype, attributes)
    return primitive.c.format(*operands, f="f" if dtype == "float32" else "")


IN_LOOPS = frozenset({
    "abs", "add", "divide", "floor", "multiply", "negative", "relu", "round", "sigmoid", "sign", "sqrt",
    "square", "subtract", "tanh",
})  # fmt: skip
"""The element-wise primitives of loops for numba; `arrows.engine.device.jit` defines their functions."""


def in_python(primitive: Primitive, operands: Sequence[str]) -> str:
    """One of `IN_LOOPS` of names of numbers, as an expression in Python."""
    if primitive.name in ("abs", "relu", "sign") or primitive.c is None:
        return f"{primitive.name}({', '.join(operands)})"
    return primitive.c.format(*operands, f="")
