"""Walks over types, all by explicit stacks: types may nest as deep as memory allows."""

from __future__ import annotations

from collections.abc import Iterator

from arrows.typesys.compound_types import ElementType, Tuple, losing
from arrows.typesys.dtypes import dtype_name
from arrows.typesys.leaf_types import Tensor, Type, parts_first


def parts(t: Type) -> Iterator[Type]:
    """`t` and all types inside it, depth first."""
    todo = [t]
    while todo:
        t = todo.pop()
        yield t
        todo.extend(reversed(t.children))


def leaves(t: Type) -> list[Tensor]:
    """The tensors inside `t`, depth first.

    Example:
        >>> from arrows.typesys.types import Input, Sequence
        >>> leaves(Tuple((Tensor((3,)), Sequence(Tensor((), "int32")), Input())))
        [float32[3], int32]
    """
    return [part for part in parts(t) if isinstance(part, Tensor)]


def holds(t: Type, kind: type[Type] | tuple[type[Type], ...]) -> bool:
    """Whether `t`, or some part of it, is a type of this kind.

    Example:
        >>> from arrows.typesys.types import Input
        >>> holds(Tuple((Tensor(()), Input())), Input), holds(Tensor(()), Input)
        (True, False)
    """
    return any(isinstance(part, kind) for part in parts_first(t))


def with_float(t: Type, float_type: str) -> Type:
    """`t` with every floating element type replaced by `float_type`.

    Example:
        >>> with_float(Tuple((Tensor((3,)), Tensor((), "int32"))), "float64")
        (float64[3], int32)
    """
    dtype = dtype_name(float_type)
    done: dict[int, Type] = {}
    for x in parts_first(t):
        if isinstance(x, Tuple):
            done[id(x)] = losing(Tuple([done[id(item)] for item in x.items], x.labels), x.lost)
        elif isinstance(x, ElementType):
            done[id(x)] = type(x)(done[id(x.element)])
        else:
            done[id(x)] = Tensor(x.shape, dtype) if isinstance(x, Tensor) and x.floating else x
    return done[id(t)]
