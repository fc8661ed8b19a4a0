"""Kernels in C of instructions: one source for the GPU and for the host.

A kernel loads what it reads (`writer`): rows of a slab by their index, gradients from where readers have
left them, ranges of wider values.  So gathers, slices and joins cost no launch of their own.  A `RowMap` is
one launch of a thread for each number; where it reduces rows, of the lanes of a warp for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from arrows.engine.cuda.reductions import WARP, is_reduction, over_lanes, write_reduction
from arrows.engine.cuda.segments import write_softmax
from arrows.engine.cuda.writer import OF_SEQUENCES, KernelWriter
from arrows.engine.device import kernel_source
from arrows.engine.program import (
    FUNCTIONS,
    INDEXING,
    TYPES,
    Argument,
    CKernel,
    CodeBlock,
    Gather,
    Instruction,
    NotInC,
    Program,
    Pull,
    RowMap,
    RowPlace,
    Scatter,
    Store,
    c_type,
    column,
    is_in_c,
    pieces,
    place,
)
from arrows.ops import INVARIANT, ROW, Equation, Var


def in_c(equation: Equation) -> bool:
    """Whether a kernel can compute an equation with rows, together with others.

    A shift reads other rows: what it reads would be computed anew for each row that reads it.
    """
    name = equation.primitive.name
    written = is_in_c(equation.primitive) or name in INDEXING | OF_SEQUENCES or is_reduction(equation)
    if equation.primitive.collapses:
        known = equation.primitive.reduces is not None or name in OF_SEQUENCES
        written = known and equation.operands[0].rows >= 0
    types = (equation.result.type, *(var.type for var in equation.operands))
    return written and equation.result.rows != INVARIANT and all(type.dtype in TYPES for type in types)


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
            case Equation(primitive) as equation if primitive.name == "segment_softmax":
                return _softmax_kernel(program, equation)
            case RowMap(equations, results):
                return _map_kernel(program, equations, results)
            case Equation(result=result) as equation:
                return _map_kernel(program, (equation,), (result,))
            case Gather(var):
                return _copy_kernel(program, instruction, Argument("rows", var), var)
            case Pull(var, number):
                return _copy_kernel(program, instruction, Argument("gradient", number), var)
            case Store(operand=var) | Scatter(operand=var):
                place = program.target(instruction)
                level = program.results[place.number][1] if place.kind == "result" else var.rows
                return _copy_kernel(program, instruction, Argument(place.kind, place.number), var, level)
    except NotInC:
        pass
    return None


def _map_kernel(program: Program, equations: Sequence[Equation], results: Sequence[Var]) -> CKernel:
    """A thread for each number of a row; where rows are reduced, the lanes of a warp for each row.

    Results whose pieces have one length share a loop.
    """
    alone = len(equations) == 1 and equations[0].primitive.name == "segment_shift"
    if not (alone or all(map(in_c, equations))) or len({var.rows for var in results}) != 1:
        raise NotInC
    reductions = [each for each in equations if is_reduction(each)]
    writer = KernelWriter(program, [each for each in equations if not is_reduction(each)])
    rows = writer.word(Argument("count", results[0].rows), "const long long")
    loops = [
        (length, partial(_write_pieces, writer, places)) for length, places in pieces(equations, results)
    ]
    blocks = []
    if not reductions:
        for length, write in loops:
            blocks.append((length, CodeBlock(writer.fresh)))
            write(blocks[-1][1], RowPlace("j", 0, length) if length > 1 else RowPlace("", 0, 1))
        return _kernel(writer, rows, blocks)
    scope = CodeBlock(writer.fresh)
    scope.lines.append("if (j >= LANES) continue;")
    for equation in reductions:
        write_reduction(writer, scope, equation)
    for length, write in loops:
        over_lanes(scope, length, write)
    return _kernel(writer, rows, [(WARP, scope)])


def _write_pieces(
    writer: KernelWriter, starts: Sequence[tuple[Var, int]], scope: CodeBlock, at: RowPlace
) -> None:
    """Computes the number at a place of each piece, then writes them: all is read before."""
    places = [(var, at.moved(start)) for var, start in starts]
    names = [writer.value(scope, var, "r", moved) for var, moved in places]
    for (var, moved), name in zip(places, names, strict=True):
        _write(writer, var, scope, "r", moved, name)


def _softmax_kernel(program: Program, equation: Equation) -> CKernel:
    """A thread for each number of a row whose sequence's elements are written."""
    writer = KernelWriter(program)
    rows = writer.word(Argument("count", ROW), "const long long")
    scope = CodeBlock(writer.fresh)
    write_softmax(writer, scope, equation, "j", partial(_write, writer, equation.result))
    return _kernel(writer, rows, [(equation.result.type.size, scope)])


def _copy_kernel(
    program: Program, instruction: Instruction, target: Argument, var: Var, level: int | None = None
) -> CKernel:
    """A thread for each number that is copied to where it goes; a pull adds to what lies there."""
    writer = KernelWriter(program)
    rows = writer.word(Argument("count", var.rows if level is None else max(level, ROW)), "const long long")
    scope, size = CodeBlock(writer.fresh), var.type.size
    at = column("j", size)
    match instruction:
        case Gather():
            value = writer.gathered(scope, instruction, "r", at)
        case Pull(number=number):
            value = writer.pulled(scope, number, var, "r", at)
        case _:
            value = writer.value(scope, var, "r", at)
    _store(writer, target, var, scope, "r", at, value)
    return _kernel(writer, rows, [(size, scope)])


def _write(writer: KernelWriter, var: Var, scope: CodeBlock, row: str, at: RowPlace, value: str) -> None:
    """Writes a number to the memory of a value."""
    if var not in writer.program.memory:
        raise NotInC(f"%{var.id} has no memory")
    _store(writer, Argument("rows", var), var, scope, row, at, value)


def _store(
    writer: KernelWriter, to: Argument, var: Var, scope: CodeBlock, row: str, at: RowPlace, value: str
) -> None:
    """Writes a number of a value to some memory, which may be read as well."""
    rows = writer.rows(to, var)
    scope.lines.append(f"(({c_type(var)}*){rows})[{place(row, var.type.size, at)}] = {value};")


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
