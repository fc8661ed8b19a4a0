"""Segment primitives in C, and the sum of gradients by row.

A thread computes one column of one sequence, and reads its elements in order: no atomics, so that the same
batch gives the same bits.
"""

from __future__ import annotations

from arrows.engine.device import KernelSource, kernel_source
from arrows.engine.program.emitters.arguments import SegmentOffsets
from arrows.engine.program.emitters.c.functions import TYPES, number
from arrows.engine.program.emitters.c.places import Column
from arrows.engine.program.emitters.c.rows import Write
from arrows.engine.program.emitters.c.writer import KernelWriter, Scope, c_type
from arrows.ops import Equation

SEGMENTED = {"segment_sum", "segment_max", "segment_min", "segment_count", "segment_softmax"}


def write_segment(writer: KernelWriter, scope: Scope, equation: Equation, at: Column, write: Write) -> None:
    """Writes the code for one column of the sequence of row ``r``.

    Args:
        writer: of the kernel.
        scope: where the code goes.
        equation: a segment primitive.
        at: the column.
        write: writes a number of the result, of row ``r`` or, for a softmax, of element ``e``.
    """
    (x,) = equation.operands
    name, type, attributes = equation.primitive.name, c_type(equation.result), dict(equation.attributes)
    offsets = writer.word(SegmentOffsets(x.rows), "const int*")
    loop = f"for (long long e = {offsets}[r]; e < {offsets}[r + 1]; ++e)"

    def over(line: str) -> None:
        """A loop over the elements; ``{x}`` is one."""
        block = scope.inner(loop)
        block.lines.append(line.format(x=writer.value(block, x, "e", at)))
        scope.close(block)

    if name == "segment_count":
        write(scope, at, scope.name(type, f"{offsets}[r + 1] - {offsets}[r]"))
        return
    if name == "segment_sum":
        total = scope.name("double" if x.type.dtype == "float32" else type, "0")
        over(f"{total} += {{x}};")
        write(scope, at, scope.name(type, total))
        return
    if name in ("segment_max", "segment_min"):
        sign = ">" if name == "segment_max" else "<"
        default = attributes["default"]
        empty = "0" if default is None else number(float(str(default)), x.type.dtype)
        best = scope.name(type, empty)
        over(f"if (e == {offsets}[r] || {{x}} {sign} {best} || {{x}} != {{x}}) {best} = {{x}};")
        write(scope, at, best)
        return
    suffix = "f" if x.type.dtype == "float32" else ""
    top, total = scope.name(type, "-INFINITY"), scope.name("double", "0")
    over(f"if ({{x}} > {top} || {{x}} != {{x}}) {top} = {{x}};")
    over(f"{total} += exp{suffix}({{x}} - {top});")
    block = scope.inner(loop)
    share = f"exp{suffix}({writer.value(block, x, 'e', at)} - {top}) / ({type}){total}"
    write(block, at, block.name(type, share))
    scope.close(block)


def segment_sum_kernel(width: int, dtype: str) -> KernelSource:
    """The kernel of sums of gradients by row, one launch for all rows.

    ``target[rows[s]] += values[order[starts[s]]] + ... + values[order[starts[s + 1] - 1]]`` for all s.  Its
    words: how many s, target, rows, values, order, starts; the index arrays are int32.

    Args:
        width: how many numbers a row has.
        dtype: their element type.
    """
    type, wide = TYPES[dtype], "double" if dtype == "float32" else TYPES[dtype]
    body = f"""\
  {type}* target = ({type}*)WORD(1);
  const int* rows = (const int*)WORD(2);
  const {type}* values = (const {type}*)WORD(3);
  const int* order = (const int*)WORD(4);
  const int* starts = (const int*)WORD(5);
  ITEMS(i, WORD(0) * {width}) {{
    const long long s = i / {width}, j = i % {width};
    {wide} total = 0;
    for (int k = starts[s]; k < starts[s + 1]; ++k) total += values[(long long)order[k] * {width} + j];
    target[(long long)rows[s] * {width} + j] += total;
  }}"""
    return kernel_source(body, words=6, columns=width)
