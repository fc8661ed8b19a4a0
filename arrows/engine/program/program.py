"""A program: what an operation does, as data.

A program is made once for an operation and a set of wanted gradients, by the passes of `pipeline`; it holds
no data and knows no array module.  Its text (``str``) says all that it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from arrows.engine.device import Kernels
from arrows.engine.planning import LayerNames
from arrows.engine.program.instructions import (
    Gather,
    Instruction,
    OwnerName,
    RowMap,
    Scatter,
    Store,
    SumRows,
    format_instruction,
    level_text,
    names,
)
from arrows.ops import Equation, Var
from arrows.typesys import ArrowTypeError, ArrowValueError, cached_property, quoted, types as T

REGIONS = ("once", "early", "step", "step_back", "late", "deferred")
"""The regions, in the order in which they run.

* ``once``: values without rows, of parameters and constants alone; once a batch.
* ``early``: all rows of a component, before its first step: what depends on early operands alone.
* ``step``: the rows of one step.
* ``step_back``: the rows of one step, in the reverse order of the steps.
* ``late``: all rows of a component, after its last step backwards: gradients of early operands.
* ``deferred``: all rows of the operation, once a batch: gradients of parameters.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """An operand of a program: ``operand 0: float32[300] row of slab 2, early, differentiated``.

    Attributes:
        type: of one row.
        level: `ROW`, or the number of the sequence whose elements it has.
        slab: the number of the slab that holds the rows.
        early: whether all rows are there before the operation's first step in a component.
        differentiated: whether its gradient is wanted.
    """

    type: T.Tensor
    level: int
    slab: int
    early: bool = False
    differentiated: bool = False

    def __str__(self) -> str:
        early, wanted = ", early" * self.early, ", differentiated" * self.differentiated
        return f"{self.type}{level_text(self.level)} of slab {self.slab}{early}{wanted}"


@dataclass(frozen=True, slots=True)
class Place:
    """An array that a value lies in: ``scratch 0``, ``kept 1``.

    Attributes:
        kind: what for, and whose rows it has:

            * ``result``: the operation's rows of the slab of a result.
            * ``kept``: all rows of the operation, which a later region reads.
            * ``scratch``: the rows at hand, shared by values whose lives do not meet.
            * ``gathered``: all rows that a gather has read, for later regions.
            * ``scatter``: where the gradients of gathered rows wait until these rows take them.
            * ``gradient``: the rows of a result's gradient, to which a pull adds what their readers left.
        number: counts from 0 in each kind; that of the result, or of the `Gather` or `Scatter` among the
            program's, in order; of ``scratch`` that in its region.
    """

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


@dataclass(frozen=True, slots=True)
class RangeOf:
    """Memory: a range of another value's, along a (negative) axis."""

    whole: Var
    axis: int
    start: int
    stop: int

    def __str__(self) -> str:
        return f"%{self.whole.id}[..., {self.start}:{self.stop}{', :' * (-1 - self.axis)}]"


Memory: TypeAlias = Place | RangeOf


@dataclass(frozen=True, slots=True)
class Slot:
    """What an array holds: the level of its rows, their shape and element type."""

    level: int
    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{T.Tensor(self.shape, self.dtype)}{level_text(self.level)}"


@dataclass(frozen=True, slots=True)
class Distinct:
    """The operand whose distinct rows are all that ``early`` and ``late`` compute (`passes.hoist`).

    Attributes:
        operand: its number.
        spread: what ``early`` makes of the distinct rows and later regions read for all rows.
        summed: what ``late`` and ``deferred`` read summed by distinct row.
        products: the results of the `SumRows` whose operands are such sums.
    """

    operand: int
    spread: tuple[Var, ...]
    summed: tuple[Var, ...]
    products: frozenset[Var]

    def __str__(self) -> str:
        lists = {
            "spread": self.spread,
            "summed": self.summed,
            "products": sorted(self.products, key=lambda var: var.id),
        }
        parts = [f"{word} {names(values)}" for word, values in lists.items() if values]
        return f"distinct rows of operand {self.operand}: {'; '.join(parts)}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """What one operation does.

    Attributes:
        name: the operation's, for people.
        operands: what it reads of other operations.
        results: the types of its results, with their levels.
        regions: the instructions, by the name of the region; those without are left out.
        memory: where each value lies that needs memory of its own; empty before `passes.allocate`.
        scratch: for each region, its scratch arrays.
        distinct: how repeated rows are computed once, if they are.
        kernels: of the device that the program is for; None if it has none.  They load what gathers and
            pulls without memory give: rows from their slab, gradients from where the readers of a row have
            left them.
    """

    name: str
    operands: tuple[Operand, ...]
    results: tuple[tuple[T.Tensor, int], ...]
    regions: Mapping[str, tuple[Instruction, ...]]
    memory: Mapping[Var, Memory] = field(default_factory=lambda: MappingProxyType({}))
    scratch: Mapping[str, tuple[Slot, ...]] = field(default_factory=lambda: MappingProxyType({}))
    distinct: Distinct | None = None
    kernels: Kernels | None = None

    def region(self, name: str) -> tuple[Instruction, ...]:
        """The instructions of a region, perhaps none."""
        assert name in REGIONS
        return self.regions.get(name, ())

    def format(self, owner: OwnerName | None = None) -> str:
        """The program as text.

        Args:
            owner: names the layers; None: those without a name are numbered in the order of this program.
        """
        owner = LayerNames().of if owner is None else owner
        lines = [f"program {self.name}", *(["for kernels"] if self.kernels else [])]
        lines += [f"operand {number}: {operand}" for number, operand in enumerate(self.operands)]
        for number, (type, level) in enumerate(self.results):
            lines.append(f"result {number}: {type}{level_text(level)}")
        if self.distinct is not None:
            lines.append(str(self.distinct))
        for region in REGIONS:
            body = [f"scratch {number}: {slot}" for number, slot in enumerate(self.scratch.get(region, ()))]
            for instruction in self.region(region):
                body += format_instruction(instruction, self.format_value, owner)
            if body:
                lines += [region, *(f"  {line}" for line in body)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.format()

    def format_value(self, var: Var) -> str:
        """A value where it is made: ``%4: float32[4] row in scratch 0``."""
        place = f" in {self.memory[var]}" if var in self.memory else ""
        return f"%{var.id}: {var.type}{level_text(var.rows)}{place}"

    def with_regions(self, **regions: tuple[Instruction, ...]) -> Program:
        """The program with other instructions in some regions."""
        merged = {name: regions.get(name, self.region(name)) for name in REGIONS}
        return replace(self, regions={name: region for name, region in merged.items() if region})

    def __iter__(self) -> Iterator[tuple[str, Instruction]]:
        """All instructions, each with the name of its region, in order."""
        for name in REGIONS:
            for instruction in self.region(name):
                yield name, instruction

    def equations(self, *regions: str) -> Iterator[Equation]:
        """All equations of some regions, or of all: those of loops and of sums too."""
        for region, instruction in self:
            if not regions or region in regions:
                match instruction:
                    case Equation():
                        yield instruction
                    case RowMap(equations):
                        yield from equations
                    case SumRows(summed=Equation() as equation):
                        yield equation

    @property
    def next_number(self) -> int:
        """A number that no value has, nor any after it."""
        values = [var for _, instruction in self for var in (*instruction.writes, *instruction.reads)]
        values += [equation.result for equation in self.equations()]
        return max((var.id for var in values), default=-1) + 1

    @cached_property
    def gathers(self) -> tuple[tuple[str, Gather], ...]:
        """The gathers, each with its region, in the order that `Place` counts."""
        return tuple((region, item) for region, item in self if isinstance(item, Gather))

    @cached_property
    def gather_numbers(self) -> dict[Var, int]:
        """For the value of each gather, its number in `gathers`."""
        return {gather.result: number for number, (_, gather) in enumerate(self.gathers)}

    @cached_property
    def distinct_places(self) -> dict[tuple[str, int], Place]:
        """Where for all rows there lies what is ``spread`` from distinct rows, and what is in ``sums`` by
        distinct row; by these words and the number in `Distinct`."""
        if self.distinct is None:
            return {}
        return {
            (kind, number): place
            for kind, values in (("spread", self.distinct.spread), ("sums", self.distinct.summed))
            for number, var in enumerate(values)
            if isinstance(place := self.memory[var], Place)
        }

    @cached_property
    def once_numbers(self) -> dict[Var, int]:
        """For each value of the region ``once``, its place among them."""
        values = [var for instruction in self.region("once") for var in instruction.writes]
        return {var: number for number, var in enumerate(values)}

    def target(self, instruction: Store | Scatter) -> Place:
        """Where a value is handed over to."""
        if isinstance(instruction, Store):
            return Place("result", instruction.number)
        return Place("scatter", next(n for n, (_, each) in enumerate(self.scatters) if each is instruction))

    @cached_property
    def scatters(self) -> tuple[tuple[str, Scatter], ...]:
        """The scatters, each with its region, in the order that `Place` counts."""
        return tuple((region, item) for region, item in self if isinstance(item, Scatter))


@dataclass(frozen=True, eq=False, slots=True)
class Programs:
    """The programs of operations; printed, their text.  Made by `Model.program`.

    Attributes:
        programs: by number of the operation.
        owner: names layers as the model does.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Vector(2) >> ar.FC(3, name="answer"))
    >>> print(model.program("answer"))
    program answer
    operand 0: float32[2] row of slab 0, early
    result 0: float32[3] row
    once
      %1: float32[2, 3] = parameter answer/weight
      %2: float32[3] = parameter answer/bias
    step
      scratch 0: float32[3] row
      %0: float32[2] row = gather 0
      %3: float32[3] row in scratch 0 = matmul(%0, %1)
      %4: float32[3] row in result 0 = add(%3, %2)
      result 0 = %4
    """

    programs: Mapping[int, Program]
    owner: OwnerName

    def named(self, name: str) -> Programs:
        """Those of a name, or else those with it in their names.

        Raises:
            ArrowTypeError: the name is no text.
            ArrowValueError: there are none.
        """
        if not isinstance(name, str):
            raise ArrowTypeError(f"the name of an operation must be a text, not {name!r}")
        chosen = {n: program for n, program in self.programs.items() if program.name == name}
        chosen = chosen or {n: program for n, program in self.programs.items() if name in program.name}
        if not chosen:
            names = ", ".join(dict.fromkeys(program.name for program in self.programs.values()))
            raise ArrowValueError(f"no operation is named {quoted(name)}; there are {names or 'none'}")
        return Programs(chosen, self.owner)

    def __str__(self) -> str:
        return "\n\n".join(program.format(self.owner) for program in self.programs.values())
