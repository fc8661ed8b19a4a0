"""Turns equations into straight-line Python over arrays that are handed in: no loop, no allocation, `out=`
throughout.

A *part* is a list of equations that runs at once: an operation's forward step, its backward step, what is
deferred until all its steps have run, or what has no rows.  Each variable with rows gets a place to be
written: a buffer the caller hands in (kept for all rows of the operation, a slab's rows) or a scratch slot,
reused as soon as nothing reads it any more.  A ``concat`` costs no copy where its pieces can be written
straight into their range of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from arrows.engine.program.contiguous_transpose import ContiguousTranspose
from arrows.engine.program.derive import RowSum
from arrows.engine.program.fuse import Chain, fuse
from arrows.ops import INVARIANT, ROW, Equation, RowSparse, Var
from arrows.ops.arrays import Array, ArrayModule
from arrows.ops.primitive import Run, SumRun
from arrows.ops.sums import sum_rows


@dataclass(frozen=True, slots=True)
class Slot:
    """A scratch array: its number, and what its rows are."""

    number: int
    rows: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(eq=False, slots=True)
class Part:
    """One part being written.

    Attributes:
        xp: the array module.
        prefix: what the names of new variables begin with.
        lines: the body of the function.
        names: what the variables are called in it.
        destinations: for variables that must be written to a given array, that array's name.
        kept: variables that are read after the part has run.
        steady: variables without rows that are read in every step.
        summed: for a sum over rows and an operand of it, another name of that operand.
        kernels: the kernels that the body calls, by name.
        slots: the scratch arrays that the body uses.
        tick: the code that notes the time an equation took; None: nobody asks.
        fused: what compiles a chain of element-wise equations of float32; None: NumPy runs them one by one.
    """

    xp: Any
    prefix: str = "v"
    names: dict[Var, str] = field(default_factory=dict)
    destinations: dict[Var, str] = field(default_factory=dict)
    kept: set[Var] = field(default_factory=set)
    steady: set[Var] = field(default_factory=set)
    summed: dict[tuple[Var, Var], str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    kernels: dict[str, Any] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    tick: Callable[[Equation | Chain], str] | None = None
    fused: Callable[[Chain], Callable[..., None]] | None = None
    _free: dict[tuple[int, tuple[int, ...], str], list[Slot]] = field(default_factory=dict)
    _root: dict[Var, Var] = field(default_factory=dict)  # of a view, the variable whose memory it shows

    def write(self, equations: Sequence[Equation]) -> None:
        """Writes ``equations`` in order."""
        units: Sequence[Equation | Chain] = equations
        if self.fused is not None:
            units = fuse(equations, self.kept | self.destinations.keys())
        last_use = self._last_uses(units)
        pieces = self._pieces([unit for unit in units if isinstance(unit, Equation)])
        slot_of: dict[Var, Slot] = {}
        held_until: dict[Slot, int] = {}

        def place(var: Var, position: int) -> str:
            """The array that ``var`` is written to."""
            if var in self.destinations:
                return self.destinations[var]
            if var in pieces:
                whole, subscript = pieces[var]
                return f"{place(whole, position)}{subscript}"
            if var not in slot_of:
                slot = self._slot(var)
                slot_of[var] = slot
                held_until[slot] = last_use.get(var, position)
            return f"s{slot_of[var].number}"

        for position, unit in enumerate(units):
            dying = [slot for slot, until in held_until.items() if until == position]
            if isinstance(unit, Chain):
                self._chain(unit, place, position)
            else:
                if unit.primitive.elementwise:
                    # An element-wise kernel may write over what it reads.
                    for slot in dying[:]:
                        if self._fits(slot, unit.result) and self._reads_whole(unit, slot, slot_of):
                            self._release(slot, held_until)
                            dying.remove(slot)
                self._equation(unit, place, pieces, position)
            if self.tick is not None:
                self.lines.append(self.tick(unit))
            for slot in dying:
                self._release(slot, held_until)

    def _equation(
        self,
        equation: Equation,
        place: Callable[[Var, int], str],
        pieces: dict[Var, tuple[Var, str]],
        position: int,
    ) -> None:
        result = equation.result
        name = f"{self.prefix}{len(self.names)}"
        if equation.primitive.name == "concat" and any(
            pieces.get(v, (None,))[0] == result for v in equation.operands
        ):
            self.lines.append(f"{name} = {place(result, position)}")
            start = 0
            axis = _axis(equation)
            for operand in equation.operands:
                stop = start + operand.type.shape[axis]
                if pieces.get(operand, (None,))[0] != result:
                    self.lines.append(f"{name}{_range(axis, start, stop)} = {self.names[operand]}")
                start = stop
            self.names[result] = name
            return
        if equation.primitive.view or result.rows == INVARIANT:
            self.lines.append(f"{name} = {self._value(equation)}")
            if result in self.destinations:
                self.lines.append(f"{self.destinations[result]}[...] = {name}")
        else:
            self.lines.append(f"{name} = {place(result, position)}")
            self.lines.append(f"{self._call(equation)}, out={name})")
        self.names[result] = name

    def _value(self, equation: Equation) -> str:
        """Code for a result that gets no array to write to."""
        if equation.primitive.name == "index" and equation.result.rows != INVARIANT:
            return f"{self.names[equation.operands[0]]}{_subscript(equation)}"
        return f"{self._call(equation)})"

    def _call(self, equation: Equation) -> str:
        """A kernel's call, without its end."""
        code = f"{self._kernel(equation)}({', '.join(self.names[operand] for operand in equation.operands)}"
        if equation.primitive.segmented:
            code += f", segments=g{_domain(equation)}"
        if self._turns(equation):
            code += ", steps=S"
        return code

    def _chain(self, chain: Chain, place: Callable[[Var, int], str], position: int) -> None:
        """A fused run of equations: one call, which writes every result that is read elsewhere."""
        assert self.fused is not None
        for var in chain.outputs:
            name = f"{self.prefix}{len(self.names)}"
            self.lines.append(f"{name} = {place(var, position)}")
            self.names[var] = name
        names = ", ".join(self.names[var] for var in (*chain.inputs, *chain.outputs))
        self.lines.append(f"{self._add(self.fused(chain))}({names})")

    def reduction(self, reduction: RowSum, target: str | None = None, *, sparse: bool = False) -> str:
        """Writes a sum over rows; returns the name of its value.

        Args:
            reduction: what is summed.
            target: code for the array to write it to; where that is None when it runs, a new one is made.
            sparse: the value may be row-sparse.
        """
        if reduction.parts:
            assert reduction.equation is not None
            parts = [self.reduction(part) for part in reduction.parts]
            kernel = reduction.equation.primitive.kernel(self.xp, **dict(reduction.equation.attributes))
            return self._assign(f"{self._add(kernel)}({', '.join(parts)})")
        if reduction.equation is not None:
            equation = reduction.equation
            has_rows = tuple(operand.rows != INVARIANT for operand in equation.operands)
            types = tuple(operand.type for operand in equation.operands)
            attributes = equation.primitive.lift(dict(equation.attributes), has_rows, types)
            assert equation.primitive.sum_rows is not None
            run = equation.primitive.sum_rows(self.xp, has_rows, types, **attributes)
            assert run is not None
            if not sparse and equation.primitive.name == "scatter_row":
                run = _to_dense(self.xp, run)
            names = [self.summed.get((reduction.var, v), self.names[v]) for v in equation.operands]
            arguments = ", ".join(names)
            out = "" if target is None else f", out={target}"
            return self._assign(f"{self._add(run)}({arguments}{out})")
        return self._assign(f"{self._add(sum_rows)}({self.names[reduction.var]})")

    def hand_over(self, target: str, name: str) -> None:
        """Writes a value to an array, unless that is None or it is there already."""
        self.lines.append(f"if {target} is not None and {name} is not {target}: {target}[...] = {name}")

    def _assign(self, code: str) -> str:
        name = f"{self.prefix}r{len(self.lines)}"
        self.lines.append(f"{name} = {code}")
        return name

    def _kernel(self, equation: Equation) -> str:
        has_rows = tuple(operand.rows != INVARIANT for operand in equation.operands)
        types = tuple(operand.type for operand in equation.operands)
        attributes = dict(equation.attributes)
        if any(has_rows):
            attributes = equation.primitive.lift(attributes, has_rows, types)
        kernel = equation.primitive.kernel(self.xp, **attributes)
        if self._turns(equation):
            kernel = ContiguousTranspose(kernel)
        return self._add(kernel)

    def _turns(self, equation: Equation) -> bool:
        return equation.primitive.name == "transpose" and equation.result in self.steady

    def _add(self, function: Any) -> str:
        name = f"k{len(self.kernels)}"
        self.kernels[name] = function
        return name

    # --------------------------------------------------------------------------------------------------
    # places

    def _last_uses(self, units: Sequence[Equation | Chain]) -> dict[Var, int]:
        """For each variable with memory of its own, the last equation that reads it, through views too."""
        self._root.clear()
        root = self._root
        last: dict[Var, int] = {}
        for position, unit in enumerate(units):
            if isinstance(unit, Equation) and unit.primitive.view:
                root[unit.result] = root.get(unit.operands[0], unit.operands[0])
            for operand in unit.operands if isinstance(unit, Equation) else unit.inputs:
                last[root.get(operand, operand)] = position
        for var in self.kept:
            last[root.get(var, var)] = len(units)
        # A piece of a concat lives as long as the whole.
        for unit in reversed(units):
            if isinstance(unit, Equation) and unit.primitive.name == "concat" and unit.result in last:
                for operand in unit.operands:
                    own = root.get(operand, operand)
                    last[own] = max(last[own], last[unit.result])
        return last

    def _pieces(self, equations: Sequence[Equation]) -> dict[Var, tuple[Var, str]]:
        """Variables that can be written straight into a range of the ``concat`` that alone reads them."""
        made = {
            e.result: e
            for e in equations
            if e.primitive.elementwise and not e.primitive.view and e.result.rows >= ROW
        }
        uses: dict[Var, int] = {}
        for equation in equations:
            for operand in equation.operands:
                uses[operand] = uses.get(operand, 0) + 1
        pieces: dict[Var, tuple[Var, str]] = {}
        for equation in equations:
            if equation.primitive.name != "concat" or equation.result.rows == INVARIANT:
                continue
            axis = _axis(equation)
            start = 0
            for operand in equation.operands:
                stop = start + operand.type.shape[axis]
                alone = uses[operand] == 1 and operand not in self.kept and operand not in self.destinations
                if operand in made and alone and operand.rows == equation.result.rows:
                    pieces[operand] = equation.result, _range(axis, start, stop)
                start = stop
        return pieces

    def _slot(self, var: Var) -> Slot:
        kind = (var.rows, var.type.shape, var.type.dtype)
        free = self._free.get(kind)
        if free:
            return free.pop()
        slot = Slot(len(self.slots), *kind)
        self.slots.append(slot)
        return slot

    def _release(self, slot: Slot, held_until: dict[Slot, int]) -> None:
        del held_until[slot]
        self._free.setdefault((slot.rows, slot.shape, slot.dtype), []).append(slot)

    @staticmethod
    def _fits(slot: Slot, var: Var) -> bool:
        return (slot.rows, slot.shape, slot.dtype) == (var.rows, var.type.shape, var.type.dtype)

    def _reads_whole(self, equation: Equation, slot: Slot, slot_of: dict[Var, Slot]) -> bool:
        """The slot is read by this equation only as an operand of the result's own shape, not through a
        view."""
        readers = [var for var in equation.operands if slot_of.get(self._root.get(var, var)) is slot]
        return bool(readers) and all(var in slot_of and var.type == equation.result.type for var in readers)


def _to_dense(xp: ArrayModule, run: SumRun) -> Run:
    """A sum over rows that never gives a row-sparse array: what reads it takes arrays alone."""

    def dense(*operands: Array, out: Array | None = None) -> Array:
        value = run(*operands, out=out)
        return value.to_dense(xp) if isinstance(value, RowSparse) else value

    return dense


def _subscript(equation: Equation) -> str:
    """Of an ``index`` on rows, as it is written: a call less in every step."""
    key: Any = dict(equation.attributes)["key"]
    items = [str(item) if isinstance(item, int) else ":".join(map(_bound, item)) for item in key]
    return f"[{', '.join([':', *items])}]"


def _bound(number: int | None) -> str:
    return "" if number is None else str(number)


def _domain(equation: Equation) -> int:
    """The sequence whose bounds a segmented primitive takes."""
    return max(var.rows for var in (*equation.operands, equation.result))


def _axis(equation: Equation) -> int:
    """The axis of a ``concat``, negative."""
    axis = dict(equation.attributes)["axis"]
    assert isinstance(axis, int)
    return axis


def _range(axis: int, start: int, stop: int) -> str:
    """The subscript of a range along a negative axis."""
    return f"[..., {start}:{stop}{', :' * (-1 - axis)}]"
