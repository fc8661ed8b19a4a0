"""Records the calls on wires in the body of an arrow or the scope of a Composition, as plain data.

Calling a block on wires in the body of an `@ar.arrow` records a call, and so does `block.reads(wires)` in the
scope of a Composition.  `notation.recorded` turns what was recorded into a wiring graph.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from arrows.combinators.base.arguments import type_refusal
from arrows.combinators.base.traversal import ignores_input
from arrows.combinators.base.wires import Wire
from arrows.ops import TensorLike
from arrows.ops.context import Context
from arrows.ops.innermost import innermost
from arrows.typesys import ArrowTypeError, SourceLine

if TYPE_CHECKING:
    from arrows.combinators.base.block import AnyBlock

Source: TypeAlias = "int | tuple[Source, ...]"
"""The source of a call: the number of the wire that it reads, or a (nested) tuple of these."""


@dataclass(frozen=True, slots=True)
class BlockCall:
    """A call of a block on a source."""

    block: AnyBlock
    source: Source
    site: SourceLine

    @property
    def words(self) -> str:
        """Names the result in messages."""
        return f"{self.block.label}(...)"


@dataclass(frozen=True, slots=True)
class Projection:
    """An item of one wire; `arity` is how many items there must be, if `ar.unpack` said so."""

    source: int
    site: SourceLine
    key: object
    arity: int | None
    words: ClassVar[str] = "item"


@dataclass(frozen=True, slots=True)
class Nothing:
    """The source of a block that gets no wire."""

    source: int
    site: SourceLine
    words: ClassVar[str] = "Void()(...)"


class Recorder:
    """The calls of an arrow's body or of a Composition's scope, in order.

    Wire 0 is the input, wire `j + 1` the result of call `j`.

    Attributes:
        kind: "arrow" or "Composition".
        name: of the arrow or Composition; empty if it has none.
        parameters: the names of its inputs; several mean that the input is a tuple of so many.
        site: the line that made it.
        inputs: a wire for each parameter.
        calls: what was recorded.
        open: whether its body or scope has been entered and not left.
    """

    def __init__(self, kind: str, name: str, parameters: tuple[str, ...], site: SourceLine) -> None:
        self.kind = kind
        self.name = name
        self.parameters = parameters
        self.site = site
        self.calls: list[BlockCall | Projection | Nothing] = []
        self.open = True
        self._results: dict[int, list[int]] = {}  # by identity of a block, the wires of its results
        self._items: dict[tuple[int, int | None, Hashable], int] = {}
        self._nothing: Wire[None] | None = None
        root: Wire[Any] = Wire(self, 0)
        if len(parameters) == 1:
            self.inputs: tuple[Wire[Any], ...] = (root,)
        else:
            self.inputs = tuple(Wire(self, None, root, i) for i in range(len(parameters)))

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
        return self.calls[wire.place - 1].words

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
        self._results.setdefault(id(block), []).append(len(self.calls) + 1)
        return self._record(BlockCall(block, source, SourceLine.here()))

    def nothing(self) -> Wire[None]:
        """A wire that carries nothing."""
        if self._nothing is None:
            self._nothing = self._record(Nothing(0, SourceLine.here()))
        return self._nothing

    def _record(self, call: BlockCall | Projection | Nothing) -> Wire[Any]:
        self.calls.append(call)
        return Wire(self, len(self.calls))

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
            key = place, item.arity, _identity(item.key)
            if key not in self._items:
                self.calls.append(Projection(place, item.site, item.key, item.arity))
                self._items[key] = len(self.calls)
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
        is_block = hasattr(x, "input_readers")
        if self.kind == "arrow" or not is_block:
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
            return len(self.calls)
        if len(places) == 1:
            return places[0]
        lines = ", ".join(str(self.calls[place - 1].site.line) for place in places)
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
    `Projection` keeps the key alive, and so its id unique.
    """
    if isinstance(key, slice):
        return tuple(map(_identity, (key.start, key.stop, key.step)))
    return key if type(key) in (str, int) else (type(key), id(key))


_current: ContextVar[Recorder | None] = ContextVar("arrows_recorder", default=None)
"""Where calls go: to the innermost arrow or Composition that this thread records."""


def current_recorder() -> Recorder | None:
    """The recorder of the innermost arrow or Composition whose body or scope is open, if any."""
    recorder = _current.get()
    return recorder if recorder is not None and recorder.open else None


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Directs calls on wires to this recorder inside a `with` block."""
    token = _current.set(recorder)
    try:
        yield
    finally:
        _current.reset(token)
        recorder.open = False


def recorder_of(args: tuple[object, ...]) -> Recorder | None:
    """The recorder of the arrow being recorded, if there is a wire among nested arguments; else None."""
    todo = list(reversed(args))
    while todo:
        x = todo.pop()
        if isinstance(x, Wire):
            return current_recorder() or x.recorder
        if isinstance(x, tuple):
            todo.extend(reversed(x))
    return None


def context_of(args: tuple[object, ...]) -> Context | None:
    """The `Function` or the batch that a call belongs to: that of the first tensor among nested arguments.

    Plain values alone belong to the innermost one; None where a wire comes first, or nothing computes.
    """
    for x in args:  # most calls have a tensor in plain sight
        if isinstance(x, TensorLike):
            return x.context
    todo: list[object] = list(reversed(args))
    while todo:
        x = todo.pop()
        if isinstance(x, TensorLike):
            return x.context
        if isinstance(x, (tuple, list)):
            todo.extend(reversed(x))
        elif isinstance(x, Wire):
            return None
    return None if current_recorder() is not None else innermost()


def call_on_wires(block: AnyBlock, args: tuple[Any, ...]) -> Wire[Any]:
    """Records the call `block(*args)`.

    Raises:
        ArrowTypeError: there is no wire among the arguments.
    """
    recorder = recorder_of(args)
    if recorder is not None:
        return recorder.apply(block, args)
    if len(args) == 1 and hasattr(args[0], "parts"):  # a block
        hint = f"to apply it to that block's result: {args[0].label} >> {block.label}"
    elif args and all(hasattr(a, "rows") for a in args):
        hint = "a Function computes by ar.ops, layers and Functions; put the block outside of it"
    else:
        hint = "to run it on an example: block.eval(x); to compose blocks: f >> g"
    raise type_refusal(
        f"call {block.label} on {', '.join(map(_argument, args)) or 'nothing'}",
        "a block is called on wires, inside an @ar.arrow, or on lazy tensors, inside of net.batch()",
        hint=hint,
    )


def _argument(value: object) -> str:
    """A value as messages write it: a tensor by its type."""
    return f"a tensor ({value.type})" if isinstance(value, TensorLike) else repr(value)


def connect(block: AnyBlock, sources: tuple[object, ...]) -> Wire[Any]:
    """Records the call `block.reads(*sources)`.

    Raises:
        ArrowTypeError: no scope of a Composition is open.
    """
    recorder = current_recorder()
    if recorder is not None and recorder.kind == "Composition":
        return recorder.apply(block, sources)
    raise type_refusal(
        f"connect {block.label}",
        "blocks read wires inside the scope of a Composition",
        at=recorder.inside if recorder is not None else "",
        hint="with composition.scope(): ...; in the body of an @ar.arrow, call it: block(wire)",
    )
