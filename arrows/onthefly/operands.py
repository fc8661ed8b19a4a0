"""Takes the arguments of a call apart: into the values that its node reads, and a signature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from arrows.engine.values import Labelled, make_tuple
from arrows.onthefly.recording import LISTS
from arrows.onthefly.tensor import LazyConstant, LazyTensor
from arrows.ops import TensorLike
from arrows.typesys import ArrowTypeError, SourceLine, message, types as T

if TYPE_CHECKING:
    from arrows.onthefly.batch import LazyBatch


Elements: TypeAlias = tuple[int, int]
"""What stands for a sequence in a node, see `Recording.nodes`; and its length."""
Nesting: TypeAlias = "int | tuple[Nesting, ...]"
"""A result, with the place of each tensor in its stead; tuples may have keys."""
Known: TypeAlias = tuple[frozenset[Any], Elements, list[Any]]
"""A sequence that was an operand: the set of its elements' signatures, what it is, and the elements."""


def flatten(
    batch: LazyBatch,
    arguments: Iterable[Any],
    ids: list[int],
    signature: list[Any],
    sequences: list[Elements],
    in_sequence: bool = False,
) -> None:
    """Takes the arguments of a call apart.

    Args:
        batch: the batch that records the call.
        arguments: lazy tensors, plain values, and tuples and lists of these.
        ids: gets the ids of the operands of one row, that is, of those outside of sequences.
        signature: gets the origins of all operands in order, negative ones for constants; ``"("`` and
            ``")"`` are around the items of a tuple, and a sequence is the set of its elements' signatures.
        sequences: gets the sequences.
        in_sequence: whether they are of an element of a sequence, where constants are read as data.
    """
    for x in arguments:
        if x.__class__ is LazyTensor and x.context is batch:
            ids.append(x.id)
            signature.append(x.origin)
        elif x.__class__ is LazyConstant and x.context is batch and not in_sequence:
            signature.append(x.origin)
        elif isinstance(x, tuple):
            signature.append("(")
            flatten(batch, x, ids, signature, sequences, in_sequence)
            signature.append(")")
        elif isinstance(x, list) and not in_sequence and (known := _sequence(batch, x)) is not None:
            signature.append(known[0])
            sequences.append(known[1])
        else:
            tensor = batch.tensor(x) if x.__class__ is int else batch.whole(x)
            ids.append(tensor.id)
            signature.append(tensor.origin)


def nested(nesting: Nesting, tensors: Sequence[object]) -> object:
    """The result of a call from its tensors: see `CallSite.nesting`."""
    if isinstance(nesting, int):
        return tensors[nesting]
    items = [nested(each, tensors) for each in nesting]
    return make_tuple(items, nesting.labels if isinstance(nesting, Labelled) else None)


def _sequence(batch: LazyBatch, x: list[Any]) -> Known | None:
    """What a list of tensors, or of tuples of them, is as an operand; None if there are none in it.

    A decoder attends to one list at each step. So lists are kept, with the items whose identities tell them:
    a call on 60 pairs that were met before takes a quarter of the time.
    """
    items = tuple(map(id, x))
    known = batch.lists.get(items)
    if known is None and (not x or holds_tensors(x)):
        tuples = {item.__class__ for item in x} == {tuple} and len({*map(len, x)}) == 1
        tensors = [tensor for item in x for tensor in item] if tuples else x
        rows = [each.id for each in tensors if each.__class__ is LazyTensor and each.context is batch]
        fixed = len(rows) == len(tensors)
        if fixed:  # all tensors, or all tuples of as many, as mostly
            width, origins = len(x[0]) if tuples else 1, [each.origin for each in tensors]
            kinds = {*zip({*origins})} if width == 1 else {*zip(*[iter(origins)] * width, strict=True)}
            signature = frozenset(("(", *kind, ")") if tuples else kind for kind in kinds)
        else:
            rows, origins = [], []
            flatten(batch, x, rows, origins, [], in_sequence=True)
            width, size = len(rows) // (len(x) or 1), len(origins) // (len(x) or 1)
            # Where elements are unlike, these parts of one length are no signatures, and never known.
            signature = frozenset(zip(*[iter(origins)] * size, strict=False))
        # The ids of the first tensors of all elements, then of the second...
        ids = rows if width == 1 else [id for place in range(width) for id in rows[place::width]]
        batch.recording.lists.append((len(x), np.array(ids, np.int64)))
        known = signature, (LISTS + len(batch.recording.lists) - 1, len(x)), list(x)
        if fixed or all(map(_is_fixed, x)):
            batch.lists[items] = known
    return known


def _is_fixed(x: object) -> bool:
    """Whether an element is a tensor or a tuple of tensors, and so the same whenever it is met."""
    return x.__class__ is LazyTensor or (isinstance(x, tuple) and all(map(_is_fixed, x)))


def read(batch: LazyBatch, x: Any, *, in_sequence: bool = False) -> Any:
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


def type_of(x: Any) -> T.Type:
    """The type of nested tuples and lists of tensors; refuses a list whose elements have no one type.

    An empty list inside of a list takes its type from the other lists there.
    """
    if isinstance(x, tuple):
        return T.Tuple([type_of(item) for item in x])
    if isinstance(x, list):
        attempt = f"at {SourceLine.here()}"
        types = [(n, type_of(item)) for n, item in enumerate(x) if not isinstance(item, list) or item]
        if not types:
            reason = "a sequence without elements has no type"
            hint = "treat an empty list apart: `if xs: ... else: ...`"
            raise ArrowTypeError(message(f"cannot compute {attempt}", reason=reason, hint=hint))
        first, element = types[0]
        for number, other in types:
            if other != element:
                reason = f"its element {first} is {element} and element {number} is {other}; all elements of "
                reason += "a sequence have one type, of tensors and tuples"
                raise ArrowTypeError(message(f"cannot make a sequence {attempt}", reason=reason))
        return T.Sequence(element)
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
