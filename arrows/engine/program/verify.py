"""Checks what every program has to fulfil, whatever passes have made of it."""

from __future__ import annotations

from collections import Counter

from arrows.engine.planning import LayerNames
from arrows.engine.program.format import format_instruction
from arrows.engine.program.instructions import (
    Accumulate,
    Gather,
    Instruction,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Pull,
    RowMap,
    Scatter,
    Store,
    SumRows,
    is_elementwise,
    is_join,
    is_view,
)
from arrows.engine.program.program import Distinct, Operand, Program
from arrows.engine.program.verify_equation import Violation, check_equation, expect
from arrows.engine.program.verify_memory import MemoryChecker
from arrows.ops import INVARIANT, ROW, Equation, Var
from arrows.typesys import types as T

_REGIONS_OF: dict[type[Instruction], tuple[str, ...]] = {
    LoadConstant: ("once",),
    LoadParameter: ("once",),
    LoadKeys: ("early", "step"),
    Gather: ("early", "step"),
    Store: ("step",),
    Pull: ("step_back",),
    Scatter: ("step_back", "late"),
    SumRows: ("deferred",),
    Accumulate: ("deferred",),
}


class ProgramError(AssertionError):
    """A program that breaks a rule: a pass is wrong.

    >>> str(ProgramError("after split: step: %2 is read before it is made"))
    'after split: step: %2 is read before it is made'
    """


def verify_program(program: Program, after: str = "") -> None:
    """Checks a program.

    Each value is made once, before it is read, of the type and the level that its primitive's rule gives; no
    region but its own reads a view; values without rows are made in ``once`` and ``deferred`` alone; each
    result is stored once; gathers, scatters and accumulated gradients are of operands and parameters that
    there are, and fit them; no operand gets the gradient of one gather twice.  Where memory is allocated,
    each value that needs it has some, of its own shape, and nothing that is still read is overwritten.

    Args:
        program: the program.
        after: the pass that has made it, for the message.

    Raises:
        ProgramError: which of these does not hold: the pass, the region, the instruction.

    Example:
        >>> import arrows as ar
        >>> (program,) = ar.compile(ar.Vector(2) >> ar.FC(3)).program().programs.values()
        >>> verify_program(program)
        >>> verify_program(program.with_regions(step=()), after="build")
        Traceback (most recent call last):
        ...
        arrows.engine.program.verify.ProgramError: after build: result 0 is stored 0 times
    """
    checker = _Checker(program)
    region, instruction = "", None
    try:
        for region, instruction in program:
            checker.check(region, instruction)
        instruction = None
        checker.finish()
        if program.memory:
            memory = MemoryChecker(program)
            for region, instruction in program:
                memory.check(region, instruction)
            instruction = None
            memory.finish()
    except Violation as violation:
        places = [f"after {after}"] if after else []
        if instruction is not None:
            lines = format_instruction(instruction, program.format_value, LayerNames().of)
            places += [region, "; ".join(line.strip() for line in lines)]
        raise ProgramError(": ".join([*places, str(violation)])) from None


class _Checker:
    """Checks instructions in order.

    Attributes:
        home: for each value that has been made, the region that made it.
        views: values that only their own region may read.
        sparse: sums that may be row-sparse.
        scattered: for each operand, how many gradients it gets.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.values: dict[int, Var] = {}
        self.home: dict[Var, str] = {}
        self.views: set[Var] = set()
        self.sparse: set[Var] = set()
        self.loaded: set[tuple[int, str]] = set()
        self.keys = 0
        self.pulled: set[int] = set()
        self.stored: Counter[int] = Counter()
        self.gathered: Counter[int] = Counter()
        self.scattered: Counter[int] = Counter()

    def check(self, region: str, instruction: Instruction) -> None:
        """Checks the next instruction.

        Raises:
            Violation: it breaks a rule.
        """
        regions = _REGIONS_OF.get(type(instruction))
        if regions is not None and region not in regions:
            raise Violation(f"{type(instruction).__name__} stands in {' or '.join(regions)}")
        for var in instruction.reads:
            self._read(region, var, instruction)
        match instruction:
            case LoadConstant(var, array):
                if (array.shape, array.dtype.name) != (var.type.shape, var.type.dtype):
                    raise Violation(f"the constant is {T.Tensor(array.shape, array.dtype.name)}")
            case LoadParameter(var, owner, spec):
                expect(var, spec.type, INVARIANT, "the parameter")
                self.loaded.add((id(owner), spec.name))
            case LoadKeys(var):
                expect(var, T.Tensor((), "uint64"), ROW, "the dropout key")
                self.keys += 1
                if self.keys > 1:
                    raise Violation("the dropout keys are loaded already")
            case Gather():
                self._gather(region, instruction)
            case Pull():
                self._pull(instruction)
            case Store():
                self._store(instruction)
            case Scatter():
                self._scatter(region, instruction)
            case Accumulate():
                self._accumulate(instruction)
            case SumRows():
                self._sum(instruction)
            case RowMap():
                self._map(instruction)
            case Equation():
                check_equation(instruction)
        for var in instruction.writes:
            self._write(region, var)
        if is_view(instruction) and region != "once":
            self.views.add(instruction.result)
        if isinstance(instruction, SumRows) and instruction.sparse:
            self.sparse.add(instruction.result)

    def finish(self) -> None:
        """Checks what holds of the whole program.

        Raises:
            Violation: a rule is broken.
        """
        for number in range(len(self.program.results)):
            if self.stored[number] != 1:
                raise Violation(f"result {number} is stored {self.stored[number]} times")
        if self.program.distinct is not None:
            self._distinct(self.program.distinct)

    def _distinct(self, distinct: Distinct) -> None:
        if not self._operand(distinct.operand).early:
            raise Violation(f"distinct rows of operand {distinct.operand}, which is not early")
        regions = {"early": distinct.spread, "step_back": distinct.summed, "deferred": distinct.products}
        for region, values in regions.items():
            for var in values:
                if self.home.get(var) != region:
                    raise Violation(f"distinct: %{var.id} is not made in {region}")
        sums = {
            instruction.result
            for instruction in self.program.region("deferred")
            if isinstance(instruction, SumRows)
        }
        if not distinct.products <= sums:
            raise Violation("distinct: a product is no sum over rows")

    def _read(self, region: str, var: Var, instruction: Instruction) -> None:
        if self.values.get(var.id, var) != var:
            raise Violation(f"%{var.id} is read as {var}, and was made as {self.values[var.id]}")
        if var not in self.home:
            raise Violation(f"%{var.id} is read before it is made")
        if var in self.views and self.home[var] != region:
            raise Violation(f"%{var.id} is a view of the region {self.home[var]}")
        if var in self.sparse and not (isinstance(instruction, Accumulate) and instruction.region is None):
            raise Violation(f"%{var.id} may be row-sparse")

    def _write(self, region: str, var: Var) -> None:
        if var.id in self.values:
            raise Violation(f"%{var.id} is made already")
        if (var.rows == INVARIANT) != (region == "once") and region != "deferred":
            has = "no rows" if var.rows == INVARIANT else "rows"
            raise Violation(f"%{var.id} has {has}, and is made in {region}")
        self.values[var.id] = var
        self.home[var] = region

    def _operand(self, number: int) -> Operand:
        if number >= len(self.program.operands):
            raise Violation(f"there is no operand {number}")
        return self.program.operands[number]

    def _gathered(self, numbers: tuple[int, ...], var: Var) -> None:
        """Checks that a value has the type of operands side by side."""
        operands = [self._operand(number) for number in numbers]
        first = operands[0]
        if any(
            (each.slab, each.type, each.level) != (first.slab, first.type, first.level) for each in operands
        ):
            raise Violation("the operands are of different slabs, types or levels")
        type = first.type
        if len(operands) > 1 and not type.shape:
            raise Violation("numbers do not stand side by side")
        if len(operands) > 1:
            type = T.Tensor((type.shape[0] * len(operands), *type.shape[1:]), type.dtype)
        expect(var, type, first.level, "what is gathered")

    def _gather(self, region: str, gather: Gather) -> None:
        self._gathered(gather.operands, gather.result)
        if region == "early" and not all(self._operand(number).early for number in gather.operands):
            raise Violation("an operand is not early")
        self.gathered.update(gather.operands)

    def _scatter(self, region: str, scatter: Scatter) -> None:
        self._gathered(scatter.operands, scatter.operand)
        for number in scatter.operands:
            if not self._operand(number).differentiated:
                raise Violation(f"operand {number} is not differentiated")
            if region == "late" and not self._operand(number).early:
                raise Violation(f"operand {number} is not early")
        self.scattered.update(scatter.operands)
        for number in scatter.operands:
            if self.scattered[number] > self.gathered[number]:
                raise Violation(f"operand {number} gets its gradient again")

    def _result(self, number: int) -> tuple[T.Tensor, int]:
        if number >= len(self.program.results):
            raise Violation(f"there is no result {number}")
        return self.program.results[number]

    def _pull(self, pull: Pull) -> None:
        type, level = self._result(pull.number)
        expect(pull.result, type, max(level, ROW), "the result")
        if pull.number in self.pulled:
            raise Violation(f"the gradient of result {pull.number} is pulled already")
        self.pulled.add(pull.number)

    def _store(self, store: Store) -> None:
        type, level = self._result(store.number)
        # What turned out to be the same for all rows is repeated for each.
        expect(store.operand, type, INVARIANT if store.operand.rows == INVARIANT else level, "the result")
        self.stored[store.number] += 1

    def _accumulate(self, instruction: Accumulate) -> None:
        if (id(instruction.owner), instruction.spec.name) not in self.loaded:
            raise Violation("the program does not load the parameter")
        if not instruction.spec.has_gradient:
            raise Violation("the parameter has no gradient")
        if instruction.region is None:
            if instruction.operand not in self.sparse:
                raise Violation(f"%{instruction.operand.id} is not row-sparse")
            expect(instruction.operand, instruction.spec.type, INVARIANT, "the parameter")
            return
        shape = instruction.spec.shape
        if len(instruction.region) != len(shape) or any(
            not 0 <= start <= stop <= size
            for (start, stop), size in zip(instruction.region, shape, strict=True)
        ):
            raise Violation(f"the parameter is {instruction.spec.type}")
        sizes = tuple(stop - start for start, stop in instruction.region)
        expect(instruction.operand, T.Tensor(sizes, instruction.spec.dtype), INVARIANT, "the region")

    def _sum(self, instruction: SumRows) -> None:
        summed = instruction.summed
        if isinstance(summed, Equation):
            check_equation(summed)
            summed = summed.result
        elif instruction.sparse:
            raise Violation("the sum of a value is not row-sparse")
        if summed.rows == INVARIANT:
            raise Violation("what is summed has no rows")
        expect(instruction.result, summed.type, INVARIANT, "the sum")

    def _map(self, instruction: RowMap) -> None:
        inside: list[Var] = []
        for equation in instruction.equations:
            elementwise = is_elementwise(equation) or is_view(equation) or is_join(equation)
            if not self.program.kernels and not elementwise:
                raise Violation(f"{equation.primitive.name} is not element-wise")
            if late := [var for var in equation.operands if var not in inside and var not in self.home]:
                raise Violation(f"%{late[0].id} is read before it is made")
            check_equation(equation)
            if equation.result in inside or equation.result.id in self.values:
                raise Violation(f"%{equation.result.id} is made already")
            inside.append(equation.result)
        if len({var.rows for var in inside}) > 1:
            raise Violation("one loop runs over rows of one level")
        if not instruction.results or not set(instruction.results) <= set(inside):
            raise Violation("its results are not among its equations'")
