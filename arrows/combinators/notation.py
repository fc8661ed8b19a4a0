"""Wiring graphs: `@ar.arrow` records one from a function on wires, a `Composition` from calls in its scope.

Calling a block on wires in the body of an `@ar.arrow` or in the scope of a Composition records a call. The
core form `Graph` is made of what was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, Self, TypeAlias, overload

from arrows.combinators.base.arguments import (
    function_name,
    parameter_names,
    set_name,
    type_refusal,
    value_refusal,
)
from arrows.combinators.base.block import A1, A2, B1, B2, A, AnyBlock, B, Block, spelled
from arrows.combinators.base.printing import Pieces, Spelling
from arrows.combinators.base.wires import Wire, current
from arrows.combinators.constant import Void
from arrows.combinators.fanout import Fan
from arrows.combinators.items import Item
from arrows.typesys import ArrowTypeError, SourceLine, message, types as T

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


class Graph(Block[A, B]):
    """The core form of arrow notation: calls that read wires.

    Wire 0 is the input, wire `j + 1` the result of node `j`; `parts[j]` is the block of node `j`.

    Attributes:
        nodes: the calls, in order.
        result: the wire, or (nested) tuple of wires, that is the result.
        parameters: the names of the parameters; several mean that the input is a tuple of as many items.
        title: names it in messages.
    """

    kind = "arrow"
    title: str
    nodes: tuple[GraphNode, ...]
    result: Source
    parameters: tuple[str, ...]

    def __init__(self, recorder: Recorder, result: Source, *, name: str | None = None) -> None:
        set_name(self, name)
        self.title = recorder.title
        self.nodes = tuple(recorder.nodes)
        self._parts = tuple(recorder.blocks)
        self.result = result
        self.parameters = recorder.parameters

    def summary(self) -> Spelling:
        return Spelling(self.kind, self.parameters)

    def parameter(self, j: int) -> str:
        """The name of the parameter that node `j` takes out of the input; empty if it does anything else."""
        block = self.parts[j]
        if len(self.parameters) > 1 and self.nodes[j].source == 0 and isinstance(block, Item):
            return str(self.parameters[block.key])
        return ""

    def pieces(self) -> Pieces:
        root = self.parameters[0] if len(self.parameters) == 1 else "input"
        name = self.name or ("lambda" if self.kind == "arrow" else "")
        pieces: Pieces = [f"{self.kind} {name}({', '.join(self.parameters)}) {{"]
        for j, (node, block) in enumerate(zip(self.nodes, self.parts, strict=True)):
            pieces.extend([f"w{j + 1} = (", block, f")({_written(node.source, root)}); "])
        return [*pieces, f"return {_written(self.result, root)}}}"]


def _written(source: Source, root: str) -> str:
    """Writes a source as text; `root` is the name of the input."""
    if isinstance(source, int):
        return root if source == 0 else f"w{source}"
    items = ", ".join(_written(item, root) for item in source)
    return f"({items},)" if len(source) == 1 else f"({items})"


@overload
def arrow(body: Callable[[Wire[A]], Wire[B]]) -> Graph[A, B]: ...
@overload
def arrow(body: Callable[[Wire[A]], tuple[Wire[B1], Wire[B2]]]) -> Graph[A, tuple[B1, B2]]: ...
@overload
def arrow(body: Callable[[Wire[A1], Wire[A2]], Wire[B]]) -> Graph[tuple[A1, A2], B]: ...
@overload
def arrow(body: Callable[..., Any]) -> Graph[Any, Any]: ...
def arrow(body: Callable[..., Any]) -> Graph[Any, Any]:
    """Makes a block from a function on wires (arrow notation).

    The body runs once, immediately, on untyped wires. Inside, `f(x)` passes a wire through a block, `f(u, v)`
    reads the tuple `(u, v)`, `w[k]` is `GetItem(k)`, and `ar.unpack(w, 2)` takes a pair apart. If the body
    has several parameters, the input of the block is a tuple. The result is a wire, a (nested) tuple of
    wires, or a dict of wires (a tuple with keys).

    Args:
        body: the function; its name becomes the block's name.

    Raises:
        ArrowTypeError: the body tests, iterates or calculates with a wire, uses a wire of another arrow, or
            returns something else than wires; at `compile`, a wire that nobody reads, unless it is Void or
            a sequence of it.
        ArrowValueError: the body has no parameter.

    Source: Paterson, "A new notation for arrows" (2001).

    Example:
        >>> import arrows as ar
        >>> @ar.arrow
        ... def swap(a, b):
        ...     return b, a
        >>> swap.eval((1, 2))
        (2, 1)
    """
    if isinstance(body, Block) or not callable(body):
        raise type_refusal(
            "build an arrow",
            f"expected a function on wires, got {body!r}",
            hint="@ar.arrow above `def f(x): return block(x)`",
        )
    name = function_name(body)
    site = SourceLine.here()
    attempt = f"build the arrow {name}"
    parameters = parameter_names(attempt, body, "nothing could flow in", "def f(x): ...")
    recorder = Recorder("arrow", name, parameters, site)
    with recorder:
        result = body(*recorder.inputs)
        if result is None:
            raise ArrowTypeError(
                message(
                    f"cannot {attempt} ({site})",
                    reason="its body returned None, not a wire",
                    hint="return the wire that is the result; to return nothing: `return ar.Void()(x)`",
                )
            )
        output = recorder.source(result, f"return the result of the arrow {name}")
        for parameter, wire in zip(recorder.parameters, recorder.inputs, strict=True):
            if len(recorder.parameters) > 1 and not parameter.startswith("_"):
                recorder.source(wire, "read a parameter")
    return Graph(recorder, output, name=None if name == "lambda" else name)


@overload
def unpack(wire: Wire[tuple[A1, A2]], count: Literal[2]) -> tuple[Wire[A1], Wire[A2]]: ...
@overload
def unpack(wire: Wire[Any], count: int) -> tuple[Wire[Any], ...]: ...
def unpack(wire: object, count: int) -> tuple[Wire[Any], ...]:
    """Takes the tuple on a wire apart.

    Args:
        wire: a wire of the arrow that is being recorded.
        count: how many items the tuple has; checked at `compile`.

    Returns:
        A wire for each item; those that nobody reads cost nothing.

    Raises:
        ArrowTypeError: `wire` is no wire, or `count` no number >= 0.

    Example:
        >>> import arrows as ar
        >>> @ar.arrow
        ... def first(pair):
        ...     a, b = ar.unpack(pair, 2)
        ...     return a
        >>> first.eval((1, 2))
        1
    """
    if not isinstance(wire, Wire):
        raise type_refusal(f"unpack {wire!r}", "expected a wire of the arrow being recorded")
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise type_refusal(
            "unpack a wire",
            f"the number of items must be an integer >= 0, not {count!r}",
            hint="a, b = ar.unpack(wire, 2)",
        )
    return tuple(Wire(wire.recorder, None, wire, i, count) for i in range(count))


class Composition(Graph[A, B]):
    """Blocks that read one another, connected in a scope; `@ar.arrow` says the same as a function.

    In the scope, `block.reads(wires)` passes wires through a block and returns the wire of its result;
    `input` is the wire that flows in, and `output.reads(wires)` says what flows out. Leaving the scope
    finishes the Composition: from then on it is a block like any other, and never changes again.

    Args:
        name: the name in messages.

    Raises:
        ArrowTypeError: in the scope, something is connected that is no wire of this scope; the Composition is
            used before its scope is left; at `compile`, a wire that nobody reads, unless it is Void or
            a sequence of it.
        ArrowValueError: the output is wired twice, or not at all (`output.reads()` says that there is none);
            the scope is entered twice.

    Source: TensorFlow Fold, `td.Composition`.

    Example:
        >>> import arrows as ar
        >>> mean = ar.Composition(name="mean")
        >>> with mean.scope():
        ...     numbers = ar.Map(ar.Scalar()).reads(mean.input)
        ...     total = ar.Sum().reads(numbers)
        ...     count = (ar.InputTransform(len) >> ar.Scalar()).reads(mean.input)
        ...     mean.output.reads(ar.Function(lambda x, n: x / n).reads(total, count))
        >>> float(mean.eval([1, 2, 6]))
        3.0
    """

    _recorder: Recorder | None

    def __init__(self: Composition[Any, Any], *, name: str | None = None) -> None:
        set_name(self, name)
        recorder = Recorder("Composition", self.name or "", ("input",), self.site)
        super().__init__(recorder, 0, name=name)
        self._recorder = recorder

    @property
    def input(self) -> Wire[A]:
        """The wire with the input; for use inside the scope."""
        wire: Wire[A] = self._open().inputs[0]
        return wire

    @property
    def output(self) -> Output[B]:
        """The output, of which `output.reads(wires)` says what it is, once, inside the scope."""
        return Output(self._open())

    def scope(self) -> Composition[A, B]:
        """Opens the scope in which blocks are connected: `with composition.scope(): ...`, once.

        Its `as` target is the Composition: `with ar.Composition().scope() as c: ...`.
        """
        return self

    def __enter__(self) -> Composition[A, B]:
        recorder = self._recorder
        if recorder is None or recorder.open or recorder.nodes or recorder.result is not None:
            hint = "make another Composition for another wiring"
            raise value_refusal(f"enter the scope of {self.title}", "it has one scope", hint=hint)
        recorder.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        recorder = self._open()
        recorder.__exit__()
        if kind is None and recorder.result is None:
            hint = "composition.output.reads(wire); if there is nothing but side outputs: "
            raise value_refusal(
                f"finish {self.title}",
                "nothing is wired to its output",
                hint=hint + "composition.output.reads()",
            )
        if kind is None:
            nodes, parts = tuple(recorder.nodes), tuple(recorder.blocks)
            self.__dict__.update(nodes=nodes, _parts=parts, result=recorder.result, _recorder=None)

    def _open(self) -> Recorder:
        """The recorder of the open scope."""
        if self._recorder is None or not self._recorder.open:
            hint = "with composition.scope(): composition.output.reads(wire)"
            raise type_refusal(f"wire {self.title}", "its scope is not open", hint=hint)
        return self._recorder

    def check_finished(self, where: str) -> None:
        if self._recorder is not None:
            raise type_refusal(
                f"use {self.title} as {where}",
                "it is not finished: its scope has not been left, or was left by an error",
                hint="connect its input and output in its scope, and use it afterwards",
            )


class Output(Generic[B]):
    """The output of a Composition; see `Composition.output`."""

    block_hint = "an output is written, and not read: read the wire that it reads"

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __repr__(self) -> str:
        return f"the output of {self._recorder.title}"

    @overload
    def reads(self, x: Wire[B] | Mapping[Any, Any] | tuple[Any, ...] = ..., /) -> None: ...
    @overload
    def reads(self, x1: Wire[Any], x2: Wire[Any], /, *more: Wire[Any]) -> None: ...
    def reads(self, *sources: object) -> None:
        """Says what flows out.

        A source is a wire, or a (nested) tuple or dict of wires. Several sources are a tuple; no source is
        nothing (Void).
        """
        recorder = self._recorder
        attempt = f"wire the output of {recorder.title}"
        if recorder.result is not None:
            hint = "several wires are a tuple: composition.output.reads(a, b)"
            raise value_refusal(attempt, "it is wired already", hint=hint)
        recorder.result = recorder.source_of(sources, attempt)
