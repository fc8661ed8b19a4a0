"""Operations on tensors: what users write inside a `Function`, and what the engine makes of it.

A *primitive* (`primitive.py`) is a shape rule, a kernel, a derivative and a rule for many rows at once.  The
operations of `ar.ops` apply primitives by `bind`: into a `TraceRecorder`, which writes down equations, or
into an `Evaluation`, which computes at once and keeps a tape.  To add an operation, write its primitive and
its function in a file of this room, name the function below, and give the primitive rows in
`tests/ops/table.py`.
"""

from __future__ import annotations

from arrows.ops.activations import elu as elu
from arrows.ops.activations import gelu as gelu
from arrows.ops.activations import hard_sigmoid as hard_sigmoid
from arrows.ops.activations import hard_swish as hard_swish
from arrows.ops.activations import hard_tanh as hard_tanh
from arrows.ops.activations import leaky_relu as leaky_relu
from arrows.ops.activations import log_sigmoid as log_sigmoid
from arrows.ops.activations import mish as mish
from arrows.ops.activations import relu as relu
from arrows.ops.activations import relu6 as relu6
from arrows.ops.activations import selu as selu
from arrows.ops.activations import sigmoid as sigmoid
from arrows.ops.activations import silu as silu
from arrows.ops.activations import softplus as softplus
from arrows.ops.activations import softsign as softsign
from arrows.ops.activations import swish as swish
from arrows.ops.activations import tanh as tanh
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
from arrows.ops.dropout import drop as drop
from arrows.ops.dropout import dropout as dropout
from arrows.ops.elementwise import abs as abs
from arrows.ops.elementwise import add as add
from arrows.ops.elementwise import divide as divide
from arrows.ops.elementwise import exp as exp
from arrows.ops.elementwise import log as log
from arrows.ops.elementwise import multiply as multiply
from arrows.ops.elementwise import negative as negative
from arrows.ops.elementwise import power as power
from arrows.ops.elementwise import sign as sign
from arrows.ops.elementwise import sqrt as sqrt
from arrows.ops.elementwise import square as square
from arrows.ops.elementwise import subtract as subtract
from arrows.ops.errors import FunctionError as FunctionError
from arrows.ops.errors import IndexOutOfRange as IndexOutOfRange
from arrows.ops.errors import ShapeError as ShapeError
from arrows.ops.evaluate import Evaluation as Evaluation
from arrows.ops.evaluate import Value as Value
from arrows.ops.indexing import concat as concat
from arrows.ops.indexing import index as index
from arrows.ops.indexing import pad_slice as pad_slice
from arrows.ops.indexing import stack as stack
from arrows.ops.linear import dot as dot
from arrows.ops.linear import matmul as matmul
from arrows.ops.linear import outer as outer
from arrows.ops.lookup import gather as gather
from arrows.ops.lookup import lookup as lookup
from arrows.ops.lookup import one_hot as one_hot
from arrows.ops.lookup import pick as pick
from arrows.ops.lookup import place as place
from arrows.ops.lookup import scatter_row as scatter_row
from arrows.ops.norms import norm as norm
from arrows.ops.norms import normalize as normalize
from arrows.ops.norms import standardize as standardize
from arrows.ops.norms import variance as variance
from arrows.ops.primitive import INVARIANT as INVARIANT
from arrows.ops.primitive import ROW as ROW
from arrows.ops.primitive import Primitive as Primitive
from arrows.ops.primitive import get as get
from arrows.ops.primitive import keep_own
from arrows.ops.primitive import primitives as primitives
from arrows.ops.primitive import register as register
from arrows.ops.primitive import unregister as unregister
from arrows.ops.reductions import argmax as argmax
from arrows.ops.reductions import argmin as argmin
from arrows.ops.reductions import cumsum as cumsum
from arrows.ops.reductions import log_softmax as log_softmax
from arrows.ops.reductions import logsumexp as logsumexp
from arrows.ops.reductions import max as max
from arrows.ops.reductions import mean as mean
from arrows.ops.reductions import min as min
from arrows.ops.reductions import softmax as softmax
from arrows.ops.reductions import sum as sum
from arrows.ops.rowsparse import RowSparse as RowSparse
from arrows.ops.segment_ops import segment_broadcast as segment_broadcast
from arrows.ops.segment_ops import segment_count as segment_count
from arrows.ops.segment_ops import segment_max as segment_max
from arrows.ops.segment_ops import segment_mean as segment_mean
from arrows.ops.segment_ops import segment_min as segment_min
from arrows.ops.segment_ops import segment_position as segment_position
from arrows.ops.segment_ops import segment_softmax as segment_softmax
from arrows.ops.segment_ops import segment_sum as segment_sum
from arrows.ops.segments import Segments as Segments
from arrows.ops.shaping import broadcast_to as broadcast_to
from arrows.ops.shaping import cast as cast
from arrows.ops.shaping import reshape as reshape
from arrows.ops.shaping import sum_to as sum_to
from arrows.ops.shaping import transpose as transpose
from arrows.ops.special import cos as cos
from arrows.ops.special import erf as erf
from arrows.ops.special import expm1 as expm1
from arrows.ops.special import log1p as log1p
from arrows.ops.special import sin as sin
from arrows.ops.tensorlike import TensorLike as TensorLike
from arrows.ops.trace import Equation as Equation
from arrows.ops.trace import Trace as Trace
from arrows.ops.trace import Var as Var
from arrows.ops.tracing import Tracer as Tracer
from arrows.ops.tracing import TraceRecorder as TraceRecorder
from arrows.ops.tracing import trace as trace

__all__ = [
    "INVARIANT",
    "ROW",
    "Equation",
    "Evaluation",
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
    "elu",
    "equal",
    "erf",
    "exp",
    "expm1",
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
    "multiply",
    "negative",
    "norm",
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
    "scatter_row",
    "segment_broadcast",
    "segment_count",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_position",
    "segment_softmax",
    "segment_sum",
    "selu",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softmax",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "stack",
    "standardize",
    "subtract",
    "sum",
    "sum_to",
    "swish",
    "tanh",
    "trace",
    "transpose",
    "unregister",
    "variance",
    "where",
]

keep_own()
