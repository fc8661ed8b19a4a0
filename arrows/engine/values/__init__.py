"""The values that go into a model and those that come out.

`convert` reads the tensors of an example, `nth` and `IteratorReplay` the elements of its containers, and
`ExamplePath` says in errors where in the example a value stands.  A model returns arrays, tuples with keys
(`Labelled`) and `Ragged`s.  `recursive` functions over examples and results have a stack of their
own, since data may be deeper than the interpreter's.
"""

from arrows.engine.values.containers import REREADABLE as REREADABLE
from arrows.engine.values.containers import IteratorReplay as IteratorReplay
from arrows.engine.values.containers import grouped as grouped
from arrows.engine.values.containers import iterators_in as iterators_in
from arrows.engine.values.containers import nth as nth
from arrows.engine.values.descriptions import ExamplePath as ExamplePath
from arrows.engine.values.descriptions import describe as describe
from arrows.engine.values.descriptions import describe_error as describe_error
from arrows.engine.values.descriptions import describe_key as describe_key
from arrows.engine.values.descriptions import explain_no_element as explain_no_element
from arrows.engine.values.descriptions import explain_no_item as explain_no_item
from arrows.engine.values.descriptions import is_of_users as is_of_users
from arrows.engine.values.dlpack import ForeignArrayError as ForeignArrayError
from arrows.engine.values.dlpack import import_array as import_array
from arrows.engine.values.dlpack import lends_memory as lends_memory
from arrows.engine.values.draws import draw_keys as draw_keys
from arrows.engine.values.draws import drawing_occurrences as drawing_occurrences
from arrows.engine.values.draws import node_keys as node_keys
from arrows.engine.values.input_hints import OPTIONAL as OPTIONAL
from arrows.engine.values.input_hints import hint_for_item as hint_for_item
from arrows.engine.values.results import Labelled as Labelled
from arrows.engine.values.results import NamedResults as NamedResults
from arrows.engine.values.results import Ragged as Ragged
from arrows.engine.values.results import build as build
from arrows.engine.values.results import collate as collate
from arrows.engine.values.results import get_row as get_row
from arrows.engine.values.results import make_tuple as make_tuple
from arrows.engine.values.results import mapped as mapped
from arrows.engine.values.results import rows_of as rows_of
from arrows.engine.values.results import to_numpy as to_numpy
from arrows.engine.values.results import unflatten as unflatten
from arrows.engine.values.structure import Recursion as Recursion
from arrows.engine.values.structure import each as each
from arrows.engine.values.structure import recursive as recursive
from arrows.engine.values.structure import trampoline as trampoline
from arrows.engine.values.tensor_leaf import LeafError as LeafError
from arrows.engine.values.tensor_leaf import convert as convert
from arrows.engine.values.tensor_leaf import convert_many as convert_many
