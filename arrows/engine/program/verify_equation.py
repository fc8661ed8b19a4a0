"""Checks equations of a program by the rules of their primitives."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

from arrows.ops import Equation, Primitive, Tracer, TraceRecorder, Var
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys import types as T


class Violation(Exception):
    """Says which rule a program breaks."""


def expect(var: Var, type: T.Tensor, level: int, what: str) -> None:
    """Checks the type and the level of a value."""
    if (var.type, var.rows) != (type, level):
        raise Violation(f"%{var.id} is not of the type of {what}: {Var(var.id, type, level)}")


def check_equation(equation: Equation) -> None:
    """Checks type and level of a result by the rule of the primitive."""
    operands = tuple((var.type, var.rows) for var in equation.operands)
    result = _result_of(equation.primitive, operands, equation.attributes)
    if isinstance(result, str):
        raise Violation(result)
    expect(equation.result, *result, equation.primitive.name)


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
