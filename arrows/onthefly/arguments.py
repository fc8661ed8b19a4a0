"""Takes the arguments of a call apart: into the values that its node reads, and the key of its signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from arrows import combinators as core
from arrows.onthefly.tensor import LazyConstant, LazyTensor
from arrows.ops import TensorLike
from arrows.typesys import ArrowTypeError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from arrows.onthefly.values import LazyValues


Sequences: TypeAlias = "list[tuple[list[list[int]], int]]"
"""For each sequence, its length, and the ids of its elements: a list for each tensor of an element."""


class Arguments:
    """The operands of a call.

    Attributes:
        batch: the batch that records the call.
        ids: the ids of the operands of one row, that is, of those outside of sequences, in order.
        key: identifies the signature: the types, their nesting, and the constants.
        sequences: the sequences.
        plain: the operands of one row that are plain values, each with its place.
    """

    __slots__ = ("batch", "ids", "key", "plain", "sequences")

    def __init__(self, batch: LazyValues, ids: list[int], key: list[Any]) -> None:
        self.batch, self.ids, self.key = batch, ids, key
        self.sequences: Sequences = []
        self.plain: list[tuple[int, object]] = []

    def take(self, x: Any) -> None:
        """Takes an argument."""
        kind = x.__class__
        if kind is LazyTensor:
            if x.context is not self.batch:
                raise foreign(x)
            self.ids.append(x.id)
            self.key.append(id(x.type))
        elif kind is int:
            self.plain.append((len(self.ids), x))
            number = self.batch.tensor(x)
            self.ids.append(number.id)
            self.key.append(id(number.type))
        elif kind is LazyConstant:
            if x.context is not self.batch:
                raise foreign(x)
            self.key.append(("constant", x.number))
        elif isinstance(x, tuple):
            ids, key, batch = self.ids, self.key, self.batch
            key.append("(")
            for item in x:
                if item.__class__ is LazyTensor and item.context is batch:  # most are: this spares a call
                    ids.append(item.id)
                    key.append(id(item.type))
                else:
                    self.take(item)
            key.append(")")
        elif is_sequence(x):
            self._take_sequence(x)
        else:
            tensor = self.batch.tensor(_plain(x))
            self.plain.append((len(self.ids), x))
            self.ids.append(tensor.id)
            self.key.append(id(tensor.type))

    def take_as(self, x: Any, type: T.Type) -> None:
        """Takes an argument of a given type, whose sequences may be empty."""
        if isinstance(type, T.Tuple):
            for item, item_type in zip(x, type.items, strict=True):
                self.take_as(item, item_type)
        elif isinstance(type, T.Sequence):
            rows = [Arguments(self.batch, [], []) for _ in x]
            for row, element in zip(rows, x, strict=True):
                row.take_as(self.batch.whole(element), type.element)
            columns = [[row.ids[place] for row in rows] for place in range(_tensors_in(type.element))]
            self.sequences.append((columns, len(x)))
        else:
            self.take(x)

    def _take_sequence(self, elements: list[Any]) -> None:
        batch = self.batch
        flat = _flat_columns(batch, elements)
        if flat is not None:
            nested = isinstance(elements[0], tuple)  # a tuple of one tensor is not the tensor
            self.key.append(("sequence", nested, *[id(column[0].type) for column in flat]))
            self.sequences.append(([[x.id for x in column] for column in flat], len(elements)))
            return
        first = Arguments(batch, [], [])
        first.take(batch.whole(elements[0]))
        columns = [[id] for id in first.ids]
        for number, element in enumerate(elements[1:], 1):
            other = Arguments(batch, [], [])
            other.take(batch.whole(element))
            if other.key != first.key:
                raise ArrowTypeError(
                    message(
                        f"cannot make a sequence at {SourceLine.here()}",
                        reason=f"its element 0 is {type_of(tensors_of(batch, elements[0]))} and element "
                        f"{number} is {type_of(tensors_of(batch, element))}; all elements of a sequence have "
                        "one type",
                    )
                )
            for column, value in zip(columns, other.ids, strict=True):
                column.append(value)
        self.key.extend(("[", *first.key, "]"))
        self.sequences.append((columns, len(elements)))


def _flat_columns(batch: LazyValues, elements: list[Any]) -> list[Sequence[LazyTensor]] | None:
    """The columns of a sequence of tensors, or of flat tuples of tensors, of one type; None for others.

    This is the fast way for most sequences: it checks whole columns, and `take` is not called per element.
    """
    first = elements[0]
    if first.__class__ is tuple and all(x.__class__ is tuple and len(x) == len(first) for x in elements):
        columns: list[Sequence[Any]] = list(zip(*elements, strict=True))
    else:
        columns = [elements]
    for column in columns:
        type = getattr(column[0], "type", None)
        if not all(x.__class__ is LazyTensor and x.type is type and x.context is batch for x in column):
            return None
    return columns or None


def tensors_of(batch: LazyValues, x: Any) -> Any:
    """An argument, with its plain values read as tensors."""
    if isinstance(x, LazyTensor):
        return x
    if isinstance(x, tuple):
        return tuple([tensors_of(batch, item) for item in x])
    if is_sequence(x):
        return [tensors_of(batch, item) for item in x]
    return batch.tensor(x)


def is_sequence(x: object) -> bool:
    """Whether a list is a sequence of tensors; a list of numbers is one tensor."""
    return isinstance(x, list) and any(isinstance(item, (LazyTensor, tuple)) for item in x)


def type_of(x: Any) -> T.Type:
    """The type of nested tuples and lists of lazy tensors."""
    if isinstance(x, LazyTensor):
        return x.type
    if isinstance(x, tuple):
        return T.Tuple([type_of(item) for item in x])
    return T.Sequence(type_of(x[0]))


def constants_of(x: Any, type: T.Type) -> list[tuple[int, int]]:
    """The leaves of a value that are constants, with the constants' numbers."""
    constants: list[tuple[int, int]] = []

    def collect(x: Any, type: T.Type, leaf: int) -> int:
        """Collects the constants of a part that begins at `leaf`; returns the leaf after it."""
        if isinstance(type, T.Tuple):
            for item, item_type in zip(x, type.items, strict=True):
                leaf = collect(item, item_type, leaf)
            return leaf
        if isinstance(x, LazyConstant):
            constants.append((leaf, x.number))
        return leaf + _tensors_in(type)

    collect(x, type, 0)
    return constants


def _tensors_in(type: T.Type) -> int:
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
