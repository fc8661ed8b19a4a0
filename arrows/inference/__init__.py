"""From a block to its typed tree: typing rules, and explanations of type errors.

`infer` is the entrance. It gives a tree of `Typed`, one for each occurrence of a block on a value; the
engine, drawings and the command line read this tree. `typed_tree` prints it. `visible`
selects the parts that the author of an expression wrote, and `title` names a block in one line.

`rules` has the typing rule of each core form, with those of `elements`; `messages` has the texts of errors.
"""

from arrows.combinators import title as title
from arrows.inference.infer import Inference as Inference, infer as infer
from arrows.inference.typed import (
    Knot as Knot,
    TreePart as TreePart,
    Typed as Typed,
    typed_tree as typed_tree,
    visible as visible,
)
