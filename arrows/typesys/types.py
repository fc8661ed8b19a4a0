"""The type language: what may flow along an arrow.

Six kinds of type: `Input` (a Python object), `Tensor` (a shape without a batch axis, and an element type),
`Tuple`, `Sequence`, `Broadcast` (an endless sequence) and `Void`. This module exports them, the functions
that walk over them, and the short-hands that users write.
"""

from __future__ import annotations

import numpy as np

from arrows.typesys.compound_types import Broadcast, Sequence, Tuple
from arrows.typesys.compound_types import Labels as Labels
from arrows.typesys.compound_types import join_labels as join_labels
from arrows.typesys.compound_types import label as label
from arrows.typesys.compound_types import losing as losing
from arrows.typesys.dtypes import DTYPES as DTYPES
from arrows.typesys.dtypes import dtype_name
from arrows.typesys.errors import ArrowTypeError, SourceLine, message
from arrows.typesys.leaf_types import Input, Tensor, Type, Void
from arrows.typesys.leaf_types import notation as notation
from arrows.typesys.walks import holds as holds
from arrows.typesys.walks import leaves as leaves
from arrows.typesys.walks import with_float as with_float

__all__ = [
    "Broadcast",
    "Input",
    "Sequence",
    "Tensor",
    "Tuple",
    "Type",
    "Void",
    "as_type",
]


def __dir__() -> list[str]:
    return __all__


def as_type(x: object) -> Type:
    """The type that a short-hand stands for.

    Args:
        x: a type; for a tensor, a list of sizes, perhaps with an element type at its end (`[3]`, `[]`,
            `[3, "int32"]`); for a scalar, an element type (`"int32"`, `np.int32`); for a tuple, a tuple of
            short-hands.

    Raises:
        ArrowTypeError: `x` is none of these.

    Example:
        >>> as_type(([300], [], "int32", [3, "int64"]))
        (float32[300], float32, int32, int64[3])
    """
    done: list[Type] = []
    todo: list[tuple[object, bool]] = [(x, False)]
    while todo:
        x, ready = todo.pop()
        if ready:
            assert isinstance(x, tuple)
            items = done[len(done) - len(x) :]
            del done[len(done) - len(x) :]
            done.append(Tuple(tuple(items)))
        elif isinstance(x, tuple):
            if x and all(isinstance(size, int) for size in x):
                raise _unreadable(x, f"a shape is a list: {list(x)}")
            todo.append((x, True))
            todo.extend((item, False) for item in reversed(x))
        else:
            done.append(_leaf_type(x))
    return done[0]


def _leaf_type(x: object) -> Type:
    if isinstance(x, Type):
        return x
    if isinstance(x, list):
        if x and isinstance(x[-1], (str, np.dtype, type)):
            return Tensor(tuple(x[:-1]), dtype_name(x[-1]))
        return Tensor(tuple(x))
    if isinstance(x, (str, np.dtype)) or (isinstance(x, type) and issubclass(x, np.generic)):
        return Tensor((), dtype_name(x))
    number = isinstance(x, int) and not isinstance(x, bool)
    raise _unreadable(x, f"a vector of {x} numbers is [{x}]" if number else "")


def _unreadable(x: object, hint: str) -> ArrowTypeError:
    return ArrowTypeError(
        message(
            f"cannot read {x!r} as a type at {SourceLine.here()}",
            reason="expected a type, a shape such as [3] or [3, 'int32'], an element type such as 'int32', "
            "or a tuple of these",
            hint=hint,
        )
    )
