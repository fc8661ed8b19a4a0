"""The values that go into a model and those that come out.

`convert` reads the tensors of an example, `nth` and `IteratorReplay` the elements of its containers, and
`ExamplePath` says in errors where in the example a value stands.  A model returns arrays, tuples with keys
(`Labelled`) and `Ragged`s.  `recursive` functions over examples and results have a stack of their
own, since data may be deeper than the interpreter's.
"""

from arrows.engine.values.containers import (
    REREADABLE,
    IteratorReplay,
    grouped,
    iterators_in,
    nth,
)
from arrows.engine.values.descriptions import (
    ExamplePath,
    describe,
    describe_error,
    describe_key,
    explain_no_element,
    explain_no_item,
    is_of_users,
)
from arrows.engine.values.dlpack import ForeignArrayError, import_array, lends_memory
from arrows.engine.values.draws import draw_keys, drawing_occurrences, node_keys
from arrows.engine.values.input_hints import OPTIONAL, hint_for_item
from arrows.engine.values.results import (
    Labelled,
    NamedResults,
    Ragged,
    build,
    collate,
    get_row,
    make_tuple,
    mapped,
    rows_of,
    to_numpy,
    unflatten,
)
from arrows.engine.values.structure import Recursion, each, recursive, trampoline
from arrows.engine.values.tensor_leaf import LeafError, convert, convert_many

__all__ = [
    "OPTIONAL",
    "REREADABLE",
    "ExamplePath",
    "ForeignArrayError",
    "IteratorReplay",
    "Labelled",
    "LeafError",
    "NamedResults",
    "Ragged",
    "Recursion",
    "build",
    "collate",
    "convert",
    "convert_many",
    "describe",
    "describe_error",
    "describe_key",
    "draw_keys",
    "drawing_occurrences",
    "each",
    "explain_no_element",
    "explain_no_item",
    "get_row",
    "grouped",
    "hint_for_item",
    "import_array",
    "is_of_users",
    "iterators_in",
    "lends_memory",
    "make_tuple",
    "mapped",
    "node_keys",
    "nth",
    "recursive",
    "rows_of",
    "to_numpy",
    "trampoline",
    "unflatten",
]
