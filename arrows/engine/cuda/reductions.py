"""Reductions over rows in C: the threads of a warp, the lanes, share the numbers of a row.

A reduction makes one number of a whole row, or one of each item: of a matrix, say, of each line along an
axis.  Number k of an item belongs to lane ``k % LANES``.  A reduction is a loop of each lane over its part,
and an exchange of what the lanes have found, in an order that is always the same; element-wise values are
computed anew in each loop that reads them.  Afterwards each lane knows the numbers of all items.  On the
host there is one lane.

All lanes of a warp work on one row, since a device's blocks are made of whole warps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from arrows.engine.cuda.writer import KernelWriter
from arrows.engine.program import CodeBlock, RowPlace, c_type, column, join, number, split
from arrows.ops import Equation, Var
from arrows.ops.reductions import EXTREMES

WARP = 32
_MOST_ITEMS = 64  # each lane keeps what is found of every item

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
    return _Items(equation).count <= _MOST_ITEMS


def over_lanes(scope: CodeBlock, count: int, body: Body) -> None:
    """Writes a loop of each lane over its part of so many numbers."""
    if count == 1:
        block = scope.inner("if (j == 0)")
        body(block, RowPlace("", 0, 1))
    else:
        block = scope.inner(f"for (int k = j; k < {count}; k += LANES)")
        body(block, RowPlace("k", 0, count))
    scope.close(block)


def write_reduction(writer: KernelWriter, scope: CodeBlock, equation: Equation) -> None:
    """Writes a reduction; from then on the writer has its result."""
    name, items, type = equation.primitive.name, _Items(equation), c_type(equation.result)
    block = scope.inner(f"for (int m = 0; m < {items.count}; ++m)")
    kept = []
    for value in REDUCTIONS.get(name, _reduced)(_Lanes(writer, block, items), equation):
        kept.append(writer.fresh())
        scope.lines.append(f"{type} {kept[-1]}[{items.count}];")
        block.lines.append(f"{kept[-1]}[m] = {value};")
    scope.close(block)

    def found(block: CodeBlock, at: RowPlace) -> str:
        if name not in ("softmax", "log_softmax"):
            return f"{kept[0]}[{at}]"
        x, item = writer.value(block, items.x, "r", at), items.item(at)
        if name == "softmax":
            return f"{_exp(items.x)}({x} - {kept[0]}[{item}]) / {kept[1]}[{item}]"
        return f"({x} - {kept[0]}[{item}]) - {kept[1]}[{item}]"

    writer.formulas[equation.result] = found


class _Items:
    """The items of a reduction's first operand, which are along the axes that it goes over.

    Attributes:
        x: the operand.
        count: how many items there are.
        length: how many numbers an item has.
    """

    def __init__(self, equation: Equation) -> None:
        self.x = equation.operands[0]
        shape, attributes = self.x.type.shape, dict[str, Any](equation.attributes)
        if equation.primitive.name == "matmul":
            axes = {0}
        else:
            named = attributes["axes"] if "axes" in attributes else (attributes["axis"],)
            axes = {axis % len(shape) for axis in named}
        self._inside = [axis in axes for axis in range(len(shape))]
        self._kept = [size for size, inside in zip(shape, self._inside, strict=True) if not inside]
        self._along = [size for size, inside in zip(shape, self._inside, strict=True) if inside]
        self.count, self.length = prod(self._kept), prod(self._along)

    def place(self, item: RowPlace, k: RowPlace) -> RowPlace:
        """The place in the row of number k of an item."""
        if self.count == 1:
            return k
        kept, along = iter(split(item, self._kept)), iter(split(k, self._along))
        return join([next(along if inside else kept) for inside in self._inside], self.x.type.shape)

    def item(self, at: RowPlace) -> RowPlace:
        """The number of the item that a place of the row belongs to."""
        places = split(at, self.x.type.shape)
        kept = [place for place, inside in zip(places, self._inside, strict=True) if not inside]
        return join(kept, self._kept)


class _Lanes:
    """What lanes find of item ``m``.

    Args:
        writer: of the kernel.
        scope: where the code goes.
        items: those of the operand.
    """

    def __init__(self, writer: KernelWriter, scope: CodeBlock, items: _Items) -> None:
        self.writer, self.scope, self.items, self.x = writer, scope, items, items.x

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

        def add(block: CodeBlock, k: RowPlace) -> None:
            at = self.items.place(column("m", self.items.count), k)
            name = block.name(f"const {type}", each(block, at))
            block.lines.append(f"{total} = {combine.format(total, name)};")

        over_lanes(self.scope, self.items.length, add)
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
"""What lanes find of an item, as expressions, where the primitive itself does not say it (`reduces`); of
softmaxes the greatest number and the divisor, from which each number is computed where it is read."""
