"""Writes the body of a kernel in C: how it reads and writes single numbers of values.

A place of a value is a row and a column, the number's place in the row as it lies in memory.  Slices, joins,
reshapes and look-ups are no code of their own: they only say which place of an operand is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from arrows.engine.program.emitters.arguments import (
    Argument,
    DropoutKeys,
    GradientRows,
    OnceValue,
    PullOffsets,
    PullPlaces,
    PullValues,
    RowsOf,
    SegmentOffsets,
    SegmentRows,
    SlabIndex,
    SlabRows,
)
from arrows.engine.program.emitters.c.blocks import CodeBlock
from arrows.engine.program.emitters.c.functions import TYPES, NotInC, c_type, in_c, is_in_c, number
from arrows.engine.program.emitters.c.places import (
    RowPlace,
    column,
    join,
    place,
    quotient,
    remainder,
    sliced,
    split,
    spread,
)
from arrows.engine.program.emitters.c.segments import COLLAPSING, collapsed
from arrows.engine.program.instructions import Gather, LoadKeys, Pull, is_view
from arrows.engine.program.program import Program, RangeOf
from arrows.ops import INVARIANT, ROW, Equation, Var

INDEXING = {
    "index", "reshape", "transpose", "broadcast_to", "concat", "pad_slice", "lookup", "pick", "place",
    "one_hot", "outer", "dropout", "segment_broadcast", "segment_position", "stop_gradient",
}  # fmt: skip
"""Primitives that are not element-wise, each number of whose result is made of few of the operands'."""


class KernelWriter:
    """Collects what a kernel reads and writes.

    Args:
        program: with memory.
        inside: the equations whose results are computed where they are read.

    Attributes:
        local: values of the row at hand that lie in an array of the thread, by name.
        formulas: values that are computed of what is known of the whole row.
    """

    def __init__(self, program: Program, inside: Mapping[Var, Equation]) -> None:
        self.program, self.inside = program, inside
        self.local: dict[Var, str] = {}
        self.formulas: dict[Var, Callable[[CodeBlock, RowPlace], str]] = {}
        self.made_by = {var: instruction for _, instruction in program for var in instruction.writes}
        self.gathers = program.gather_numbers
        self._words: dict[Argument, int] = {}
        self._pointers: list[str] = []
        self._count = 0

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What the words stand for."""
        return tuple(self._words)

    @property
    def head(self) -> list[str]:
        """The lines that give the words names."""
        return list(self._pointers)

    def fresh(self) -> str:
        """A name that is not used yet."""
        self._count += 1
        return f"v{self._count}"

    def word(self, argument: Argument, type: str) -> str:
        """The name of a word: of a number or of an address."""
        if argument not in self._words:
            number = self._words[argument] = len(self._words)
            self._pointers.append(f"{type} w{number} = ({type})WORD({number});")
        return f"w{self._words[argument]}"

    def rows(self, argument: Argument, dtype: str) -> str:
        """The name of an address of numbers that are read."""
        if dtype not in TYPES:
            raise NotInC(dtype)
        return self.word(argument, f"const {TYPES[dtype]}*")

    # -------------------------------------------------------------------------------------------- reading

    def value(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> str:
        """The name of a number; lines that compute it are added to the scope."""
        key = (var, "" if var.rows == INVARIANT else row, at)
        if var.rows == ROW:
            scope = scope.before_elements(row, at)
        there = scope.find(key)
        if there is None:
            equation = self.inside.get(var)
            if var in self.formulas:
                there = self.formulas[var](scope, at)
            elif equation is None:
                there = self._load(scope, var, row, at)
            else:
                there = self.compute(scope, equation, row, at)
            if not there.isidentifier():
                there = scope.name(c_type(var), there)
            scope.names[key] = there
        return there

    def row_of(self, scope: CodeBlock, element: str, level: int) -> str:
        """The name of the row that an element of a sequence belongs to."""
        owner = scope.owner(element)
        if owner is None:
            rows = self.word(SegmentRows(level), "const int*")
            owner = scope.name("const long long", f"{rows}[{element}]")
        return owner

    def _load(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> str:
        """A number of a value that is made elsewhere."""
        if var in self.local:
            return f"{self.local[var]}[{at}]"
        if var.rows == INVARIANT:
            return f"{self.rows(OnceValue(var), var.type.dtype)}[{at}]"
        if var in self.program.memory:
            return self._in_memory(var, row, at)
        instruction, size = self.made_by.get(var), var.type.size
        match instruction:
            case Equation() as equation if is_view(equation):
                return self.compute(scope, equation, row, at)
            case Gather():
                return self.gathered(scope, instruction, row, at)
            case Pull(number=result):
                return self.pulled(scope, result, var, row, at)
            case LoadKeys():
                return f"{self.rows(DropoutKeys(), 'uint64')}[{row}]"
        raise NotInC(f"%{var.id} of {size} numbers lies nowhere")

    def _in_memory(self, var: Var, row: str, at: RowPlace) -> str:
        root, at = self.root(var, at)
        rows = self.word(RowsOf(root), f"const {c_type(root)}*")
        return f"{rows}[{place(row, root.type.size, at)}]"

    def root(self, var: Var, at: RowPlace) -> tuple[Var, RowPlace]:
        """The value with memory of its own that a value is a range of, and the place there."""
        memory = self.program.memory[var]
        while isinstance(memory, RangeOf):
            shape, around = var.type.shape, memory.whole.type.shape
            axis = memory.axis + len(shape)
            items = split(at, shape)
            items[axis] = items[axis].moved(memory.start)
            at, var = join(items, around), memory.whole
            memory = self.program.memory[var]
        return var, at

    def gathered(self, scope: CodeBlock, gather: Gather, row: str, at: RowPlace) -> str:
        """A number of a gathered row, from the slab."""
        number, var, width = self.gathers[gather.result], gather.result, len(gather.operands)
        slab = self.rows(SlabRows(number), var.type.dtype)
        index = self.word(SlabIndex(number), "const int*")
        size = var.type.size // width
        if width == 1:
            source = scope.name("const long long", f"{index} ? {index}[{row}] : {row}")
            return f"{slab}[{place(source, size, at)}]"
        operand = scope.name("const long long", f"{row} * {width} + ({at}) / {size}")
        source = scope.name("const long long", f"{index} ? {index}[{operand}] : {operand}")
        return f"{slab}[{place(source, size, column(f'({at}) % {size}', size))}]"

    def pulled(self, scope: CodeBlock, result: int, var: Var, row: str, at: RowPlace) -> str:
        """A number of a gradient: what lies there, and what the readers of the row have left."""
        dtype, size = var.type.dtype, var.type.size
        ready = self.rows(GradientRows(result), dtype)
        offsets = self.word(PullOffsets(result), "const int*")
        places = self.word(PullPlaces(result), "const int*")
        values = self.rows(PullValues(result), dtype)
        total = scope.name(c_type(var), f"{ready}[{place(row, size, at)}]")
        # Named apart from the loops of reductions, whose counter the place may depend on.
        start = f"int p = {offsets}[{row}]; p < {offsets}[{row} + 1]; ++p"
        read = f"{values}[{place(f'(long long){places}[p]', size, at)}]"
        scope.lines.append(f"if ({offsets}) for ({start}) {total} += {read};")
        return total

    # ------------------------------------------------------------------------------------------ computing

    def compute(self, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
        """A number of an equation's result, as an expression."""
        name, operands = equation.primitive.name, equation.operands
        shape = equation.result.type.shape
        attributes: dict[str, Any] = dict(equation.attributes)

        def operand(var: Var, place: RowPlace, at_row: str = row) -> str:
            return self.value(scope, var, at_row, place)

        if is_in_c(equation.primitive):
            read = [operand(var, spread(at, shape, var.type.shape)) for var in operands]
            return in_c(equation.primitive, read, operands[0].type.dtype, attributes)
        x = operands[0]
        if name in COLLAPSING and x.rows >= 0:
            return collapsed(self, scope, equation, row, at)
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
            case "segment_broadcast":
                return operand(x, at, self.row_of(scope, row, equation.result.rows))
            case "segment_position":
                offsets = self.word(SegmentOffsets(x.rows), "const int*")
                return f"{row} - {offsets}[{self.row_of(scope, row, x.rows)}]"
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
            case "pick":
                index = operand(operands[1], at)
                size = x.type.shape[-1]
                moved = column(f"({at}) * {size} + clipped({index}, {size})", x.type.size)
                return operand(x, moved)
            case "place" | "one_hot":
                size = attributes["size"]
                outer = quotient(at, size, prod(shape[:-1]))
                here = f"({operand(operands[-1], outer)} == {remainder(at, size)})"
                dtype = TYPES[equation.result.type.dtype]
                return f"({dtype}){here}" + (f" * {operand(x, outer)}" if name == "place" else "")
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
                block = scope.inner(f"if ({along} >= {start} && {along} < {stop})")
                inside[axis] = column(f"{along} - {start}", stop - start)
                read = self.value(block, part, row, join(inside, part.type.shape))
                block.lines.append(f"{total} = {read};")
                scope.close(block)
            start = stop
        return total

    def _padded(self, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
        """A number of a slice put back into zeros."""
        (x,) = equation.operands
        shape = equation.result.type.shape
        attributes: dict[str, Any] = dict(equation.attributes)
        items, inside, conditions = split(at, shape), [], []
        for axis, item in enumerate(items):
            if axis >= len(attributes["key"]):
                inside.append(item)
                continue
            key = attributes["key"][axis]
            if isinstance(key, int):
                conditions.append(f"{item} == {key}")
                continue
            places = range(*slice(*key).indices(shape[axis]))
            if len(places) == 0:
                return "0"
            first, step = places[0], places.step
            offset = f"({item} - {first})" if step > 0 else f"({first} - {item})"
            conditions.append(f"{offset} >= 0 && {offset} % {abs(step)} == 0")
            conditions.append(f"{offset} / {abs(step)} < {len(places)}")
            inside.append(column(f"{offset} / {abs(step)}", len(places)))
        total = scope.name(c_type(x), "0")
        block = scope.inner(f"if ({' && '.join(conditions) or '1'})")
        block.lines.append(f"{total} = {self.value(block, x, row, join(inside, x.type.shape))};")
        scope.close(block)
        return total
