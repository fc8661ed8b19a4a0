"""Operations on tensors: users call them inside a `Function`, and the engine runs them in batches.

A *primitive* (`primitive.py`) is a shape rule, a kernel, a derivative and a rule for many rows at once.  The
operations of `ar.ops` apply primitives by `bind`.  A `TraceRecorder` records them as equations; an
`EagerEvaluation` computes them at once and keeps a tape.  To add an operation, declare it in a file of this
room, export it below, and give it rows in `tests/ops/table.py`.

Users have what `__all__` names: operations, and `extend` for primitives of their own.  The other names are
for other rooms of the package.
"""

from __future__ import annotations

import sys
from inspect import isfunction
from typing import TYPE_CHECKING, NoReturn

from arrows.ops import extend as extend
from arrows.ops.activations import (
    elu as elu,
    gelu as gelu,
    leaky_relu as leaky_relu,
    relu as relu,
    sigmoid as sigmoid,
    silu as silu,
    softplus as softplus,
    tanh as tanh,
)
from arrows.ops.attention import segment_attention as segment_attention
from arrows.ops.comparison import (
    clip as clip,
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    maximum as maximum,
    minimum as minimum,
    not_equal as not_equal,
    where as where,
)
from arrows.ops.context import (
    Context as Context,
    Initializer as Initializer,
    Parameter as Parameter,
    Weight as Weight,
    collect as collect,
    constant_array as constant_array,
    in_own_context as in_own_context,
    innermost as innermost,
    parameter as parameter,
)
from arrows.ops.elementwise import (
    abs as abs,
    add as add,
    cos as cos,
    divide as divide,
    erf as erf,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    floor_divide as floor_divide,
    log as log,
    log1p as log1p,
    mod as mod,
    multiply as multiply,
    negative as negative,
    power as power,
    round as round,
    sign as sign,
    sin as sin,
    sqrt as sqrt,
    square as square,
    stop_gradient as stop_gradient,
    subtract as subtract,
)
from arrows.ops.errors import (
    FunctionError as FunctionError,
    IndexOutOfRange as IndexOutOfRange,
    ShapeError as ShapeError,
    unknown_operation,
)
from arrows.ops.evaluate import EagerEvaluation as EagerEvaluation, Lookup as Lookup, Value as Value
from arrows.ops.indexing import (
    check_index as check_index,
    concat as concat,
    gather as gather,
    index as index,
    lookup as lookup,
    one_hot as one_hot,
    pick as pick,
    stack as stack,
)
from arrows.ops.linear import dot as dot, matmul as matmul, outer as outer
from arrows.ops.primitive import (
    INVARIANT as INVARIANT,
    ROW as ROW,
    Attributes as Attributes,
    Primitive as Primitive,
    Run as Run,
    SumRun as SumRun,
    bind as bind,
    get as get,
    keep_own,
    lift_each as lift_each,
    primitives as primitives,
    register as register,
    unregister as unregister,
)
from arrows.ops.random_numbers import (
    GOLDEN as GOLDEN,
    dropout as dropout,
    finalise as finalise,
    normal as normal,
    normal_like as normal_like,
    uniform as uniform,
    uniform_like as uniform_like,
)
from arrows.ops.reductions import (
    EXTREMES as EXTREMES,
    argmax as argmax,
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    max as max,
    mean as mean,
    min as min,
    norm as norm,
    normalize as normalize,
    softmax as softmax,
    standardize as standardize,
    variance as variance,
)
from arrows.ops.rowsparse import RowSparse as RowSparse
from arrows.ops.segment_ops import (
    check_places as check_places,
    segment_broadcast as segment_broadcast,
    segment_count as segment_count,
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_position as segment_position,
    segment_shift as segment_shift,
    segment_softmax as segment_softmax,
    segment_sum as segment_sum,
    segment_take as segment_take,
)
from arrows.ops.segments import Segments as Segments, reduce_segments as reduce_segments
from arrows.ops.shaping import (
    broadcast_to as broadcast_to,
    cast as cast,
    reshape as reshape,
    sum as sum,
    transpose as transpose,
)
from arrows.ops.sums import FEW_TRANSPOSED as FEW_TRANSPOSED, sum_rows as sum_rows
from arrows.ops.tensorlike import Operand as Operand, TensorLike as TensorLike, refusal as refusal
from arrows.ops.tracing import (
    Equation as Equation,
    Trace as Trace,
    Tracer as Tracer,
    TraceRecorder as TraceRecorder,
    Var as Var,
    trace as trace,
)
from arrows.typesys import missing_name

if not TYPE_CHECKING:  # a type checker would accept any misspelt name

    def __getattr__(name: str) -> NoReturn:
        raise missing_name("arrows.ops", name, lambda: unknown_operation(name), sys._getframe(1))

    def __dir__() -> list[str]:
        return __all__


def _is_operation(value: object) -> bool:
    """Whether a name is for users: a function that gives a tensor, and is not for other rooms."""
    tensor = isfunction(value) and "TensorLike" in value.__annotations__.get("return", "")
    return tensor and value not in (bind, lookup, parameter)


__all__ = ["TensorLike", "extend"]
__all__ += sorted(name for name, value in globals().items() if _is_operation(value))  # noqa: PLE0605  computed

keep_own()
