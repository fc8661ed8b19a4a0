"""Walks over types, all by explicit stacks: types may nest as deep as memory allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from arrows.typesys.compound_types import ElementType, Tuple, join_labels
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


def transform(t: Type, leaf: Callable[[Type], Type], *, labelled: bool = True) -> Type:
    """`t` with `leaf(part)` in the place of each part that has no parts itself; `labelled`: with its labels.

    Example:
        >>> from arrows.typesys.types import Input, Void
        >>> transform(Tuple((Input(), Void())), lambda leaf: Tensor((2,)))
        (float32[2], float32[2])
    """
    done: dict[int, Type] = {}
    for x in parts_first(t):
        if isinstance(x, Tuple):
            done[id(x)] = Tuple(tuple(done[id(c)] for c in x.items), x.labels if labelled else None)
        elif isinstance(x, ElementType):
            done[id(x)] = type(x)(done[id(x.element)])
        else:
            done[id(x)] = leaf(x)
    return done[id(t)]


def with_float(t: Type, float_type: str) -> Type:
    """`t` with every floating element type replaced by `float_type`.

    Example:
        >>> with_float(Tuple((Tensor((3,)), Tensor((), "int32"))), "float64")
        (float64[3], int32)
    """
    dtype = dtype_name(float_type)
    return transform(t, lambda x: Tensor(x.shape, dtype) if isinstance(x, Tensor) and x.floating else x)


def common_labels(t: Type, other: Type) -> Type:
    """`t` with only those labels that `other`, an equal type, has too; `t` itself if it keeps all of them.

    Example:
        >>> from arrows.typesys.types import Void
        >>> a = Tuple((Void(), Tuple((Void(),), ("x",))), ("a", "b"))
        >>> common_labels(a, Tuple((Void(), Tuple((Void(),), ("y",))), ("a", "b")))
        (a: Void, b: (Void,))
    """
    done: dict[tuple[int, int], Type] = {}
    todo = [(t, other)]
    while todo:
        x, y = todo[-1]
        pair = (id(x), id(y))
        if pair in done:
            todo.pop()
            continue
        if x is y or not (x.labelled or y.labelled):
            done[pair] = x
            continue
        inside = list(zip(x.children, y.children, strict=True))
        missing = [p for p in inside if (id(p[0]), id(p[1])) not in done]
        if missing:
            todo.extend(missing)
            continue
        children = tuple(done[id(p), id(q)] for p, q in inside)
        same = all(a is b for a, b in zip(children, x.children, strict=True))
        if isinstance(x, Tuple) and isinstance(y, Tuple):
            labels, lost = join_labels(x.labels, x.lost, y.labels, y.lost)
            kept = same and labels == x.labels and lost == x.lost
            done[pair] = x if kept else Tuple(children, labels, lost)
        elif isinstance(x, ElementType):
            done[pair] = x if same else type(x)(children[0])
        else:
            done[pair] = x
    return done[id(t), id(other)]
