"""Reads single numbers of values in kernels: from memory, slabs, gradients, other rows of a sequence."""

from __future__ import annotations

from collections.abc import Iterable

from arrows.engine.cuda.segments import collapsed, shifted
from arrows.engine.program import (
    Argument,
    CodeBlock,
    Gather,
    LoadKeys,
    NumberWriter,
    Program,
    Pull,
    RowPlace,
    c_type,
    column,
    is_view,
    place,
)
from arrows.ops import INVARIANT, Equation, Var

OF_SEQUENCES = frozenset({"segment_broadcast", "segment_position", "segment_count", "segment_take"})
"""Primitives whose numbers are made of other rows than their own."""


class KernelWriter(NumberWriter):
    """Collects what a kernel reads and writes.

    Args:
        program: with memory.
        inside: as of `NumberWriter`.

    Attributes:
        head: the lines that give the words names.
    """

    def __init__(self, program: Program, inside: Iterable[Equation] = ()) -> None:
        super().__init__(inside)
        self.program = program
        self.made_by = {var: instruction for _, instruction in program for var in instruction.writes}
        self.gathers = program.gather_numbers
        self._words: dict[Argument, int] = {}
        self.head: list[str] = []

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What the words stand for."""
        return tuple(self._words)

    def word(self, argument: Argument, type: str) -> str:
        """The name of a word: of a number or of an address."""
        if argument not in self._words:
            number = self._words[argument] = len(self._words)
            self.head.append(f"{type} w{number} = ({type})WORD({number});")
        return f"w{self._words[argument]}"

    def rows(self, argument: Argument, var: Var) -> str:
        """The name of an address of numbers of a value that are read."""
        return self.word(argument, f"const {c_type(var)}*")

    # -------------------------------------------------------------------------------------------- reading

    def row_of(self, scope: CodeBlock, element: str, level: int) -> str:
        """The name of the row that an element of a sequence belongs to."""
        owner = scope.owner(element)
        if owner is None:
            rows = self.word(Argument("segment rows", level), "const int*")
            owner = scope.name("const long long", f"{rows}[{element}]")
        return owner

    def load(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> str:
        """A number of a value that is made elsewhere."""
        if var.rows == INVARIANT:
            return f"{self.rows(Argument('once', var), var)}[{at}]"
        if var in self.program.memory:
            return f"{self.rows(Argument('rows', var), var)}[{place(row, var.type.size, at)}]"
        match instruction := self.made_by.get(var):
            case Equation() as equation if is_view(equation):
                return self.compute(scope, equation, row, at)
            case Gather():
                return self.gathered(scope, instruction, row, at)
            case Pull(number=result):
                return self.pulled(scope, result, var, row, at)
            case LoadKeys():
                return f"{self.rows(Argument('keys', 0), var)}[{row}]"
        return super().load(scope, var, row, at)

    def gathered(self, scope: CodeBlock, gather: Gather, row: str, at: RowPlace) -> str:
        """A number of a gathered row, from the slab."""
        number, var, width = self.gathers[gather.result], gather.result, len(gather.operands)
        slab = self.rows(Argument("slab", number), var)
        index = self.word(Argument("index", number), "const int*")
        size = var.type.size // width
        if width == 1:
            source = scope.name("const long long", f"{index} ? {index}[{row}] : {row}")
            return f"{slab}[{place(source, size, at)}]"
        operand = scope.name("const long long", f"{row} * {width} + ({at}) / {size}")
        source = scope.name("const long long", f"{index} ? {index}[{operand}] : {operand}")
        return f"{slab}[{place(source, size, column(f'({at}) % {size}', size))}]"

    def pulled(self, scope: CodeBlock, result: int, var: Var, row: str, at: RowPlace) -> str:
        """A number of a gradient: what lies there, and what the readers of the row have left."""
        size, ready = var.type.size, self.rows(Argument("gradient", result), var)
        offsets = self.word(Argument("pull offsets", result), "const int*")
        places = self.word(Argument("pull places", result), "const int*")
        values = self.rows(Argument("pull values", result), var)
        total = scope.name(c_type(var), f"{ready}[{place(row, size, at)}]")
        # Named apart from the loops of reductions, whose counter the place may depend on.
        start = f"int p = {offsets}[{row}]; p < {offsets}[{row} + 1]; ++p"
        read = f"{values}[{place(f'(long long){places}[p]', size, at)}]"
        scope.lines.append(f"if ({offsets}) for ({start}) {total} += {read};")
        return total

    def compute(self, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
        """A number of an equation's result, as an expression."""
        name, x = equation.primitive.name, equation.operands[0]
        if equation.primitive.collapses and x.rows >= 0:
            return collapsed(self, scope, equation, row, at)
        if name == "segment_broadcast":
            return self.value(scope, x, self.row_of(scope, row, equation.result.rows), at)
        if name == "segment_shift":
            return shifted(self, scope, equation, row, at)
        if name == "segment_position":
            offsets = self.word(Argument("segment offsets", x.rows), "const int*")
            return f"{row} - {offsets}[{self.row_of(scope, row, x.rows)}]"
        return super().compute(scope, equation, row, at)
