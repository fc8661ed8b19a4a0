"""Checks the memory of a program: plays its instructions through and notes what overwrites what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from arrows.engine.program.boxes import overlap, whole
from arrows.engine.program.instructions import (
    Gather,
    Instruction,
    LoadKeys,
    Pull,
    Region,
    RowMap,
    Scatter,
    Store,
    is_view,
)
from arrows.engine.program.program import (
    REGIONS,
    Memory,
    Place,
    Program,
    RangeOf,
)
from arrows.engine.program.verify_equation import Violation
from arrows.ops import INVARIANT, Equation, Var
from arrows.typesys import types as T

_FORWARD = REGIONS[: REGIONS.index("step_back")]


@dataclass(frozen=True, slots=True)
class _Part:
    """Where a value lies.

    Attributes:
        array: the memory, with the region whose scratch it is.
        shape: of the array's rows.
        box: the part of these rows.
        plain: whether the value's elements lie there in their order, as in the array.
    """

    array: tuple[Place, str]
    shape: tuple[int, ...]
    box: Region
    plain: bool = True

    def meets(self, other: _Part) -> bool:
        """Whether the two share an element."""
        if self.array != other.array:
            return False
        return self.shape != other.shape or overlap(self.box, other.box)

    def is_same(self, other: _Part) -> bool:
        """Whether each element of one lies where that of the other does."""
        same = (self.array, self.shape, self.box) == (other.array, other.shape, other.box)
        return same and self.plain and other.plain


_Owner: TypeAlias = Var | Store | Scatter


@dataclass(eq=False, slots=True)
class _Content:
    """Where something lies, and what has overwritten parts of it since."""

    place: _Part
    lost: list[tuple[_Part, _Owner]] = field(default_factory=list)


class MemoryChecker:
    """Plays a program that has memory through, instruction by instruction.

    Args:
        program: otherwise right.
    """

    def __init__(self, program: Program) -> None:
        self.program, self.memory = program, program.memory
        self.home = {var: name for name, instruction in program for var in instruction.writes}
        self.views: dict[Var, tuple[Var, _Part | None]] = {}  # what each shows, and where that lies
        self.contents: dict[_Owner, _Content] = {}
        self.held: dict[Memory, tuple[T.Tensor, int]] = {}
        self.targets: dict[_Owner, _Part] = {}  # where results go, and gradients of gathered rows
        for number, (_, scatter) in enumerate(program.scatters):
            self._add_target(scatter, Place("scatter", number))
        for _, instruction in program:
            if isinstance(instruction, Store):
                self._add_target(instruction, Place("result", instruction.number))

    def _add_target(self, instruction: Store | Scatter, memory: Place) -> None:
        shape = instruction.operand.type.shape
        self.targets[instruction] = _Part((memory, ""), shape, whole(shape))

    def check(self, region: str, instruction: Instruction) -> None:
        """Checks the next instruction.

        Raises:
            Violation: it breaks a rule.
        """
        for var in instruction.writes:
            self._check_memory(region, instruction, var)
        match instruction:
            case Equation() if is_view(instruction):
                self._read(region, instruction.reads[0])
                self.views[instruction.result] = self._view(instruction)
            case Equation() | RowMap():
                self._run(region, instruction)
            case Gather(var) | Pull(var) if var in self.memory:
                self._write(var, self._place(var))
            case Store() | Scatter():
                self._hand_over(region, instruction)
            case _:
                for var in instruction.reads:
                    self._read(region, var)

    def finish(self) -> None:
        """Checks that what is handed over is there in the end.

        Raises:
            Violation: it is not.
        """
        for owner, content in self.contents.items():
            if owner in self.targets and content.lost:
                raise Violation(f"{_name(owner)} is overwritten by {_name(content.lost[0][1])}")

    # Whether memory fits

    def _check_memory(self, region: str, instruction: Instruction, var: Var) -> None:
        """Checks that a value has memory if it needs it, and that this is of its shape."""
        needs = var.rows != INVARIANT and isinstance(instruction, (Equation, RowMap))
        needs = needs and not is_view(instruction)
        if var not in self.memory:
            if needs:
                raise Violation(f"%{var.id} has no memory")
            return
        if not (
            needs
            or isinstance(instruction, Gather)
            or (self.program.kernels and isinstance(instruction, Pull))
        ):
            raise Violation(f"%{var.id} needs no memory")
        memory = self.memory[var]
        root, home = self._place(var).array
        match root:
            case Place("gathered", number):
                right = isinstance(instruction, Gather) and self.program.gathers[number][1] is instruction
            case Place("gradient", number):
                right = (
                    isinstance(instruction, Pull) and instruction.number == number and self.program.kernels
                )
            case Place("scatter"):
                right = region not in _FORWARD
            case Place("kept"):
                right = region in _FORWARD
            case Place("saved"):
                right = region not in _FORWARD
            case Place("result"):
                # What is made of distinct rows is not there row by row.
                right = region == "step" or (region == "early" and self.program.distinct is None)
            case _:
                right = home == region
        loads = {Gather: "gathered", Pull: "gradient"}.get(type(instruction))
        if loads is not None and not (root.kind == "scratch" and self.program.kernels):
            right &= root.kind == loads
        if not right:
            raise Violation(f"%{var.id} must not lie in {root}" + (f" of {home}" if home else ""))
        expected = self._type_of(memory, region, var)
        if expected is None:
            raise Violation(f"there is no {memory}")
        if expected != (var.type, var.rows):
            raise Violation(f"%{var.id} does not fit {memory}")

    def _type_of(self, memory: Memory, region: str, var: Var) -> tuple[T.Tensor, int] | None:
        """The type and the level of what lies in a memory; None where there is no such memory."""
        program = self.program
        match memory:
            case Place("scratch", number):
                slots = program.scratch.get(region, ())[number : number + 1]
                return (T.Tensor(slots[0].shape, slots[0].dtype), slots[0].level) if slots else None
            case Place("result", number):
                return program.results[number] if number < len(program.results) else None
            case Place("scatter", number):
                scatters = program.scatters[number : number + 1]
                return (scatters[0][1].operand.type, scatters[0][1].operand.rows) if scatters else None
            case Place("kept" | "saved"):
                return self.held.setdefault(memory, (var.type, var.rows))
            case Place():
                return var.type, var.rows
            case RangeOf(around, axis, start, stop):
                shape = list(around.type.shape)
                if not 0 <= start <= stop <= shape[axis]:
                    return None
                shape[axis] = stop - start
                return T.Tensor(tuple(shape), around.type.dtype), around.rows

    # Where values lie

    def _place(self, var: Var) -> _Part:
        """Where a value lies that has memory."""
        memory = self.memory[var]
        ranges: list[RangeOf] = []
        while isinstance(memory, RangeOf):
            ranges.append(memory)
            var = memory.whole
            if not -len(var.type.shape) <= memory.axis < 0 or len(ranges) > len(self.memory):
                raise Violation(f"there is no {memory}")
            if var not in self.memory:
                raise Violation(f"%{var.id} has no memory, and others lie in it")
            memory = self.memory[var]
        box = list(whole(var.type.shape))
        for part in reversed(ranges):
            first = box[part.axis][0]
            box[part.axis] = (first + part.start, first + part.stop)
        home = self.home.get(var, "") if memory.kind == "scratch" else ""
        return _Part((memory, home), var.type.shape, tuple(box))

    def _shown(self, var: Var) -> tuple[Var, _Part | None]:
        """The value that a view shows, or the value itself; and where the shown lies, if in memory."""
        if var in self.views:
            return self.views[var]
        return var, self._place(var) if var in self.memory else None

    def _view(self, equation: Equation) -> tuple[Var, _Part | None]:
        owner, place = self._shown(equation.operands[0])
        if place is None or not place.plain:
            return owner, place
        key: Any = dict(equation.attributes).get("key")
        slices = equation.primitive.name == "index"
        if not slices or not all(isinstance(part, tuple) and part[2] == 1 for part in key):
            return owner, replace(place, plain=False)
        box = list(place.box)
        for axis, (start, stop, _) in enumerate(key):
            box[axis] = (box[axis][0] + start, box[axis][0] + stop)
        return owner, replace(place, box=tuple(box))

    # Reading and writing

    def _read(self, region: str, var: Var) -> _Part | None:
        """Checks that a value that is read is there still."""
        owner, place = self._shown(var)
        home = self.home.get(owner, region)
        if owner.rows == INVARIANT:
            return None
        if home != region:
            held = place is not None and place.array[0].kind not in ("scratch", "scatter")
            instruction = next(
                instruction for name, instruction in self.program if owner in instruction.writes
            )
            ready = isinstance(instruction, (Pull, LoadKeys)) or (
                self.program.kernels and isinstance(instruction, Gather)
            )
            if not held and not ready:
                raise Violation(f"%{owner.id} is not held for other regions than {home}")
        content = self.contents.get(owner)
        if place is not None and content is not None:
            for lost, by in content.lost:
                if place.meets(lost):
                    raise Violation(f"%{owner.id} is read, and {_name(by)} has overwritten it")
        return place

    def _run(self, region: str, instruction: Equation | RowMap) -> None:
        """Plays the equations of an instruction through."""
        equations = instruction.equations if isinstance(instruction, RowMap) else (instruction,)
        parts = {part for equation in equations for part in _parts(equation)}
        if len(equations) > 1:  # one loop: results are written while all of this is read
            for var in instruction.reads:
                place = self._read(region, var)
                for result in instruction.writes:
                    if self.memory.get(var) not in parts:
                        self._check_in_place(result, var, place, elementwise=True)
        for equation in equations:
            result = equation.result
            joined = [var for var in equation.operands if self.memory.get(var) in parts]
            for var in equation.operands:
                place = self._read(region, var)
                if var not in joined:
                    self._check_in_place(result, var, place, elementwise=equation.primitive.elementwise)
            if result in self.memory:
                self._write(result, self._place(result), joined)

    def _check_in_place(self, result: Var, var: Var, place: _Part | None, *, elementwise: bool) -> None:
        """Checks that an equation does not overwrite what it reads, other than element by element."""
        if place is None or result not in self.memory:
            return
        target = self._place(result)
        if target.meets(place) and not (elementwise and target.is_same(place)):
            raise Violation(f"%{result.id} overwrites its operand %{var.id}")

    def _hand_over(self, region: str, instruction: Store | Scatter) -> None:
        """Plays a store or a scatter through, which copies what does not lie where it goes."""
        place, target = self._read(region, instruction.operand), self.targets[instruction]
        if place is None or not place.meets(target):
            self._write(instruction, target)
        elif place.is_same(target):
            self.contents[instruction] = _Content(target)
        else:
            raise Violation(f"{_name(instruction)} overwrites %{instruction.operand.id}")

    def _write(self, owner: _Owner, place: _Part, parts: Sequence[Var] = ()) -> None:
        """Notes what a value overwrites; its ``parts`` are there already."""
        for other, content in self.contents.items():
            if other not in parts and content.place.meets(place):
                content.lost.append((place, owner))
        self.contents[owner] = _Content(place)


def _parts(equation: Equation) -> list[Memory]:
    """For a join, the ranges of the result that its operands go to."""
    if equation.primitive.name != "concat":
        return []
    axis = dict(equation.attributes)["axis"]
    assert isinstance(axis, int)
    ranges: list[Memory] = []
    start = 0
    for var in equation.operands:
        stop = start + var.type.shape[axis]
        ranges.append(RangeOf(equation.result, axis, start, stop))
        start = stop
    return ranges


def _name(owner: _Owner) -> str:
    match owner:
        case Var():
            return f"%{owner.id}"
        case Store():
            return f"result {owner.number}"
        case Scatter():
            return f"scatter {', '.join(map(str, owner.operands))}"
