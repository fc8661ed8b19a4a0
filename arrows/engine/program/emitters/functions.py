"""Element types and element-wise primitives in C, and those in Python that loops for numba have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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


def number(value: float, dtype: str) -> str:
    """A Python number as C."""
    if dtype in ("float32", "float64"):
        text = repr(float(value)).replace("inf", "INFINITY").replace("nan", "NAN")
        return f"({TYPES[dtype]})({text})"
    if dtype == "uint64":
        return f"{int(value)}ULL"
    return f"({TYPES[dtype]})({int(value)}LL)"


BY_TYPE = frozenset({"abs", "cast", "power"})
"""Primitives whose C depends on element types or attributes; others say it themselves."""


def is_in_c(primitive: Primitive) -> bool:
    """Whether an element-wise primitive can be written in C."""
    return primitive.c is not None or primitive.name in BY_TYPE


def in_c(primitive: Primitive, operands: Sequence[str], dtype: str, attributes: Mapping[str, Any]) -> str:
    """An element-wise primitive, as an expression in C.

    Args:
        primitive: one that `is_in_c`.
        operands: names of numbers.
        dtype: the element type of the first.
        attributes: of the equation.
    """
    x, f, real = operands[0], "f" if dtype == "float32" else "", dtype in ("float32", "float64")
    if primitive.c is not None:
        return primitive.c.format(*operands, f=f)
    match primitive.name, attributes:
        case "abs", _:
            return f"fabs{f}({x})" if real else f"({x} < 0 ? -{x} : {x})"
        case "cast", {"dtype": to}:
            return f"({x} != 0)" if to == "bool" else f"({TYPES[to]}){x}"
        case "power", {"exponent": exponent}:
            return f"pow{f}({x}, {number(exponent, dtype)})" if real else f"whole_power({x}, {int(exponent)})"
    raise AssertionError(primitive)


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
