"""Checks what every program has to fulfil, whatever passes have made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from arrows.engine.planning import LayerNames
from arrows.engine.program.boxes import whole
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
    attribute,
    is_elementwise,
    is_join,
    is_view,
)
from arrows.engine.program.program import REGIONS, Operand, Place, Program, RangeOf
from arrows.ops import INVARIANT, ROW, Equation, Primitive, Tracer, TraceRecorder, Var
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError
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
_WRITERS = {
    "result": ("early", "step"),
    "kept": REGIONS[: REGIONS.index("step_back")],
    "saved": REGIONS[REGIONS.index("step_back") :],
    "scatter": REGIONS[REGIONS.index("step_back") :],
}
"""The regions that compute what lies in each kind of memory but scratch."""


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


def _demand(holds: bool, rule: str) -> None:
    if not holds:
        raise ProgramError(rule)


def _expect(var: Var, type: T.Tensor, level: int, what: str) -> None:
    """Checks the type and the level of a value."""
    same = (var.type, var.rows) == (type, level)
    _demand(same, f"%{var.id} is not of the type of {what}: {Var(var.id, type, level)}")


def _check_equation(equation: Equation) -> None:
    """Checks type and level of a result by the rule of the primitive."""
    operands = tuple((var.type, var.rows) for var in equation.operands)
    result = _result_of(equation.primitive, operands, equation.attributes)
    if isinstance(result, str):
        raise ProgramError(result)
    _expect(equation.result, *result, equation.primitive.name)


@lru_cache(10_000)
def _result_of(
    primitive: Primitive,
    operands: tuple[tuple[T.Tensor, int], ...],
    pairs: tuple[tuple[str, Hashable], ...],
) -> tuple[T.Tensor, int] | str:
    """Type and level of an equation's result, or what is wrong: passes leave most equations as they are."""
    recorder = TraceRecorder()
    attributes: dict[str, Any] = dict(pairs)
    inputs = [recorder.input(type, level) for type, level in operands]
    try:
        result = recorder.bind(primitive, *inputs, **attributes)
    except (ArrowTypeError, ArrowValueError, TypeError) as error:
        return str(error)
    assert isinstance(result, Tracer)
    if len(recorder.equations) != 1:
        return f"the operands of {primitive.name} differ in rank or level"
    return result.type, result.rows


class _Structure:
    """Checks instructions in order.

    Attributes:
        home: for each value that has been made, the region that made it.
        views: values that only their own region may read.
        sparse: sums that may be row-sparse.
        pulled, stored, gathered, scattered: how often each result and each operand has been.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.values: dict[int, Var] = {}
        self.home: dict[Var, str] = {}
        self.views: set[Var] = set()
        self.sparse: set[Var] = set()
        self.loaded: set[tuple[int, str]] = set()
        self.keys = 0
        self.pulled, self.stored, self.gathered, self.scattered = (Counter[int]() for _ in range(4))

    def check(self, region: str, instruction: Instruction) -> None:
        """Checks the next instruction."""
        kind = instruction.__class__
        regions = _REGIONS_OF.get(kind, REGIONS)
        _demand(region in regions, f"{kind.__name__} stands in {' or '.join(regions)}")
        for var in instruction.reads:
            self._read(region, var, instruction)
        match instruction:
            case LoadConstant(var, array):
                type = T.Tensor(array.shape, array.dtype.name)
                _demand(type == var.type, f"the constant is {type}")
            case LoadParameter(var, owner, spec):
                _expect(var, spec.type, INVARIANT, "the parameter")
                self.loaded.add((id(owner), spec.name))
            case LoadKeys(var):
                _expect(var, T.Tensor((), "uint64"), ROW, "the dropout key")
                self.keys += 1
                _demand(self.keys == 1, "the dropout keys are loaded already")
            case Gather(var, numbers):
                operands = self._side_by_side(numbers, var)
                _demand(region != "early" or all(each.early for each in operands), "an operand is not early")
                self.gathered.update(numbers)
            case Pull(var, number):
                type, level = self._result(number)
                _expect(var, type, max(level, ROW), "the result")
                self.pulled[number] += 1
                _demand(self.pulled[number] == 1, f"the gradient of result {number} is pulled already")
            case Store(number, var):
                type, level = self._result(number)
                # What turned out to be the same for all rows is repeated for each.
                _expect(var, type, INVARIANT if var.rows == INVARIANT else level, "the result")
                self.stored[number] += 1
            case Scatter(numbers, var):
                self.scattered.update(numbers)
                for number, operand in zip(numbers, self._side_by_side(numbers, var), strict=True):
                    _demand(operand.differentiated, f"operand {number} is not differentiated")
                    _demand(region != "late" or operand.early, f"operand {number} is not early")
                    once = self.scattered[number] <= self.gathered[number]
                    _demand(once, f"operand {number} gets its gradient again")
            case Accumulate():
                self._accumulate(instruction)
            case SumRows(result, summed, sparse):
                if isinstance(summed, Equation):
                    _check_equation(summed)
                    summed = summed.result
                elif sparse:
                    raise ProgramError("the sum of a value is not row-sparse")
                _demand(summed.rows != INVARIANT, "what is summed has no rows")
                _expect(result, summed.type, INVARIANT, "the sum")
            case RowMap(equations, results):
                for each in equations:
                    fits = is_elementwise(each) or is_view(each) or is_join(each) or self.program.kernels
                    _demand(bool(fits), f"{each.primitive.name} is not element-wise")
                    self.check(region, each)
                inside = {each.result for each in equations}
                _demand(len({var.rows for var in inside}) == 1, "one loop runs over rows of one level")
                right = bool(results) and inside.issuperset(results)
                _demand(right, "its results are not among its equations'")
                for var in inside.difference(results):
                    del self.home[var]
                return
            case Equation():
                _check_equation(instruction)
        for var in instruction.writes:
            _demand(var.id not in self.values, f"%{var.id} is made already")
            right = region == "deferred" or (var.rows == INVARIANT) == (region == "once")
            _demand(right, f"%{var.id} has {'no ' * (var.rows == INVARIANT)}rows, and is made in {region}")
            self.values[var.id] = var
            self.home[var] = region
        if is_view(instruction) and region != "once":
            self.views.add(instruction.result)
        if isinstance(instruction, SumRows) and instruction.sparse:
            self.sparse.add(instruction.result)

    def finish(self) -> None:
        """Checks what holds of the whole program."""
        for number in range(len(self.program.results)):
            _demand(self.stored[number] == 1, f"result {number} is stored {self.stored[number]} times")
        distinct = self.program.distinct
        if distinct is None:
            return
        early = self._operand(distinct.operand).early
        _demand(early, f"distinct rows of operand {distinct.operand}, which is not early")
        regions = {"early": distinct.spread, "step_back": distinct.summed, "deferred": distinct.products}
        for region, values in regions.items():
            for var in values:
                _demand(self.home.get(var) == region, f"distinct: %{var.id} is not made in {region}")
        sums = {each.result for each in self.program.region("deferred") if isinstance(each, SumRows)}
        _demand(distinct.products <= sums, "distinct: a product is no sum over rows")

    def _read(self, region: str, var: Var, instruction: Instruction) -> None:
        made = self.values.get(var.id, var)
        _demand(made == var, f"%{var.id} is read as {var}, and was made as {made}")
        _demand(var in self.home, f"%{var.id} is read before it is made")
        here = var not in self.views or self.home[var] == region
        _demand(here, f"%{var.id} is a view of the region {self.home[var]}")
        takes_sparse = isinstance(instruction, Accumulate) and instruction.region is None
        _demand(var not in self.sparse or takes_sparse, f"%{var.id} may be row-sparse")

    def _operand(self, number: int) -> Operand:
        _demand(number < len(self.program.operands), f"there is no operand {number}")
        return self.program.operands[number]

    def _result(self, number: int) -> tuple[T.Tensor, int]:
        _demand(number < len(self.program.results), f"there is no result {number}")
        return self.program.results[number]

    def _side_by_side(self, numbers: Sequence[int], var: Var) -> list[Operand]:
        """The operands, if a value has the type of these side by side."""
        operands = [self._operand(number) for number in numbers]
        kinds = {(each.slab, each.type, each.level) for each in operands}
        _demand(len(kinds) == 1, "the operands are of different slabs, types or levels")
        type = operands[0].type
        if len(operands) > 1:
            _demand(bool(type.shape), "numbers do not stand side by side")
            type = T.Tensor((type.shape[0] * len(operands), *type.shape[1:]), type.dtype)
        _expect(var, type, operands[0].level, "what is gathered")
        return operands

    def _accumulate(self, instruction: Accumulate) -> None:
        spec, region, var = instruction.spec, instruction.region, instruction.operand
        _demand((id(instruction.owner), spec.name) in self.loaded, "the program does not load the parameter")
        _demand(spec.has_gradient, "the parameter has no gradient")
        if region is None:
            _demand(var in self.sparse, f"%{var.id} is not row-sparse")
            region = whole(spec.shape)
        inside = [0 <= start <= stop <= size for (start, stop), size in zip(region, spec.shape, strict=False)]
        _demand(len(region) == len(spec.shape) and all(inside), f"the parameter is {spec.type}")
        sizes = tuple(stop - start for start, stop in region)
        _expect(var, T.Tensor(sizes, spec.dtype), INVARIANT, "the region")


_Owner: TypeAlias = Var | Store | Scatter
_Root: TypeAlias = tuple[Place, str]
_Room: TypeAlias = tuple[T.Tensor, int]
_Lies: TypeAlias = tuple[_Root, HostArray]
"""A memory, with the region whose scratch it is; and where in a row of it each number of a value lies."""


class _Memory:
    """Plays a program that has memory through, and notes at each place of a row who has written there.

    Args:
        program: otherwise right.

    Attributes:
        views: what each shows, and where that lies.
        rooms: the type and the level of what lies in each memory.
        written: by memory, for each place of a row the number of who has written there last.
        writers: their names, by number.
        valid: for each value, those whose writing leaves it as it is: its own, and that of a join around it.
        targets: where results go, and gradients of gathered rows.
    """

    def __init__(self, program: Program) -> None:
        self.program, self.memory = program, program.memory
        self.home = {var: name for name, instruction in program for var in instruction.writes}
        self.made_by = {var: instruction for _, instruction in program for var in instruction.writes}
        self.views: dict[Var, tuple[Var, _Lies | None]] = {}
        self.rooms: dict[_Root, _Room] = {
            (Place("scratch", number), region): (T.Tensor(slot.shape, slot.dtype), slot.level)
            for region, slots in program.scratch.items()
            for number, slot in enumerate(slots)
        }
        for number, result in enumerate(program.results):
            self.rooms[Place("result", number), ""] = result
        self.written: dict[_Root, HostArray] = {}
        self.writers: list[str] = []
        self.valid: dict[_Owner, set[int]] = {}
        self.targets: dict[Store | Scatter, _Lies] = {}
        for number, (_, scatter) in enumerate(program.scatters):
            self.targets[scatter] = self._row(Place("scatter", number), "", scatter.operand)
            self.rooms[Place("scatter", number), ""] = scatter.operand.type, scatter.operand.rows
        for store in program.region("step"):
            if isinstance(store, Store):
                self.targets[store] = self._row(Place("result", store.number), "", store.operand)

    def check(self, region: str, instruction: Instruction) -> None:
        """Checks the next instruction."""
        for var in instruction.writes:
            self._check_memory(region, instruction, var)
        match instruction:
            case Equation() if is_view(instruction):
                place = self._read(region, instruction.operands[0])
                shown, _ = self.views.get(instruction.operands[0], (instruction.operands[0], None))
                if place is not None:
                    attributes: dict[str, Any] = dict(instruction.attributes)
                    place = place[0], instruction.primitive.kernel(np, **attributes)(place[1])
                self.views[instruction.result] = shown, place
            case Equation():
                self._run(region, (instruction,))
            case RowMap(equations, results):
                joined = {var for equation in equations for var in self._joined(equation)}
                for var in instruction.reads:  # one loop: results are written while all of this is read
                    place = self._read(region, var)
                    for result in results if var not in joined else ():
                        self._check_in_place(result, var, place, elementwise=True)
                self._run(region, equations)
            case Gather(var) | Pull(var) if var in self.memory:
                self._write(var, self._place(var))
            case Store() | Scatter():
                self._hand_over(region, instruction)
            case _:
                for var in instruction.reads:
                    self._read(region, var)

    def finish(self) -> None:
        """Checks that what is handed over is there in the end."""
        for owner, target in self.targets.items():
            self._check_there(owner, target, f"{_name(owner)} is overwritten by {{}}")

    # Whether memory fits

    def _check_memory(self, region: str, instruction: Instruction, var: Var) -> None:
        """Checks that a value has memory if it needs it, and that this is of its shape."""
        loads: Place | None = None
        match instruction:
            case Gather():
                loads = Place("gathered", self.program.gather_numbers[var])
            case Pull(_, number) if self.program.kernels:
                loads = Place("gradient", number)
        computed = isinstance(instruction, (Equation, RowMap)) and not is_view(instruction)
        needs = computed and var.rows != INVARIANT
        if var not in self.memory:
            _demand(not needs, f"%{var.id} has no memory")
            return
        _demand(needs or loads is not None, f"%{var.id} needs no memory")
        memory = self.memory[var]
        (root, home), places = self._place(var)
        if isinstance(memory, RangeOf):
            room: _Room | None = (T.Tensor(places.shape, memory.whole.type.dtype), memory.whole.rows)
        elif root.kind in ("scratch", "result", "scatter"):
            room = self.rooms.get((root, home))
        else:
            room = self.rooms.setdefault((root, home), (var.type, var.rows))
        if root.kind == "scratch":
            right = home == region and (loads is None or self.program.kernels is not None)
        elif loads is not None:
            right = root == loads
        else:
            right = region in _WRITERS.get(root.kind, ())
            # What is made of distinct rows is not there row by row.
            right = right and ((root.kind, region) != ("result", "early") or self.program.distinct is None)
        _demand(right, f"%{var.id} must not lie in {root}" + (f" of {home}" if home else ""))
        _demand(room is not None, f"there is no {memory}")
        _demand(room == (var.type, var.rows), f"%{var.id} does not fit {memory}")

    # Where values lie

    def _place(self, var: Var) -> _Lies:
        """Where a value lies that has memory."""
        memory = self.memory[var]
        if isinstance(memory, RangeOf):
            _demand(memory.whole in self.memory, f"%{memory.whole.id} has no memory, and others lie in it")
            root, places = self._place(memory.whole)
            after = (slice(None),) * (-1 - memory.axis)
            part: Any = (..., slice(memory.start, memory.stop), *after)
            return root, places[part]
        return self._row(memory, self.home[var] if memory.kind == "scratch" else "", var)

    def _row(self, memory: Place, region: str, var: Var) -> _Lies:
        """All places of a row of memory, which is as large as a value."""
        self.written.setdefault((memory, region), np.full(var.type.size, -1))
        return (memory, region), np.arange(var.type.size).reshape(var.type.shape)

    def _joined(self, equation: Equation) -> list[Var]:
        """The operands of a join that lie in their ranges of it."""
        joined, stop = [], 0
        if is_join(equation):
            axis: int = attribute(equation, "axis")
            for var in equation.operands:
                start, stop = stop, stop + var.type.shape[axis]
                if self.memory.get(var) == RangeOf(equation.result, axis, start, stop):
                    joined.append(var)
        return joined

    # Reading and writing

    def _check_there(self, owner: _Owner, place: _Lies, rule: str) -> None:
        written = self.written[place[0]][place[1]]
        lost = written[~np.isin(written, list(self.valid[owner]))]
        if lost.size:
            raise ProgramError(rule.format(self.writers[lost.flat[0]]))

    def _read(self, region: str, var: Var) -> _Lies | None:
        """Checks that a value that is read is there still; returns where it lies, if in memory."""
        owner, place = self.views.get(var, (var, self._place(var) if var in self.memory else None))
        if owner.rows == INVARIANT or owner not in self.home:  # or it is inside of a loop
            return None
        if (home := self.home[owner]) != region:
            kept = place is not None and place[0][0].kind not in ("scratch", "scatter")
            ready = (Pull, LoadKeys, Gather) if self.program.kernels else (Pull, LoadKeys)
            there = kept or isinstance(self.made_by[owner], ready)
            _demand(there, f"%{owner.id} is not held for other regions than {home}")
        if place is not None:
            self._check_there(owner, place, f"%{owner.id} is read, and {{}} has overwritten it")
        return place

    def _run(self, region: str, equations: Sequence[Equation]) -> None:
        """Plays equations through."""
        for equation in equations:
            result, joined = equation.result, self._joined(equation)
            for var in equation.operands:
                place = self._read(region, var)
                if var not in joined:
                    self._check_in_place(result, var, place, elementwise=is_elementwise(equation))
            if result in self.memory:
                self._write(result, self._place(result), joined)

    def _check_in_place(self, result: Var, var: Var, place: _Lies | None, *, elementwise: bool) -> None:
        """Checks that an equation does not overwrite what it reads, other than element by element."""
        if place is not None and result in self.memory:
            target = self._place(result)
            harmless = not _meet(target, place) or (elementwise and np.array_equal(target[1], place[1]))
            _demand(harmless, f"%{result.id} overwrites its operand %{var.id}")

    def _hand_over(self, region: str, instruction: Store | Scatter) -> None:
        """Plays a store or a scatter through, which copies what does not lie where it goes."""
        var, target = instruction.operand, self.targets[instruction]
        place = self._read(region, var)
        if place is None or not _meet(place, target):
            self._write(instruction, target)
        else:
            same = np.array_equal(place[1], target[1])
            _demand(same, f"{_name(instruction)} overwrites %{var.id}")
            self.valid[instruction] = self.valid[self.views.get(var, (var, None))[0]]

    def _write(self, owner: _Owner, place: _Lies, parts: Sequence[Var] = ()) -> None:
        """Notes who writes; ``parts`` of it are there already, and stay."""
        root, places = place
        self.written[root][places] = len(self.writers)
        self.valid[owner] = {len(self.writers)}
        for part in parts:
            self.valid[part].add(len(self.writers))
        self.writers.append(_name(owner))


def _meet(left: _Lies, right: _Lies) -> bool:
    return left[0] == right[0] and np.intersect1d(left[1], right[1]).size > 0


def _name(owner: _Owner) -> str:
    match owner:
        case Var():
            return f"%{owner.id}"
        case Store():
            return f"result {owner.number}"
        case Scatter():
            return f"scatter {', '.join(map(str, owner.operands))}"
