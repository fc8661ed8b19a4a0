"""The loop nest of a `RowMap`, as Python source for numba.

NumPy passes over memory once for each equation; in one loop a row's values stay in registers from the first
operand to the last result.  The loop nest is two loops, over rows and over places of a row.  Slices and joins
cost nothing there: they only move the place at which an operand is read.  To make that possible a vector is
cut wherever anything is sliced or joined, and pieces of one length share a loop.

The same equations are computed in the same order; only the rounding of `tanh` and `sigmoid`
(`arrows.engine.device.jit`) differs from NumPy's.  What the loops do (`loop_nest`) is kept apart from how it
is written (`python_source`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from arrows.engine.program.instructions import RowMap
from arrows.ops import INVARIANT, ROW, Equation, Var

FUNCTIONS = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negative": "-{0}",
    "abs": "abs({0})",
    "square": "{0} * {0}",
    "sqrt": "sqrt({0})",
    "tanh": "tanh({0})",
    "sigmoid": "sigmoid({0})",
    "relu": "relu({0})",
    "sign": "sign({0})",
    "floor": "floor({0})",
    "round": "rint({0})",
}
"""How each primitive is written, with the operands as {0}, {1}, ..."""


@dataclass(frozen=True, slots=True)
class LoopPlace:
    """Where in a row a loop reads or writes: one place, or as many as the loop is long.

    Attributes:
        var: the value.
        start: the first place.
        moves: whether the place moves along with the loop.
    """

    var: Var
    start: int
    moves: bool


@dataclass(frozen=True, slots=True)
class ReadPlace:
    """``a0 = x0[r, j + 4]``"""

    name: str
    place: LoopPlace


@dataclass(frozen=True, slots=True)
class Evaluate:
    """``a2 = a0 + a1``: a primitive by its name."""

    name: str
    primitive: str
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WritePlace:
    """``y0[r, j] = a2``"""

    place: LoopPlace
    value: str


Statement: TypeAlias = ReadPlace | Evaluate | WritePlace


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop over places of a row.

    Attributes:
        length: how many places.
        before: what is done once a row.
        body: what is done at each place.
    """

    length: int
    before: list[Statement] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)

    def append(self, statement: Statement, moves: bool) -> None:
        """Adds a statement to the body, or, where nothing in it moves, to what is done before."""
        (self.body if moves else self.before).append(statement)


def can_write(equation: Equation, dtype: str) -> bool:
    """Whether an equation can be part of a loop nest over rows of one element type."""
    name, result = equation.primitive.name, equation.result
    types = [var.type for var in (result, *equation.operands)]
    if result.rows != ROW or any(t.dtype != dtype or len(t.shape) > 1 or t.size == 0 for t in types):
        return False
    if name == "index":
        key = _key(equation)
        return len(key) == 1 and (isinstance(key[0], int) or key[0][2] == 1)
    if name in ("reshape", "stop_gradient"):
        return equation.operands[0].rows == ROW
    if name == "concat":
        return all(var.rows == ROW for var in equation.operands)
    return name in FUNCTIONS


def python_source(loops: RowMap) -> str:
    """The function ``chain(operands..., results...)``, in the order of ``reads`` and ``writes``.

    Args:
        loops: a `RowMap` of equations that `can_write` allows.
    """
    names = {var: f"x{n}" for n, var in enumerate(loops.reads)}
    names |= {var: f"y{n}" for n, var in enumerate(loops.writes)}
    lines = [f"def chain({', '.join(names.values())}):"]
    lines.append(f"    for r in range({names[loops.writes[0]]}.shape[0]):")
    for loop in loop_nest(loops):
        lines += ["        " + _python(statement, names) for statement in loop.before]
        if loop.body:
            lines.append(f"        for j in range({loop.length}):")
            lines += ["            " + _python(statement, names) for statement in loop.body]
    return "\n".join(lines) + "\n"


def _python(statement: Statement, names: Mapping[Var, str]) -> str:
    if isinstance(statement, ReadPlace):
        return f"{statement.name} = {names[statement.place.var]}{_subscript(statement.place)}"
    if isinstance(statement, WritePlace):
        return f"{names[statement.place.var]}{_subscript(statement.place)} = {statement.value}"
    return f"{statement.name} = {FUNCTIONS[statement.primitive].format(*statement.operands)}"


def _subscript(place: LoopPlace) -> str:
    index = [] if place.var.rows == INVARIANT else ["r"]
    if place.var.type.shape:
        index.append(str(place.start) if not place.moves else f"j + {place.start}" if place.start else "j")
    return f"[{', '.join(index) or '()'}]"


def loop_nest(loops: RowMap) -> list[Loop]:
    """The loops over the places of a row, one for each length of the pieces that results are cut into."""
    cuts = _cuts(loops.equations)
    writes: dict[int, list[LoopPlace]] = {}
    for var in loops.writes:
        for start, stop in pairwise(sorted(cuts[var])):
            writes.setdefault(stop - start, []).append(LoopPlace(var, start, stop - start > 1))
    return [_loop(loops, length, places) for length, places in sorted(writes.items())]


def _loop(loops: RowMap, length: int, writes: Sequence[LoopPlace]) -> Loop:
    """The loop that writes pieces of one length; each value is computed once."""
    wanted: dict[Var, dict[LoopPlace, None]] = {}

    def want(places: Iterable[LoopPlace]) -> None:
        for place in places:
            wanted.setdefault(place.var, {})[place] = None

    want(writes)
    for equation in reversed(loops.equations):
        for place in list(wanted.get(equation.result, ())):
            want(_operands(equation, place))
    loop = Loop(length)
    values: dict[LoopPlace, str] = {}
    for var in loops.reads:
        for place in wanted.get(var, ()):
            values[place] = f"a{len(values)}"
            loop.append(ReadPlace(values[place], place), place.moves)
    for equation in loops.equations:
        for place in wanted.get(equation.result, ()):
            operands = tuple(values[operand] for operand in _operands(equation, place))
            if equation.primitive.name not in FUNCTIONS:  # a slice, a join: the operand's own value
                (values[place],) = operands
                continue
            values[place] = f"a{len(values)}"
            loop.append(Evaluate(values[place], equation.primitive.name, operands), place.moves)
    for place in writes:
        loop.append(WritePlace(place, values[place]), place.moves)
    return loop


def _operands(equation: Equation, place: LoopPlace) -> list[LoopPlace]:
    """Where the operands are read for one place of the result."""
    read = []
    for operand, shift, length in _shifts(equation):
        if not length:
            read.append(LoopPlace(operand, 0, False))
        elif equation.primitive.name != "concat" or -shift <= place.start < -shift + length:
            read.append(LoopPlace(operand, place.start + shift, place.moves))
    return read


def _shifts(equation: Equation) -> list[tuple[Var, int, int]]:
    """For each operand: itself, the place of it that the result's place 0 reads, and the length in common.

    An operand that is spread over the whole result has length 0.
    """
    result, name = equation.result, equation.primitive.name
    if name == "index":
        (key,) = _key(equation)
        start = key if isinstance(key, int) else key[0]
        return [(equation.operands[0], start, _size(result))]
    if name == "concat":
        shifts, start = [], 0
        for operand in equation.operands:
            shifts.append((operand, -start, _size(operand)))
            start += _size(operand)
        return shifts
    return [
        (operand, 0, _size(result) if _size(operand) == _size(result) else 0) for operand in equation.operands
    ]


def _cuts(equations: Sequence[Equation]) -> dict[Var, set[int]]:
    """The places where each vector is cut, so that whatever is read together is cut alike."""
    cuts: dict[Var, set[int]] = {}
    readers: dict[Var, list[int]] = {}
    for number, equation in enumerate(equations):
        for var in {equation.result, *equation.operands}:
            cuts[var] = {0, _size(var)}
            readers.setdefault(var, []).append(number)
    pending = list(range(len(equations)))
    while pending:
        equation = equations[pending.pop()]
        result_cuts = cuts[equation.result]
        for operand, shift, length in _shifts(equation):
            if not length:
                continue
            first = max(-shift, 0)  # of the result's places, those that read this operand
            last = first + length
            down = {cut + shift for cut in (*result_cuts, first, last) if first <= cut <= last}
            up = {cut - shift for cut in (*cuts[operand], *down) if first <= cut - shift <= last}
            for var, more in ((operand, down), (equation.result, up)):
                if not more <= cuts[var]:
                    cuts[var] |= more
                    pending.extend(readers[var])
    return cuts


def _key(equation: Equation) -> Any:
    """Of an `index`: for each axis a number, or (start, stop, step)."""
    return dict(equation.attributes)["key"]


def _size(var: Var) -> int:
    return var.type.shape[0] if var.type.shape else 1
