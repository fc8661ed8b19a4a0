"""Where loops and kernels cut rows, so that results which read the same numbers share a loop."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from arrows.ops import Equation, Var


def pieces(equations: Sequence[Equation], results: Sequence[Var]) -> list[tuple[int, list[tuple[Var, int]]]]:
    """The lengths of the pieces of results, and of each length the pieces: the value, where the piece starts.

    Pieces of one length share a loop, in which each number is computed once: of a cell's gates, which lie
    side by side, and of its state.
    """
    cuts = _cuts(equations)
    found: dict[int, list[tuple[Var, int]]] = {}
    for var in results:
        for start, stop in pairwise(sorted(cuts[var])):
            found.setdefault(stop - start, []).append((var, start))
    return sorted(found.items())


def _cuts(equations: Sequence[Equation]) -> dict[Var, set[int]]:
    """The places where each row is cut, so that whatever is read together is cut alike."""
    cuts: dict[Var, set[int]] = {}
    readers: dict[Var, list[Equation]] = {}
    for equation in equations:
        for var in {equation.result, *equation.operands}:
            cuts.setdefault(var, {0, var.type.size})
            readers.setdefault(var, []).append(equation)
    pending = list(equations)
    while pending:
        equation = pending.pop()
        for operand, first, start, length in _parts(equation):
            last = first + length
            down = {c - first + start for c in (*cuts[equation.result], first, last) if first <= c <= last}
            up = {c - start + first for c in (*cuts[operand], *down) if start <= c <= start + length}
            for var, more in ((operand, down), (equation.result, up)):
                if not more <= cuts[var]:
                    cuts[var] |= more
                    pending.extend(readers[var])
    return cuts


def _parts(equation: Equation) -> list[tuple[Var, int, int, int]]:
    """Which ranges of a result's row are ranges of operands: the operand, where the range starts in the
    result, where in the operand, and how long it is."""
    result, name = equation.result, equation.primitive.name
    attributes: dict[str, Any] = dict(equation.attributes)
    if name == "index":
        (x,), key = equation.operands, attributes["key"]
        if x.type.ndim == 1 and key and isinstance(key[0], tuple) and key[0][2] == 1:
            return [(x, 0, key[0][0], result.type.size)]
        return []
    if name == "concat":
        if result.type.ndim != 1:
            return []
        parts, start = [], 0
        for operand in equation.operands:
            parts.append((operand, start, 0, operand.type.size))
            start += operand.type.size
        return parts
    if name in ("reshape", "stop_gradient") or equation.primitive.elementwise:
        return [
            (operand, 0, 0, result.type.size)
            for operand in equation.operands
            if operand.type.size == result.type.size
        ]
    return []
