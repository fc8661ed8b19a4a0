"""Arrow notation: `@ar.arrow` draws a wiring graph from a function on wires."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, overload

from arrows.combinators.block import AnyBlock, Block, set_name
from arrows.combinators.fanout import Fan
from arrows.combinators.inputs import Item, function_name
from arrows.combinators.wires import Call, CallRecorder, Source, Wire, drawing
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, SourceLine, message

A = TypeVar("A")
A1 = TypeVar("A1")
A2 = TypeVar("A2")
A3 = TypeVar("A3")
A4 = TypeVar("A4")
B = TypeVar("B")
B1 = TypeVar("B1")
B2 = TypeVar("B2")
B3 = TypeVar("B3")


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One call in a wiring graph.

    Attributes:
        source: the wire that it reads, or a (nested) tuple of wires.
        site: where the call was written.
    """

    source: Source
    site: SourceLine


class Graph(Block[A, B]):
    """The core form of arrow notation: calls that read wires.

    Wire 0 is the input, wire `j + 1` the result of node `j`; `parts[j]` is the block of node `j`.

    Attributes:
        nodes: the calls, in order.
        output: the wire, or (nested) tuple of wires, that is the result.
        parameters: names of the parameters; several mean that the input is a tuple of so many.
        title: what was drawn, in words; empty if it is an arrow.
    """

    nodes: tuple[GraphNode, ...]
    output: Source
    parameters: tuple[str, ...]
    title: str

    def __init__(
        self,
        nodes: tuple[GraphNode, ...],
        parts: tuple[AnyBlock, ...],
        output: Source,
        parameters: tuple[str, ...] = ("input",),
        *,
        name: str | None = None,
        title: str = "",
    ) -> None:
        self.kind = "arrow"
        set_name(self, name)
        self.nodes = nodes
        self._parts = parts
        self.output = output
        self.parameters = parameters
        self.title = title

    def arguments(self, depth: int = 2) -> str:
        return ", ".join(self.parameters)

    @property
    def words(self) -> str:
        """The graph in messages."""
        return self.title or f"the arrow {self.label}"


@overload
def arrow(body: Callable[[Wire[A]], Wire[B]]) -> Graph[A, B]: ...
@overload
def arrow(body: Callable[[Wire[A]], tuple[Wire[B1], Wire[B2]]]) -> Graph[A, tuple[B1, B2]]: ...
@overload
def arrow(body: Callable[[Wire[A1], Wire[A2]], Wire[B]]) -> Graph[tuple[A1, A2], B]: ...
@overload
def arrow(
    body: Callable[[Wire[A1], Wire[A2]], tuple[Wire[B1], Wire[B2]]],
) -> Graph[tuple[A1, A2], tuple[B1, B2]]: ...
@overload
def arrow(body: Callable[[Wire[A1], Wire[A2], Wire[A3]], Wire[B]]) -> Graph[tuple[A1, A2, A3], B]: ...
@overload
def arrow(
    body: Callable[[Wire[A1], Wire[A2], Wire[A3]], tuple[Wire[B1], Wire[B2]]],
) -> Graph[tuple[A1, A2, A3], tuple[B1, B2]]: ...
@overload
def arrow(
    body: Callable[[Wire[A1], Wire[A2], Wire[A3], Wire[A4]], Wire[B]],
) -> Graph[tuple[A1, A2, A3, A4], B]: ...
@overload
def arrow(body: Callable[..., Any]) -> Graph[Any, Any]: ...
def arrow(body: Callable[..., Any]) -> Graph[Any, Any]:
    """A block from a function on wires (arrow notation).

    The body runs once, now, on untyped wires. Inside, `f(x)` passes a wire through a block, `f(u, v)` reads
    the tuple `(u, v)`, `w[k]` is `GetItem(k)`, `ar.unpack(w, 2)` takes a pair apart. Several parameters mean
    that the block's input is a tuple. The result is a wire, a (nested) tuple of wires, or a dict of wires (a
    tuple with keys).

    Args:
        body: the function; its name becomes the block's name.

    Raises:
        ArrowTypeError: the body tests, iterates or calculates with a wire, uses a wire of another arrow, or
            returns something else than wires; at `compile`, a wire that nobody reads, unless it is Void.
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
        raise ArrowTypeError(
            message(
                f"cannot draw an arrow at {SourceLine.here()}",
                reason=f"expected a function on wires, got {body!r}",
                hint="@ar.arrow above `def f(x): return block(x)`",
            )
        )
    name = function_name(body)
    site = SourceLine.here()
    recorder = CallRecorder(name, _parameter_names(body, name), site)
    with drawing(recorder):
        result = body(*recorder.inputs)
        if result is None:
            raise ArrowTypeError(
                message(
                    f"cannot draw the arrow {name} ({site})",
                    reason="its body returned None, not a wire",
                    hint="return the wire that is the result; nothing is `return ar.Void()(x)`",
                )
            )
        output = output_source(recorder, result, f"return {result!r} from the arrow {name}")
        for parameter, wire in zip(recorder.parameters, recorder.inputs, strict=True):
            if len(recorder.parameters) > 1 and not parameter.startswith("_"):
                recorder.source(wire, "read a parameter")
    return drawn(recorder, output, None if name == "lambda" else name)


def drawn(recorder: CallRecorder, output: Source, name: str | None) -> Graph[Any, Any]:
    """The wiring graph of what was recorded."""
    blocks = [
        call.block if call.block is not None else _projection(call, recorder) for call in recorder.calls
    ]
    nodes = tuple(GraphNode(call.source, call.site) for call in recorder.calls)
    title = "" if recorder.kind == "arrow" else recorder.title
    return Graph(nodes, tuple(blocks), output, recorder.parameters, name=name, title=title)


def _projection(call: Call, recorder: CallRecorder) -> AnyBlock:
    arity = call.arity
    if call.source == 0 and len(recorder.parameters) > 1:
        arity = len(recorder.parameters)
    item: Item[Any, Any] = Item(call.key, arity=arity)
    item.__dict__["site"] = call.site
    return item


def output_source(recorder: CallRecorder, result: Any, attempt: str) -> Source:
    """The source of a result: a wire, a (nested) tuple, NamedTuple or dict of wires."""
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        result = dict(zip(result._fields, result, strict=True))
    if isinstance(result, dict):
        if not result:
            return ()
        labels = tuple(result)
        source = recorder.source(tuple(result.values()), attempt)
        label: Fan[Any, Any] = Fan([Item(i) for i in range(len(labels))], labels)
        label.__dict__["kind"] = "Record"
        recorder.calls.append(Call(label, source, recorder.site))
        return len(recorder.calls)
    return recorder.source(result, attempt)


def _parameter_names(body: Any, name: str) -> tuple[str, ...]:
    try:
        parameters = list(inspect.signature(body).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = []
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY):
            raise ArrowTypeError(
                message(
                    f"cannot draw the arrow {name} at {SourceLine.here()}",
                    reason=f"each parameter is one wire, and {p} is none",
                    hint="write the parameters out: def f(x, state)",
                )
            )
        if p.default is p.empty:
            names.append(p.name)
    if not names:
        raise ArrowValueError(
            message(
                f"cannot draw the arrow {name} at {SourceLine.here()}",
                reason="its body has no parameter, so nothing could flow in",
                hint="def f(x): ...",
            )
        )
    return tuple(names)


@overload
def unpack(wire: Wire[tuple[A1, A2]], count: Literal[2]) -> tuple[Wire[A1], Wire[A2]]: ...
@overload
def unpack(wire: Wire[tuple[A1, A2, A3]], count: Literal[3]) -> tuple[Wire[A1], Wire[A2], Wire[A3]]: ...
@overload
def unpack(wire: Wire[Any], count: int) -> tuple[Wire[Any], ...]: ...
def unpack(wire: Any, count: int) -> tuple[Wire[Any], ...]:
    """Takes the tuple on a wire apart.

    Args:
        wire: a wire of the arrow that is being drawn.
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
        raise ArrowTypeError(
            message(
                f"cannot unpack {wire!r} at {SourceLine.here()}",
                reason="expected a wire of the arrow being drawn",
            )
        )
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ArrowTypeError(
            message(
                f"cannot unpack a wire at {SourceLine.here()}",
                reason=f"the number of items must be an integer >= 0, not {count!r}",
                hint="a, b = ar.unpack(wire, 2)",
            )
        )
    return tuple(Wire(wire.recorder, None, wire, i, count) for i in range(count))
