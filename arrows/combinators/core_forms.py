"""The core forms: the few classes that every block is made of.

Inference, the reference evaluator and lowering know these alone. Each of the three has one table from core
form to function, and a test asserts that every table has a row for every form in `CORE_FORMS`.
"""

from __future__ import annotations

from arrows.combinators.apply import Apply
from arrows.combinators.base.block import AnyBlock, Pipe
from arrows.combinators.constant import Constant
from arrows.combinators.control_flow import Choice, Reference
from arrows.combinators.effects import Shared, SideOutput
from arrows.combinators.fanout import Fan
from arrows.combinators.folds import Loop, Reduce
from arrows.combinators.inputs import Read
from arrows.combinators.items import GroupBy, Item, Nth
from arrows.combinators.notation import Graph
from arrows.combinators.sequences import Broadcast, Map, Zip
from arrows.typesys import ArrowTypeError

CORE_FORMS: tuple[type[AnyBlock], ...] = (
    Pipe,
    Fan,
    Graph,
    Choice,
    Reference,
    Map,
    Loop,
    Reduce,
    Zip,
    Broadcast,
    Nth,
    GroupBy,
    Apply,
    Constant,
    Read,
    Item,
    SideOutput,
    Shared,
)
"""No core form derives from another, so a block has exactly one."""


def core_form(block: AnyBlock) -> type[AnyBlock]:
    """The core form of a block: the class in `CORE_FORMS` that its own class is or derives from.

    Raises:
        ArrowTypeError: the block has none, because its class derives from `Block` itself.

    Example:
        >>> import arrows as ar
        >>> core_form(ar.FC(3)).__name__, core_form(ar.Scalar() >> ar.Sum()).__name__
        ('Apply', 'Pipe')
    """
    for base in type(block).__mro__:
        if base in _CORE_FORMS:
            return base
    raise ArrowTypeError(
        f"{block.label} is no core form: a new block is a Layer, a Function, or made of other blocks, "
        "not a class derived from Block itself"
    )


_CORE_FORMS = frozenset(CORE_FORMS)
