"""Checks what every program has to fulfil, whatever passes have made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.planning import LayerNames
from arrows.engine.program.instructions import (
    Accumulate,
    Gather,
    Instruction,
    LoadKeys,
    Pull,
    RowMap,
    Scatter,
    Store,
    SumRows,
    format_instruction,
    is_elementwise,
    is_join,
    is_view,
    whole,
)
from arrows.engine.program.program import Place, Program, RangeOf
from arrows.ops import INVARIANT, ROW, Equation, Primitive, TraceRecorder, Var
from arrows.typesys import ArrowTypeError, ArrowValueError, types as T


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
        tests.engine.program.verify.ProgramError: after build: result 0 is stored 0 times
    """
    checkers: list[_Structure | _Memory] = [_Structure(program)]
    if program.memory:
        checkers.append(_Memory(program))
    for checker in checkers:
        region, instruction = "", None
        try:
            for region, instruction in program:
                checker.check(region, instruction)
            instruction = None
            checker.finish()
        except ProgramError as error:
            places = [f"after {after}"] if after else []
            if instruction is not None:
                lines = format_instruction(instruction, program.format_value, LayerNames().of)
                places += [region, "; ".join(line.strip() for line in lines)]
            raise ProgramError(": ".join([*places, str(error)])) from None


def _demand(holds: object, rule: str) -> None:
    if not holds:
        raise ProgramError(rule)


@lru_cache(10_000)
def _result_of(
    primitive: Primitive,
    operands: tuple[tuple[T.Tensor, int], ...],
    pairs: tuple[tuple[str, Hashable], ...],
) -> tuple[T.Tensor, int] | str:
    """Type and level of an equation's result, or what is wrong: passes leave most equations as they are."""
    recorder = TraceRecorder()
    inputs = tuple([recorder.input(type, level) for type, level in operands])
    try:
        result = recorder.apply(primitive, inputs, dict(pairs))
    except (ArrowTypeError, ArrowValueError, TypeError) as error:
        return str(error)
    if len(recorder.equations) != 1:
        return f"the operands of {primitive.name} differ in rank or level"
    return result.type, result.rows


class _Structure:
    """Checks instructions in order.

    Attributes:
        home: for each value that has been made, the region that made it.
        made: by number, the values that have been made.
        views: values that only their own region may read.
        sparse: sums that may be row-sparse.
        counts: how often each operand and each result has been handed over, by the kind of instruction.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.home: dict[Var, str] = {}
        self.made: dict[int, Var] = {}
        self.views: set[Var] = set()
        self.sparse: set[Var] = set()
        self.counts: Counter[tuple[type, int]] = Counter()

    def check(self, region: str, instruction: Instruction) -> None:
        """Checks the next instruction."""
        kind = instruction.__class__
        for var in instruction.reads:
            made = self.made.get(var.id, var)
            _demand(made == var, f"%{var.id} is read as {var}, and was made as {made}")
            _demand(var in self.home, f"%{var.id} is read before it is made")
            here = var not in self.views or self.home[var] == region
            _demand(here, f"%{var.id} is a view of the region {self.home[var]}")
            takes_sparse = isinstance(instruction, Accumulate) and instruction.region is None
            _demand(var not in self.sparse or takes_sparse, f"%{var.id} may be row-sparse")
        match instruction:
            case Gather(var, numbers) | Scatter(numbers, var):
                self._check_operands(region, instruction, numbers, var)
            case Pull(var, number) | Store(number, var):
                _demand(number < len(self.program.results), f"there is no result {number}")
                type, level = self.program.results[number]
                same_for_all = isinstance(instruction, Store) and var.rows == INVARIANT
                _expect(var, type, INVARIANT if same_for_all else max(level, ROW), "the result")
                self.counts[kind, number] += 1
            case Accumulate(_, spec, region_of, var):
                box = whole(spec.shape) if region_of is None else region_of
                fits = all(stop <= size for (_, stop), size in zip(box, spec.shape, strict=True))
                _demand(fits, f"the parameter is {spec.type}")
                _demand(region_of is not None or var in self.sparse, f"%{var.id} is not row-sparse")
                sizes = tuple(stop - start for start, stop in box)
                _expect(var, T.Tensor(sizes, spec.dtype), INVARIANT, "the region")
            case SumRows(result, summed, sparse):
                if isinstance(summed, Equation):
                    _check_equation(summed)
                    summed = summed.result
                elif sparse:
                    raise ProgramError("the sum of a value is not row-sparse")
                _demand(summed.rows != INVARIANT, "what is summed has no rows")
                _expect(result, summed.type, INVARIANT, "the sum")
                self.sparse.update([result] if sparse else [])
            case RowMap(equations, results):
                for each in equations:
                    fits = is_elementwise(each) or is_view(each) or is_join(each)
                    _demand(fits or self.program.kernels, f"{each.primitive.name} is not element-wise")
                    self.check(region, each)
                inside = {each.result for each in equations}
                _demand(len({var.rows for var in inside}) == 1, "one loop runs over rows of one level")
                _demand(inside.issuperset(results), "its results are not among its equations'")
                for var in inside.difference(results):
                    del self.home[var]
                return
            case Equation():
                _check_equation(instruction)
        for var in instruction.writes:
            _demand(var.id not in self.made, f"%{var.id} is made already")
            right = region == "deferred" or (var.rows == INVARIANT) == (region == "once")
            _demand(right, f"%{var.id} has {'no ' * (var.rows == INVARIANT)}rows, and is made in {region}")
            self.made[var.id] = var
            self.home[var] = region
        if is_view(instruction) and region != "once":
            self.views.add(instruction.result)

    def finish(self) -> None:
        """Checks what holds of the whole program."""
        for number in range(len(self.program.results)):
            stored, pulled = self.counts[Store, number], self.counts[Pull, number]
            _demand(stored == 1, f"result {number} is stored {stored} times")
            _demand(pulled <= 1, f"the gradient of result {number} is pulled {pulled} times")
        distinct = self.program.distinct
        if distinct is None:
            return
        early = self.program.operands[distinct.operand].early
        _demand(early, f"distinct rows of operand {distinct.operand}, which is not early")
        regions = {"early": distinct.spread, "step_back": distinct.summed, "deferred": distinct.products}
        for region, values in regions.items():
            for var in values:
                _demand(self.home.get(var) == region, f"distinct: %{var.id} is not made in {region}")

    def _check_operands(
        self, region: str, instruction: Gather | Scatter, numbers: tuple[int, ...], var: Var
    ) -> None:
        """Checks that a value has the type of operands side by side, and that they are handed over once."""
        operands = self.program.operands
        for number in numbers:
            _demand(number < len(operands), f"there is no operand {number}")
            self.counts[instruction.__class__, number] += 1
            early = region not in ("early", "late") or operands[number].early
            _demand(early, f"operand {number} is not early")
            if isinstance(instruction, Scatter):
                _demand(operands[number].differentiated, f"operand {number} is not differentiated")
                once = self.counts[Scatter, number] <= self.counts[Gather, number]
                _demand(once, f"operand {number} gets its gradient again")
        kinds = {(operands[number].slab, operands[number].type, operands[number].level) for number in numbers}
        _demand(len(kinds) == 1, "the operands are of different slabs, types or levels")
        ((_, type, level),) = kinds
        if len(numbers) > 1:
            type = T.Tensor((type.shape[0] * len(numbers), *type.shape[1:]), type.dtype)
        _expect(var, type, level, "what is gathered")


def _check_equation(equation: Equation) -> None:
    """Checks type and level of a result by the rule of the primitive."""
    operands = tuple((var.type, var.rows) for var in equation.operands)
    result = _result_of(equation.primitive, operands, equation.attributes)
    if isinstance(result, str):
        raise ProgramError(result)
    _expect(equation.result, *result, equation.primitive.name)


def _expect(var: Var, type: T.Tensor, level: int, what: str) -> None:
    """Checks the type and the level of a value."""
    same = (var.type, var.rows) == (type, level)
    _demand(same, f"%{var.id} is not of the type of {what}: {Var(var.id, type, level)}")


_Lies: TypeAlias = tuple[tuple[Place, str], int, HostArray]
"""The memory that a value lies in (with the region whose scratch it is), its size, and where in a row of it
each number of the value lies."""


class _Memory:
    """Plays a program that has memory through, for one row of each value.

    Each number of a value has a token.  Views and joins hand on the tokens of what they show, and what writes
    a value puts its tokens where it lies: what is read is there still if its tokens are.  What does not fit
    its memory fails when it runs.

    Attributes:
        tokens: of the numbers of each value.
        lies: of each value that is in memory, where.
        held: by memory, the tokens that are there.
        targets: what is handed over, where to, and what this is called.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.made_by = {var: (name, each) for name, each in program for var in each.writes}
        self.tokens: dict[Var, HostArray] = {}
        self.lies: dict[Var, _Lies] = {}
        self.held: dict[tuple[Place, str], HostArray] = {}
        self.targets: list[tuple[Var, _Lies, str]] = []

    def check(self, region: str, instruction: Instruction) -> None:
        """Checks the next instruction."""
        read = {var: self._read(region, var) for var in instruction.reads}
        for each in instruction.equations if isinstance(instruction, RowMap) else [instruction]:
            self._make(each)
        computed = isinstance(instruction, (Equation, RowMap)) and not is_view(instruction)
        elementwise = isinstance(instruction, RowMap) or is_elementwise(instruction)
        for var in instruction.writes:
            if var in self.program.memory:
                self.lies[var] = self._place(var)
                self._write(f"%{var.id}", var, self.lies[var], read, elementwise)
            else:
                _demand(not computed or var.rows == INVARIANT, f"%{var.id} has no memory")
        if isinstance(instruction, (Store, Scatter)):
            place = self.program.target(instruction)
            name = str(place) if isinstance(instruction, Store) else "what is scattered"
            var = instruction.operand
            lies = (place, ""), var.type.size, _row(var)
            self._write(name, var, lies, read, elementwise=False)
            self.targets.append((var, lies, name))

    def finish(self) -> None:
        """Checks that what is handed over is there in the end."""
        for var, lies, name in self.targets:
            self._check_there(var, lies, f"{name} is overwritten by {{}}")

    def _place(self, var: Var) -> _Lies:
        """Where a value lies that has memory."""
        memory = self.program.memory[var]
        if isinstance(memory, RangeOf):
            root, size, places = self._place(memory.whole)
            part: Any = (..., slice(memory.start, memory.stop), *(slice(None),) * (-1 - memory.axis))
            return root, size, places[part]
        region = self.made_by[var][0] if memory.kind == "scratch" else ""
        return (memory, region), var.type.size, _row(var)

    def _make(self, instruction: Instruction) -> None:
        """Gives the numbers that an instruction makes their tokens."""
        if is_view(instruction) or is_join(instruction):
            attributes: dict[str, Any] = dict(instruction.attributes)
            show = instruction.primitive.kernel(np, **attributes)
            self.tokens[instruction.result] = show(*(self.tokens[var] for var in instruction.operands))
            if is_view(instruction) and (lies := self.lies.get(instruction.operands[0])) is not None:
                self.lies[instruction.result] = (*lies[:2], show(lies[2]))
        else:
            for var in instruction.writes:
                self.tokens[var] = _row(var) + (var.id << 32)

    def _read(self, region: str, var: Var) -> _Lies | None:
        """Checks that a value that is read is there still; returns where it lies, if in memory."""
        lies = self.lies.get(var)
        home, maker = self.made_by[var]
        if home not in ("once", region):
            ready = (Pull, LoadKeys, Gather) if self.program.kernels else (Pull, LoadKeys)
            kept = lies is not None and lies[0][0].kind not in ("scratch", "scatter")
            _demand(kept or isinstance(maker, ready), f"%{var.id} is not held for other regions than {home}")
        if lies is not None:
            self._check_there(var, lies, f"%{var.id} is read, and {{}} has overwritten it")
        return lies

    def _check_there(self, var: Var, lies: _Lies, rule: str) -> None:
        there = self.held[lies[0]][lies[2]]
        lost = there[there != self.tokens[var]]
        if lost.size:
            raise ProgramError(rule.format(f"%{lost.flat[0] >> 32}"))

    def _write(
        self, name: str, var: Var, lies: _Lies, read: Mapping[Var, _Lies | None], elementwise: bool
    ) -> None:
        """Writes a value, and checks that it overwrites nothing that is read meanwhile, other than element
        by element."""
        root, size, places = lies
        held = self.held.setdefault(root, np.full(size, -1))
        changed = places[held[places] != self.tokens[var]]
        for operand, where in read.items():
            if where is not None and where[0] == root:
                same = elementwise and np.array_equal(where[2], places)
                harmless = same or not np.isin(changed, where[2]).any()
                _demand(harmless, f"{name} overwrites its operand %{operand.id}")
        held[places] = self.tokens[var]


def _row(var: Var) -> HostArray:
    """The places of the numbers of a value in a row of its own."""
    return np.arange(var.type.size).reshape(var.type.shape)
