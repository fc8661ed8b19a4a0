"""Takes the arguments of a call apart: into the values that its node reads, and a signature."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from arrows.onthefly.tensor import LazyConstant, LazyTensor
from arrows.ops import TensorLike
from arrows.typesys import ArrowTypeError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from arrows.onthefly.batch import LazyBatch


Sequences: TypeAlias = "list[tuple[list[list[int]], int]]"
"""For each sequence, the ids of its elements, a list for each tensor of an element; and its length."""


def take(
    batch: LazyBatch,
    x: Any,
    ids: list[int],
    signature: list[Any],
    sequences: Sequences,
    type: T.Type | None = None,
) -> None:
    """Takes an argument of a call apart.

    Args:
        batch: the batch that records the call.
        x: a lazy tensor, a plain value, or tuples and lists of these.
        ids: gets the ids of the operands of one row, that is, of those outside of sequences.
        signature: gets the kinds of all operands in order, negative ones for constants; ``"("`` and ``")"``
            are around the items of a tuple, ``"["`` and ``"]"`` around the element of a sequence.
        sequences: gets the sequences.
        type: the type, where it is known: then sequences may be empty.
    """
    if isinstance(x, tuple):
        signature.append("(")
        for place, item in enumerate(x):
            if item.__class__ is LazyTensor and item.context is batch:  # most are: this spares a call
                ids.append(item.id)
                signature.append(item.kind)
            else:
                known = type.items[place] if isinstance(type, T.Tuple) else None
                take(batch, item, ids, signature, sequences, known)
        signature.append(")")
    elif x.__class__ is LazyConstant and x.context is batch:
        signature.append(x.kind)
    elif isinstance(x, list) and (not x or any(isinstance(item, (LazyTensor, tuple)) for item in x)):
        if isinstance(type, T.Sequence) and not x:
            element: list[Any] = list(map(batch.net.call_sites.kind, T.leaves(type.element)))
            columns: list[list[int]] = [[] for _ in element]
        else:
            elements = [
                item
                if item.__class__ is LazyTensor and item.context is batch
                else read(batch, item, in_sequence=True)
                for item in x
            ]
            element, columns = _columns(elements, x)
        signature += ["[", *element, "]"]
        sequences.append((columns, len(x)))
    else:
        tensor = batch.whole(x)
        ids.append(tensor.id)
        signature.append(tensor.kind)


def _columns(elements: list[Any], whole: list[Any]) -> tuple[list[Any], list[list[int]]]:
    """The signature of an element of a sequence, and for each of its tensors the ids of all elements.

    Raises:
        ArrowTypeError: the elements of the `whole` sequence have different types.
    """
    first = elements[0] if elements else ()
    if elements and all(isinstance(x, tuple) and len(x) == len(first) for x in elements):
        parts = [_columns(list(column), whole) for column in zip(*elements, strict=True)]
        signature = chain.from_iterable(part for part, _ in parts)
        return ["(", *signature, ")"], [column for _, columns in parts for column in columns]
    kinds = {getattr(x, "kind", None) for x in elements}
    if len(kinds) == 1 and None not in kinds:
        return list(kinds), [[x.id for x in elements]]
    types = [type_of(x) for x in whole] or [type_of(whole)]
    other = next((number for number, type in enumerate(types) if type != types[0]), 0)
    raise ArrowTypeError(
        message(
            f"cannot make a sequence at {SourceLine.here()}",
            reason=f"its element 0 is {types[0]} and element {other} is {types[other]}; all elements of a "
            "sequence have one type, of tensors and tuples",
        )
    )


def read(batch: LazyBatch, x: object, *, in_sequence: bool = False) -> Any:
    """Nested tuples and lists of tensors: reads the plain values among them, and the constants in lists."""
    if x.__class__ is LazyTensor and x.context is batch:
        return x
    if isinstance(x, tuple):
        return tuple([read(batch, item, in_sequence=in_sequence) for item in x])
    if isinstance(x, list) and (not x or holds_tensors(x)):
        return [read(batch, item, in_sequence=True) for item in x]
    if isinstance(x, LazyConstant) and not in_sequence:
        return batch.tensor(x)
    return batch.whole(x)


def type_of(x: object) -> T.Type:
    """The type of nested tuples and lists of tensors; refuses a list whose elements have no known type.

    An empty list inside of a list takes its type from the other lists there.
    """
    type = _type_if_known(x)
    if type is None:
        raise ArrowTypeError(
            message(
                f"cannot compute at {SourceLine.here()}",
                reason="a sequence without elements has no type",
                hint="treat an empty list apart: `if xs: ... else: ...`",
            )
        )
    return type


def _type_if_known(x: Any) -> T.Type | None:
    if isinstance(x, tuple):
        items = [_type_if_known(item) for item in x]
        types = [item for item in items if item is not None]
        return T.Tuple(types) if len(types) == len(items) else None
    if isinstance(x, list):
        element = next((type for type in map(_type_if_known, x) if type is not None), None)
        return None if element is None else T.Sequence(element)
    type: T.Type = x.type
    return type


def holds_tensors(x: object) -> bool:
    """Whether there are tensors in nested tuples and lists; an example may be deep, or circular."""
    todo: list[Any] = [x]
    seen: set[int] = set()
    while todo:
        x = todo.pop()
        if isinstance(x, TensorLike):
            return True
        if isinstance(x, (tuple, list)) and id(x) not in seen:
            seen.add(id(x))
            todo.extend(x)
    return False


def foreign(x: LazyTensor, line: SourceLine | None = None) -> ArrowTypeError:
    """The error for a tensor of another batch, on a line; None: the innermost one of the user."""
    return ArrowTypeError(
        message(
            f"cannot compute at {line or SourceLine.here()}",
            reason=f"{x!r} belongs to another batch",
            hint="bring its value over as numbers: g.tensor(x.numpy())",
        )
    )
