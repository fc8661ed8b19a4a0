"""Takes the arguments of a call apart: into the values that its node reads, and a signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from arrows import combinators as core
from arrows.onthefly.call_sites import type_of_signature
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
    *,
    whole: bool = False,
) -> None:
    """Takes an argument of a call apart.

    Args:
        batch: the batch that records the call.
        x: a lazy tensor, a plain value, or tuples and lists of these.
        ids: gets the ids of the operands of one row, that is, of those outside of sequences.
        signature: gets the kinds of all operands and their nesting; see `type_of_signature`.
        sequences: gets the sequences.
        type: the type, where it is known: then sequences may be empty.
        whole: whether constants are read as data, as the elements of a sequence are.
    """
    kind = x.__class__
    if kind is LazyConstant and x.context is batch and not whole:
        signature.append(x.kind)
    elif isinstance(x, tuple):
        items = type.items if isinstance(type, T.Tuple) else (None,) * len(x)
        signature.append("(")
        for item, item_type in zip(x, items, strict=True):
            if item.__class__ is LazyTensor and item.context is batch:  # most are: this spares a call
                ids.append(item.id)
                signature.append(item.kind)
            else:
                take(batch, item, ids, signature, sequences, item_type, whole=whole)
        signature.append(")")
    elif isinstance(type, T.Sequence):
        _take_sequence(batch, x, signature, sequences, type.element)
    elif isinstance(x, list) and is_sequence(x):
        _take_sequence(batch, x, signature, sequences, None)
    else:
        tensor = batch.whole(x if kind is int else _plain(x))
        ids.append(tensor.id)
        signature.append(tensor.kind)


def _take_sequence(
    batch: LazyBatch, elements: list[Any], signature: list[Any], sequences: Sequences, type: T.Type | None
) -> None:
    flat = _flat_columns(batch, elements)
    if flat is not None:
        kinds = [column[0].kind for column in flat]
        element = ["(", *kinds, ")"] if isinstance(elements[0], tuple) else kinds
        columns = [[x.id for x in column] for column in flat]
    else:
        element = [0] * _tensors_in(type)
        columns = [[] for _ in element]
        for number, x in enumerate(elements):
            own: list[Any] = []
            ids: list[int] = []
            take(batch, x, ids, own, [], type, whole=True)
            if number == 0:
                element, columns = own, [[] for _ in ids]
            elif own != element:
                types = [type_of_signature(batch.net.call_sites, each) for each in (element, own)]
                raise ArrowTypeError(
                    message(
                        f"cannot make a sequence at {SourceLine.here()}",
                        reason=f"its element 0 is {types[0]} and element {number} is {types[1]}; all "
                        "elements of a sequence have one type",
                    )
                )
            for column, id in zip(columns, ids, strict=True):
                column.append(id)
    signature += ["[", *element, "]"]
    sequences.append((columns, len(elements)))


def _flat_columns(batch: LazyBatch, elements: list[Any]) -> list[Sequence[LazyTensor]] | None:
    """The columns of a sequence of tensors, or of flat tuples of tensors, of one type; None for others.

    This is the fast way for most sequences: it checks whole columns, and `take` is not called per element.
    """
    if not elements:
        return None
    first = elements[0]
    if first.__class__ is tuple and all(x.__class__ is tuple and len(x) == len(first) for x in elements):
        columns: list[Sequence[Any]] = list(zip(*elements, strict=True))
    else:
        columns = [elements]
    for column in columns:
        kind = getattr(column[0], "kind", None)
        if not all(x.__class__ is LazyTensor and x.kind == kind and x.context is batch for x in column):
            return None
    return columns or None


def is_sequence(x: list[Any]) -> bool:
    """Whether a list is a sequence of tensors; a list of numbers is one tensor."""
    return any(isinstance(item, (LazyTensor, tuple)) for item in x)


def _tensors_in(type: T.Type | None) -> int:
    """How many tensors a value of a type consists of; a sequence counts as one element."""
    if isinstance(type, T.Tuple):
        return sum(map(_tensors_in, type.items))
    return _tensors_in(type.element) if isinstance(type, T.Sequence) else 1


def _plain(x: object) -> Any:
    """Returns a plain value; refuses an empty list, a block, and a tensor of a `Function`."""
    reason = hint = ""
    if isinstance(x, list) and not x:
        reason = "a sequence without elements has no type"
        hint = "treat an empty list apart: `if xs: ... else: ...`"
    elif isinstance(x, core.Block):
        reason, hint = f"{x.label} is a block, and no tensor", "call it first: block(x)"
    elif isinstance(x, TensorLike) and not isinstance(x, LazyTensor):
        reason, hint = "a tensor of a Function got into a batch", "compute with it inside of the Function"
    if reason:
        raise ArrowTypeError(message(f"cannot compute at {SourceLine.here()}", reason=reason, hint=hint))
    return x


def foreign(x: LazyTensor, line: SourceLine | None = None) -> ArrowTypeError:
    """The error for a tensor of another batch, on a line; None: the innermost one of the user."""
    return ArrowTypeError(
        message(
            f"cannot compute at {line or SourceLine.here()}",
            reason=f"{x!r} belongs to another batch",
            hint="bring its value over as numbers: g.tensor(x.numpy())",
        )
    )
