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

# In this order: with `ops` first, `import arrows` took 0.17 to 0.22 s in place of 0.13 (Python 3.11).
from arrows import layers as layers, ops as ops
from arrows.combinators import (
    RNN as RNN,
    AllOf as AllOf,
    At as At,
    Attention as Attention,
    Bidirectional as Bidirectional,
    Block as Block,
    Broadcast as Broadcast,
    Composition as Composition,
    Concat as Concat,
    Constant as Constant,
    Fold as Fold,
    ForwardDeclaration as ForwardDeclaration,
    Function as Function,
    GetItem as GetItem,
    GroupBy as GroupBy,
    Identity as Identity,
    Input as Input,
    InputTransform as InputTransform,
    Layer as Layer,
    Length as Length,
    Map as Map,
    Max as Max,
    Mean as Mean,
    MessagePassing as MessagePassing,
    Metric as Metric,
    Min as Min,
    NGrams as NGrams,
    Nth as Nth,
    OneHot as OneHot,
    OneHotFromList as OneHotFromList,
    OneOf as OneOf,
    Optional as Optional,
    Pipe as Pipe,
    Record as Record,
    Reduce as Reduce,
    Reverse as Reverse,
    Scalar as Scalar,
    Scan as Scan,
    Shift as Shift,
    Slice as Slice,
    Stack as Stack,
    Sum as Sum,
    Tap as Tap,
    Tensor as Tensor,
    Vector as Vector,
    Void as Void,
    Window as Window,
    Wire as Wire,
    Zeros as Zeros,
    Zip as Zip,
    ZipWith as ZipWith,
    arrow as arrow,
    fix as fix,
    shared as shared,
    unpack as unpack,
)
from arrows.layers import *  # noqa: F403  each layer is exported once, there
from arrows.layers import initializers as initializers
from arrows.machine import set_threads as set_threads, show_config as show_config
from arrows.ops import Parameter as Parameter, RowSparse as RowSparse
from arrows.typesys import (
    ArrowTypeError as ArrowTypeError,
    ArrowValueError as ArrowValueError,
    InputError as InputError,
    names,
    types as types,
)
from arrows.version import __version__ as __version__

if TYPE_CHECKING:
    from arrows import (
        data as data,
        documents as documents,
        drawing as drawing,
        metrics as metrics,
        models as models,
        testing as testing,
        training as training,
    )
    from arrows.data import Vocabulary as Vocabulary
    from arrows.documents import infer_block as infer_block
    from arrows.engine import (
        BatchMemoryError as BatchMemoryError,
        ByNodes as ByNodes,
        Model as Model,
        Prepared as Prepared,
        Ragged as Ragged,
        to_numpy as to_numpy,
    )
    from arrows.engine.compile import compile as compile
    from arrows.inference.infer import infer as infer
    from arrows.model_file import (
        builder as builder,
        load_model as load_model,
        read_model_file as read_model_file,
        save_model as save_model,
    )
    from arrows.onthefly import LazyBatch as LazyBatch, LazyTensor as LazyTensor, OnTheFly as OnTheFly
    from arrows.training import Bucketed as Bucketed
else:
    # `import arrows` does not load these rooms, so that it stays quick.  A type checker must not see
    # `__getattr__`: it would accept any misspelt name as one of them.
    _LATER = ("data", "documents", "drawing", "metrics", "models", "testing", "training")
    _ELSEWHERE = {
        "BatchMemoryError": "engine",
        "Bucketed": "training",
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
        "infer_block": "documents",
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
        raise names.missing_name("arrows", name, lambda: _likely(name), sys._getframe(1))

    def _likely(name: str) -> str:
        """What may be meant by a name that the package does not have."""
        if name.startswith("_"):  # tools ask for such names
            return ""
        likely = {}
        for room in ("models", "documents", "data", "metrics", "initializers", "training", "ops"):
            likely |= {inner: f"ar.{room}.{inner}" for inner in _room(room).__all__}
        likely |= {own: f"ar.{own}" for own in __all__}
        return names.did_you_mean(name, likely, "package")

    # Public is what is imported above from the package.
    __all__ = list(
        names.exported(globals(), "__version__", "initializers", "ops", "types", *_LATER, *_ELSEWHERE)
    )

    def __dir__() -> list[str]:
        return __all__
