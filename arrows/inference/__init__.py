"""From a block to its typed tree: typing rules, and explanations of type errors.

`infer` is the entrance. It gives a tree of `Typed`, one for each occurrence of a block on a value; the
engine, drawings and the command line read this tree. `typed_tree` and `tree_lines` print it. `visible`
selects the parts that the author of an expression wrote, and `title` names a block in one line.

Each family of core forms has a file with its rules and explanations; `forms` has their tables.
"""

from arrows.combinators import title
from arrows.inference.infer import Inference, infer
from arrows.inference.typed import (
    Knot,
    TreePart,
    Typed,
    case_names,
    shows_arguments,
    tree_lines,
    typed_tree,
    visible,
)

__all__ = [
    "Inference",
    "Knot",
    "TreePart",
    "Typed",
    "case_names",
    "infer",
    "shows_arguments",
    "title",
    "tree_lines",
    "typed_tree",
    "visible",
]
