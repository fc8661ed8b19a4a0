"""Fan-out: one input to several blocks, a tuple of their results. `&`, `AllOf`, `Record`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar, TypeVarTuple, overload

from arrows.combinators.block import AnyBlock, Block, set_name
from arrows.combinators.compose import Pipe, chain
from arrows.combinators.constant import Constant
from arrows.combinators.convert import as_block
from arrows.combinators.inputs import Item
from arrows.combinators.wires import Wire
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, SourceLine, message, unhashed

A = TypeVar("A")
B = TypeVar("B")
B1 = TypeVar("B1")
B2 = TypeVar("B2")
B3 = TypeVar("B3")
B4 = TypeVar("B4")
C = TypeVar("C")
Bs = TypeVarTuple("Bs")


class Fan(Block[A, B]):
    """The core form of fan-out: every part gets the input, the result is the tuple of their results.

    Attributes:
        labels: a key for each part, or None.
    """

    labels: tuple[Hashable, ...] | None

    def __init__(
        self, parts: Iterable[Any], labels: tuple[Hashable, ...] | None = None, *, name: str | None = None
    ) -> None:
        set_name(self, name)
        self._parts = tuple(as_block(p, f"a part of {self.kind}") for p in parts)
        self.labels = labels

    def brief(self, depth: int) -> str:
        if self.name is not None:
            return self.name
        return f"{self.kind} of {len(self.parts)}"


class AndFan(Fan[A, tuple[*Bs]], Generic[A, *Bs]):
    """A fan-out made by `&`: the only one that a further `&` extends."""

    def brief(self, depth: int) -> str:
        if len(self.parts) > 3 or depth == 0:
            return f"a fan of {len(self.parts)}"
        words = []
        for part in self.parts:
            loose = isinstance(part, (AndFan, Pipe)) and part.name is None and len(part.parts) > 1
            words.append(f"({part.brief(depth - 1)})" if loose else part.brief(depth - 1))
        return " & ".join(words)

    def __and__(self: AndFan[A, *Bs], other: Callable[[Wire[A]], Wire[C]]) -> AndFan[A, *Bs, C]:  # type: ignore[override]
        return fan_out(self, other)


def fan_out(left: Any, right: Any) -> AndFan[Any, *tuple[Any, ...]]:
    """`left & right`: extends `left` if it was itself made by `&`."""
    left = as_block(left, "the left side of &")
    right = as_block(right, "the right side of &")
    return AndFan((*left.parts, right) if isinstance(left, AndFan) else (left, right))


class AllOf(Fan[A, B]):
    """The same input to every block, the tuple of their results; never flattened.

    Args:
        *blocks: blocks, or what stands for one.
        name: the name in messages.

    Raises:
        ArrowTypeError: an argument is no block.

    Example:
        >>> import arrows as ar
        >>> ar.AllOf(ar.GetItem("a"), ar.GetItem("b")).eval({"a": 1, "b": 2})
        (1, 2)
    """

    @overload
    def __init__(
        self: AllOf[A, tuple[B1]], b1: Callable[[Wire[A]], Wire[B1]], /, *, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: AllOf[A, tuple[B1, B2]],
        b1: Callable[[Wire[A]], Wire[B1]],
        b2: Callable[[Wire[A]], Wire[B2]],
        /,
        *,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: AllOf[A, tuple[B1, B2, B3]],
        b1: Callable[[Wire[A]], Wire[B1]],
        b2: Callable[[Wire[A]], Wire[B2]],
        b3: Callable[[Wire[A]], Wire[B3]],
        /,
        *,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(self: AllOf[Any, Any], *blocks: Any, name: str | None = None) -> None: ...
    def __init__(self, *blocks: Any, name: str | None = None) -> None:
        super().__init__(blocks, name=name)


class Record(Fan[Any, Any]):
    """Reads a record field by field: each block gets the item of the input at its key.

    The input is a Python object that can be indexed (a dict, a list, ...) or that has these attributes (a
    dataclass, a NamedTuple, any other object), or a tuple with these keys. The
    result is a tuple in the order of the fields; a dict's keys become its labels. A field whose block ignores
    its input (`Zeros`, `Constant`) is not read.

    Args:
        fields: a dict or a list of pairs (key, block), or a tuple of blocks, whose keys are 0, 1, ...
        name: the name in messages.

    Raises:
        ArrowTypeError: `fields` is none of these, or a value is no block.
        ArrowValueError: a key stands twice.

    Example:
        >>> import arrows as ar
        >>> ar.Record({"left": ar.Identity(), "right": ar.InputTransform(len)}).eval(
        ...     {"left": 1, "right": "ab"}
        ... )
        (left: 1, right: 2)
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Leaf:
        ...     word: str
        ...     label: int
        >>> ar.Record({"word": ar.InputTransform(len), "label": ar.Identity()}).eval(Leaf("tree", 3))
        (word: 4, label: 3)
    """

    def __init__(self, fields: Any, *, name: str | None = None) -> None:
        labels: tuple[Hashable, ...] | None
        if isinstance(fields, Mapping):
            labels = tuple(fields)
            blocks = list(fields.values())
        elif isinstance(fields, tuple):
            labels = None
            blocks = list(fields)
        elif isinstance(fields, list) and all(isinstance(p, tuple) and len(p) == 2 for p in fields):
            labels = tuple(key for key, _ in fields)
            blocks = [block for _, block in fields]
        else:
            raise ArrowTypeError(
                message(
                    f"cannot make a Record at {SourceLine.here()}",
                    reason="expected a dict of blocks, a list of pairs (key, block) or a tuple of blocks, "
                    f"got {fields!r}",
                    hint="by key: ar.Record({'word': f, 'label': g}); by position: ar.Record((f, g))",
                )
            )
        try:
            twice = labels is not None and len(set(labels)) != len(labels)
        except Exception as error:  # noqa: BLE001 (its own __hash__ or __eq__ may raise anything)
            raise ArrowTypeError(
                message(
                    f"cannot make a Record at {SourceLine.here()}",
                    reason=f"a key of {unhashed(labels, error)}",
                )
            ) from (None if isinstance(error, TypeError) else error)
        if twice:
            raise ArrowValueError(
                message(
                    f"cannot make a Record at {SourceLine.here()}",
                    reason=f"a key stands twice in {labels!r}",
                    hint="read a field twice with ar.AllOf(ar.GetItem(key) >> f, ar.GetItem(key) >> g)",
                )
            )
        keys: Iterable[Any] = labels if labels is not None else range(len(blocks))
        parts = []
        for key, block in zip(keys, blocks, strict=True):
            child = as_block(block, f"the field {key!r} of a Record")
            parts.append(child if ignores_input(child) else chain(Item(key), child))
        super().__init__(parts, labels, name=name)

    def arguments(self, depth: int = 2) -> str:
        return ", ".join(map(repr, self.labels)) if self.labels is not None else str(len(self.parts))

    def brief(self, depth: int) -> str:
        return self.name if self.name is not None else f"Record({self.arguments()})"


def ignores_input(block: AnyBlock) -> bool:
    """Whether the block gives the same result whatever it gets.

    Example:
        >>> import arrows as ar
        >>> ignores_input(ar.Zeros([3]) >> ar.Identity()), ignores_input(ar.Identity())
        (True, False)
    """
    todo, seen = [block], set()
    while todo:
        block = todo.pop()
        if id(block) in seen:
            continue
        seen.add(id(block))
        if isinstance(block, Pipe) and block.parts:
            todo.append(block.parts[0])
        elif isinstance(block, Fan) and block.parts:
            todo.extend(block.parts)
        elif not isinstance(block, Constant):
            return False
    return True
