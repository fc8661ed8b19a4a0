"""Kernels in C of instructions: one source for the GPU and for the host.

A kernel loads what it reads (`writer`): rows of a slab by their index, gradients from where readers have
left them, ranges of wider values.  So gathers, slices and joins cost no launch of their own.  A `RowMap` is
one launch of a thread for each number; where it reduces rows, of the lanes of a warp for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from arrows.engine.device import KernelSource, kernel_source
from arrows.engine.program.emitters.arguments import (
    Argument,
    GradientRows,
    ResultRowsOf,
    RowCount,
    RowsOf,
    ScatterRowsOf,
)
from arrows.engine.program.emitters.c.attention import ATTENTION, attention_items, write_attention
from arrows.engine.program.emitters.c.blocks import CodeBlock
from arrows.engine.program.emitters.c.cuts import cuts_of
from arrows.engine.program.emitters.c.functions import FUNCTIONS, TYPES, NotInC, c_type, is_in_c
from arrows.engine.program.emitters.c.places import RowPlace, column, place
from arrows.engine.program.emitters.c.reductions import WARP, is_reduction, over_lanes, write_reduction
from arrows.engine.program.emitters.c.segments import COLLAPSING, write_shift, write_softmax
from arrows.engine.program.emitters.c.writer import INDEXING, KernelWriter
from arrows.engine.program.instructions import (
    Gather,
    Instruction,
    Pull,
    RowMap,
    Scatter,
    Store,
)
from arrows.engine.program.program import Program
from arrows.ops import INVARIANT, ROW, Equation, Var


@dataclass(frozen=True, slots=True)
class CKernel:
    """A kernel of an instruction.

    Attributes:
        source: the kernel.
        arguments: what its words stand for; the first is how many rows it has.
    """

    source: KernelSource
    arguments: tuple[Argument, ...]


def in_c(equation: Equation) -> bool:
    """Whether a kernel can compute an equation with rows."""
    name = equation.primitive.name
    written = is_in_c(equation.primitive) or name in INDEXING or is_reduction(equation)
    if equation.primitive.collapses:
        written = name in COLLAPSING and equation.operands[0].rows >= 0
    types = (equation.result.type, *(var.type for var in equation.operands))
    return written and equation.result.rows != INVARIANT and all(type.dtype in TYPES for type in types)


def in_columns(equation: Equation) -> bool:
    """Whether a kernel can compute an equation number by number, fused with others."""
    return in_c(equation) and not is_reduction(equation)


def c_kernel(program: Program, instruction: Instruction) -> CKernel | None:
    """The kernel of an instruction; None if it is left to the array module.

    Args:
        program: with memory, for kernels.
        instruction: one that makes or hands over values with rows.
    """
    try:
        if not all(var.type.size for var in instruction.writes or instruction.reads):
            return None  # there is nothing to do
        match instruction:
            case RowMap(equations, results):
                make = _lane_kernel if any(map(is_reduction, equations)) else _column_kernel
                return make(program, equations, results)
            case Equation(primitive) as equation if primitive.name == "segment_softmax":
                return _item_kernel(program, equation, equation.result.type.size, write_softmax, ROW)
            case Equation(primitive) as equation if primitive.name in ATTENTION:
                return _item_kernel(program, equation, attention_items(equation), write_attention)
            case Equation(primitive) as equation if primitive.name == "segment_shift":
                return _item_kernel(program, equation, equation.result.type.size, write_shift)
            case Equation() as equation if is_reduction(equation):
                return _lane_kernel(program, (equation,), (equation.result,))
            case Equation() as equation if in_columns(equation):
                return _column_kernel(program, (equation,), (equation.result,))
            case Gather(var):
                return _copy_kernel(program, instruction, RowsOf(var), var)
            case Pull(var, number):
                return _copy_kernel(program, instruction, GradientRows(number), var)
            case Store(number, var):
                level = program.results[number][1]
                return _copy_kernel(program, instruction, ResultRowsOf(number), var, level)
            case Scatter(_, var):
                number = next(n for n, (_, each) in enumerate(program.scatters) if each is instruction)
                return _copy_kernel(program, instruction, ScatterRowsOf(number), var)
    except NotInC:
        pass
    return None


def _column_kernel(program: Program, equations: Sequence[Equation], results: Sequence[Var]) -> CKernel:
    """A thread for each number of a row; results whose pieces have one length share a loop."""
    if not all(in_columns(equation) for equation in equations):
        raise NotInC
    writer = KernelWriter(program, {equation.result: equation for equation in equations})
    level = results[0].rows
    rows = writer.word(RowCount(level), "const long long")
    blocks = []
    for length, starts in _pieces(equations, results).items():
        scope = CodeBlock(writer.fresh)
        _write_pieces(writer, starts, scope, RowPlace("j", 0, length) if length > 1 else RowPlace("", 0, 1))
        blocks.append((length, scope))
    return _kernel(writer, rows, blocks)


def _pieces(equations: Sequence[Equation], results: Sequence[Var]) -> dict[int, list[tuple[Var, int]]]:
    """The pieces of results, by their length: the value, and where the piece starts."""
    if len({var.rows for var in results}) != 1:
        raise NotInC("results of several levels")
    cuts = cuts_of(equations)
    pieces: dict[int, list[tuple[Var, int]]] = {}
    for var in results:
        for start, stop in pairwise(sorted(cuts[var])):
            pieces.setdefault(stop - start, []).append((var, start))
    return dict(sorted(pieces.items()))


def _write_pieces(
    writer: KernelWriter,
    starts: Sequence[tuple[Var, int]],
    scope: CodeBlock,
    at: RowPlace,
    row: str = "r",
) -> None:
    """Computes the number at a place of each piece, then writes them: all is read before."""
    places = [(var, at.moved(start)) for var, start in starts]
    names = [writer.value(scope, var, row, moved) for var, moved in places]
    for (var, moved), name in zip(places, names, strict=True):
        _write(writer, scope, var, row, moved, name)


def _lane_kernel(program: Program, equations: Sequence[Equation], results: Sequence[Var]) -> CKernel:
    """The lanes of a warp for each row: element-wise equations, and reductions of whole rows."""
    if not all(in_c(each) for each in equations):
        raise NotInC
    writer = KernelWriter(program, {each.result: each for each in equations if not is_reduction(each)})
    rows = writer.word(RowCount(results[0].rows), "const long long")
    scope = CodeBlock(writer.fresh)
    scope.lines.append("if (j >= LANES) continue;")
    for equation in equations:
        if is_reduction(equation):
            write_reduction(writer, scope, equation)
    for length, starts in _pieces(equations, results).items():
        over_lanes(scope, length, partial(_write_pieces, writer, starts))
    return _kernel(writer, rows, [(WARP, scope)])


def _item_kernel(
    program: Program,
    equation: Equation,
    count: int,
    write_item: Callable[..., None],
    level: int | None = None,
) -> CKernel:
    """A thread for each of so many items of a row; of the result's rows, or of those of another level."""
    writer = KernelWriter(program, {})
    rows = writer.word(RowCount(equation.result.rows if level is None else level), "const long long")
    scope = CodeBlock(writer.fresh)

    def write(block: CodeBlock, at: RowPlace, value: str, row: str = "r") -> None:
        _write(writer, block, equation.result, row, at, value)

    write_item(writer, scope, equation, "j", write)
    return _kernel(writer, rows, [(count, scope)])


def _copy_kernel(
    program: Program, instruction: Instruction, target: Argument, var: Var, level: int | None = None
) -> CKernel:
    """A thread for each number that is copied to where it goes; a pull adds to what lies there."""
    writer = KernelWriter(program, {})
    rows = writer.word(RowCount(var.rows if level is None else max(level, ROW)), "const long long")
    scope, size = CodeBlock(writer.fresh), var.type.size
    at = column("j", size)
    match instruction:
        case Gather():
            value = writer.gathered(scope, instruction, "r", at)
        case Pull(number=number):
            value = writer.pulled(scope, number, var, "r", at)
        case _:
            value = writer.value(scope, var, "r", at)
    if target == RowsOf(var):
        _write(writer, scope, var, "r", at, value)
        return _kernel(writer, rows, [(size, scope)])
    address = writer.word(target, f"{c_type(var)}*")
    if isinstance(instruction, Pull):  # it is read there as well
        address = f"(({c_type(var)}*){address})"
    scope.lines.append(f"{address}[{place('r', size, at)}] = {value};")
    return _kernel(writer, rows, [(size, scope)])


def _write(writer: KernelWriter, scope: CodeBlock, var: Var, row: str, at: RowPlace, value: str) -> None:
    """Writes a number to the memory of a value."""
    if var not in writer.program.memory:
        raise NotInC(f"%{var.id} has no memory")
    root, at = writer.root(var, at)
    type = c_type(root)
    target = f"(({type}*){writer.word(RowsOf(root), f'const {type}*')})[{place(row, root.type.size, at)}]"
    scope.lines.append(f"{target} = {value};")


def _kernel(writer: KernelWriter, rows: str, blocks: Iterable[tuple[int, CodeBlock]]) -> CKernel:
    """The kernel of loops over rows and, in each row, so many items."""
    lines, columns = [], 1
    for count, scope in blocks:
        if count == 0:
            continue
        columns = max(columns, count)
        if count == 1:
            lines.append(f"ITEMS(r, {rows}) {{")
        else:
            lines += [f"ITEMS(i, {rows} * {count}) {{", f"  const long long r = i / {count};"]
            lines.append(f"  const int j = i % {count};")
        lines += ["  " + line for line in scope.lines]
        lines.append("}")
    body = "\n".join("  " + line for line in [*writer.head, *lines])
    words = len(writer.arguments)
    return CKernel(kernel_source(body, words=words, columns=columns, functions=FUNCTIONS), writer.arguments)
