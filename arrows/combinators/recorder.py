"""Records the calls on wires in the body of an arrow or the scope of a Composition.

Calling a block on wires in the body of an `@ar.arrow` records a call, and so does `block.reads(wires)` in the
scope of a Composition. `notation.Graph` is made of what was recorded.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from arrows.combinators.base.arguments import type_refusal
from arrows.combinators.base.block import AnyBlock, Block, at_line, spelled
from arrows.combinators.base.calls import current, current_recorder
from arrows.combinators.base.printing import Spelling
from arrows.combinators.base.traversal import ignores_input
from arrows.combinators.base.wires import Wire
from arrows.combinators.constant import Void
from arrows.combinators.fanout import Fan
from arrows.combinators.items import Item
from arrows.typesys import ArrowTypeError, SourceLine

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
        name: of the arrow or Composition; empty if it has none.
        parameters: the names of its inputs; several mean that the input is a tuple of so many.
        site: the line that made it.
        inputs: a wire for each parameter.
        nodes, blocks: what was recorded: calls, and the block of each.
        open: whether its body or scope has been entered and not left.
        result: the source of what flows out, once that is said.
    """

    def __init__(self, kind: str, name: str, parameters: tuple[str, ...], site: SourceLine) -> None:
        self.kind = kind
        self.name = name
        self.parameters = parameters
        self.site = site
        self.nodes: list[GraphNode] = []
        self.blocks: list[AnyBlock] = []
        self.open = False
        self.result: Source | None = None
        self._results: dict[int, list[int]] = {}  # by identity of a block, the wires of its results
        self._items: dict[tuple[int, int | None, Hashable], int] = {}
        self._nothing: Wire[None] | None = None
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

    @property
    def title(self) -> str:
        """What is recorded, in words."""
        return f"the {self.kind} {self.name}" if self.name else f"the {self.kind} ({self.site})"

    @property
    def title_and_site(self) -> str:
        """What is recorded, and where it was made."""
        return f"{self.title} ({self.site})" if self.name else self.title

    @property
    def region(self) -> str:
        """What one writes to record it."""
        return "body" if self.kind == "arrow" else "scope"

    @property
    def inside(self) -> str:
        """Names the body or scope, for messages about a place inside it."""
        return f"the {self.region} of {self.title}"

    def words(self, wire: Wire[Any]) -> str:
        """Describes a wire that is no item."""
        if wire.place == 0:
            return self.parameters[0] if len(self.parameters) == 1 else "input"
        assert wire.place is not None
        return f"{self.blocks[wire.place - 1].label}(...)"

    def apply(self, block: AnyBlock, args: tuple[object, ...]) -> Wire[Any]:
        """Records a call; several arguments are a tuple, none is nothing."""
        attempt = f"{'call' if self.kind == 'arrow' else 'connect'} {block.label}"
        here = self.kind == "arrow" or current_recorder() is self  # another thread may have opened it
        if not (self.open and here):
            raise type_refusal(
                attempt,
                f"the wire belongs to {self.title_and_site}, whose {self.region} is not open here",
                hint=f"a wire is used in the {self.region} that it was made in, and nowhere else",
            )
        block.check_finished("a block that reads a wire")
        args = args or (self.nothing(),)
        source = self.source(args[0] if len(args) == 1 else args, attempt)
        self._results.setdefault(id(block), []).append(len(self.nodes) + 1)
        return Wire(self, self.record(block, source, SourceLine.here()))

    def nothing(self) -> Wire[None]:
        """A wire that carries nothing."""
        if self._nothing is None:
            self._nothing = Wire(self, self.record(Void(), 0, SourceLine.here()))
        return self._nothing

    def record(self, block: AnyBlock, source: Source, site: SourceLine) -> int:
        """Records a call, and returns the number of the wire of its result."""
        self.nodes.append(GraphNode(source, site))
        self.blocks.append(block)
        return len(self.nodes)

    def source(self, value: object, attempt: str) -> Source:
        """Returns the source that a wire, or a nested tuple of wires, stands for."""
        done: list[Source] = []
        todo: list[tuple[Any, bool]] = [(value, False)]
        while todo:
            x, ready = todo.pop()
            if ready:
                cut = len(done) - len(x)
                done[cut:] = [tuple(done[cut:])]
            elif isinstance(x, tuple):
                todo.append((x, True))
                todo.extend((item, False) for item in reversed(x))
            else:
                done.append(self._place(x, attempt) if isinstance(x, Wire) else self._place_of(x, attempt))
        return done[0]

    def output(self, result: object, attempt: str) -> Source:
        """Returns the source of a result: a wire, or a nested tuple, NamedTuple or dict of wires."""
        done: list[Source] = []
        todo: list[tuple[Any, bool]] = [(result, False)]
        while todo:
            x, ready = todo.pop()
            if not isinstance(x, (tuple, dict)):
                done.append(self.source(x, attempt))
                continue
            items = tuple(x.values()) if isinstance(x, dict) else x
            if not ready:
                todo.append((x, True))
                todo.extend((item, False) for item in reversed(items))
                continue
            cut = len(done) - len(items)
            source: Source = tuple(done[cut:])
            labels = tuple(x) if isinstance(x, dict) else getattr(x, "_fields", None)
            if labels:
                labelling: AnyBlock = Fan([Item(i) for i in range(len(labels))], labels)
                spelled(labelling, Spelling("Record", tuple(map(repr, labels))))
                source = self.record(labelling, source, self.site)
            done[cut:] = [source]
        return done[0]

    def _place(self, wire: Wire[Any], attempt: str) -> int:
        """Returns the number of a wire. An item gets one when it is first read, since it may never be."""
        if wire.recorder is not self:
            raise self._foreign(wire, attempt)
        items: list[Wire[Any]] = []
        while wire.place is None:
            items.append(wire)
            assert wire.parent is not None
            wire = wire.parent
        place = wire.place
        for item in reversed(items):
            arity = item.arity if place or len(self.parameters) == 1 else len(self.parameters)
            key = place, arity, _identity(item.key)
            if key not in self._items:
                block: AnyBlock = at_line(Item(item.key, arity=arity), item.site)
                self._items[key] = self.record(block, place, item.site)
            place = item.place = self._items[key]
        return place

    def _foreign(self, wire: Wire[Any], attempt: str) -> ArrowTypeError:
        owner = wire.recorder
        hint = "let the inner Composition read it outside, and use its input inside"
        if self.kind == "arrow":
            hint = f"make it a parameter of {self.name}, and pass it in where {self.name} is called"
        return type_refusal(
            attempt,
            f"the wire {wire.describe()} belongs to {owner.title_and_site}",
            at=self.inside,
            hint=hint,
        )

    def _place_of(self, x: Any, attempt: str) -> int:
        """The number of the wire that something other than a wire stands for: the result of a block."""
        if self.kind == "arrow" or not isinstance(x, Block):
            hint = "a constant is read as a block: ar.Constant(value)"
            if self.kind == "arrow":
                constant = "put a constant on a wire with ar.Constant(value)(wire)"
                hint = "call the block on a wire: block(wire)" if callable(x) else constant
            raise type_refusal(
                attempt, f"expected a wire or a tuple of wires, got {x!r}", at=self.inside, hint=hint
            )
        places = self._results.get(id(x), [])
        if not places and ignores_input(x):
            self.apply(x, ())
            return len(self.nodes)
        if len(places) == 1:
            return places[0]
        lines = ", ".join(str(self.nodes[place - 1].site.line) for place in places)
        has = f"has {len(places)}, in lines {lines}" if places else "has read nothing here so far"
        raise type_refusal(
            attempt,
            f"a block that is read stands for its only occurrence in this scope, and {x.label} {has}",
            at=self.inside,
            hint="keep the wire that reads returns, and use that: wire = block.reads(...)",
        )


def _identity(key: object) -> Hashable:
    """What the keys of one item share.

    Text, integers and slices of these are one key if they are equal. Any other key is one with itself alone,
    since equality and text of a user's object say nothing about the items that it stands for. The recorded
    `Item` keeps the key alive, and so its id unique.
    """
    if isinstance(key, slice):
        return tuple(map(_identity, (key.start, key.stop, key.step)))
    return key if type(key) in (str, int) else (type(key), id(key))
