"""Runs of element-wise equations fused into one loop, as Python source for a compiler.

Every equation of NumPy passes over memory once; fused, a row's values stay in registers from the first
operand to the last result.  A *chain* is a run of neighbouring equations on rows of vectors: element-wise
functions, slices, and ``concat``.  Its source is one function of two loops, over rows and over places.
Slices and joins cost nothing there: they only move the place at which an operand is read.  To make that
possible a vector is cut wherever anything is sliced or joined, and pieces of one length share a loop.

What is fused computes the same equations in the same order; only the rounding of `tanh` and `sigmoid`
(`chain_functions`) differs from NumPy's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from arrows.ops import INVARIANT, ROW, Equation, Var

# How each function is written, with the operands as {0}, {1}, ...; F(x) is a number of the element type.
TEMPLATES = {
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
}

# The compiler's time grows faster than the source: 3 seconds for 400 lines, 12 for 800, minutes for 2,000.
# A longer run is left to NumPy.
_MOST_LINES = 400


@dataclass(frozen=True, slots=True)
class Chain:
    """Equations that run as one.

    Attributes:
        equations: these, in order.
        inputs: what they read that is made elsewhere.
        outputs: what they make that is read elsewhere.
        source: ``def chain(inputs..., outputs...)``, with rows along the first axis.
    """

    equations: tuple[Equation, ...]
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]
    source: str


def fuse(
    equations: Sequence[Equation], needed: Iterable[Var], dtype: str = "float32"
) -> list[Equation | Chain]:
    """Puts runs of equations that can be fused into chains; what cannot be stays as it is.

    Args:
        equations: in order.
        needed: the variables that are read after all of them.
        dtype: the element type that is fused.
    """
    wanted = set(needed)
    pieces: list[list[Equation]] = []
    for equation in equations:
        fits = _fits(equation, dtype)
        if not fits or not pieces or not _fits(pieces[-1][-1], dtype):
            pieces.append([])
        pieces[-1].append(equation)
    # From the last run to the first, so that what later ones read is known.
    made: list[list[Equation | Chain]] = []
    for run in reversed(pieces):
        made.append(_chained(run, wanted) if _worth_it(run, dtype) else list(run))
        wanted.update(operand for equation in run for operand in equation.operands)
    return [unit for units in reversed(made) for unit in units]


def _worth_it(run: Sequence[Equation], dtype: str) -> bool:
    return _fits(run[0], dtype) and sum(not equation.primitive.view for equation in run) > 1


def _fits(equation: Equation, dtype: str) -> bool:
    """Whether an equation can be part of a chain."""
    name, result = equation.primitive.name, equation.result
    types = [v.type for v in (result, *equation.operands)]
    if result.rows != ROW or any(t.dtype != dtype or len(t.shape) > 1 or t.size == 0 for t in types):
        return False
    if name == "index":
        key = _key(equation)
        return len(key) == 1 and (isinstance(key[0], int) or key[0][2] == 1)
    if name == "reshape":
        return equation.operands[0].rows == ROW
    if name == "concat":
        return all(v.rows == ROW for v in equation.operands)
    return name in TEMPLATES


def _chained(run: list[Equation], wanted: set[Var]) -> list[Equation | Chain]:
    """A chain of these equations; views that others read follow it, made of what it gives."""
    made = {equation.result for equation in run}
    needed = {var for var in made if var in wanted}
    after: list[Equation] = []
    for equation in reversed(run):
        if equation.primitive.view and equation.result in needed:
            needed.remove(equation.result)
            needed.update(v for v in equation.operands if v in made)
            after.append(equation)
    outputs = tuple(equation.result for equation in run if equation.result in needed)
    if not outputs:  # views of what is made elsewhere
        return list(run)
    inputs = dict.fromkeys(v for equation in run for v in equation.operands if v not in made)
    source = _source(run, tuple(inputs), outputs)
    if source.count("\n") > _MOST_LINES:
        return list(run)
    return [Chain(tuple(run), tuple(inputs), outputs, source), *reversed(after)]


# ------------------------------------------------------------------------------------------ where to cut


def _key(equation: Equation) -> Any:
    """Of an `index`: for each axis a number, or (start, stop, step)."""
    return dict(equation.attributes)["key"]


def _size(var: Var) -> int:
    return var.type.shape[0] if var.type.shape else 1


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
        found, start = [], 0
        for operand in equation.operands:
            found.append((operand, -start, _size(operand)))
            start += _size(operand)
        return found
    return [
        (operand, 0, _size(result) if _size(operand) == _size(result) else 0) for operand in equation.operands
    ]


def _cuts(run: Sequence[Equation]) -> dict[Var, set[int]]:
    """The places where each vector is cut, so that whatever is read together is cut alike."""
    cuts: dict[Var, set[int]] = {}
    for equation in run:
        for var in (equation.result, *equation.operands):
            cuts[var] = {0, _size(var)}
    work = list(range(len(run)))
    readers: dict[Var, list[int]] = {}
    for number, equation in enumerate(run):
        for var in {equation.result, *equation.operands}:
            readers.setdefault(var, []).append(number)
    while work:
        equation = run[work.pop()]
        mine = cuts[equation.result]
        for operand, shift, length in _shifts(equation):
            if not length:
                continue
            theirs = cuts[operand]
            first = max(-shift, 0)  # of the result's places, those that read this operand
            down = {c + shift for c in (*mine, first, first + length) if first <= c <= first + length}
            up = {c - shift for c in (*theirs, *down) if first <= c - shift <= first + length}
            for var, more in ((operand, down), (equation.result, up)):
                if not more <= cuts[var]:
                    cuts[var] |= more
                    work.extend(readers[var])
    return cuts


# ------------------------------------------------------------------------------------------ the source


def _source(run: Sequence[Equation], inputs: tuple[Var, ...], outputs: tuple[Var, ...]) -> str:
    cuts = _cuts(run)
    names = {var: f"x{n}" for n, var in enumerate(inputs)} | {var: f"y{n}" for n, var in enumerate(outputs)}
    stores: dict[int, list[tuple[Var, int]]] = {}
    for var in outputs:
        for start, stop in pairwise(sorted(cuts[var])):
            stores.setdefault(stop - start, []).append((var, start))
    lines = [f"def chain({', '.join(names[var] for var in (*inputs, *outputs))}):"]
    lines.append(f"    for r in range({names[outputs[0]]}.shape[0]):")
    for length, some in sorted(stores.items()):
        lines += _loop(run, names, inputs, length, some)
    return "\n".join(lines) + "\n"


def _loop(
    run: Sequence[Equation],
    names: dict[Var, str],
    inputs: Sequence[Var],
    length: int,
    stores: list[tuple[Var, int]],
) -> list[str]:
    """The loop over the places of all pieces of one length; each value is computed once.

    A value is a variable at a place; it moves along with the loop, or is the one number there for all of it.
    """
    wanted: dict[Var, dict[tuple[int, bool], None]] = {}
    for var, start in stores:
        wanted.setdefault(var, {})[start, length > 1] = None
    for equation in reversed(run):
        for at in wanted.get(equation.result, ()):
            for operand, place, moves in _reads(equation, *at):
                wanted.setdefault(operand, {})[place, moves] = None
    before: list[str] = []
    body: list[str] = []
    value: dict[tuple[Var, int, bool], str] = {}
    for var in inputs:
        for place, moves in wanted.get(var, ()):
            value[var, place, moves] = name = f"a{len(value)}"
            (body if moves else before).append(f"{name} = {names[var]}{_subscript(var, place, moves)}")
    for equation in run:
        result = equation.result
        for place, moves in wanted.get(result, ()):
            operands = [value[read] for read in _reads(equation, place, moves)]
            template = TEMPLATES.get(equation.primitive.name)
            if template is None:  # a slice, a join: the operand's own value
                (value[result, place, moves],) = operands
                continue
            value[result, place, moves] = name = f"a{len(value)}"
            (body if moves else before).append(f"{name} = {template.format(*operands)}")
    for var, start in stores:
        moves = length > 1
        where = f"{names[var]}{_subscript(var, start, moves)}"
        (body if moves else before).append(f"{where} = {value[var, start, moves]}")
    lines = ["        " + line for line in before]
    if body:
        lines += [f"        for j in range({length}):", *("            " + line for line in body)]
    return lines


def _reads(equation: Equation, place: int, moves: bool) -> list[tuple[Var, int, bool]]:
    """The operands' values that a value of the result reads."""
    found = []
    for operand, shift, length in _shifts(equation):
        if not length:
            found.append((operand, 0, False))
        elif equation.primitive.name != "concat" or -shift <= place < -shift + length:
            found.append((operand, place + shift, moves))
    return found


def _subscript(var: Var, place: int, moves: bool) -> str:
    index = [] if var.rows == INVARIANT else ["r"]
    if var.type.shape:
        index.append(str(place) if not moves else f"j + {place}" if place else "j")
    return f"[{', '.join(index) or '()'}]"
