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

from arrows import layers, ops
from arrows.combinators import (
    RNN,
    AllOf,
    At,
    Attention,
    Bidirectional,
    Block,
    Broadcast,
    Composition,
    Concat,
    Constant,
    Fold,
    ForwardDeclaration,
    Function,
    GetItem,
    GroupBy,
    Identity,
    Input,
    InputTransform,
    Layer,
    Length,
    Map,
    Max,
    Mean,
    MessagePassing,
    Metric,
    Min,
    NGrams,
    Nth,
    OneHot,
    OneHotFromList,
    OneOf,
    Optional,
    Pipe,
    Record,
    Reduce,
    Reverse,
    Scalar,
    Scan,
    Shift,
    Slice,
    Stack,
    Sum,
    Tap,
    Tensor,
    Vector,
    Void,
    Window,
    Wire,
    Zeros,
    Zip,
    ZipWith,
    arrow,
    fix,
    shared,
    unpack,
)
from arrows.layers import *  # noqa: F403  each layer is exported once, there
from arrows.layers import initializers
from arrows.machine import set_threads, show_config
from arrows.ops import Parameter, RowSparse
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError, did_you_mean, types
from arrows.version import __version__

if TYPE_CHECKING:
    from arrows import data as data
    from arrows import documents as documents
    from arrows import drawing as drawing
    from arrows import metrics as metrics
    from arrows import models as models
    from arrows import testing as testing
    from arrows import training as training
    from arrows.data import Vocabulary as Vocabulary
    from arrows.documents import infer_block as infer_block
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
        name: room
        for room, names in {
            "data": ["Vocabulary"],
            "documents": ["infer_block"],
            "engine": [
                "BatchMemoryError",
                "Bucketed",
                "ByNodes",
                "Model",
                "Prepared",
                "Ragged",
                "compile",
                "to_numpy",
            ],
            "inference": ["infer"],
            "model_file": ["builder", "load_model", "read_model_file", "save_model"],
            "onthefly": ["LazyBatch", "LazyTensor", "OnTheFly"],
        }.items()
        for name in names
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

    def __dir__() -> list[str]:
        return __all__


__all__ = [
    "RNN",
    "AllOf",
    "ArrowTypeError",
    "ArrowValueError",
    "At",
    "Attention",
    "BatchMemoryError",
    "Bidirectional",
    "Block",
    "Broadcast",
    "Bucketed",
    "ByNodes",
    "Composition",
    "Concat",
    "Constant",
    "Fold",
    "ForwardDeclaration",
    "Function",
    "GetItem",
    "GroupBy",
    "Identity",
    "Input",
    "InputError",
    "InputTransform",
    "Layer",
    "LazyBatch",
    "LazyTensor",
    "Length",
    "Map",
    "Max",
    "Mean",
    "MessagePassing",
    "Metric",
    "Min",
    "Model",
    "NGrams",
    "Nth",
    "OnTheFly",
    "OneHot",
    "OneHotFromList",
    "OneOf",
    "Optional",
    "Parameter",
    "Pipe",
    "Prepared",
    "Ragged",
    "Record",
    "Reduce",
    "Reverse",
    "RowSparse",
    "Scalar",
    "Scan",
    "Shift",
    "Slice",
    "Stack",
    "Sum",
    "Tap",
    "Tensor",
    "Vector",
    "Vocabulary",
    "Void",
    "Window",
    "Wire",
    "Zeros",
    "Zip",
    "ZipWith",
    "__version__",
    "arrow",
    "builder",
    "compile",
    "data",
    "documents",
    "drawing",
    "fix",
    "infer",
    "infer_block",
    "load_model",
    "metrics",
    "models",
    "ops",
    "read_model_file",
    "save_model",
    "set_threads",
    "shared",
    "show_config",
    "testing",
    "to_numpy",
    "training",
    "types",
    "unpack",
]
__all__ += layers.__all__
