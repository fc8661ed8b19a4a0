"""From a block to its typed tree: constraints, rules, and explanations of what does not fit.

`infer` is the way in. It gives a tree of `Typed`, one for each occurrence of a block on a value, which the
engine, drawings and the command line read. `typed_tree` and `tree_lines` print that tree; `visible` and
`title` say what of an expression its author wrote, and name it in one line.

A core form has its constraints, rules and explanations in the file of its family, and its rows in `forms`.
"""

from arrows.inference.infer import Inference, infer
from arrows.inference.typed import Knot, Typed, case_names, title, tree_lines, typed_tree, visible

__all__ = [
    "Inference",
    "Knot",
    "Typed",
    "case_names",
    "infer",
    "title",
    "tree_lines",
    "typed_tree",
    "visible",
]
