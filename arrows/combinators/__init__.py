"""The blocks that a user writes, and the core forms that they are made of: frozen values.

Each file holds a family: a core form, and the blocks that desugar into it. Inference, the engine and drawing
know the core forms alone. The groups of `__all__` below tell which names are which.
"""

from __future__ import annotations

from arrows.combinators.apply import Apply, Concat, Function, spread_items
from arrows.combinators.attention import Attention
from arrows.combinators.base.arguments import function_name, set_name
from arrows.combinators.base.block import AnyBlock, Block
from arrows.combinators.base.convert import NotYetABlock, as_block
from arrows.combinators.base.recorder import Source, lazy_context_of
from arrows.combinators.base.traversal import has_effects, parts_first
from arrows.combinators.base.wires import Wire
from arrows.combinators.choice import Choice, OneOf, Optional
from arrows.combinators.compose import Identity, Pipe, derived
from arrows.combinators.composition import Composition
from arrows.combinators.constant import Constant, InferredZeros, Void, Zeros, without_zero
from arrows.combinators.core_forms import CORE_FORMS, core_form
from arrows.combinators.declaration import ForwardDeclaration
from arrows.combinators.effects import Metric, Shared, Tap, shared
from arrows.combinators.fanout import AllOf, AndFan, Fan, PairItem, Record
from arrows.combinators.folds import RNN, Bidirectional, Fold, Loop, NoDefault, Reduce, Scan
from arrows.combinators.inputs import Input, InputTransform, Read, Scalar, Tensor, Transform, Unfit, Vector
from arrows.combinators.items import (
    GetItem,
    Item,
    NoItem,
    Nth,
    Reverse,
    Slice,
    attributes,
    has_attributes,
    take,
    take_of,
    take_or_default,
)
from arrows.combinators.layer import Layer, written_call
from arrows.combinators.notation import Graph, arrow, unpack
from arrows.combinators.onehot import OneHot, OneHotFromList
from arrows.combinators.places import At, Shift, Window, options_written, window_steps
from arrows.combinators.recursion import Reference, Token, fix
from arrows.combinators.reductions import Max, Mean, Min, Reduction, Stack, Sum
from arrows.combinators.sequences import Broadcast, Length, Map, NGrams, Unroll, Zip, ZipWith

# The blocks that users write, and the functions that make them; `arrows` re-exports these.
__all__ = [
    "RNN",
    "AllOf",
    "At",
    "Attention",
    "Bidirectional",
    "Block",
    "Broadcast",
    "Composition",
    "Concat",
    "Constant",
    "Fold",
    "ForwardDeclaration",
    "Function",
    "GetItem",
    "Identity",
    "Input",
    "InputTransform",
    "Layer",
    "Length",
    "Map",
    "Max",
    "Mean",
    "Metric",
    "Min",
    "NGrams",
    "NoItem",
    "Nth",
    "OneHot",
    "OneHotFromList",
    "OneOf",
    "Optional",
    "Pipe",
    "Record",
    "Reduce",
    "Reverse",
    "Scalar",
    "Scan",
    "Shift",
    "Slice",
    "Stack",
    "Sum",
    "Tap",
    "Tensor",
    "Vector",
    "Void",
    "Window",
    "Wire",
    "Zeros",
    "Zip",
    "ZipWith",
    "arrow",
    "fix",
    "shared",
    "unpack",
]

# The other core forms.
__all__ += [
    "Apply",
    "Choice",
    "Fan",
    "Graph",
    "Item",
    "Loop",
    "Read",
    "Reference",
    "Shared",
    "Transform",
    "Unroll",
]

# What other packages use to inspect blocks, and to make them.
__all__ += [
    "CORE_FORMS",
    "AndFan",
    "AnyBlock",
    "InferredZeros",
    "NoDefault",
    "NotYetABlock",
    "PairItem",
    "Reduction",
    "Source",
    "Token",
    "Unfit",
    "as_block",
    "attributes",
    "core_form",
    "derived",
    "function_name",
    "has_attributes",
    "has_effects",
    "lazy_context_of",
    "options_written",
    "parts_first",
    "set_name",
    "spread_items",
    "take",
    "take_of",
    "take_or_default",
    "window_steps",
    "without_zero",
    "written_call",
]
