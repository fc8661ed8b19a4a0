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


class Operands:
    """The operands of a call.

    Attributes:
        batch: the batch that records the call.
        ids: the ids of the operands of one row, that is, of those outside of sequences, in order.
        signature: the kinds of all operands and their nesting; see `type_of_signature`.
        sequences: the sequences.
        plain: the operands of one row that are plain values, each with its place.
    """

    __slots__ = ("batch", "ids", "plain", "sequences", "signature", "whole")

    def __init__(
        self, batch: LazyBatch, ids: list[int], signature: list[Any], *, whole: bool = False
    ) -> None:
        self.batch, self.ids, self.signature = batch, ids, signature
        self.whole = whole  # whether constants are read as data, as the elements of a sequence are
        self.sequences: Sequences = []
        self.plain: list[tuple[int, object]] = []

    def take(self, x: Any, type: T.Type | None = None) -> None:
        """Takes an argument; where its type is known, its sequences may be empty."""
        kind = x.__class__
        if kind is LazyTensor:
            if x.context is not self.batch:
                raise foreign(x)
            self.ids.append(x.id)
            self.signature.append(x.kind)
        elif kind is int:
            self.plain.append((len(self.ids), x))
            number = self.batch.tensor(x)
            self.ids.append(number.id)
            self.signature.append(number.kind)
        elif kind is LazyConstant:
            if self.whole or x.context is not self.batch:
                self.ids.append(self.batch.value_id(x))
                self.signature.append(self.batch.net.call_sites.kind(x.type))
            else:
                self.signature.append(x.kind)
        elif isinstance(x, tuple):
            ids, signature, batch = self.ids, self.signature, self.batch
            items = type.items if isinstance(type, T.Tuple) else (None,) * len(x)
            signature.append("(")
            for item, item_type in zip(x, items, strict=True):
                if item.__class__ is LazyTensor and item.context is batch:  # most are: this spares a call
                    ids.append(item.id)
                    signature.append(item.kind)
                else:
                    self.take(item, item_type)
            signature.append(")")
        elif isinstance(type, T.Sequence) or is_sequence(x):
            self._take_sequence(x, type.element if isinstance(type, T.Sequence) else None)
        else:
            tensor = self.batch.tensor(_plain(x))
            self.plain.append((len(self.ids), x))
            self.ids.append(tensor.id)
            self.signature.append(tensor.kind)

    def _take_sequence(self, elements: list[Any], type: T.Type | None) -> None:
        batch, signature = self.batch, self.signature
        signature.append("[")
        flat = _flat_columns(batch, elements)
        if flat is not None:
            kinds = [column[0].kind for column in flat]
            signature += ["(", *kinds, ")"] if isinstance(elements[0], tuple) else kinds
            columns = [[x.id for x in column] for column in flat]
        else:
            rows = [Operands(batch, [], [], whole=True) for _ in elements]
            for row, element in zip(rows, elements, strict=True):
                row.take(element, type)
            for number, row in enumerate(rows):
                if row.signature != rows[0].signature:
                    raise self._uneven(rows[0], row, number)
            count = len(rows[0].ids) if rows else _tensors_in(type)
            signature += rows[0].signature if rows else [0] * count
            columns = [[row.ids[place] for row in rows] for place in range(count)]
        signature.append("]")
        self.sequences.append((columns, len(elements)))

    def _uneven(self, first: Operands, other: Operands, number: int) -> ArrowTypeError:
        sites = self.batch.net.call_sites
        types = [type_of_signature(sites, row.signature) for row in (first, other)]
        return ArrowTypeError(
            message(
                f"cannot make a sequence at {SourceLine.here()}",
                reason=f"its element 0 is {types[0]} and element {number} is {types[1]}; all elements of a "
                "sequence have one type",
            )
        )


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


def is_sequence(x: object) -> bool:
    """Whether a list is a sequence of tensors; a list of numbers is one tensor."""
    return isinstance(x, list) and any(isinstance(item, (LazyTensor, tuple)) for item in x)


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
    elif isinstance(x, TensorLike):
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
