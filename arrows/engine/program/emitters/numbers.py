"""How single numbers of values are read and computed, in C or in Python.

A place of a value is a row and a column, the number's place in the row as it lies in memory.  Slices, joins,
reshapes and look-ups are no code of their own: they only say which place of an operand is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from arrows.engine.program.emitters.functions import TYPES, NotInC, c_type, in_c, is_in_c, number
from arrows.ops import INVARIANT, ROW, Equation, Var


@dataclass(frozen=True, slots=True)
class RowPlace:
    """A place in a row: an expression plus a constant.

    Attributes:
        moving: an expression from 0 on, or empty.
        offset: what is added.
        length: how many values ``moving`` takes.
    """

    moving: str
    offset: int
    length: int

    def __str__(self) -> str:
        if not self.moving:
            return str(self.offset)
        return f"{self.moving} + {self.offset}" if self.offset else self.moving

    def moved(self, by: int) -> RowPlace:
        """The place so much further on."""
        return RowPlace(self.moving, self.offset + by, self.length)


def column(expression: str, size: int) -> RowPlace:
    """A place in a row of so many numbers."""
    return RowPlace("", 0, 1) if size <= 1 else RowPlace(f"({expression})", 0, size)


def place(row: str, size: int, at: RowPlace) -> str:
    """Where a number lies, of rows that lie together."""
    return f"{row} * {size} + {at}" if size > 1 else row


def quotient(at: RowPlace, size: int, count: int) -> RowPlace:
    """The place divided by a number."""
    if size == 1:
        return at
    if not at.moving:
        return RowPlace("", at.offset // size, 1)
    return column(f"({at}) / {size}", count)


def remainder(at: RowPlace, size: int) -> RowPlace:
    """The rest of the place divided by a number."""
    if size == 1:
        return RowPlace("", 0, 1)
    if not at.moving:
        return RowPlace("", at.offset % size, 1)
    return column(f"({at}) % {size}", size)


def split(at: RowPlace, shape: Sequence[int]) -> list[RowPlace]:
    """The place along each axis."""
    if len(shape) == 1:
        return [at]
    items, size = [], prod(shape)
    for axis, count in enumerate(shape):
        size //= max(count, 1)
        outer = quotient(at, size, prod(shape[: axis + 1]))
        items.append(outer if axis == 0 else remainder(outer, count))
    return items


def join(items: Sequence[RowPlace], shape: Sequence[int]) -> RowPlace:
    """The place in a row, from the place along each axis."""
    if len(shape) == 1:
        return items[0]
    offset, parts, size = 0, [], prod(shape)
    total = size
    for item, count in zip(items, shape, strict=True):
        size //= max(count, 1)
        offset += item.offset * size
        if item.moving:
            parts.append(f"{item.moving} * {size}" if size > 1 else item.moving)
    if not parts:
        return RowPlace("", offset, 1)
    return RowPlace(f"({' + '.join(parts)})", offset, max(total - offset, 1))


def spread(at: RowPlace, shape: Sequence[int], operand: Sequence[int]) -> RowPlace:
    """The place of an operand that is spread over a shape of as many axes."""
    if tuple(shape) == tuple(operand):
        return at
    if prod(operand) == 1:
        return RowPlace("", 0, 1)
    items = [
        RowPlace("", 0, 1) if own == 1 else item for item, own in zip(split(at, shape), operand, strict=True)
    ]
    return join(items, operand)


def sliced(at: RowPlace, shape: Sequence[int], key: Sequence[Any], operand: Sequence[int]) -> RowPlace:
    """The place of an operand that a slice reads."""
    items, axes = [], iter(split(at, shape))
    for axis, size in enumerate(operand):
        entry = key[axis] if axis < len(key) else (0, size, 1)
        if isinstance(entry, int):
            items.append(RowPlace("", entry, 1))
            continue
        item, places = next(axes), range(*slice(*entry).indices(size))
        first = places[0] if places else 0
        if places.step == 1:
            items.append(item.moved(first))
        elif not item.moving:
            items.append(RowPlace("", first + places.step * item.offset, 1))
        else:
            items.append(column(f"{first} + {places.step} * ({item})", size))
    return join(items, operand)


INDEXING = {
    "index", "reshape", "transpose", "broadcast_to", "concat", "pad_slice", "lookup", "one_hot",
    "outer", "dropout", "stop_gradient",
}  # fmt: skip
"""Primitives that are not element-wise, each number of whose result is made of few of the operands'."""


class CodeBlock:
    """Lines of a block, and the names of the numbers that are there.

    Args:
        fresh: gives a name that is not used yet.
        outer: the block around.
        head: what stands before the block.
        elements: of a loop over the elements of a row, the names of the element and of the row.
    """

    def __init__(
        self,
        fresh: Callable[[], str],
        outer: CodeBlock | None = None,
        head: str = "",
        elements: tuple[str, str] | None = None,
    ) -> None:
        self.fresh, self.outer, self.head, self.elements = fresh, outer, head, elements
        self.lines: list[str] = []
        self.names: dict[tuple[Var, str, RowPlace], str] = {}

    def find(self, key: tuple[Var, str, RowPlace]) -> str | None:
        """The name of a number, here or in a block around."""
        scope: CodeBlock | None = self
        while scope is not None:
            if key in scope.names:
                return scope.names[key]
            scope = scope.outer
        return None

    def owner(self, element: str) -> str | None:
        """The name of the row over whose elements a loop around goes; None if there is no such loop."""
        scope: CodeBlock | None = self
        while scope is not None:
            if scope.elements is not None and scope.elements[0] == element:
                return scope.elements[1]
            scope = scope.outer
        return None

    def before_elements(self, row: str, at: RowPlace) -> CodeBlock:
        """Where a number of a row is computed once: before the loop over the row's elements, if this is one.

        Of a block in such a loop it is the block: what it computes may be there under its condition alone.
        """
        scope = self
        # A place that names nothing of the loop; the items of threads and of reductions are outside of it.
        outside = set(re.findall(r"[a-z]\w*", at.moving)) <= {"j", "k", "m"}
        while scope.elements is not None and scope.elements[1] == row and outside:
            assert scope.outer is not None
            scope = scope.outer
        return scope

    def inner(self, head: str, elements: tuple[str, str] | None = None) -> CodeBlock:
        """A block in this one; `close` ends it, behind the lines that this one has by then."""
        return CodeBlock(self.fresh, self, head, elements)

    def close(self, inner: CodeBlock) -> None:
        """Ends a block."""
        self.lines += [inner.head + " {", *("  " + line for line in inner.lines), "}"]

    def name(self, type: str, expression: str) -> str:
        """A new name for the value of an expression."""
        fresh = self.fresh()
        self.lines.append(f"{type} {fresh} = {expression};")
        return fresh


class NumberWriter:
    """Writes the code of numbers.

    Args:
        inside: the equations whose results are computed where they are read, by result.

    Attributes:
        formulas: values whose numbers are computed of what is known of the whole row.
    """

    def __init__(self, inside: Iterable[Equation]) -> None:
        self.inside: Mapping[Var, Equation] = {equation.result: equation for equation in inside}
        self.formulas: dict[Var, Callable[[CodeBlock, RowPlace], str]] = {}
        self._count = 0

    def fresh(self) -> str:
        """A name that is not used yet."""
        self._count += 1
        return f"v{self._count}"

    def value(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> str:
        """The name of a number; lines that compute it are added to the scope, or to one around."""
        key = (var, "" if var.rows == INVARIANT else row, at)
        scope = self.home(scope, var, row, at)
        there = scope.find(key)
        if there is None:
            equation = self.inside.get(var)
            if var in self.formulas:
                there = self.formulas[var](scope, at)
            elif equation is None:
                there = self.load(scope, var, row, at)
            else:
                there = self.compute(scope, equation, row, at)
            if not there.isidentifier():
                there = self.named(scope, var, there)
            scope.names[key] = there
        return there

    # ----------------------------------------------------- what differs between C and Python, and in kernels

    def home(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> CodeBlock:
        """The block in which a number is computed, once for all that read it there."""
        return scope.before_elements(row, at) if var.rows == ROW else scope

    def load(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> str:
        """A number of a value that is made elsewhere."""
        raise NotInC(f"%{var.id} of {var.type.size} numbers lies nowhere")

    def named(self, scope: CodeBlock, var: Var, value: str) -> str:
        """A new name for a number of a value."""
        return scope.name(c_type(var), value)

    def element(self, equation: Equation, operands: list[str]) -> str:
        """An element-wise equation of names of numbers."""
        return in_c(equation.primitive, operands, equation.operands[0].type.dtype, dict(equation.attributes))

    # ------------------------------------------------------------------------------------------ computing

    def compute(self, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
        """A number of an equation's result, as an expression."""
        name, operands = equation.primitive.name, equation.operands
        shape = equation.result.type.shape
        attributes: dict[str, Any] = dict(equation.attributes)

        def operand(var: Var, place: RowPlace) -> str:
            return self.value(scope, var, row, place)

        if is_in_c(equation.primitive):
            read = [operand(var, spread(at, shape, var.type.shape)) for var in operands]
            return self.element(equation, read)
        x = operands[0]
        if name not in INDEXING:
            raise NotInC(name)
        match name:
            case "reshape" | "stop_gradient":
                return operand(x, at)
            case "index":
                return operand(x, sliced(at, shape, attributes["key"], x.type.shape))
            case "transpose":
                items = split(at, shape)
                back = [items[attributes["axes"].index(axis - x.type.ndim)] for axis in range(x.type.ndim)]
                return operand(x, join(back, x.type.shape))
            case "broadcast_to":
                return operand(x, spread(at, shape, (1,) * (len(shape) - x.type.ndim) + x.type.shape))
            case "outer":
                i, j = split(at, shape)
                return f"{operand(x, i)} * {operand(operands[1], j)}"
            case "concat":
                return self._joined(scope, equation, row, at)
            case "pad_slice":
                return self._padded(scope, equation, row, at)
            case "dropout":
                least = number(int(attributes["rate"] * 2**64), "uint64")
                dropped = f"(hashed({operand(operands[1], RowPlace('', 0, 1))}, {at}) < {least})"
                scale = number(1 / (1 - attributes["rate"]), x.type.dtype)
                return f"{operand(x, at)} * ({c_type(x)})(!{dropped}) * {scale}"
            case "lookup":
                size = prod(x.type.shape[1:])
                index = operand(operands[1], quotient(at, size, prod(shape) // max(size, 1)))
                first = scope.name("const long long", f"clipped({index}, {x.type.shape[0]}) * {size}")
                moved = column(f"{first} + ({remainder(at, size)})", x.type.size)
                return operand(x, moved)
            case "one_hot":
                size = attributes["size"]
                outer = quotient(at, size, prod(shape[:-1]))
                dtype = TYPES[equation.result.type.dtype]
                return f"({dtype})({operand(x, outer)} == {remainder(at, size)})"
        raise AssertionError(name)

    def _joined(self, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
        """A number of a join: that of the part whose range it is in."""
        shape = equation.result.type.shape
        axis: Any = dict(equation.attributes)["axis"]
        items = split(at, shape)
        along = items[axis]
        start = 0
        total = ""
        for part in equation.operands:
            stop = start + part.type.shape[axis]
            inside = [*items]
            if start <= along.offset and along.offset + along.length <= stop:  # known beforehand
                inside[axis] = along.moved(-start)
                return self.value(scope, part, row, join(inside, part.type.shape))
            if along.offset < stop and start < along.offset + along.length:
                total = total or scope.name(c_type(equation.result), "0")
                inside[axis] = column(f"{along} - {start}", stop - start)
                condition = f"{along} >= {start} && {along} < {stop}"
                self._set_if(scope, condition, total, part, row, join(inside, part.type.shape))
            start = stop
        return total

    def _padded(self, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
        """A number of a slice put back into zeros."""
        (x,) = equation.operands
        shape = equation.result.type.shape
        attributes: dict[str, Any] = dict(equation.attributes)
        inside, conditions = [], []
        for axis, item in enumerate(split(at, shape)):
            key = attributes["key"][axis] if axis < len(attributes["key"]) else (0, shape[axis], 1)
            places = range(*slice(*(key if isinstance(key, tuple) else (key, key + 1))).indices(shape[axis]))
            step, first = places.step, places.start
            offset = f"({item} - {first})" if step > 0 else f"({first} - {item})"
            conditions.append(f"{offset} >= 0 && {offset} % {abs(step)} == 0")
            conditions.append(f"{offset} / {abs(step)} < {len(places)}")
            if isinstance(key, tuple):
                inside.append(column(f"{offset} / {abs(step)}", len(places)))
        total = scope.name(c_type(x), "0")
        self._set_if(scope, " && ".join(conditions), total, x, row, join(inside, x.type.shape))
        return total

    def _set_if(self, scope: CodeBlock, condition: str, total: str, var: Var, row: str, at: RowPlace) -> None:
        """Sets a name to a number where a condition holds."""
        block = scope.inner(f"if ({condition})")
        block.lines.append(f"{total} = {self.value(block, var, row, at)};")
        scope.close(block)
