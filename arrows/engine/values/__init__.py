"""What goes into a model and what comes out.

In go tensors of an example (`convert`) and elements of its containers (`nth`, `IteratorReplay`); errors name
the place inside the example (`ExamplePath`).  Out come arrays, tuples with keys (`Labelled`) and `Ragged`s.
`trampoline` runs recursive functions over both, since data may be deeper than the interpreter's stack.
"""

from arrows.engine.values.containers import IteratorReplay, nth
from arrows.engine.values.descriptions import (
    ExamplePath,
    describe,
    describe_error,
    describe_key,
    explain_no_element,
    explain_no_item,
)
from arrows.engine.values.results import (
    Labelled,
    NamedResults,
    Ragged,
    collate,
    get_row,
    make_tuple,
    to_numpy,
    unflatten,
)
from arrows.engine.values.tensor_leaf import LeafError, convert, convert_many
from arrows.engine.values.trampoline import Recursion, each, trampoline

__all__ = [
    "ExamplePath",
    "IteratorReplay",
    "Labelled",
    "LeafError",
    "NamedResults",
    "Ragged",
    "Recursion",
    "collate",
    "convert",
    "convert_many",
    "describe",
    "describe_error",
    "describe_key",
    "each",
    "explain_no_element",
    "explain_no_item",
    "get_row",
    "make_tuple",
    "nth",
    "to_numpy",
    "trampoline",
    "unflatten",
]
