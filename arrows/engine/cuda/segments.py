"""Segment primitives in C, and the sum of gradients by row.

A thread reads the elements of one sequence in order: no atomics, so that the same
batch gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from arrows.engine.device import KernelSource, kernel_source
from arrows.engine.program import TYPES, Argument, NotInC, RowPlace, c_type, column, number
from arrows.ops import EXTREMES, Equation, Var

if TYPE_CHECKING:
    from arrows.engine.cuda.writer import KernelWriter
    from arrows.engine.program import CodeBlock


def collapsed(writer: KernelWriter, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
    """A number of what a primitive that collapses makes of the sequence of a row, in C, where it is read.

    Args:
        writer: of the kernel.
        scope: where the code goes.
        equation: of a sequence.
        row: of the result.
        at: the number's place.
    """
    x = equation.operands[0]
    name, type, dtype = equation.primitive.name, c_type(equation.result), x.type.dtype
    offsets = _offsets(writer, x)
    if name == "segment_take":
        return _taken(writer, scope, equation, row, at)
    if name == "segment_count":
        return f"({type})({offsets}[{row} + 1] - {offsets}[{row}])"
    assert equation.primitive.reduces is not None
    default = dict(equation.attributes).get("default")
    of_none = "0" if default is None else number(float(str(default)), dtype)
    adds = dtype == "float32" and equation.primitive.reduces not in EXTREMES.values()
    found = scope.name("double" if adds else type, of_none)
    combined = equation.primitive.reduces[1].format(found, "{x}")
    _over(writer, scope, x, row, at, f"{found} = {{e}} == {offsets}[{row}] ? {{x}} : {combined};")
    return f"({type}){found}"


def _taken(writer: KernelWriter, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
    """A number of the element at a computed place; beyond the ends the default, or 0."""
    x, place = equation.operands
    default = dict(equation.attributes)["default"]
    where = f"(long long){writer.value(scope, place, row, RowPlace('', 0, 1))}"
    element = scope.name("const long long", f"{_offsets(writer, x)}[{row}] + {where}")
    fill = number(0 if default is None else float(str(default)), x.type.dtype)
    return _inside(writer, scope, x, element, row, at, fill)


def _inside(
    writer: KernelWriter, scope: CodeBlock, x: Var, element: str, row: str, at: RowPlace, fill: str
) -> str:
    """A number of an element if it is one of the row's, else what fills."""
    offsets, value = _offsets(writer, x), scope.name(c_type(x), fill)
    inside = scope.inner(f"if ({element} >= {offsets}[{row}] && {element} < {offsets}[{row} + 1])")
    inside.lines.append(f"{value} = {writer.value(inside, x, element, at)};")
    scope.close(inside)
    return value


def shifted(writer: KernelWriter, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
    """A number of a `segment_shift`: that of an element so many places before, or 0; as `collapsed`."""
    (x,), by = equation.operands, dict(equation.attributes)["by"]
    source = scope.name("const long long", f"{row} - ({by}LL)")
    return _inside(writer, scope, x, source, writer.row_of(scope, row, x.rows), at, "0")


def write_softmax(
    writer: KernelWriter, scope: CodeBlock, equation: Equation, at: str, write: Callable[..., None]
) -> None:
    """Writes the code of a column of the `segment_softmax` of sequence ``r``.

    Args:
        writer: of the kernel.
        scope: where the code goes.
        equation: a `segment_softmax`.
        at: the number's place.
        write: ``write(scope, row, place, value)`` writes a number of the result, of a row.
    """
    (x,), type = equation.operands, c_type(equation.result)
    if x.rows < 0:
        raise NotInC("the sequence is the same for all rows")
    exp, place = "expf" if x.type.dtype == "float32" else "exp", column(at, x.type.size)
    top = scope.name(type, "-INFINITY")
    _over(writer, scope, x, "r", place, f"if ({{x}} > {top} || {{x}} != {{x}}) {top} = {{x}};")
    total = scope.name("double", "0")
    _over(writer, scope, x, "r", place, f"{total} += {exp}({{x}} - {top});")
    block, e = elements_of(writer, scope, x.rows, "r")
    write(block, e, place, f"{exp}({writer.value(block, x, e, place)} - {top}) / ({type}){total}")
    scope.close(block)


def _offsets(writer: KernelWriter, x: Var) -> str:
    return writer.word(Argument("segment offsets", x.rows), "const int*")


def elements_of(writer: KernelWriter, scope: CodeBlock, level: int, row: str) -> tuple[CodeBlock, str]:
    """A loop over the elements of a row, and the name of the element."""
    offsets, e = writer.word(Argument("segment offsets", level), "const int*"), writer.fresh()
    head = f"for (long long {e} = {offsets}[{row}]; {e} < {offsets}[{row} + 1]; ++{e})"
    return scope.inner(head, elements=(e, row)), e


def _over(writer: KernelWriter, scope: CodeBlock, x: Var, row: str, at: RowPlace, line: str) -> None:
    """Writes a loop over the elements of a row; in the line ``{x}`` is a number of element ``{e}``."""
    block, e = elements_of(writer, scope, x.rows, row)
    block.lines.append(line.format(x=writer.value(block, x, e, at), e=e))
    scope.close(block)


@cache
def segment_sum_kernel(width: int, dtype: str, *, adds: bool = True) -> KernelSource:
    """The kernel of sums of vectors by row, one launch for all rows.

    ``target[rows[s]] += values[order[starts[s]]] + ... + values[order[starts[s + 1] - 1]]`` for all s.  Its
    words: how many s, target, rows, values, how many numbers lie from one vector to the next, order, starts,
    how many rows the target has; the index arrays are int32.  A row that the target lacks is left out.

    Args:
        width: how many numbers a vector has.
        dtype: their element type.
        adds: whether sums are added to rows of the target; else sum s is written to its row s.
    """
    type, wide = TYPES[dtype], "double" if dtype == "float32" else TYPES[dtype]
    place = (
        f"target[(long long)((const int*)WORD(2))[s] * {width} + j] += total" if adds else "target[i] = total"
    )
    row = "((const int*)WORD(2))[s]"
    skip = f"if ({row} < 0 || {row} >= WORD(7)) continue;" if adds else "if (s >= WORD(7)) continue;"
    body = f"""\
  {type}* target = ({type}*)WORD(1);
  const {type}* values = (const {type}*)WORD(3);
  const int* order = (const int*)WORD(5);
  const int* starts = (const int*)WORD(6);
  ITEMS(i, WORD(0) * {width}) {{
    const long long s = i / {width}, j = i % {width};
    {skip}
    {wide} total = 0;
    for (int k = starts[s]; k < starts[s + 1]; ++k) total += values[(long long)order[k] * WORD(4) + j];
    {place};
  }}"""
    return kernel_source(body, words=8, columns=width)
