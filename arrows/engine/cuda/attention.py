"""Attention within sequences in C.

Forwards an item is an element and a head: a thread reads the keys of the sequence in order, once, and scales
what it has summed whenever a score exceeds those before (Milakov, Gimelshein, "Online normalizer calculation
for softmax", 2018).  Backwards an item is one of these as a query, or as a key, which goes over the queries
that see it: no atomics, so that the same batch gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from arrows.engine.program import Argument, RowPlace, c_type, column, number
from arrows.ops import Equation, Var

if TYPE_CHECKING:
    from arrows.engine.cuda.writer import KernelWriter
    from arrows.engine.program import CodeBlock

Write = Callable[["CodeBlock", RowPlace, str], None]
"""``write(scope, place, value)`` writes a number of the result, of element ``r``."""

ATTENTION = frozenset({"segment_attention", "segment_attention_gradient"})
"""Primitives that `write_attention` writes."""


def attention_items(equation: Equation) -> int:
    """How many items an element has."""
    return _heads(equation) * (1 if equation.primitive.name == "segment_attention" else 2)


def write_attention(
    writer: KernelWriter, scope: CodeBlock, equation: Equation, at: str, write: Write
) -> None:
    """Writes the code of an item.

    Args:
        writer: of the kernel.
        scope: where the code goes; the element is ``r``.
        equation: of one of `ATTENTION`.
        at: the number of the item.
        write: writes a number of the result.
    """
    scores = _ScoreWriter(writer, scope, equation, at)
    if equation.primitive.name == "segment_attention":
        scores.forward(scope, write)
        return
    of_query = scope.inner(f"if ({at} < {_heads(equation)})")
    scores.as_query(of_query, write)
    scope.close(of_query)
    of_key = scope.inner("else")
    scores.as_key(of_key, write)
    scope.close(of_key)


def _heads(equation: Equation) -> int:
    heads: int = dict(equation.attributes)["heads"]  # type: ignore[assignment]
    return heads


class _ScoreWriter:
    """What the items of an equation share: the bounds of the element's sequence, and how a score is made."""

    def __init__(self, writer: KernelWriter, scope: CodeBlock, equation: Equation, at: str) -> None:
        self.writer, self.operands = writer, equation.operands
        self.q, self.k, self.v = equation.operands[:3]
        self.causal, self.heads = bool(dict(equation.attributes)["causal"]), _heads(equation)
        self.type, dtype = c_type(equation.result), equation.result.type.dtype
        self.exp, self.log = ("expf", "logf") if dtype == "float32" else ("exp", "log")
        # Queries are scaled before they are multiplied, as on NumPy: huge scores stay finite alike.
        self.scale = number(max(self._count(self.q), 1) ** -0.5, dtype)
        self.head = scope.name("const int", f"{at} % {self.heads}" if self.heads > 1 else "0")
        rows = writer.word(Argument("segment rows", self.q.rows), "const int*")
        offsets = writer.word(Argument("segment offsets", self.q.rows), "const int*")
        self.first = scope.name("const long long", f"{offsets}[{rows}[r]]")
        self.stop = scope.name("const long long", f"{offsets}[{rows}[r] + 1]")

    # ------------------------------------------------------------------------------------------ one item

    def forward(self, scope: CodeBlock, write: Write) -> None:
        """The weighted mean of the values that query ``r`` sees, and the logarithm of its weights' sum."""
        query = self._kept(scope, self.q, self.scale)
        top, total = scope.name(self.type, "-INFINITY"), scope.name("double", "0")
        means = self._zeros(scope, self.v)
        block, e = self._keys(scope)
        score = self._dot(block, query, self.k, e)
        greater = block.inner(f"if ({score} > {top})")
        factor = greater.name(self.type, f"{self.exp}({top} - {score})")
        greater.lines.append(f"{total} *= {factor}; {top} = {score};")
        greater.lines.append(f"for (int d = 0; d < {self._count(self.v)}; ++d) {means}[d] *= {factor};")
        block.close(greater)
        # The greatest score so far counts 1, also where it is infinite and has no difference from itself.
        weight = block.name(self.type, f"{score} == {top} ? 1 : {self.exp}({score} - {top})")
        block.lines.append(f"{total} += {weight};")
        self._add(block, means, weight, self.v, e)
        scope.close(block)
        # Scores of which the greatest is infinite have no softmax.
        scope.lines.append(f"if (!({top} > -INFINITY && {top} < INFINITY)) {total} = NAN;")
        self._write(scope, means, self.v, 0, write, f" / ({self.type}){total}")
        at = column(self.head, self.heads).moved(self.v.type.size)
        write(scope, at, scope.name(self.type, f"({self.type}){self.log}({total}) + {top}"))

    def as_query(self, scope: CodeBlock, write: Write) -> None:
        """The gradient of query ``r``."""
        query, gradient = self._kept(scope, self.q, self.scale), self._kept(scope, self.operands[3])
        logarithm, share = (self._of_head(scope, var, "r") for var in self.operands[4:])
        total = self._zeros(scope, self.q)
        block, e = self._keys(scope)
        score = self._dot(block, query, self.k, e)
        weight = block.name(self.type, f"{self.exp}({score} - {logarithm})")
        change = self._dot(block, gradient, self.v, e)
        of_score = block.name(self.type, f"{weight} * ({change} - {share})")
        self._add(block, total, of_score, self.k, e)
        scope.close(block)
        self._write(scope, total, self.q, 0, write, f" * {self.scale}")

    def as_key(self, scope: CodeBlock, write: Write) -> None:
        """The gradients of key and value ``r``."""
        key, value = self._kept(scope, self.k), self._kept(scope, self.v)
        of_key, of_value = self._zeros(scope, self.k), self._zeros(scope, self.v)
        e = self.writer.fresh()
        start = "r" if self.causal else self.first
        block = scope.inner(f"for (long long {e} = {start}; {e} < {self.stop}; ++{e})")
        logarithm, share = (self._of_head(block, var, e) for var in self.operands[4:])
        score = self._dot(block, key, self.q, e, self.scale)
        weight = block.name(self.type, f"{self.exp}({score} - {logarithm})")
        change = self._dot(block, value, self.operands[3], e)
        of_score = block.name(self.type, f"{weight} * ({change} - {share})")
        self._add(block, of_value, weight, self.operands[3], e)
        self._add(block, of_key, of_score, self.q, e, self.scale)
        scope.close(block)
        self._write(scope, of_key, self.k, self.q.type.size, write)
        self._write(scope, of_value, self.v, 2 * self.q.type.size, write)

    # ------------------------------------------------------------------------------------------ its parts

    def _count(self, var: Var) -> int:
        """How many numbers of a value a head has."""
        return var.type.size // self.heads

    def _keys(self, scope: CodeBlock) -> tuple[CodeBlock, str]:
        """A loop over the keys that query ``r`` sees, and the name of the key."""
        e = self.writer.fresh()
        stop = "r + 1" if self.causal else self.stop
        return scope.inner(f"for (long long {e} = {self.first}; {e} < {stop}; ++{e})"), e

    def _of_head(self, scope: CodeBlock, var: Var, row: str) -> str:
        return self.writer.value(scope, var, row, column(self.head, self.heads))

    def _zeros(self, scope: CodeBlock, var: Var) -> str:
        """An array of the thread for as many numbers as a head has of a value."""
        name = self.writer.fresh()
        scope.lines.append(f"{self.type} {name}[{max(self._count(var), 1)}] = {{0}};")
        return name

    def _kept(self, scope: CodeBlock, var: Var, factor: str | None = None) -> str:
        """An array of the thread with the numbers of the head at hand."""
        name = self._zeros(scope, var)
        self._each(scope, f"{name}[{{d}}] = {{x}};", var, "r", factor)
        return name

    def _dot(self, scope: CodeBlock, kept: str, var: Var, row: str, factor: str | None = None) -> str:
        total = scope.name(self.type, "0")
        self._each(scope, f"{total} += {kept}[{{d}}] * {{x}};", var, row, factor)
        return total

    def _add(
        self, scope: CodeBlock, total: str, weight: str, var: Var, row: str, factor: str | None = None
    ) -> None:
        self._each(scope, f"{total}[{{d}}] += {weight} * {{x}};", var, row, factor)

    def _each(self, scope: CodeBlock, line: str, var: Var, row: str, factor: str | None) -> None:
        """A loop over the numbers of the head, ``{x}`` is number ``{d}`` of a value, or times a factor."""
        block, d, at = self._numbers(scope, var)
        value = self.writer.value(block, var, row, at)
        block.lines.append(line.format(d=d, x=value if factor is None else f"({value} * {factor})"))
        scope.close(block)

    def _numbers(self, scope: CodeBlock, var: Var) -> tuple[CodeBlock, str, RowPlace]:
        """A loop over the numbers that the head has of a value: the number, and its place in the row."""
        d, count = self.writer.fresh(), self._count(var)
        block = scope.inner(f"for (int {d} = 0; {d} < {count}; ++{d})")
        return block, d, column(f"{self.head} * {count} + {d}", var.type.size)

    def _write(
        self, scope: CodeBlock, kept: str, var: Var, offset: int, write: Write, after: str = ""
    ) -> None:
        """Writes an array of the thread to the head's numbers, ``offset`` numbers into the row."""
        block, d, at = self._numbers(scope, var)
        write(block, at.moved(offset), block.name(self.type, f"{kept}[{d}]{after}"))
        scope.close(block)
