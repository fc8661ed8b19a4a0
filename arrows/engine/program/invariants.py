"""Writes what an operation computes of constants and parameters alone, once a batch."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.engine.program.codegen import Part
from arrows.engine.program.derive import Backward
from arrows.ops import INVARIANT, Equation, Trace, Var

Array = Any


@dataclass(frozen=True, slots=True)
class Invariants:
    """All values without rows.

    Attributes:
        numbers: where each is in what ``compute`` gives: those of the forward program by their variable,
            those of the backward program as ``("b", var)``, constants of its pullback as ``("p", var)``.
        constants: the constants, as host arrays.
        compute: ``(constants, parameters, steps) -> arrays``.
    """

    numbers: dict[Var | tuple[str, Var], int]
    constants: tuple[np.ndarray, ...]
    compute: Callable[..., tuple[Array, ...]]


def write_invariants(
    xp: Any,
    trace: Trace,
    before: tuple[Equation, ...],
    backward: Backward | None,
    steady: Collection[Var],
    steady_backward: Collection[Var],
) -> Invariants:
    """Writes the function that computes them.

    Args:
        xp: the array module.
        trace: of the operation.
        before: its equations without rows.
        backward: its backward program, if it has one.
        steady, steady_backward: the variables that are read in each of many steps.
    """
    part = Part(xp, steady=set(steady))
    numbers: dict[Var | tuple[str, Var], int] = {}
    names: list[str] = []
    constants: list[np.ndarray] = []

    def known(key: Var | tuple[str, Var], name: str) -> None:
        numbers[key] = len(names)
        names.append(name)

    for array, var in trace.constants:
        part.names[var] = f"c{len(constants)}"
        constants.append(array)
        known(var, part.names[var])
    for number, (_, _, var) in enumerate(trace.parameters):
        part.names[var] = f"p{number}"
        known(var, part.names[var])
    part.write(before)
    for equation in before:
        known(equation.result, part.names[equation.result])
    kernels, lines = dict(part.kernels), list(part.lines)
    if backward is not None:
        later = Part(xp, "w", kernels=kernels, lines=lines, steady=set(steady_backward))
        for mine, var in backward.forward:
            if var.rows == INVARIANT:
                later.names[mine] = names[numbers[var]]
                known(("b", mine), later.names[mine])
        for array, mine in backward.constants:
            later.names[mine] = f"c{len(constants)}"
            constants.append(array)
            known(("b", mine), later.names[mine])
        later.write(backward.hoisted)
        for equation in backward.hoisted:
            known(("b", equation.result), later.names[equation.result])
        for array, mine in backward.pullback.constants if backward.pullback else ():
            known(("p", mine), f"c{len(constants)}")
            constants.append(array)
    body = [
        *(f"c{n} = C[{n}]" for n in range(len(constants))),
        *(f"p{n} = P[{n}]" for n in range(len(trace.parameters))),
        *lines,
        f"return ({''.join(name + ', ' for name in names)})",
    ]
    source = "\n".join(["def invariants(C, P, S):", *("    " + line for line in body)])
    namespace = dict(kernels)
    exec(compile(source, "<arrows invariants>", "exec"), namespace)
    return Invariants(numbers, tuple(constants), namespace.pop("invariants"))
