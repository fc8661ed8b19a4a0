"""Fan-out, one input to several blocks: `&`, `*`, `AllOf`, `Record`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVarTuple, overload

from arrows.combinators.base.arguments import places_of, set_name, wrong_argument, wrong_value
from arrows.combinators.base.block import (
    B1,
    B2,
    A,
    AnyBlock,
    B,
    Block,
    C,
    Identity,
    Operators,
    Pipe,
    as_block,
    chain,
    spelled,
)
from arrows.combinators.base.printing import Argument, Spelling, by_key
from arrows.combinators.base.wires import Wire
from arrows.combinators.constant import Constant
from arrows.combinators.items import Item
from arrows.typesys import types as T

Bs = TypeVarTuple("Bs")


class Fan(Block[A, B]):
    """The core form of fan-out: every part gets the input, and the result is the tuple of their results.

    Attributes:
        labels: the label of each item of the result, or None.
    """

    kind = "&"
    labels: tuple[Hashable, ...] | None

    def __init__(
        self, parts: Iterable[object], labels: tuple[Hashable, ...] | None = None, *, name: str | None = None
    ) -> None:
        set_name(self, name)
        self._parts = tuple(as_block(p, f"a part of {self.kind}") for p in parts)
        self.labels = labels


def blocks_in_words(blocks: Sequence[AnyBlock]) -> str:
    """Counts blocks."""
    return f"{len(blocks)} block{'s' * (len(blocks) != 1)}"


def _behind_item(part: AnyBlock, key: object) -> AnyBlock:
    """The block that stands behind `GetItem(key)`, if `part` begins with that; else `part` itself."""
    if isinstance(part, Pipe) and part.is_chain and part.name is None and part.parts:
        first, *rest = part.parts
        if isinstance(first, Item) and first.key == key:
            return rest[0] if len(rest) == 1 else Pipe(*rest)
    return Identity() if isinstance(part, Item) and part.key == key else part


class AndFan(Fan[A, tuple[*Bs]], Generic[A, *Bs]):
    """A fan-out made by `&`: the only one that a further `&` extends."""

    kind = "&"

    def __and__(self: AndFan[A, *Bs], other: Callable[[Wire[A]], Wire[C]]) -> AndFan[A, *Bs, C]:  # type: ignore[override]
        return fan_out(self, other)


def fan_out(left: object, right: object) -> AndFan[Any, *tuple[Any, ...]]:
    """Makes `left & right`; extends `left` if `&` made it."""
    left = as_block(left, "the left side of &")
    right = as_block(right, "the right side of &")
    return AndFan((*left.parts, right) if isinstance(left, AndFan) else (left, right))


class AllOf(Fan[A, B]):
    """Gives the same input to every block; the result is the tuple of their results, never flattened.

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
        self: AllOf[A, tuple[B1, B2]],
        b1: Callable[[Wire[A]], Wire[B1]],
        b2: Callable[[Wire[A]], Wire[B2]],
        /,
        *,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(self: AllOf[Any, Any], *blocks: object, name: str | None = None) -> None: ...
    def __init__(self, *blocks: object, name: str | None = None) -> None:
        super().__init__(blocks, name=name)

    def summary(self) -> Spelling:
        return Spelling("AllOf", (blocks_in_words(self.parts),))


class Record(Fan[Any, Any]):
    """Reads a record field by field: each block gets the item of the input at its key.

    The input is a Python object that can be indexed (a dict, a list, ...) or that has these attributes (a
    dataclass, a NamedTuple, any other object), or a tuple with these keys. The result is a tuple in the order
    of the fields; a dict's keys become its labels. A field whose block ignores its input (`Zeros`,
    `Constant`) is not read.

    Args:
        fields: a dict or a list of pairs (key, block), or a tuple of blocks, whose keys are 0, 1, ...
        name: the name in messages.

    Raises:
        ArrowTypeError: `fields` is none of these, or a value is no block.
        ArrowValueError: a key occurs twice, or is the position of another field.

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

    def __init__(self, fields: object, *, name: str | None = None) -> None:
        if isinstance(fields, Mapping):
            pairs: list[tuple[Any, Any]] = list(fields.items())
        elif isinstance(fields, tuple):
            pairs = list(enumerate(fields))
        elif isinstance(fields, list) and all(isinstance(p, tuple) and len(p) == 2 for p in fields):
            pairs = fields
        else:
            raise wrong_argument(
                "a Record",
                "expected a dict of blocks, a list of pairs (key, block) or a tuple of blocks, "
                f"got {fields!r}",
                hint="by key: ar.Record({'word': f, 'label': g}); by position: ar.Record((f, g))",
            )
        labels = None if isinstance(fields, tuple) else tuple(key for key, _ in pairs)
        hint = "read a field twice with ar.AllOf(ar.GetItem(key) >> f, ar.GetItem(key) >> g)"
        places_of("a Record", "key", labels or (), hint)
        if (moved := T.moved_label(labels or ())) is not None:
            hint = f"read it into a tuple without keys: ar.GetItem({moved!r}) >> f & ..."
            raise wrong_value("a Record", f"the key {moved!r} is the position of another field", hint=hint)
        parts = []
        for key, block in pairs:
            child = as_block(block, f"the field {key!r} of a Record")
            parts.append(child if ignores_input(child) else chain(Item(key), child))
        super().__init__(parts, labels, name=name)

    def arguments(self) -> Sequence[Argument]:
        if self.labels is None:
            return self.parts
        return [by_key(self.labels, ([field] for field in map(_behind_item, self.parts, self.labels)))]

    def summary(self) -> Spelling:
        words = map(repr, self.labels) if self.labels is not None else [blocks_in_words(self.parts)]
        return Spelling("Record", tuple(words))


def ignores_input(block: AnyBlock) -> bool:
    """Whether the block gives the same result whatever its input is.

    Example:
        >>> import arrows as ar
        >>> ignores_input(ar.Zeros([3]) >> ar.Identity()), ignores_input(ar.Identity())
        (True, False)
    """
    todo, seen = [block], {id(block)}
    while todo:
        x = todo.pop()
        readers = x.parts[:1] if isinstance(x, Pipe) else x.parts if isinstance(x, Fan) else ()
        if not readers and not isinstance(x, Constant):
            return False
        todo.extend(part for part in readers if id(part) not in seen)
        seen.update(map(id, readers))
    return True


class Parallel(Fan[Any, Any]):
    """The fan-out that `f * g` makes: each side reads its item of the pair."""

    kind = "*"

    def arguments(self) -> list[AnyBlock]:
        return list(map(_behind_item, self.parts, (0, 1)))


def side_by_side(left: object, right: object) -> Parallel:
    """Makes `left * right`."""
    sides = as_block(left, "the left side of *"), as_block(right, "the right side of *")
    words = Spelling("f * g", ())

    def item(key: int) -> AnyBlock:
        return spelled(Item(key, arity=2, takes="a pair", name=f"item {key} of the pair"), words)

    return Parallel(chain(item(key), side) for key, side in enumerate(sides))


Block.operators = Operators(fan_out=fan_out, side_by_side=side_by_side, record=Record, constant=Constant)
