"""Reductions over rows in C: the threads of a warp, the lanes, share the numbers of a row.

A reduction makes one number of a whole row; what goes along one axis of a matrix is left to the array module.
Number k of the row belongs to lane ``k % LANES``.  A reduction is a loop of each lane over its part, and an
exchange of what the lanes have found, in an order that is always the same; element-wise values are computed
anew in each loop that reads them.  Afterwards each lane knows the number.  On the host there is one lane.

All lanes of a warp work on one row, since a device's blocks are made of whole warps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from arrows.engine.cuda.writer import KernelWriter
from arrows.engine.program import CodeBlock, RowPlace, c_type, number
from arrows.ops import EXTREMES, Equation, Var

WARP = 32
_SOFTMAXES = ("softmax", "log_softmax")

Body = Callable[[CodeBlock, RowPlace], None]
Number = Callable[[CodeBlock, RowPlace], str]
"""``number(scope, place)`` is what a number of the operand adds to what is found, as an expression."""


def is_reduction(equation: Equation) -> bool:
    """Whether lanes compute an equation together: each number of its result is made of many of a row."""
    primitive, x, result = equation.primitive, equation.operands[0], equation.result
    known = primitive.name in REDUCTIONS or (primitive.reduces is not None and not primitive.collapses)
    if not known or not x.type.size or not result.type.floating:
        return False
    if primitive.name == "norm" and x.type.dtype != "float32":  # squares of float32 all fit into float64
        return False
    if primitive.name == "matmul":  # the product of two vectors
        return all(var.type.ndim == 1 and var.rows == result.rows for var in equation.operands)
    return x.type.ndim == 1 if primitive.name in _SOFTMAXES else result.type.size == 1


def over_lanes(scope: CodeBlock, count: int, body: Body) -> None:
    """Writes a loop of each lane over its part of so many numbers."""
    block = scope.inner(f"for (int k = j; k < {count}; k += LANES)")
    body(block, RowPlace("k", 0, count))
    scope.close(block)


def write_reduction(writer: KernelWriter, scope: CodeBlock, equation: Equation) -> None:
    """Writes a reduction; from then on the writer has its result."""
    name, x = equation.primitive.name, equation.operands[0]
    values = REDUCTIONS.get(name, _reduced)(_Lanes(writer, scope, x), equation)
    kept = [scope.name(c_type(equation.result), value) for value in values]

    def found(block: CodeBlock, at: RowPlace) -> str:
        if name not in _SOFTMAXES:
            return kept[0]
        number = writer.value(block, x, "r", at)
        if name == "softmax":
            return f"{_exp(x)}({number} - {kept[0]}) / {kept[1]}"
        return f"({number} - {kept[0]}) - {kept[1]}"

    writer.formulas[equation.result] = found


class _Lanes:
    """What lanes find of a row.

    Args:
        writer: of the kernel.
        scope: where the code goes.
        x: the operand.
    """

    def __init__(self, writer: KernelWriter, scope: CodeBlock, x: Var) -> None:
        self.writer, self.scope, self.x = writer, scope, x

    def value(self, block: CodeBlock, at: RowPlace) -> str:
        """A number of the operand."""
        return self.writer.value(block, self.x, "r", at)

    def found(self, type: str, start: str, combine: str, each: Number) -> str:
        """The name of what all lanes find.

        Args:
            type: in C.
            start: what is found of no numbers.
            combine: of ``{0}``, what is found so far, and ``{1}``.
            each: what a number adds.
        """
        total = self.scope.name(type, start)

        def add(block: CodeBlock, at: RowPlace) -> None:
            name = block.name(f"const {type}", each(block, at))
            block.lines.append(f"{total} = {combine.format(total, name)};")

        over_lanes(self.scope, self.x.type.size, add)
        exchange = self.scope.inner("for (int s = LANES / 2; s; s >>= 1)")
        other = exchange.name(f"const {type}", f"LANE_SWAP({total}, s)")
        exchange.lines.append(f"{total} = {combine.format(total, other)};")
        self.scope.close(exchange)
        return total

    def total(self, each: Number) -> str:
        """The sum of what each number adds: in float64, as NumPy's sums by pairs are about as exact."""
        return self.found("double", "0", "{0} + {1}", each)

    def exponentials(self) -> tuple[str, str]:
        """The greatest number, and the sum of exponentials of all numbers less it."""
        top = self.found(c_type(self.x), *EXTREMES["max"], self.value)
        return top, self.total(lambda block, at: f"{_exp(self.x)}({self.value(block, at)} - {top})")


def _exp(x: Var) -> str:
    return "expf" if x.type.dtype == "float32" else "exp"


def _reduced(lanes: _Lanes, equation: Equation) -> list[str]:
    """What a primitive says itself; sums in float64, as NumPy's sums by pairs are about as exact."""
    assert equation.primitive.reduces is not None
    type = c_type(lanes.x) if equation.primitive.reduces in EXTREMES.values() else "double"
    return [lanes.found(type, *equation.primitive.reduces, lanes.value)]


def _dot(lanes: _Lanes, equation: Equation) -> list[str]:
    b = equation.operands[-1]  # of a norm, `x` itself

    def product(block: CodeBlock, at: RowPlace) -> str:
        return f"(double){lanes.value(block, at)} * {lanes.writer.value(block, b, 'r', at)}"

    return [lanes.total(product)]


def _softmax(lanes: _Lanes, equation: Equation) -> list[str]:
    top, total = lanes.exponentials()
    return [top, total if equation.primitive.name == "softmax" else f"log({total})"]


def _norm(lanes: _Lanes, equation: Equation) -> list[str]:
    attributes: dict[str, Any] = dict(equation.attributes)
    count, epsilon = attributes.get("count", 1), attributes.get("epsilon", 0)
    (squares,) = _dot(lanes, equation)
    length = f"sqrt({squares} / {count})"
    if epsilon:
        length = f"hypot({length}, {number(float(epsilon) ** 0.5, 'float64')})"
    return [length]


REDUCTIONS: Mapping[str, Callable[[_Lanes, Equation], list[str]]] = {
    "softmax": _softmax,
    "log_softmax": _softmax,
    "norm": _norm,
    "matmul": _dot,
}
"""What lanes find of a row, as expressions, where the primitive itself does not say it (`reduces`); of
softmaxes the greatest number and the divisor, from which each number is computed where it is read."""
