"""The blocks that a user writes, and the core forms that they are made of: frozen values."""

from __future__ import annotations

from arrows.combinators.apply import Apply, Concat, Function
from arrows.combinators.attention import Attention
from arrows.combinators.block import Block, has_effects
from arrows.combinators.choice import Choice, OneOf, Optional
from arrows.combinators.compose import Identity, Pipe
from arrows.combinators.composition import Composition
from arrows.combinators.constant import Constant, Void, Zeros
from arrows.combinators.convert import as_block
from arrows.combinators.core_forms import CORE_FORMS, core_form
from arrows.combinators.declaration import ForwardDeclaration
from arrows.combinators.effects import Metric, Shared, Tap, shared
from arrows.combinators.elements import Broadcast, Length, NGrams, Nth, Slice, Unroll
from arrows.combinators.fanout import AllOf, Fan, Record
from arrows.combinators.inputs import (
    GetItem,
    Input,
    InputTransform,
    Item,
    Read,
    Scalar,
    Tensor,
    Transform,
    Vector,
)
from arrows.combinators.layer import Layer
from arrows.combinators.notation import Graph, GraphNode, arrow, unpack
from arrows.combinators.onehot import OneHot, OneHotFromList
from arrows.combinators.recursion import Fix, Reference, fix
from arrows.combinators.reductions import Max, Mean, Min, Stack, Sum
from arrows.combinators.scans import RNN, Bidirectional, Scan
from arrows.combinators.sequences import Fold, Map, Reduce
from arrows.combinators.wires import Source, Wire
from arrows.combinators.zips import Reverse, Zip, ZipWith

__all__ = [
    "CORE_FORMS",
    "RNN",
    "AllOf",
    "Apply",
    "Attention",
    "Bidirectional",
    "Block",
    "Broadcast",
    "Choice",
    "Composition",
    "Concat",
    "Constant",
    "Fan",
    "Fix",
    "Fold",
    "ForwardDeclaration",
    "Function",
    "GetItem",
    "Graph",
    "GraphNode",
    "Identity",
    "Input",
    "InputTransform",
    "Item",
    "Layer",
    "Length",
    "Map",
    "Max",
    "Mean",
    "Metric",
    "Min",
    "NGrams",
    "Nth",
    "OneHot",
    "OneHotFromList",
    "OneOf",
    "Optional",
    "Pipe",
    "Read",
    "Record",
    "Reduce",
    "Reference",
    "Reverse",
    "Scalar",
    "Scan",
    "Shared",
    "Slice",
    "Source",
    "Stack",
    "Sum",
    "Tap",
    "Tensor",
    "Transform",
    "Unroll",
    "Vector",
    "Void",
    "Wire",
    "Zeros",
    "Zip",
    "ZipWith",
    "arrow",
    "as_block",
    "core_form",
    "fix",
    "has_effects",
    "shared",
    "unpack",
]
