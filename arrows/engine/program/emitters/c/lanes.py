"""Long rows in C: the threads of a warp, the lanes, share the numbers of a row.

Number k of a row belongs to lane ``k % LANES``.  A reduction over all of a row is a loop of each lane over
its numbers, and an exchange of what the lanes have found, in an order that is always the same; element-wise
values are computed anew in each loop that reads them.  On the host there is one lane.

All lanes of a warp work on one row, since a device's blocks are made of whole warps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from arrows.engine.program.emitters.c.blocks import CodeBlock
from arrows.engine.program.emitters.c.functions import c_type, number
from arrows.engine.program.emitters.c.places import RowPlace
from arrows.engine.program.emitters.c.writer import KernelWriter
from arrows.ops import Equation, Var

WARP = 32

Body = Callable[[CodeBlock, RowPlace], None]


def is_shared(equation: Equation) -> bool:
    """Whether lanes can compute an equation together: a reduction of a whole row."""
    name = equation.primitive.name
    if name not in SHARED or not equation.operands[0].type.size or not equation.result.type.floating:
        return False
    if name in ("softmax", "log_softmax"):
        axis: Any = dict(equation.attributes)["axis"]
        return bool(equation.result.type.shape[axis] == equation.result.type.size)
    return equation.result.type.size == 1 and (name != "matmul" or equation.operands[0].type.ndim == 1)


def write_shared(writer: KernelWriter, scope: CodeBlock, equation: Equation) -> None:
    """Writes a reduction; from then on the writer has its result."""
    SHARED[equation.primitive.name](writer, scope, equation)


def over_lanes(scope: CodeBlock, count: int, body: Body) -> None:
    """Writes a loop of each lane over its part of so many numbers."""
    if count == 1:
        block = scope.inner("if (j == 0)")
        body(block, RowPlace("", 0, 1))
    else:
        block = scope.inner(f"for (int k = j; k < {count}; k += LANES)")
        body(block, RowPlace("k", 0, count))
    scope.close(block)


def _found(
    scope: CodeBlock, type: str, start: str, count: int, combine: str, body: Callable[..., str]
) -> str:
    """The name of what all lanes find.

    Args:
        scope: where the code goes.
        type: in C.
        start: what is found of no numbers.
        count: of the row's numbers.
        combine: of ``{a}``, what is found so far, and ``{b}``.
        body: ``body(block, place)`` is what a number adds.
    """
    total = scope.name(type, start)

    def each(block: CodeBlock, at: RowPlace) -> None:
        name = block.name(f"const {type}", body(block, at))
        block.lines.append(f"{total} = {combine.format(a=total, b=name)};")

    over_lanes(scope, count, each)
    exchange = scope.inner("for (int s = LANES / 2; s; s >>= 1)")
    other = exchange.name(f"const {type}", f"LANE_SWAP({total}, s)")
    exchange.lines.append(f"{total} = {combine.format(a=total, b=other)};")
    scope.close(exchange)
    return total


def _greatest(writer: KernelWriter, scope: CodeBlock, x: Var, sign: str = ">") -> str:
    start = "-INFINITY" if sign == ">" else "INFINITY"
    return _found(
        scope,
        c_type(x),
        start,
        x.type.size,
        f"({{b}} {sign} {{a}} || {{b}} != {{b}} ? {{b}} : {{a}})",
        lambda block, at: writer.value(block, x, "r", at),
    )


def _total(scope: CodeBlock, count: int, body: Callable[..., str]) -> str:
    return _found(scope, "double", "0", count, "{a} + {b}", body)


def _keep(writer: KernelWriter, scope: CodeBlock, var: Var, value: str) -> None:
    """Keeps a result of one number."""
    name = writer.fresh()
    scope.lines.append(f"const {c_type(var)} {name}[1] = {{({c_type(var)})({value})}};")
    writer.local[var] = name


def _sum(writer: KernelWriter, scope: CodeBlock, equation: Equation) -> None:
    (x,) = equation.operands
    total = _total(scope, x.type.size, lambda block, at: writer.value(block, x, "r", at))
    _keep(writer, scope, equation.result, total)


def _dot(writer: KernelWriter, scope: CodeBlock, equation: Equation) -> None:
    a, b = equation.operands

    def product(block: CodeBlock, at: RowPlace) -> str:
        return f"(double){writer.value(block, a, 'r', at)} * {writer.value(block, b, 'r', at)}"

    _keep(writer, scope, equation.result, _total(scope, a.type.size, product))


def _extreme(writer: KernelWriter, scope: CodeBlock, equation: Equation) -> None:
    sign = ">" if equation.primitive.name == "max" else "<"
    _keep(writer, scope, equation.result, _greatest(writer, scope, equation.operands[0], sign))


def _exponentials(writer: KernelWriter, scope: CodeBlock, x: Var) -> tuple[str, str, str]:
    """The greatest number, the sum of exponentials less it, and the function of these in C."""
    exp = "expf" if x.type.dtype == "float32" else "exp"
    top = _greatest(writer, scope, x)
    total = _total(scope, x.type.size, lambda block, at: f"{exp}({writer.value(block, x, 'r', at)} - {top})")
    return top, total, exp


def _logsumexp(writer: KernelWriter, scope: CodeBlock, equation: Equation) -> None:
    top, total, _ = _exponentials(writer, scope, equation.operands[0])
    _keep(writer, scope, equation.result, f"({c_type(equation.result)})log({total}) + {top}")


def _softmax(writer: KernelWriter, scope: CodeBlock, equation: Equation) -> None:
    (x,) = equation.operands
    top, total, exp = _exponentials(writer, scope, x)
    type = c_type(x)
    if equation.primitive.name == "softmax":
        divisor = scope.name(f"const {type}", f"({type}){total}")
        text = f"{exp}({{x}} - {top}) / {divisor}"
    else:
        logarithm = scope.name(f"const {type}", f"({type})log({total})")
        text = f"({{x}} - {top}) - {logarithm}"
    writer.formulas[equation.result] = lambda block, at: text.format(x=writer.value(block, x, "r", at))


def _norm(writer: KernelWriter, scope: CodeBlock, equation: Equation) -> None:
    (x,) = equation.operands
    attributes: dict[str, Any] = dict(equation.attributes)
    count, epsilon = attributes.get("count", 1), attributes.get("epsilon", 0)
    unit = "1"
    if x.type.dtype != "float32":  # whose squares all fit into float64
        top = _found(
            scope,
            "double",
            "0",
            x.type.size,
            "({b} > {a} || {b} != {b} ? {b} : {a})",
            lambda block, at: f"fabs({writer.value(block, x, 'r', at)})",
        )
        unit = scope.name("const double", f"{top} > 0 && {top} < INFINITY ? {top} : 1")

    def square(block: CodeBlock, at: RowPlace) -> str:
        part = block.name("const double", f"(double){writer.value(block, x, 'r', at)} / {unit}")
        return f"{part} * {part}"

    length = f"{unit} * sqrt({_total(scope, x.type.size, square)} / {count})"
    if epsilon:
        length = f"hypot({length}, {number(float(epsilon) ** 0.5, 'float64')})"
    _keep(writer, scope, equation.result, length)


SHARED: Mapping[str, Callable[[KernelWriter, CodeBlock, Equation], None]] = {
    "sum": _sum,
    "sum_to": _sum,
    "max": _extreme,
    "min": _extreme,
    "logsumexp": _logsumexp,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "norm": _norm,
    "matmul": _dot,
}
"""How lanes compute each reduction of a whole row, of floating numbers."""
