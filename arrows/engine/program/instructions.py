"""The instructions of a program, and their text: equations, and what joins them to the rest of a batch.

They are in single-assignment form over typed values.  A value is a `Var`: a number, the type of one row, and
its level, which says what counts its rows: nothing (`INVARIANT`), the operation's rows (`ROW`), or the
elements of a sequence of its input.

`in_range` checks indices that a device computes; what is known when examples are read is checked there.  The
host waits for the indices.  It has to: what is looked up is wrong otherwise, and nobody would know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import Any, ClassVar, TypeAlias, TypeGuard

import numpy as np

from arrows.arrays import Array, ArrayModule, HostArray, put
from arrows.ops import (
    INVARIANT,
    ROW,
    Equation,
    Parameter,
    Primitive,
    Run,
    Var,
    check_index,
    check_places,
    lift_each,
)

Region: TypeAlias = tuple[tuple[int, int], ...]
"""A box of a parameter: for each axis, where it starts and stops."""


class _Source:
    """An instruction that makes a value of none of the program's."""

    __slots__ = ()
    result: Var
    reads: ClassVar[tuple[Var, ...]] = ()

    @property
    def writes(self) -> tuple[Var, ...]:
        """The values that the instruction makes."""
        return (self.result,)


class _HandOver:
    """An instruction that only reads a value: it goes somewhere else."""

    __slots__ = ()
    operand: Var
    writes: ClassVar[tuple[Var, ...]] = ()

    @property
    def reads(self) -> tuple[Var, ...]:
        """The values that the instruction reads."""
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class LoadConstant(_Source):
    """``%0: float32 = constant 0.5``"""

    result: Var
    array: HostArray


@dataclass(frozen=True, slots=True)
class LoadParameter(_Source):
    """``%0: float32[600, 1200] = parameter LSTM_1/weight``: the live array of a layer's parameter."""

    result: Var
    owner: object
    spec: Parameter


@dataclass(frozen=True, slots=True)
class LoadKeys(_Source):
    """``%0: uint64 row = dropout keys``: one number for each row, from which its masks are hashed."""

    result: Var


@dataclass(frozen=True, slots=True)
class Gather(_Source):
    """``%0: float32[300] row = gather 0``: rows of a slab, as a range or by an index.

    Several operands of one slab are gathered side by side: ``%0: float32[600] row = gather 0, 1`` is their
    concatenation.

    Attributes:
        result: the operand's value.
        operands: numbers of the program's operands.
    """

    result: Var
    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RowMap:
    """Element-wise equations that run as one loop over rows; slices and joins of vectors may stand between.

    In text, a block::

        map
          %3: float32[3] row = add(%0, %1)
          %4: float32[3] row = tanh(%3)
        -> %4

    Attributes:
        equations: in order, two or more.
        results: those of their results that are read outside.
    """

    equations: tuple[Equation, ...]
    results: tuple[Var, ...]

    @property
    def reads(self) -> tuple[Var, ...]:
        """The values that the instruction reads."""
        inside = {equation.result for equation in self.equations}
        read = dict.fromkeys(var for equation in self.equations for var in equation.operands)
        return tuple(var for var in read if var not in inside)

    @property
    def writes(self) -> tuple[Var, ...]:
        """The values that the instruction makes."""
        return self.results


@dataclass(frozen=True, slots=True)
class SumRows:
    """The sum over all rows: ``%5: float32[3] = sum %4``, or of an equation whose rows are never made:
    ``%5: float32[3, 4] = sum outer(%1, %4)``.

    Attributes:
        result: without rows.
        summed: a value; or an equation, whose result, the rows, is named by nothing else.
        sparse: whether the value may be row-sparse (``sum sparse scatter_row(...)``).
    """

    result: Var
    summed: Var | Equation
    sparse: bool = False

    @property
    def reads(self) -> tuple[Var, ...]:
        """The values that the instruction reads."""
        return (self.summed,) if isinstance(self.summed, Var) else self.summed.operands

    @property
    def writes(self) -> tuple[Var, ...]:
        """The values that the instruction makes."""
        return (self.result,)

    def is_of(self, primitive: str) -> bool:
        """Whether an equation of this primitive is summed."""
        return isinstance(self.summed, Equation) and self.summed.primitive.name == primitive


@dataclass(frozen=True, slots=True)
class Store(_HandOver):
    """``result 0 = %7``: hands a result to the slab that holds the operation's outputs."""

    number: int
    operand: Var


@dataclass(frozen=True, slots=True)
class Pull(_Source):
    """``%8: float32[3] row = gradient 0``: what the readers of a result's rows have left."""

    result: Var
    number: int


@dataclass(frozen=True, slots=True)
class Scatter(_HandOver):
    """``scatter 0, 1 += %9``: the transpose of a gather: a gradient for the rows that were gathered.

    Attributes:
        operands: numbers of the program's operands, as in the `Gather`.
        operand: the gradient.
    """

    operands: tuple[int, ...]
    operand: Var


@dataclass(frozen=True, slots=True)
class Accumulate(_HandOver):
    """``gradient of LSTM_1/weight[0:300, 0:1200] += %9``: part of a parameter's gradient.

    Attributes:
        owner, spec: the parameter.
        region: which part; None: all of it, row-sparse (``gradient of Embedding_1/table[sparse] += %9``).
        operand: the value, without rows.
    """

    owner: object
    spec: Parameter
    region: Region | None
    operand: Var


Instruction: TypeAlias = (
    LoadConstant
    | LoadParameter
    | LoadKeys
    | Gather
    | Equation
    | RowMap
    | SumRows
    | Store
    | Pull
    | Scatter
    | Accumulate
)
"""Most are equations.  How one runs, its primitive says: see the functions below."""


def is_product(instruction: Instruction) -> TypeGuard[Equation]:
    """Whether it is a product of vectors and matrices."""
    return isinstance(instruction, Equation) and instruction.primitive.name in {"matmul", "outer", "dot"}


def is_view(instruction: Instruction) -> TypeGuard[Equation]:
    """Whether it is an equation whose result lies in the memory of its operand."""
    return isinstance(instruction, Equation) and instruction.primitive.view


def is_join(instruction: Instruction) -> TypeGuard[Equation]:
    """Whether it is a `concat`: its operands may be computed where they go."""
    return isinstance(instruction, Equation) and instruction.primitive.name == "concat"


def is_elementwise(instruction: Instruction) -> TypeGuard[Equation]:
    """Whether it is an equation that may write over an operand, and run in a loop with others."""
    return isinstance(instruction, Equation) and instruction.primitive.elementwise


def attribute(equation: Equation, name: str) -> Any:
    """One attribute of an equation: `concat`'s ``axis``."""
    return dict(equation.attributes)[name]


def closure(roots: Iterable[Var], instructions: Sequence[Instruction]) -> set[Var]:
    """The values that ``roots`` need, of those that ``instructions`` make."""
    made_by = {var: instruction for instruction in instructions for var in instruction.writes}
    needed: set[Var] = set()
    pending = [var for var in roots if var in made_by]
    while pending:
        var = pending.pop()
        if var not in needed:
            needed.add(var)
            pending.extend(read for read in made_by[var].reads if read in made_by)
    return needed


def with_operands(instruction: Instruction, new: Mapping[Var, Var]) -> Instruction:
    """The instruction, reading other values in the place of some."""
    match instruction:
        case Equation(operands=operands):
            return replace(instruction, operands=tuple(new.get(var, var) for var in operands))
        case SumRows(summed=Equation(operands=operands) as summed):
            summed = replace(summed, operands=tuple(new.get(var, var) for var in operands))
            return replace(instruction, summed=summed)
        case SumRows(summed=Var() as var):
            return replace(instruction, summed=new.get(var, var))
        case Store(operand=var) | Scatter(operand=var) | Accumulate(operand=var):
            return replace(instruction, operand=new.get(var, var))
        case _:
            return instruction


Subscript = tuple[slice | EllipsisType, ...]


def subscript(region: Region) -> Subscript:
    """The subscript that shows a region, as an array where the parameter is a scalar too."""
    return (*(slice(start, stop) for start, stop in region), ...)


def whole(shape: tuple[int, ...]) -> Region:
    """The region that is all of a parameter."""
    return tuple((0, size) for size in shape)


def moved(box: Region, whole: Region) -> Region:
    """A box of what another box shows, as one of what that is a box of."""
    return tuple((first + start, first + stop) for (start, stop), (first, _) in zip(box, whole, strict=True))


def box_of_slice(equation: Equation) -> Region | None:
    """The box of its operand that an equation gives; None where it is no slice, or one with steps."""
    if equation.primitive.name != "index":
        return None
    key: Any = attribute(equation, "key")
    if any(isinstance(item, int) or item[2] != 1 for item in key):
        return None
    shape = equation.operands[0].type.shape
    return (*((start, stop) for start, stop, _ in key), *whole(shape[len(key) :]))


def overlap(left: Region, right: Region) -> bool:
    """Whether two regions of one parameter have an element in common.

    >>> overlap(((0, 2), (0, 9)), ((1, 3), (8, 9))), overlap(((0, 2), (0, 9)), ((2, 3), (0, 9)))
    (True, False)
    """
    return all(a < y and b < z for (a, z), (b, y) in zip(left, right, strict=True))


MOST_NUMBERS = 64
"""Longer constants are written without their numbers."""

VarFormat: TypeAlias = Callable[[Var], str]
"""Writes a value where it is made, with its type and its memory."""

OwnerName: TypeAlias = Callable[[object], str]
"""The name of a layer."""


def level_text(level: int) -> str:
    """What follows a type: nothing for `INVARIANT`, `` row``, `` elements 0``."""
    return {INVARIANT: "", ROW: " row"}.get(level, f" elements {level}")


def names(values: Iterable[Var]) -> str:
    """Values that are read: ``%0, %1``."""
    return ", ".join(f"%{var.id}" for var in values)


def format_instruction(instruction: Instruction, var: VarFormat, owner: OwnerName) -> list[str]:
    """The lines of one instruction.

    Args:
        instruction: the instruction.
        var: writes the values that the instruction makes.
        owner: names the layers whose parameters it reads.
    """
    match instruction:
        case LoadConstant():
            return [f"{var(instruction.result)} = constant {_constant(instruction)}"]
        case LoadParameter():
            return [
                f"{var(instruction.result)} = parameter {owner(instruction.owner)}/{instruction.spec.name}"
            ]
        case LoadKeys():
            return [f"{var(instruction.result)} = dropout keys"]
        case Gather():
            return [f"{var(instruction.result)} = gather {_numbers(instruction.operands)}"]
        case RowMap():
            lines = [f"  {var(each.result)} = {each.call}" for each in instruction.equations]
            return ["map", *lines, f"-> {names(instruction.results)}"]
        case Equation():
            return [f"{var(instruction.result)} = {instruction.call}"]
        case SumRows(result, summed, sparse):
            of = names((summed,)) if isinstance(summed, Var) else summed.call
            return [f"{var(result)} = {'sum sparse' if sparse else 'sum'} {of}"]
        case Store():
            return [f"result {instruction.number} = {names(instruction.reads)}"]
        case Pull():
            return [f"{var(instruction.result)} = gradient {instruction.number}"]
        case Scatter():
            return [f"scatter {_numbers(instruction.operands)} += {names(instruction.reads)}"]
        case Accumulate():
            part = "sparse"
            if instruction.region is not None:
                part = ", ".join(f"{start}:{stop}" for start, stop in instruction.region)
            name = f"{owner(instruction.owner)}/{instruction.spec.name}"
            return [f"gradient of {name}[{part}] += {names(instruction.reads)}"]


def _numbers(operands: tuple[int, ...]) -> str:
    return ", ".join(map(str, operands))


def _constant(load: LoadConstant) -> str:
    """The numbers of a constant; one number where all are the same; the type where they are many."""
    array = load.array
    first = array.reshape(-1)[:1]
    if array.size > 1 and array.tobytes() == first.tobytes() * array.size:
        return str(first[0])  # of a number of NumPy the shortest that gives it again in its own precision
    return _nested(array) if array.size <= MOST_NUMBERS else str(load.result.type)


def _nested(array: HostArray) -> str:
    if not array.ndim:
        return str(array[()])
    return f"[{', '.join(map(_nested, array))}]"


def _checking(xp: ArrayModule, name: str, size: int, rows: tuple[bool, ...] = (False, False)) -> Run:
    def run(
        index: Array,
        *lengths: Array,
        to_numpy: Callable[[object], HostArray],
        out: Array | None = None,
    ) -> Array:
        if lengths:
            check_places(to_numpy(index), to_numpy(lengths[0]), any(rows))
            index = xp.broadcast_to(index, lengths[0].shape)
        else:
            check_index(np, name, to_numpy(index), size, rows[0])
        return index.copy() if out is None else put(index, out)

    return run


in_range = Primitive("in_range", lambda index, *lengths, **attributes: index, _checking, lift=lift_each)
"""The index as it is; with a second operand it is a place, and that the lengths of sequences.

It raises `IndexOutOfRange`.  Programs alone have it, so it is not registered; its kernel is given
`Device.to_numpy`.
"""
