"""Walks over types, all by explicit stacks: types may nest as deep as memory allows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from arrows.typesys.dtypes import dtype_name
from arrows.typesys.types import Broadcast, Input, Sequence, Tensor, Tuple, Type, Void


def leaves(t: Type) -> list[Tensor]:
    """Tensors of `t`, depth first, through tuples and sequences.

    Example:
        >>> leaves(Tuple((Tensor((3,)), Sequence(Tensor((), "int32")), Input())))
        [float32[3], int32]
    """
    found: list[Tensor] = []
    todo = [t]
    while todo:
        t = todo.pop()
        if isinstance(t, Tensor):
            found.append(t)
        else:
            todo.extend(reversed(t.children))
    return found


def transform(t: Type, leaf: Callable[[Type], Type]) -> Type:
    """`t` with every type that has no parts replaced by `leaf` of it.

    Example:
        >>> transform(Tuple((Input(), Void())), lambda leaf: Tensor((2,)))
        (float32[2], float32[2])
    """
    done: dict[int, Type] = {}
    todo = [t]
    while todo:
        x = todo[-1]
        if id(x) in done:
            todo.pop()
            continue
        missing = [c for c in x.children if id(c) not in done]
        if missing:
            todo.extend(missing)
            continue
        todo.pop()
        if isinstance(x, Tuple):
            done[id(x)] = Tuple(tuple(done[id(c)] for c in x.items), x.labels)
        elif isinstance(x, (Sequence, Broadcast)):
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
    """`t`, equal to `other`, with those labels only that both have; `t` itself if that drops none.

    Example:
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
        if x is y or not x.labelled:
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
            labels = x.labels if x.labels == y.labels else None
            done[pair] = x if same and labels == x.labels else Tuple(children, labels)
        elif isinstance(x, (Sequence, Broadcast)):
            done[pair] = x if same else type(x)(children[0])
        else:
            done[pair] = x
    return done[id(t), id(other)]


def equal(a: Type, b: Type) -> bool:
    """Structural equality; pairs already met are skipped, so that shared parts cost nothing."""
    todo = [(a, b)]
    met: set[tuple[int, int]] = set()
    while todo:
        a, b = todo.pop()
        if a is b:
            continue
        if a._hash != b._hash or type(a) is not type(b):
            return False
        pair = (id(a), id(b))
        if pair in met:
            continue
        met.add(pair)
        if a._head() != b._head():
            return False
        todo.extend(zip(a.children, b.children, strict=True))
    return True


def notation(t: Type, limit: int | None = None) -> str:
    """The short notation of a type, which is what `str` gives.

    Args:
        t: the type.
        limit: about how many parts to print; what is beyond them is `...`.

    Example:
        >>> notation(Tuple((Input(), Tensor((3,)), Void())), limit=4)
        '(Input, float32[3]...'
    """
    text: list[str] = []
    todo: list[Type | str] = [t]
    while todo:
        if limit is not None and len(text) >= limit:
            text.append("...")
            break
        x = todo.pop()
        if isinstance(x, str):
            text.append(x)
        elif isinstance(x, Tensor):
            text.append(x.dtype + (f"[{', '.join(map(str, x.shape))}]" if x.shape else ""))
        elif isinstance(x, Tuple):
            pieces: list[Type | str] = ["("]
            for i, item in enumerate(x.items):
                if i:
                    pieces.append(", ")
                if x.labels is not None:
                    pieces.append(f"{label(x.labels[i])}: ")
                pieces.append(item)
            pieces.append(",)" if len(x.items) == 1 else ")")
            todo.extend(reversed(pieces))
        elif isinstance(x, (Sequence, Broadcast)):
            todo.extend((")", x.element, f"{type(x).__name__}("))
        else:
            text.append(type(x).__name__)
    return "".join(text)


def label(key: Hashable) -> str:
    """A key as it is printed: names bare, the rest as Python writes it.

    Example:
        >>> label("left"), label(3), label("two words")
        ('left', '3', "'two words'")
    """
    if isinstance(key, str) and key.isidentifier() and key not in ("None", "True", "False"):
        return key
    return repr(key)


def flatten(t: Type) -> list[tuple[Any, ...]]:
    """`t` as a flat list of parts, each named by its place, parts first: pickles without recursion."""
    place: dict[int, int] = {}
    rows: list[tuple[Any, ...]] = []
    todo = [t]
    while todo:
        x = todo[-1]
        if id(x) in place:
            todo.pop()
            continue
        missing = [c for c in x.children if id(c) not in place]
        if missing:
            todo.extend(missing)
            continue
        todo.pop()
        if isinstance(x, Tensor):
            row: tuple[Any, ...] = ("Tensor", x.shape, x.dtype)
        elif isinstance(x, Tuple):
            row = ("Tuple", tuple(place[id(c)] for c in x.items), x.labels)
        elif isinstance(x, (Sequence, Broadcast)):
            row = (type(x).__name__, place[id(x.element)])
        else:
            row = (type(x).__name__,)
        place[id(x)] = len(rows)
        rows.append(row)
    return rows


def assemble(rows: list[tuple[Any, ...]]) -> Type:
    made: list[Type] = []
    for kind, *rest in rows:
        if kind == "Tensor":
            made.append(Tensor(rest[0], rest[1]))
        elif kind == "Tuple":
            made.append(Tuple(tuple(made[i] for i in rest[0]), rest[1]))
        elif kind == "Sequence":
            made.append(Sequence(made[rest[0]]))
        elif kind == "Broadcast":
            made.append(Broadcast(made[rest[0]]))
        else:
            made.append(Input() if kind == "Input" else Void())
    return made[-1]
