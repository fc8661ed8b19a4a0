"""Operations on tensors: users call them inside a `Function`, and the engine runs them in batches.

A *primitive* (`primitive.py`) is a shape rule, a kernel, a derivative and a rule for many rows at once.  The
operations of `ar.ops` apply primitives by `bind`.  A `TraceRecorder` records them as equations; an
`EagerEvaluation` computes them at once and keeps a tape.  To add an operation, write its primitive and its
function in a file of this room, export the function below, and give the primitive rows in
`tests/ops/table.py`.

Users have what `__all__` names: operations, and `extend` for primitives of their own.  The names that are
imported `as` themselves are for other rooms of the package.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from arrows.ops import extend as extend
from arrows.ops.activations import (
    elu,
    gelu,
    leaky_relu,
    log_sigmoid,
    mish,
    relu,
    selu,
    sigmoid,
    silu,
    softplus,
    tanh,
)
from arrows.ops.attention import segment_attention
from arrows.ops.bind import bind as bind
from arrows.ops.comparison import (
    clip,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    not_equal,
    where,
)
from arrows.ops.context import Parameter as Parameter
from arrows.ops.context import parameter as parameter
from arrows.ops.contraction import einsum
from arrows.ops.dropout import dropout
from arrows.ops.elementwise import (
    abs,
    add,
    cos,
    divide,
    erf,
    exp,
    expm1,
    log,
    log1p,
    multiply,
    negative,
    power,
    sign,
    sin,
    sqrt,
    square,
    subtract,
)
from arrows.ops.errors import FunctionError as FunctionError
from arrows.ops.errors import IndexOutOfRange as IndexOutOfRange
from arrows.ops.errors import ShapeError as ShapeError
from arrows.ops.evaluate import EagerEvaluation as EagerEvaluation
from arrows.ops.evaluate import Value as Value
from arrows.ops.indexing import concat, index, stack
from arrows.ops.linear import dot, matmul, outer
from arrows.ops.lookup import gather, one_hot, pick
from arrows.ops.lookup import lookup as lookup
from arrows.ops.miscalls import unknown_operation
from arrows.ops.norms import norm, normalize, standardize, variance
from arrows.ops.primitive import INVARIANT as INVARIANT
from arrows.ops.primitive import ROW as ROW
from arrows.ops.primitive import Primitive as Primitive
from arrows.ops.primitive import get as get
from arrows.ops.primitive import keep_own
from arrows.ops.primitive import primitives as primitives
from arrows.ops.primitive import register as register
from arrows.ops.primitive import unregister as unregister
from arrows.ops.random_draws import normal, normal_like, uniform, uniform_like
from arrows.ops.reductions import argmax, argmin, cumsum, log_softmax, logsumexp, max, mean, min, softmax, sum
from arrows.ops.rounding import floor, floor_divide, mod, round, stop_gradient
from arrows.ops.rowsparse import RowSparse as RowSparse
from arrows.ops.segment_ops import (
    segment_broadcast,
    segment_count,
    segment_max,
    segment_mean,
    segment_min,
    segment_position,
    segment_softmax,
    segment_sum,
)
from arrows.ops.segment_places import segment_shift, segment_take
from arrows.ops.segments import Segments as Segments
from arrows.ops.shaping import broadcast_to, cast, reshape, transpose
from arrows.ops.sorting import argsort, sort, top_k
from arrows.ops.tensorlike import TensorLike
from arrows.ops.trace import Equation as Equation
from arrows.ops.trace import Trace as Trace
from arrows.ops.trace import Var as Var
from arrows.ops.tracing import Tracer as Tracer
from arrows.ops.tracing import TraceRecorder as TraceRecorder
from arrows.ops.tracing import trace as trace
from arrows.typesys.did_you_mean import missing_name

if not TYPE_CHECKING:  # a type checker would accept any misspelt name

    def __getattr__(name: str) -> NoReturn:
        raise missing_name("arrows.ops", name, lambda: unknown_operation(name), sys._getframe(1))

    def __dir__() -> list[str]:
        return __all__


__all__ = [
    "TensorLike",
    "abs",
    "add",
    "argmax",
    "argmin",
    "argsort",
    "broadcast_to",
    "cast",
    "clip",
    "concat",
    "cos",
    "cumsum",
    "divide",
    "dot",
    "dropout",
    "einsum",
    "elu",
    "equal",
    "erf",
    "exp",
    "expm1",
    "extend",
    "floor",
    "floor_divide",
    "gather",
    "gelu",
    "greater",
    "greater_equal",
    "index",
    "leaky_relu",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log_sigmoid",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logsumexp",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mish",
    "mod",
    "multiply",
    "negative",
    "norm",
    "normal",
    "normal_like",
    "normalize",
    "not_equal",
    "one_hot",
    "outer",
    "pick",
    "power",
    "relu",
    "reshape",
    "round",
    "segment_attention",
    "segment_broadcast",
    "segment_count",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_position",
    "segment_shift",
    "segment_softmax",
    "segment_sum",
    "segment_take",
    "selu",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softmax",
    "softplus",
    "sort",
    "sqrt",
    "square",
    "stack",
    "standardize",
    "stop_gradient",
    "subtract",
    "sum",
    "tanh",
    "top_k",
    "transpose",
    "uniform",
    "uniform_like",
    "variance",
    "where",
]

keep_own()
