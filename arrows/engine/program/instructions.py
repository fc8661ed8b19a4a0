"""The instructions of a program: equations, and what stands between them and the rest of a batch.

They are in single-assignment form over typed values.  A value is a `Var`: a number, the type of one row, and
its level, which says what counts its rows: nothing (`INVARIANT`), the operation's rows (`ROW`), or the
elements of a sequence of its input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import Any, ClassVar, TypeAlias, TypeGuard

from arrows.arrays import HostArray
from arrows.ops import Equation, Parameter, Var

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
