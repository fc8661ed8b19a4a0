"""Programs as text: written by `format_program`, read back by `parse_program`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from arrows.engine.program.format import OwnerName
from arrows.engine.program.instructions import Instruction, RowMap
from arrows.engine.program.lines import TYPED, LineReader, typed
from arrows.engine.program.literals import NotReadable
from arrows.engine.program.program import REGIONS, Distinct, Operand, Program, Slot
from arrows.ops import Equation, Parameter
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys import types as T

_FLAGS = r"(?P<early>, early)?(?P<wanted>, differentiated)?"
_OPERAND = re.compile(rf"operand (\d+): {TYPED} of slab (?P<slab>\d+){_FLAGS}")
_RESULT = re.compile(rf"result (\d+): {TYPED}")
_SLOT = re.compile(rf"scratch (\d+): {TYPED}")
_DISTINCT = re.compile(r"distinct rows of operand (\d+):(.*)")


def format_program(program: Program, owner: OwnerName | None = None) -> str:
    """The program as text, like ``str(program)``.

    Args:
        program: the program.
        owner: names the layers; None: those without a name are numbered in the order of this program.
    """
    return program.format(owner)


def parse_program(text: str, *, parameters: Mapping[str, tuple[object, Parameter]] | None = None) -> Program:
    """The program that a text means.

    Indentation does not matter; empty lines and lines that begin with ``#`` are passed over.  Constants of
    more than a few numbers are not written out, and cannot be read back.

    Args:
        text: what `format_program` wrote.
        parameters: layer and description of parameters by name, such as ``FC_1/weight``; the others get an
            owner that has nothing but its name.

    Raises:
        ArrowValueError: the text is no program; the message names the line.

    >>> program = parse_program('''
    ...     program double
    ...     operand 0: float32[3] row of slab 2
    ...     result 0: float32[3] row
    ...     step
    ...       %0: float32[3] row = gather 0
    ...       %1: float32[3] row = add(%0, %0)
    ...       result 0 = %1
    ... ''')
    >>> program.region("step")[1].reads[0] == program.region("step")[0].result
    True
    """
    numbered = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in numbered if line and not line.startswith("#")]
    reader = _ProgramReader(LineReader(parameters or {}))
    # A value may be read before the line that makes it: that is for `verify_program` to refuse.
    for read in (reader.lines.note_value, reader.lines.note_memory, reader.read):
        _each(lines, read)
    return reader.program()


def _each(lines: list[tuple[int, str]], read: Callable[[str], None]) -> None:
    for number, line in lines:
        try:
            read(line)
        except NotReadable as wrong:
            raise ArrowValueError(f"line {number} of the program: {wrong}: {line!r}") from None
        except (ArrowTypeError, ArrowValueError) as wrong:
            raise ArrowValueError(f"line {number} of the program: {wrong}") from None


class _ProgramReader:
    """Collects what the lines of one program say, in order."""

    def __init__(self, lines: LineReader) -> None:
        self.lines = lines
        self.name: str | None = None
        self.operands: list[Operand] = []
        self.results: list[tuple[T.Tensor, int]] = []
        self.distinct: Distinct | None = None
        self.kernels = False
        self.regions: dict[str, list[Instruction]] = {}
        self.scratch: dict[str, list[Slot]] = {}
        self.map: list[Equation] | None = None  # the block that is open

    def program(self) -> Program:
        """The program, after the last line."""
        if self.map is not None:
            raise ArrowValueError("the text ends inside of a `map`")
        if self.name is None:
            raise ArrowValueError("a program begins with a line `program NAME`")
        regions = {name: tuple(instructions) for name, instructions in self.regions.items() if instructions}
        scratch = {name: tuple(slots) for name, slots in self.scratch.items() if slots}
        return Program(
            name=self.name,
            operands=tuple(self.operands),
            results=tuple(self.results),
            regions=MappingProxyType(regions),
            memory=MappingProxyType(self.lines.memory),
            scratch=MappingProxyType(scratch),
            distinct=self.distinct,
            kernels=self.kernels,
        )

    def read(self, line: str) -> None:
        """Reads the next line."""
        if line in REGIONS:
            self._region(line)
        elif not self.regions:
            self._header(line)
        else:
            region = list(self.regions)[-1]
            self._body(self.regions[region], self.scratch[region], line)

    def _region(self, name: str) -> None:
        if self.map is not None:
            raise NotReadable("the `map` before it has no end: `-> %4`")
        before = list(self.regions)[-1:]
        if before and REGIONS.index(name) <= REGIONS.index(before[0]):
            raise NotReadable(f"the region {name} stands before {before[0]}")
        self.regions[name], self.scratch[name] = [], []

    def _header(self, line: str) -> None:
        if self.name is None:
            if not line.startswith("program "):
                raise NotReadable("a program begins with a line `program NAME`")
            self.name = line.removeprefix("program ")
        elif line == "for kernels":
            self.kernels = True
        elif match := _OPERAND.fullmatch(line):
            _in_order(match, self.operands)
            type, level = typed(match)
            early, wanted = match["early"] is not None, match["wanted"] is not None
            slab = int(match["slab"])
            self.operands.append(
                Operand(type=type, level=level, slab=slab, early=early, differentiated=wanted)
            )
        elif match := _RESULT.fullmatch(line):
            _in_order(match, self.results)
            self.results.append(typed(match))
        elif match := _DISTINCT.fullmatch(line):
            self.distinct = self._distinct(int(match[1]), match[2])
        else:
            raise NotReadable("neither an operand, nor a result, nor a region")

    def _distinct(self, operand: int, text: str) -> Distinct:
        values = dict.fromkeys(("spread", "summed", "products"), "")
        for part in filter(None, map(str.strip, text.split(";"))):
            word, _, listed = part.partition(" ")
            if word not in values:
                raise NotReadable(f"expected spread, summed or products, got {word!r}")
            values[word] = listed
        spread, summed, products = map(self.lines.reads, values.values())
        return Distinct(operand, spread, summed, frozenset(products))

    def _body(self, instructions: list[Instruction], slots: list[Slot], line: str) -> None:
        """Reads a line of a region."""
        if match := _SLOT.fullmatch(line):
            _in_order(match, slots)
            type, level = typed(match)
            slots.append(Slot(level, type.shape, type.dtype))
        elif self.map is None and line == "map":
            self.map = []
        elif self.map is None:
            instructions.append(self.lines.instruction(line))
        elif line.startswith("->"):
            instructions.append(RowMap(tuple(self.map), self.lines.reads(line.removeprefix("->"))))
            self.map = None
        else:
            self.map.append(self.lines.equation(line))


def _in_order(match: re.Match[str], before: list[Operand] | list[tuple[T.Tensor, int]] | list[Slot]) -> None:
    if int(match[1]) != len(before):
        raise NotReadable(f"expected number {len(before)}")
