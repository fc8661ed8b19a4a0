"""Typed blocks for neural networks on trees, records and sequences, batched dynamically on NumPy and CUDA.

Write a model for one example as an expression of blocks; `compile` checks its types, batches the work of
differently shaped examples into few large operations, and differentiates it.

>>> import arrows as ar
>>> total = ar.Map(ar.Scalar()) >> ar.Sum()
>>> ar.compile(total)([[1, 2, 3], [], [10]]).tolist()
[6.0, 0.0, 10.0]
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from arrows import ops as ops
from arrows.combinators import RNN as RNN
from arrows.combinators import AllOf as AllOf
from arrows.combinators import Attention as Attention
from arrows.combinators import Bidirectional as Bidirectional
from arrows.combinators import Block as Block
from arrows.combinators import Broadcast as Broadcast
from arrows.combinators import Composition as Composition
from arrows.combinators import Concat as Concat
from arrows.combinators import Constant as Constant
from arrows.combinators import Fold as Fold
from arrows.combinators import ForwardDeclaration as ForwardDeclaration
from arrows.combinators import Function as Function
from arrows.combinators import GetItem as GetItem
from arrows.combinators import Identity as Identity
from arrows.combinators import Input as Input
from arrows.combinators import InputTransform as InputTransform
from arrows.combinators import Layer as Layer
from arrows.combinators import Length as Length
from arrows.combinators import Map as Map
from arrows.combinators import Max as Max
from arrows.combinators import Mean as Mean
from arrows.combinators import Metric as Metric
from arrows.combinators import Min as Min
from arrows.combinators import NGrams as NGrams
from arrows.combinators import Nth as Nth
from arrows.combinators import OneHot as OneHot
from arrows.combinators import OneHotFromList as OneHotFromList
from arrows.combinators import OneOf as OneOf
from arrows.combinators import Optional as Optional
from arrows.combinators import Pipe as Pipe
from arrows.combinators import Record as Record
from arrows.combinators import Reduce as Reduce
from arrows.combinators import Reverse as Reverse
from arrows.combinators import Scalar as Scalar
from arrows.combinators import Scan as Scan
from arrows.combinators import Slice as Slice
from arrows.combinators import Stack as Stack
from arrows.combinators import Sum as Sum
from arrows.combinators import Tap as Tap
from arrows.combinators import Tensor as Tensor
from arrows.combinators import Vector as Vector
from arrows.combinators import Void as Void
from arrows.combinators import Wire as Wire
from arrows.combinators import Zeros as Zeros
from arrows.combinators import Zip as Zip
from arrows.combinators import ZipWith as ZipWith
from arrows.combinators import arrow as arrow
from arrows.combinators import fix as fix
from arrows.combinators import shared as shared
from arrows.combinators import unpack as unpack
from arrows.engine import Model as Model
from arrows.engine import Prepared as Prepared
from arrows.engine import Ragged as Ragged
from arrows.engine import compile as compile
from arrows.engine import to_numpy as to_numpy
from arrows.inference import infer as infer
from arrows.layers import FC as FC
from arrows.layers import Dropout as Dropout
from arrows.layers import Embedding as Embedding
from arrows.layers import GRUCell as GRUCell
from arrows.layers import Hinge as Hinge
from arrows.layers import Huber as Huber
from arrows.layers import LayerNorm as LayerNorm
from arrows.layers import Linear as Linear
from arrows.layers import LSTMCell as LSTMCell
from arrows.layers import SigmoidCrossEntropy as SigmoidCrossEntropy
from arrows.layers import SoftmaxCrossEntropy as SoftmaxCrossEntropy
from arrows.layers import SquaredError as SquaredError
from arrows.layers import TreeLSTM as TreeLSTM
from arrows.layers import initializers as initializers
from arrows.machine import set_threads as set_threads
from arrows.machine import show_config as show_config
from arrows.typesys import ArrowTypeError as ArrowTypeError
from arrows.typesys import ArrowValueError as ArrowValueError
from arrows.typesys import InputError as InputError
from arrows.typesys import types as types
from arrows.version import __version__ as __version__

if TYPE_CHECKING:
    from arrows import data as data
    from arrows import drawing as drawing
    from arrows import models as models
    from arrows import testing as testing
    from arrows import training as training
else:
    # Rooms that `import arrows` does not load.  A type checker must not see `__getattr__`: it would take any
    # misspelt name for one of them.
    _LATER = ("data", "drawing", "models", "testing", "training")

    def __getattr__(name: str) -> ModuleType:
        if name in _LATER:
            return importlib.import_module(f"arrows.{name}")
        raise AttributeError(f"module 'arrows' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATER})


__all__ = [
    "FC",
    "RNN",
    "AllOf",
    "ArrowTypeError",
    "ArrowValueError",
    "Attention",
    "Bidirectional",
    "Block",
    "Broadcast",
    "Composition",
    "Concat",
    "Constant",
    "Dropout",
    "Embedding",
    "Fold",
    "ForwardDeclaration",
    "Function",
    "GRUCell",
    "GetItem",
    "Hinge",
    "Huber",
    "Identity",
    "Input",
    "InputError",
    "InputTransform",
    "LSTMCell",
    "Layer",
    "LayerNorm",
    "Length",
    "Linear",
    "Map",
    "Max",
    "Mean",
    "Metric",
    "Min",
    "Model",
    "NGrams",
    "Nth",
    "OneHot",
    "OneHotFromList",
    "OneOf",
    "Optional",
    "Pipe",
    "Prepared",
    "Ragged",
    "Record",
    "Reduce",
    "Reverse",
    "Scalar",
    "Scan",
    "SigmoidCrossEntropy",
    "Slice",
    "SoftmaxCrossEntropy",
    "SquaredError",
    "Stack",
    "Sum",
    "Tap",
    "Tensor",
    "TreeLSTM",
    "Vector",
    "Void",
    "Wire",
    "Zeros",
    "Zip",
    "ZipWith",
    "__version__",
    "arrow",
    "compile",
    "data",
    "drawing",
    "fix",
    "infer",
    "initializers",
    "models",
    "ops",
    "set_threads",
    "shared",
    "show_config",
    "testing",
    "to_numpy",
    "training",
    "types",
    "unpack",
]
