"""Element-wise equations in C, for a kernel that reads and writes its numbers in a way of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from arrows.engine.program.emitters.numbers import (
    FUNCTIONS,
    TYPES,
    CodeBlock,
    NumberWriter,
    RowPlace,
    is_in_c,
    number,
)
from arrows.ops import Equation, Var

ELEMENT_FUNCTIONS = FUNCTIONS
"""What stands before a kernel that `element_lines` are part of."""


def are_in_c(equations: Iterable[Equation]) -> bool:
    """Whether all equations are element-wise ones that have been written in C, on numbers that C has."""
    return all(is_in_c(each.primitive) and each.result.type.dtype in TYPES for each in equations)


def element_lines(
    equations: Sequence[Equation], numbers: Mapping[Var, str | float], results: Iterable[Var]
) -> tuple[list[str], list[str]]:
    """Lines of C that compute one number of each result, and the names of these numbers.

    Args:
        equations: element-wise ones of numbers, in order.
        numbers: expressions in C, or constants, for what they read besides.
        results: values that the equations make, or that they read.
    """
    writer = NumberWriter(equations)
    for var, value in numbers.items():
        text = value if isinstance(value, str) else number(value, var.type.dtype)
        writer.formulas[var] = lambda scope, at, text=text: text  # type: ignore[misc]
    scope = CodeBlock(writer.fresh)
    names = [writer.value(scope, var, "r", RowPlace("", 0, 1)) for var in results]
    return scope.lines, names
