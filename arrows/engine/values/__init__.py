"""The values that go into a model and those that come out.

`convert` reads the tensors of an example, `nth` and `IteratorReplay` the elements of its containers, and
`ExamplePath` says in errors where in the example a value stands.  A model returns arrays, tuples with keys
(`Labelled`) and `Ragged`s.  `recursive` functions over examples and results have a stack of their
own, since data may be deeper than the interpreter's.
"""

from arrows.engine.values.examples import (
    OPTIONAL as OPTIONAL,
    ExamplePath as ExamplePath,
    LeafError as LeafError,
    convert as convert,
    convert_many as convert_many,
    describe as describe,
    describe_error as describe_error,
    describe_key as describe_key,
    explain_no_element as explain_no_element,
    explain_no_item as explain_no_item,
    hint_for_item as hint_for_item,
    is_of_users as is_of_users,
)
from arrows.engine.values.results import (
    ForeignArrayError as ForeignArrayError,
    Labelled as Labelled,
    NamedResults as NamedResults,
    Ragged as Ragged,
    build as build,
    collate as collate,
    get_row as get_row,
    import_array as import_array,
    lends_memory as lends_memory,
    make_tuple as make_tuple,
    mapped as mapped,
    rows_of as rows_of,
    to_numpy as to_numpy,
    unflatten as unflatten,
)
from arrows.engine.values.traversal import (
    REREADABLE as REREADABLE,
    IteratorReplay as IteratorReplay,
    Recursion as Recursion,
    each as each,
    grouped as grouped,
    iterators_in as iterators_in,
    nth as nth,
    recursive as recursive,
    trampoline as trampoline,
)
