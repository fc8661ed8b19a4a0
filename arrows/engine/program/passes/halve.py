"""Stores values of float32 in 16 bits, in a program for kernels::

    once                                           once
      %0: float32[4, 3] = parameter FC/weight        %0: float32[4, 3] = parameter FC/weight
                                                     %9: float32[4, 3] as bfloat16 = downcast %0
    step                                           step
      %1: float32[4] row in gathered 0 = ...   ->    %1: float32[4] row in gathered 0 as bfloat16 = ...
      %2: float32[3] row in scratch 0 =              %2: float32[3] row in scratch 0 =
        matmul(%1, %0)                                 matmul(%1, %9)
      %3: float32[3] row in kept 0 = tanh(%2)        %3: float32[3] row in kept 0 as bfloat16 = tanh(%2)

These are what later regions read, gathered rows that lie together, and scratch that a product multiplies;
where a product multiplies rows in 16 bits, its matrix is rounded once a batch.  Kernels load such numbers as
float32, compute in float32 and round where they store; a product sums in float32.  All else stays as it is:
slabs and their gradients, gradients of parameters, scratch that kernels alone read.

What a call of the array module reads or writes stays in float32 as well, since NumPy and CuPy know no
bfloat16; so does a factor of a product whose other factor does, since cuBLAS multiplies numbers of one type;
and logarithms of sums (`logsumexp`, attention), since the way back takes their exponentials.

The memory that a batch takes falls to 0.74 (a training step of a Tree-LSTM, state 300, batch 64: `python -m
benchmarks.storage`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from types import MappingProxyType

from arrows.engine.program.emitters.products import is_launched, step_product, summed_outer
from arrows.engine.program.instructions import (
    Downcast,
    Instruction,
    Product,
    SumRows,
    View,
    equations_of,
    with_operands,
)
from arrows.engine.program.program import GatheredRows, Held, Memory, Program, RangeOf, Scratch, Slot
from arrows.ops import INVARIANT, Var

# Primitives whose results hold exponents.
_EXACT = frozenset({"segment_attention", "logsumexp"})


def halve(program: Program, storage: str) -> Program:
    """Stores values in 16 bits; see the head of this file.

    Args:
        program: with memory, for kernels.
        storage: one of `STORED_TYPES`.
    """
    if any(type.dtype == "float32" for type, _ in program.results):
        program = replace(program, delivered=storage)
    halved = _halved(program)
    if not halved:
        return program
    memory, scratch = _apart(program, halved, storage)
    stored = dict.fromkeys((var for var in program.memory if var in halved), storage)
    program = replace(program, memory=memory, scratch=scratch, stored=MappingProxyType(stored))
    return _with_matrices(program, storage)


def _shown(program: Program) -> dict[Var, Var]:
    """For each view, and each value that lies in a range of another, that other value."""
    shown = {var: place.whole for var, place in program.memory.items() if isinstance(place, RangeOf)}
    return shown | {
        instruction.result: instruction.reads[0]
        for _, instruction in program
        if isinstance(instruction, View)
    }


def _halved(program: Program) -> set[Var]:
    """The values with memory of their own that can lie in 16 bits."""
    shown = _shown(program)

    def owner(var: Var) -> Var:
        while var in shown:
            var = shown[var]
        return var

    products: list[tuple[Var, Var]] = []  # rows and result
    sums: list[tuple[Var, Var]] = []  # both factors
    exact: set[Var] = set()
    for region, instruction in program:
        touched = [owner(var) for var in (*instruction.reads, *instruction.writes)]
        if region == "once" or isinstance(instruction, View):
            continue
        if not is_launched(program, instruction):
            exact.update(touched)
        elif any(equation.primitive.name in _EXACT for equation in equations_of(instruction)):
            exact.update(owner(var) for var in instruction.writes)
        elif isinstance(instruction, Product):
            (rows,) = (var for var in touched[:2] if var.rows != INVARIANT)
            products.append((rows, touched[2]))
        elif isinstance(instruction, SumRows) and summed_outer(program, instruction) is not None:
            sums.append((touched[0], touched[1]))
    multiplied = {rows for rows, _ in products} | {var for factors in sums for var in factors}
    halved = {
        var
        for var, place in program.memory.items()
        if isinstance(place, (Held, GatheredRows)) or (isinstance(place, Scratch) and var in multiplied)
        if var.type.dtype == "float32" and var not in exact
    }
    before = -1
    while before != len(halved):  # each round takes some out
        before = len(halved)
        halved -= {result for rows, result in products if rows not in halved}
        halved -= {var for factors in sums if not halved.issuperset(factors) for var in factors}
    return halved


def _apart(
    program: Program, halved: set[Var], storage: str
) -> tuple[Mapping[Var, Memory], Mapping[str, tuple[Slot, ...]]]:
    """Memory and scratch arrays, of which each holds values of one type."""
    memory, scratch = dict(program.memory), dict(program.scratch)
    for region, slots in program.scratch.items():
        values = [var for instruction in program.region(region) for var in instruction.writes]
        apart: list[Slot] = []
        for number, slot in enumerate(slots):
            here = [var for var in values if program.memory.get(var) == Scratch(number)]
            for stored in (None, storage):
                lying = [var for var in here if (var in halved) == (stored is not None)]
                if lying:
                    memory |= dict.fromkeys(lying, Scratch(len(apart)))
                    apart.append(replace(slot, stored=stored))
        scratch[region] = tuple(apart)
    return MappingProxyType(memory), MappingProxyType(scratch)


def _with_matrices(program: Program, storage: str) -> Program:
    """The program in which products of rows in 16 bits multiply matrices in 16 bits."""
    once = list(program.region("once"))
    made_by: dict[Var, Instruction] = {var: instruction for instruction in once for var in instruction.writes}
    stored, numbers = dict(program.stored), count(program.next_number)
    rounded: dict[Var, Var] = {}

    def in_16_bits(var: Var) -> Var:
        """The matrix in 16 bits; a transpose shows the matrix that lies there."""
        if var not in rounded:
            instruction = made_by[var]
            if isinstance(instruction, View) and instruction.equation.primitive.name == "transpose":
                whole = in_16_bits(instruction.reads[0])
                copy = Var(next(numbers), var.type, INVARIANT)
                once.append(View(replace(instruction.equation, operands=(whole,), result=copy)))
            else:
                copy = Var(next(numbers), var.type, INVARIANT)
                once.append(Downcast(copy, var))
            rounded[var], stored[copy] = copy, storage
        return rounded[var]

    regions: dict[str, tuple[Instruction, ...]] = {}
    for region in program.regions:
        instructions: list[Instruction] = []
        for instruction in program.region(region):
            if region != "once" and isinstance(instruction, Product):
                product = step_product(program, instruction.equation)
                if product is not None and product.rows.stored is not None:
                    (matrix,) = (var for var in instruction.reads if var.rows == INVARIANT)
                    instruction = with_operands(instruction, {matrix: in_16_bits(matrix)})
            instructions.append(instruction)
        regions[region] = tuple(instructions)
    return replace(program.with_regions(**(regions | {"once": tuple(once)})), stored=MappingProxyType(stored))
