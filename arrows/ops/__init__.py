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
from arrows.ops.activations import elu as elu
from arrows.ops.activations import gelu as gelu
from arrows.ops.activations import leaky_relu as leaky_relu
from arrows.ops.activations import log_sigmoid as log_sigmoid
from arrows.ops.activations import mish as mish
from arrows.ops.activations import relu as relu
from arrows.ops.activations import selu as selu
from arrows.ops.activations import sigmoid as sigmoid
from arrows.ops.activations import silu as silu
from arrows.ops.activations import softplus as softplus
from arrows.ops.activations import tanh as tanh
from arrows.ops.attention import segment_attention as segment_attention
from arrows.ops.bind import bind as bind
from arrows.ops.comparison import clip as clip
from arrows.ops.comparison import equal as equal
from arrows.ops.comparison import greater as greater
from arrows.ops.comparison import greater_equal as greater_equal
from arrows.ops.comparison import less as less
from arrows.ops.comparison import less_equal as less_equal
from arrows.ops.comparison import logical_and as logical_and
from arrows.ops.comparison import logical_not as logical_not
from arrows.ops.comparison import logical_or as logical_or
from arrows.ops.comparison import maximum as maximum
from arrows.ops.comparison import minimum as minimum
from arrows.ops.comparison import not_equal as not_equal
from arrows.ops.comparison import where as where
from arrows.ops.context import Parameter as Parameter
from arrows.ops.context import parameter as parameter
from arrows.ops.contraction import einsum as einsum
from arrows.ops.dropout import dropout as dropout
from arrows.ops.elementwise import abs as abs
from arrows.ops.elementwise import add as add
from arrows.ops.elementwise import cos as cos
from arrows.ops.elementwise import divide as divide
from arrows.ops.elementwise import erf as erf
from arrows.ops.elementwise import exp as exp
from arrows.ops.elementwise import expm1 as expm1
from arrows.ops.elementwise import floor as floor
from arrows.ops.elementwise import floor_divide as floor_divide
from arrows.ops.elementwise import log as log
from arrows.ops.elementwise import log1p as log1p
from arrows.ops.elementwise import mod as mod
from arrows.ops.elementwise import multiply as multiply
from arrows.ops.elementwise import negative as negative
from arrows.ops.elementwise import power as power
from arrows.ops.elementwise import round as round
from arrows.ops.elementwise import sign as sign
from arrows.ops.elementwise import sin as sin
from arrows.ops.elementwise import sqrt as sqrt
from arrows.ops.elementwise import square as square
from arrows.ops.elementwise import stop_gradient as stop_gradient
from arrows.ops.elementwise import subtract as subtract
from arrows.ops.errors import FunctionError as FunctionError
from arrows.ops.errors import IndexOutOfRange as IndexOutOfRange
from arrows.ops.errors import ShapeError as ShapeError
from arrows.ops.evaluate import EagerEvaluation as EagerEvaluation
from arrows.ops.evaluate import Value as Value
from arrows.ops.indexing import concat as concat
from arrows.ops.indexing import index as index
from arrows.ops.indexing import stack as stack
from arrows.ops.linear import dot as dot
from arrows.ops.linear import matmul as matmul
from arrows.ops.linear import outer as outer
from arrows.ops.lookup import gather as gather
from arrows.ops.lookup import lookup as lookup
from arrows.ops.lookup import one_hot as one_hot
from arrows.ops.lookup import pick as pick
from arrows.ops.miscalls import unknown_operation
from arrows.ops.primitive import INVARIANT as INVARIANT
from arrows.ops.primitive import ROW as ROW
from arrows.ops.primitive import Primitive as Primitive
from arrows.ops.primitive import get as get
from arrows.ops.primitive import keep_own
from arrows.ops.primitive import primitives as primitives
from arrows.ops.primitive import register as register
from arrows.ops.primitive import unregister as unregister
from arrows.ops.random_draws import normal as normal
from arrows.ops.random_draws import normal_like as normal_like
from arrows.ops.random_draws import uniform as uniform
from arrows.ops.random_draws import uniform_like as uniform_like
from arrows.ops.reductions import argmax as argmax
from arrows.ops.reductions import argmin as argmin
from arrows.ops.reductions import cumsum as cumsum
from arrows.ops.reductions import log_softmax as log_softmax
from arrows.ops.reductions import logsumexp as logsumexp
from arrows.ops.reductions import max as max
from arrows.ops.reductions import mean as mean
from arrows.ops.reductions import min as min
from arrows.ops.reductions import norm as norm
from arrows.ops.reductions import normalize as normalize
from arrows.ops.reductions import softmax as softmax
from arrows.ops.reductions import standardize as standardize
from arrows.ops.reductions import variance as variance
from arrows.ops.rowsparse import RowSparse as RowSparse
from arrows.ops.segment_ops import segment_broadcast as segment_broadcast
from arrows.ops.segment_ops import segment_count as segment_count
from arrows.ops.segment_ops import segment_max as segment_max
from arrows.ops.segment_ops import segment_mean as segment_mean
from arrows.ops.segment_ops import segment_min as segment_min
from arrows.ops.segment_ops import segment_position as segment_position
from arrows.ops.segment_ops import segment_shift as segment_shift
from arrows.ops.segment_ops import segment_softmax as segment_softmax
from arrows.ops.segment_ops import segment_sum as segment_sum
from arrows.ops.segment_ops import segment_take as segment_take
from arrows.ops.segments import Segments as Segments
from arrows.ops.shaping import broadcast_to as broadcast_to
from arrows.ops.shaping import cast as cast
from arrows.ops.shaping import reshape as reshape
from arrows.ops.shaping import sum as sum
from arrows.ops.shaping import transpose as transpose
from arrows.ops.sorting import argsort as argsort
from arrows.ops.sorting import sort as sort
from arrows.ops.sorting import top_k as top_k
from arrows.ops.tensorlike import TensorLike as TensorLike
from arrows.ops.trace import Equation as Equation
from arrows.ops.trace import Trace as Trace
from arrows.ops.trace import Var as Var
from arrows.ops.tracing import Tracer as Tracer
from arrows.ops.tracing import TraceRecorder as TraceRecorder
from arrows.ops.tracing import trace as trace
from arrows.typesys import missing_name

if not TYPE_CHECKING:  # a type checker would accept any misspelt name

    def __getattr__(name: str) -> NoReturn:
        raise missing_name("arrows.ops", name, lambda: unknown_operation(name), sys._getframe(1))

    def __dir__() -> list[str]:
        return __all__


def _is_operation(thing: object) -> bool:
    """Whether a name is for users: a function of a file that is not for other rooms, and for `extend`."""
    room, _, file = getattr(thing, "__module__", "").rpartition(".")
    inner = ("bind", "context", "miscalls", "primitive", "tracing")
    return isfunction(thing) and room == __name__ and file not in inner and thing is not lookup


__all__ = ["TensorLike", "extend"]
__all__ += sorted(name for name, thing in globals().items() if _is_operation(thing))  # noqa: PLE0605  computed

keep_own()
