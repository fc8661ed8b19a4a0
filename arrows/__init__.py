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
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from arrows import ops as ops
from arrows.combinators import RNN as RNN
from arrows.combinators import AllOf as AllOf
from arrows.combinators import At as At
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
from arrows.combinators import GroupBy as GroupBy
from arrows.combinators import Identity as Identity
from arrows.combinators import Input as Input
from arrows.combinators import InputTransform as InputTransform
from arrows.combinators import Layer as Layer
from arrows.combinators import Length as Length
from arrows.combinators import Map as Map
from arrows.combinators import Max as Max
from arrows.combinators import Mean as Mean
from arrows.combinators import MessagePassing as MessagePassing
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
from arrows.combinators import Shift as Shift
from arrows.combinators import Slice as Slice
from arrows.combinators import Stack as Stack
from arrows.combinators import Sum as Sum
from arrows.combinators import Tap as Tap
from arrows.combinators import Tensor as Tensor
from arrows.combinators import Vector as Vector
from arrows.combinators import Void as Void
from arrows.combinators import Window as Window
from arrows.combinators import Wire as Wire
from arrows.combinators import Zeros as Zeros
from arrows.combinators import Zip as Zip
from arrows.combinators import ZipWith as ZipWith
from arrows.combinators import arrow as arrow
from arrows.combinators import fix as fix
from arrows.combinators import shared as shared
from arrows.combinators import unpack as unpack
from arrows.layers import *  # noqa: F403  each layer is exported once, there
from arrows.layers import initializers as initializers
from arrows.machine import set_threads as set_threads
from arrows.machine import show_config as show_config
from arrows.ops import Parameter as Parameter
from arrows.ops import RowSparse as RowSparse
from arrows.typesys import ArrowTypeError as ArrowTypeError
from arrows.typesys import ArrowValueError as ArrowValueError
from arrows.typesys import InputError as InputError
from arrows.typesys import did_you_mean, exports
from arrows.typesys import types as types
from arrows.version import __version__ as __version__

if TYPE_CHECKING:
    from arrows import data as data
    from arrows import documents as documents
    from arrows import drawing as drawing
    from arrows import metrics as metrics
    from arrows import models as models
    from arrows import testing as testing
    from arrows import training as training
    from arrows.data import Vocabulary as Vocabulary
    from arrows.documents.infer import infer_block as infer_block
    from arrows.engine import BatchMemoryError as BatchMemoryError
    from arrows.engine import Bucketed as Bucketed
    from arrows.engine import ByNodes as ByNodes
    from arrows.engine import Model as Model
    from arrows.engine import Prepared as Prepared
    from arrows.engine import Ragged as Ragged
    from arrows.engine import to_numpy as to_numpy
    from arrows.engine.compile import compile as compile
    from arrows.inference.infer import infer as infer
    from arrows.model_file import builder as builder
    from arrows.model_file import load_model as load_model
    from arrows.model_file import read_model_file as read_model_file
    from arrows.model_file import save_model as save_model
    from arrows.onthefly import LazyBatch as LazyBatch
    from arrows.onthefly import LazyTensor as LazyTensor
    from arrows.onthefly import OnTheFly as OnTheFly
else:
    # `import arrows` does not load these rooms, so that it stays quick.  A type checker must not see
    # `__getattr__`: it would accept any misspelt name as one of them.
    _LATER = ("data", "documents", "drawing", "metrics", "models", "testing", "training")
    _ELSEWHERE = {
        "BatchMemoryError": "engine",
        "Bucketed": "engine",
        "ByNodes": "engine",
        "LazyBatch": "onthefly",
        "LazyTensor": "onthefly",
        "Model": "engine",
        "OnTheFly": "onthefly",
        "Prepared": "engine",
        "Ragged": "engine",
        "Vocabulary": "data",
        "builder": "model_file",
        "compile": "engine",
        "infer": "inference",
        "infer_block": "documents.infer",
        "load_model": "model_file",
        "read_model_file": "model_file",
        "save_model": "model_file",
        "to_numpy": "engine",
    }

    def _room(name: str) -> ModuleType:
        return initializers if name == "initializers" else importlib.import_module(f"arrows.{name}")

    def __getattr__(name: str) -> object:
        if name in _LATER:
            return _room(name)
        if name in _ELSEWHERE:
            globals()[name] = value = getattr(_room(_ELSEWHERE[name]), name)
            return value
        raise did_you_mean.missing_name("arrows", name, lambda: _likely(name), sys._getframe(1))

    def _likely(name: str) -> str:
        """What may be meant by a name that the package does not have."""
        if name.startswith("_"):  # tools ask for such names
            return ""
        names = {}
        for room in ("models", "documents", "data", "metrics", "initializers", "training", "ops"):
            names |= {inner: f"ar.{room}.{inner}" for inner in _room(room).__all__}
        names |= {own: f"ar.{own}" for own in __all__}
        return did_you_mean.did_you_mean(name, names, "package")

    # Public is what is imported above from the package.
    __all__ = list(
        exports.exported(globals(), "__version__", "initializers", "ops", "types", *_LATER, *_ELSEWHERE)
    )

    def __dir__() -> list[str]:
        return __all__
