"""The loop nest of a `Map` as a kernel in C, one source for the GPU and for the host.

NVRTC turns rows and columns into a grid; a C compiler of the host turns them into loops, so that what a GPU
would run is executed where there is none.  A kernel needs no barrier: a thread computes its column of a row
and reads nothing that another thread writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from arrows.engine.program.emitters.loops import Evaluate, Load, LoopPlace, Statement, loop_nest
from arrows.engine.program.instructions import Map
from arrows.ops import INVARIANT, Var

FUNCTIONS = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negative": "-{0}",
    "abs": "FABS({0})",
    "square": "{0} * {0}",
    "sqrt": "SQRT({0})",
    "tanh": "TANH({0})",
    "sigmoid": "sigmoid({0})",
    "relu": "relu({0})",
    "sign": "sign({0})",
}
"""How each primitive is written, with the operands as {0}, {1}, ..."""

# `long long`, since `long` has 32 bits on Windows. `gridDim.y` ends at 65,535, so that rows go on in strides.
# Not a number passes through every function, as it does in NumPy's.
PRELUDE = """\
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
  #define KERNEL extern "C" __global__ void
  #define FUNCTION __device__ static inline
  #define ROWS(r, n) for (long long r = blockIdx.y; r < (n); r += gridDim.y)
  #define COLUMNS(j, m) \\
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < (m); j += gridDim.x * blockDim.x)
#else
  #include <math.h>
  #define KERNEL void
  #define FUNCTION static inline
  #define ROWS(r, n) for (long long r = 0; r < (n); ++r)
  #define COLUMNS(j, m) for (int j = 0; j < (m); ++j)
#endif
#ifdef DOUBLE
  typedef double real;
  #define TANH tanh
  #define EXP exp
  #define SQRT sqrt
  #define FABS fabs
#else
  typedef float real;
  #define TANH tanhf
  #define EXP expf
  #define SQRT sqrtf
  #define FABS fabsf
#endif
FUNCTION real sigmoid(real x) {
  real e = EXP(-FABS(x));
  return (x >= (real)0 ? (real)1 : e) / ((real)1 + e);
}
FUNCTION real relu(real x) { return x < (real)0 ? (real)0 : x; }
FUNCTION real sign(real x) { return x > (real)0 ? (real)1 : x < (real)0 ? (real)-1 : x; }
"""


@dataclass(frozen=True, slots=True)
class CKernel:
    """A kernel in C.

    Its parameters are the number of rows, then for each value that is read and each that is written a
    pointer and, where it has rows, the distance from one row to the next, counted in numbers.

    Attributes:
        name: of the function; equal sources have equal names.
        source: the function alone; `PRELUDE` stands before it.
        dtype: ``"float32"`` or ``"float64"``.
        columns: the places of the longest loop, to make a grid of.
    """

    name: str
    source: str
    dtype: str
    columns: int


def c_kernel(loops: Map) -> CKernel:
    """Returns the kernel of a loop nest.

    Args:
        loops: a `Map` of equations that `arrows.engine.program.emitters.loops.can_write` allows.
    """
    names = {var: f"x{n}" for n, var in enumerate(loops.reads)}
    names |= {var: f"y{n}" for n, var in enumerate(loops.writes)}
    parameters = ["long long n"]
    for var, name in names.items():
        # What is written may be what is read, one number after the other: no `__restrict__` on these.
        constant = "const " if var in loops.reads else ""
        parameters.append(f"{constant}real* {name}")
        if var.rows != INVARIANT:
            parameters.append(f"long long {name}_stride")
    nest = loop_nest(loops)
    body = []
    for loop in nest:
        moving = loop.body or ()
        body.append(f"    COLUMNS(j, {loop.length if moving else 1}) {{")
        body += [f"      {_statement(statement, names)}" for statement in (*loop.before, *moving)]
        body.append("    }")
    text = "\n".join([f"({', '.join(parameters)}) {{", "  ROWS(r, n) {", *body, "  }", "}", ""])
    dtype = loops.results[0].type.dtype
    name = f"map_{hashlib.sha256(f'{dtype}{text}'.encode()).hexdigest()[:16]}"
    columns = max((loop.length if loop.body else 1 for loop in nest), default=1)
    return CKernel(name, f"KERNEL {name}{text}", dtype, columns)


def _statement(statement: Statement, names: Mapping[Var, str]) -> str:
    if isinstance(statement, Load):
        return f"real {statement.name} = {_element(statement.place, names)};"
    if isinstance(statement, Evaluate):
        return f"real {statement.name} = {FUNCTIONS[statement.primitive].format(*statement.operands)};"
    return f"{_element(statement.place, names)} = {statement.value};"


def _element(place: LoopPlace, names: Mapping[Var, str]) -> str:
    name = names[place.var]
    row = "" if place.var.rows == INVARIANT else f"r * {name}_stride + "
    column = str(place.start) if not place.moves else f"j + {place.start}" if place.start else "j"
    return f"{name}[{row}{column}]"
