"""Arrow notation: `@ar.arrow` records a wiring graph from a function on wires."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

from arrows.combinators.base.arguments import function_name, parameter_names, set_name, type_refusal
from arrows.combinators.base.block import A1, A2, B1, B2, A, B, Block
from arrows.combinators.base.printing import Pieces, Spelling
from arrows.combinators.base.wires import Wire
from arrows.combinators.items import Item
from arrows.combinators.recorder import GraphNode, Recorder, Source
from arrows.typesys import ArrowTypeError, SourceLine, message


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
