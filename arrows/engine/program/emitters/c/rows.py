"""Reductions over a row in C: sums, extremes, softmax, products of what has rows on both sides.

One thread computes one number, or one line along an axis, and reads the row in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from arrows.engine.program.emitters.c.blocks import CodeBlock
from arrows.engine.program.emitters.c.functions import c_type, number
from arrows.engine.program.emitters.c.places import RowPlace, column, join, quotient, remainder, split
from arrows.engine.program.emitters.c.writer import KernelWriter
from arrows.ops import Equation, Var

Write = Callable[[CodeBlock, RowPlace, str], None]
"""``write(scope, place, name)`` writes a number of the result."""


def is_reduction(equation: Equation) -> bool:
    """Whether each number of the result is made of many of an operand's row."""
    name = equation.primitive.name
    return name in NUMBERS or (
        name in LINES and (name != "argsort" or equation.result.type.shape[-1] <= _SORTED)
    )


def items(equation: Equation) -> int:
    """How many numbers, or lines, of a row are computed apart."""
    result = equation.result.type
    if equation.primitive.name in LINES:
        return result.size // max(result.shape[_axis(equation)], 1)
    return result.size


def write_item(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: str, write: Write) -> None:
    """Writes the code of one number, or of one line, of a result.

    Args:
        writer: of the kernel.
        scope: where the code goes; the row is ``r``.
        equation: a reduction.
        at: the number of the item.
        write: writes a number of the result.
    """
    name = equation.primitive.name
    place = column(at, items(equation))
    if name in LINES:
        LINES[name](writer, scope, equation, place, write)
    else:
        write(scope, place, NUMBERS[name](writer, scope, equation, place))


def _axis(equation: Equation) -> int:
    axis: int = dict(equation.attributes).get("axis", -1)  # type: ignore[assignment]
    return axis


def _attributes(equation: Equation) -> dict[str, Any]:
    return dict(equation.attributes)


def _reduced_axes(equation: Equation) -> set[int]:
    """The axes of the operand that the reduction goes over, counted from 0."""
    (x,) = equation.operands
    attributes = _attributes(equation)
    if equation.primitive.name == "sum_to":
        have = x.type.shape
        return {axis for axis, size in enumerate(attributes["shape"]) if size == 1 and have[axis] != 1}
    axes = attributes["axes"] if "axes" in attributes else (attributes["axis"],)
    return {axis % x.type.ndim for axis in axes}


class _ReducedAxes:
    """A loop over what is reduced to one number."""

    def __init__(self, writer: KernelWriter, equation: Equation, at: RowPlace) -> None:
        self.writer = writer
        (self.x,) = equation.operands
        shape, axes = self.x.type.shape, _reduced_axes(equation)
        self.count = prod(shape[axis] for axis in axes)
        kept = [size for axis, size in enumerate(shape) if axis not in axes]
        outer = iter(split(at, kept) if kept else [])
        inner = iter(split(column("k", self.count), [shape[axis] for axis in sorted(axes)]) if axes else [])
        self.place = (
            join([next(inner if axis in axes else outer) for axis in range(len(shape))], shape)
            if shape
            else at
        )

    def over(self, scope: CodeBlock, body: Callable[[CodeBlock, str], None]) -> None:
        """Writes the loop; ``body(scope, x)`` is what is done with a number."""
        block = scope.inner(f"for (int k = 0; k < {self.count}; ++k)")
        body(block, self.writer.value(block, self.x, "r", self.place))
        scope.close(block)


def _wide(var: Var) -> str:
    """The type in which sums are taken: float32 in float64, as NumPy's sums by pairs are about as exact."""
    return "double" if var.type.dtype == "float32" else c_type(var)


def _sum(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: RowPlace) -> str:
    total = scope.name(_wide(equation.result), "0")
    _ReducedAxes(writer, equation, at).over(scope, lambda block, x: block.lines.append(f"{total} += {x};"))
    return scope.name(c_type(equation.result), total)


def _least(dtype: str, *, greatest: bool = False) -> str:
    """The least number of an element type."""
    if dtype.startswith("float"):
        return "INFINITY" if greatest else "-INFINITY"
    if dtype == "bool":
        return "1" if greatest else "0"
    limits = np.iinfo(dtype)
    value = int(limits.max if greatest else limits.min)
    return f"{value}ULL" if dtype == "uint64" else f"({value + (not greatest)}LL - {int(not greatest)})"


def _extreme(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: RowPlace) -> str:
    greatest = equation.primitive.name == "max"
    dtype = equation.result.type.dtype
    best = scope.name(c_type(equation.result), _least(dtype, greatest=not greatest))
    sign = ">" if greatest else "<"
    _ReducedAxes(writer, equation, at).over(
        scope, lambda block, x: block.lines.append(f"if ({x} {sign} {best} || {x} != {x}) {best} = {x};")
    )
    return best


def _place_of(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: RowPlace) -> str:
    sign = ">" if equation.primitive.name == "argmax" else "<"
    (x,) = equation.operands
    best, position = scope.name(c_type(x), "0"), scope.name("long long", "0")

    def body(block: CodeBlock, x: str) -> None:
        better = f"k == 0 || {x} {sign} {best} || ({x} != {x} && {best} == {best})"
        block.lines.append(f"if ({better}) {{ {best} = {x}; {position} = k; }}")

    _ReducedAxes(writer, equation, at).over(scope, body)
    return position


def _exponentials(loop: _ReducedAxes | _Line, scope: CodeBlock) -> tuple[str, str, str]:
    """The greatest number, the sum of exponentials less it, and the function of these in C."""
    exp = "expf" if loop.x.type.dtype == "float32" else "exp"
    top = scope.name(c_type(loop.x), "-INFINITY")
    loop.over(scope, lambda block, x: block.lines.append(f"if ({x} > {top} || {x} != {x}) {top} = {x};"))
    total = scope.name("double", "0")
    loop.over(scope, lambda block, x: block.lines.append(f"{total} += {exp}({x} - {top});"))
    return top, total, exp


def _logsumexp(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: RowPlace) -> str:
    top, total, _ = _exponentials(_ReducedAxes(writer, equation, at), scope)
    type = c_type(equation.result)
    return scope.name(type, f"({type})log({total}) + {top}")


def _norm(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: RowPlace) -> str:
    (x,) = equation.operands
    attributes = _attributes(equation)
    count, epsilon = attributes.get("count", 1), attributes.get("epsilon", 0)
    loop = _ReducedAxes(writer, equation, at)
    # In units of the largest number no square is too large or too small for its type.
    top = scope.name("double", "0")
    loop.over(
        scope,
        lambda block, x: block.lines.append(
            f"if (fabs((double){x}) > {top} || {x} != {x}) {top} = fabs((double){x});"
        ),
    )
    unit = scope.name("double", f"{top} > 0 && {top} < INFINITY ? {top} : 1")
    total = scope.name("double", "0")
    loop.over(scope, lambda block, x: block.lines.append(f"{total} += ({x} / {unit}) * ({x} / {unit});"))
    length = f"{unit} * sqrt({total} / {count})"
    if epsilon:
        length = f"hypot({length}, {number(float(epsilon) ** 0.5, 'float64')})"
    return scope.name(c_type(x), f"({c_type(x)})({length})")


def _matmul(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: RowPlace) -> str:
    left, right = (operand.type.shape for operand in equation.operands)
    rows, columns = left[:-1], right[1:]
    parts = split(at, (*rows, *columns)) if rows or columns else []
    k = column("k", left[-1])
    return _dot(
        writer, scope, equation, join([*parts[: len(rows)], k], left), join([k, *parts[len(rows) :]], right)
    )


def _matmul_each(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: RowPlace) -> str:
    left, right = (operand.type.shape for operand in equation.operands)
    n, i, j = split(at, equation.result.type.shape)
    k = column("k", left[2])
    return _dot(writer, scope, equation, join([n, i, k], left), join([n, k, j], right))


def _dot(writer: KernelWriter, scope: CodeBlock, equation: Equation, left: RowPlace, right: RowPlace) -> str:
    """The sum over k of products of two numbers, whose places depend on it."""
    a, b = equation.operands
    wide = _wide(equation.result)
    total = scope.name(wide, "0")
    block = scope.inner(f"for (int k = 0; k < {a.type.shape[-1]}; ++k)")
    x, y = writer.value(block, a, "r", left), writer.value(block, b, "r", right)
    block.lines.append(f"{total} += ({wide}){x} * {y};")
    scope.close(block)
    return scope.name(c_type(equation.result), total)


def _scatter_row(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: RowPlace) -> str:
    x, index = equation.operands
    inner = prod(equation.result.type.shape[1:])
    row, rest = quotient(at, inner, equation.result.type.shape[0]), remainder(at, inner)
    total = scope.name(_wide(equation.result), "0")
    block = scope.inner(f"for (int k = 0; k < {index.type.size}; ++k)")
    named = writer.value(block, index, "r", column("k", index.type.size))
    value = writer.value(block, x, "r", column(f"k * {inner} + ({rest})", x.type.size))
    block.lines.append(f"if ({named} == {row}) {total} += {value};")
    scope.close(block)
    return scope.name(c_type(equation.result), total)


class _Line:
    """A line of numbers along the axis of a result of the operand's shape."""

    def __init__(self, writer: KernelWriter, equation: Equation, at: RowPlace) -> None:
        self.writer = writer
        (self.x,) = equation.operands
        shape = self.x.type.shape
        axis = _axis(equation) % len(shape)
        self.size = shape[axis]
        inner = prod(shape[axis + 1 :])
        outer, rest = quotient(at, inner, max(at.length, 1)), remainder(at, inner)
        self.place = join([outer, column("k", self.size), rest], (prod(shape[:axis]), self.size, inner))

    def over(
        self, scope: CodeBlock, body: Callable[[CodeBlock, str], None], *, reverse: bool = False
    ) -> None:
        """Writes a loop over the line."""
        head = f"int k = {self.size} - 1; k >= 0; --k" if reverse else f"int k = 0; k < {self.size}; ++k"
        block = scope.inner(f"for ({head})")
        body(block, self.writer.value(block, self.x, "r", self.place))
        scope.close(block)


def _softmax(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: RowPlace, write: Write) -> None:
    line, type = _Line(writer, equation, at), c_type(equation.result)
    top, total, exp = _exponentials(line, scope)
    divisor = scope.name(type, f"({type}){total}")
    logarithm = scope.name(type, f"({type})log({total})")

    def body(block: CodeBlock, x: str) -> None:
        if equation.primitive.name == "softmax":
            write(block, line.place, block.name(type, f"{exp}({x} - {top}) / {divisor}"))
        else:
            write(block, line.place, block.name(type, f"({x} - {top}) - {logarithm}"))

    line.over(scope, body)


def _cumsum(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: RowPlace, write: Write) -> None:
    line, type = _Line(writer, equation, at), c_type(equation.result)
    total = scope.name(_wide(equation.result), "0")

    def body(block: CodeBlock, x: str) -> None:
        block.lines.append(f"{total} += {x};")
        write(block, line.place, block.name(type, f"({type}){total}"))

    line.over(scope, body, reverse=_attributes(equation)["reverse"])


# Counting compares each pair, which beats a sorting call of many launches on rows up to about this length.
_SORTED = 256


def _argsort(writer: KernelWriter, scope: CodeBlock, equation: Equation, at: RowPlace, write: Write) -> None:
    """Each number's place is the count of those that stand before it."""
    line, other = _Line(writer, equation, at), writer.fresh()
    lines = (max(at.length, 1), line.size)

    def body(block: CodeBlock, x: str) -> None:
        rank = block.name("int", "0")
        inner = block.inner(f"for (int {other} = 0; {other} < {line.size}; ++{other})")
        y = writer.value(inner, line.x, "r", join([at, column(other, line.size)], lines))
        less, more = (f"({a} < {b} || ({b} != {b} && {a} == {a}))" for a, b in ((y, x), (x, y)))
        before, behind = (more, less) if _attributes(equation)["descending"] else (less, more)
        inner.lines.append(f"{rank} += {before} || (!{behind} && {other} < k);")
        block.close(inner)
        write(block, join([at, column(rank, line.size)], lines), block.name("long long", "k"))

    line.over(scope, body)


NUMBERS: Mapping[str, Callable[[KernelWriter, CodeBlock, Equation, RowPlace], str]] = {
    "sum": _sum,
    "sum_to": _sum,
    "max": _extreme,
    "min": _extreme,
    "argmax": _place_of,
    "argmin": _place_of,
    "logsumexp": _logsumexp,
    "norm": _norm,
    "matmul": _matmul,
    "matmul_each": _matmul_each,
    "scatter_row": _scatter_row,
}
"""Reductions that give a number at a time."""

LINES: Mapping[str, Callable[[KernelWriter, CodeBlock, Equation, RowPlace, Write], None]] = {
    "softmax": _softmax,
    "log_softmax": _softmax,
    "cumsum": _cumsum,
    "argsort": _argsort,
}
"""Reductions that give a line at a time."""
