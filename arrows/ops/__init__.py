"""Operations on tensors: users call them inside a `Function`, and the engine runs them in batches.

A *primitive* (`primitive.py`) is a shape rule, a kernel, a derivative and a rule for many rows at once.  The
operations of `ar.ops` apply primitives by `bind`.  A `TraceRecorder` records them as equations; an
`EagerEvaluation` computes them at once and keeps a tape.  To add an operation, write its primitive and its
function in a file of this room, export the function below, and give the primitive rows in
`tests/ops/table.py`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from arrows.ops.activations import (
    elu,
    gelu,
    hard_sigmoid,
    hard_swish,
    hard_tanh,
    leaky_relu,
    log_sigmoid,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    softsign,
    swish,
    tanh,
)
from arrows.ops.attention import segment_attention
from arrows.ops.bind import bind
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
from arrows.ops.context import Parameter, parameter
from arrows.ops.contraction import einsum
from arrows.ops.dropout import drop, dropout
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
from arrows.ops.errors import FunctionError, IndexOutOfRange, ShapeError
from arrows.ops.evaluate import EagerEvaluation, Value
from arrows.ops.indexing import concat, index, pad_slice, stack
from arrows.ops.linear import dot, matmul, outer
from arrows.ops.lookup import gather, lookup, one_hot, pick, place, scatter_row
from arrows.ops.miscalls import unknown_operation
from arrows.ops.norms import norm, normalize, standardize, variance
from arrows.ops.primitive import INVARIANT, ROW, Primitive, get, keep_own, primitives, register, unregister
from arrows.ops.random_draws import normal, normal_like, uniform, uniform_like
from arrows.ops.reductions import argmax, argmin, cumsum, log_softmax, logsumexp, max, mean, min, softmax, sum
from arrows.ops.rounding import floor, floor_divide, mod, round, stop_gradient
from arrows.ops.rowsparse import RowSparse
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
from arrows.ops.segments import Segments
from arrows.ops.shaping import broadcast_to, cast, reshape, sum_to, transpose
from arrows.ops.sorting import argsort, sort, top_k
from arrows.ops.tensorlike import TensorLike
from arrows.ops.trace import Equation, Trace, Var
from arrows.ops.tracing import Tracer, TraceRecorder, trace
from arrows.typesys.did_you_mean import missing_name

if not TYPE_CHECKING:  # a type checker would accept any misspelt name

    def __getattr__(name: str) -> NoReturn:
        raise missing_name("arrows.ops", name, lambda: unknown_operation(name), sys._getframe(1))


__all__ = [
    "INVARIANT",
    "ROW",
    "EagerEvaluation",
    "Equation",
    "FunctionError",
    "IndexOutOfRange",
    "Parameter",
    "Primitive",
    "RowSparse",
    "Segments",
    "ShapeError",
    "TensorLike",
    "Trace",
    "TraceRecorder",
    "Tracer",
    "Value",
    "Var",
    "abs",
    "add",
    "argmax",
    "argmin",
    "argsort",
    "bind",
    "broadcast_to",
    "cast",
    "clip",
    "concat",
    "cos",
    "cumsum",
    "divide",
    "dot",
    "drop",
    "dropout",
    "einsum",
    "elu",
    "equal",
    "erf",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "gather",
    "gelu",
    "get",
    "greater",
    "greater_equal",
    "hard_sigmoid",
    "hard_swish",
    "hard_tanh",
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
    "lookup",
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
    "pad_slice",
    "parameter",
    "pick",
    "place",
    "power",
    "primitives",
    "register",
    "relu",
    "relu6",
    "reshape",
    "round",
    "scatter_row",
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
    "softsign",
    "sort",
    "sqrt",
    "square",
    "stack",
    "standardize",
    "stop_gradient",
    "subtract",
    "sum",
    "sum_to",
    "swish",
    "tanh",
    "top_k",
    "trace",
    "transpose",
    "uniform",
    "uniform_like",
    "unregister",
    "variance",
    "where",
]

keep_own()
