"""Records the calls on wires in the body of an arrow or the scope of a Composition.

Calling a block on wires in the body of an `@ar.arrow` or in the scope of a Composition records a call.
`notation.Graph` is made of what was recorded.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from arrows.combinators.base.arguments import type_refusal
from arrows.combinators.base.block import AnyBlock, spelled
from arrows.combinators.base.calls import current
from arrows.combinators.base.printing import Spelling
from arrows.combinators.base.wires import Wire
from arrows.combinators.constant import Void
from arrows.combinators.fanout import Fan
from arrows.combinators.items import Item
from arrows.typesys import SourceLine, types as T

Source: TypeAlias = "int | tuple[Source, ...]"
"""The source of a call: the number of the wire that it reads, or a (nested) tuple of these."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One call in a wiring graph.

    Attributes:
        source: the wire that the call reads, or a (nested) tuple of wires.
        site: the line of the call.
    """

    source: Source
    site: SourceLine


class Recorder:
    """The calls of an arrow's body or of a Composition's scope, in order.

    Wire 0 is the input, wire `j + 1` the result of call `j`.

    Attributes:
        kind: "arrow" or "Composition".
        title: what is recorded, in words.
        title_and_site: the same, with the line that made it.
        inside: its body, which is the scope of a Composition, for messages about a place inside it.
        parameters: the names of its inputs; several mean that the input is a tuple of so many.
        site: the line that made it.
        inputs: a wire for each parameter.
        nodes, blocks: what was recorded: calls, and the block of each.
        open: whether its body or scope has been entered and not left.
        result: the source of what flows out, once that is said.
    """

    def __init__(self, kind: str, name: str, parameters: tuple[str, ...], site: SourceLine) -> None:
        self.kind = kind
        self.title_and_site = f"the {kind} {name} ({site})" if name else f"the {kind} ({site})"
        self.title = f"the {kind} {name}" if name else self.title_and_site
        self.inside = f"the body of {self.title}"
        self.parameters = parameters
        self.site = site
        self.nodes: list[GraphNode] = []
        self.blocks: list[AnyBlock] = []
        self.open = False
        self.result: Source | None = None
        self._items: dict[tuple[int, int | None, Hashable], int] = {}
        root: Wire[Any] = Wire(self, 0)
        if len(parameters) == 1:
            self.inputs: tuple[Wire[Any], ...] = (root,)
        else:
            self.inputs = tuple(Wire(self, None, root, i) for i in range(len(parameters)))

    def __enter__(self) -> Self:
        self.open = True
        self._before = current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        current.reset(self._before)
        self.open = False

    def words(self, wire: Wire[Any]) -> str:
        """Describes a wire that is no item."""
        if wire.place == 0:
            return self.parameters[0] if len(self.parameters) == 1 else "input"
        assert wire.place is not None
        return f"{self.blocks[wire.place - 1].label}(...)"

    def apply(self, block: AnyBlock, args: tuple[object, ...]) -> Wire[Any]:
        """Records a call; several arguments are a tuple, none is nothing."""
        block.check_finished("a block that reads a wire")
        source = self.source_of(args, f"call {block.label}")
        return Wire(self, self.record(block, source, SourceLine.here()))

    def source_of(self, values: tuple[object, ...], attempt: str) -> Source:
        """Returns the source that several values stand for: a tuple, of one the value itself."""
        if not values:
            values = (Wire(self, self.record(Void(), 0, SourceLine.here())),)
        return self.source(values[0] if len(values) == 1 else values, attempt)

    def record(self, block: AnyBlock, source: Source, site: SourceLine) -> int:
        """Records a call, and returns the number of the wire of its result."""
        self.nodes.append(GraphNode(source, site))
        self.blocks.append(block)
        return len(self.nodes)

    def source(self, value: object, attempt: str) -> Source:
        """Returns the source that a wire stands for, or a nested tuple, NamedTuple or dict of wires."""
        if isinstance(value, Wire):
            return self._place(value, attempt)
        if not isinstance(value, (tuple, dict)):
            constant = "put a constant on a wire with ar.Constant(value)(wire)"
            called = "call the block on a wire: block(wire)" if callable(value) else constant
            hint = getattr(value, "block_hint", called)
            expected = f"expected a wire or a tuple of wires, got {value!r}"
            raise type_refusal(attempt, expected, at=self.inside, hint=hint)
        T.check_depth(value)
        items = value.values() if isinstance(value, dict) else value
        sources = tuple(self.source(item, attempt) for item in items)
        labels = tuple(value) if isinstance(value, dict) else getattr(value, "_fields", None)
        if not labels:
            return sources
        labelling: AnyBlock = Fan([Item(i) for i in range(len(labels))], labels)
        return self.record(
            spelled(labelling, Spelling("Record", tuple(map(repr, labels)))), sources, self.site
        )

    def _place(self, wire: Wire[Any], attempt: str) -> int:
        """Returns the number of a wire. An item gets one when it is first read, since it may never be."""
        if (owner := wire.recorder) is not self:
            hint = f"make it an input of {self.title}, and pass it in where that is called"
            belongs = f"the wire {wire.describe()} belongs to {owner.title_and_site}"
            raise type_refusal(attempt, belongs, at=self.inside, hint=hint)
        if wire.place is None:
            assert wire.parent is not None
            place = self._place(wire.parent, attempt)
            arity = wire.arity if place or len(self.parameters) == 1 else len(self.parameters)
            key = place, arity, _identity(wire.key)
            if key not in self._items:
                block: AnyBlock = Item(wire.key, arity=arity)
                block.__dict__["site"] = wire.site
                self._items[key] = self.record(block, place, wire.site)
            wire.place = self._items[key]
        return wire.place


def _identity(key: object) -> Hashable:
    """What the keys of one item share.

    Text, integers and slices of these are one key if they are equal. Any other key is one with itself alone,
    since equality and text of a user's object say nothing about the items that it stands for. The recorded
    `Item` keeps the key alive, and so its id unique.
    """
    if isinstance(key, slice):
        return tuple(map(_identity, (key.start, key.stop, key.step)))
    return key if type(key) in (str, int) else (type(key), id(key))
