"""Allocates memory: where each value of a program lies::

    step                                     step
      %1: float32[3] row = gather 0            %1: float32[3] row in gathered 0 = gather 0
      %2: float32[3] row = negative(%1)        %2: float32[3] row in scratch 0 = negative(%1)
      %3: float32[3] row = exp(%2)       ->    %3: float32[3] row in scratch 0 = exp(%2)
      %4: float32[3] row = tanh(%3)            %4: float32[3] row in result 0 = tanh(%3)
      result 0 = %4                            result 0 = %4

A value that a later region reads is held for all rows of the operation; one that is made backwards lies where
one lay that nothing reads backwards.  A result, and the gradient of gathered rows, is computed where it goes;
a part of a join is computed in its range of the whole.  All else is scratch, which is used again once nothing
reads it any more, by element-wise equations even while they read it.

Views, and what has no rows, get no memory here; nor does what is there already: gradients of results, dropout
keys, and gathered rows that their own region alone reads.

In a program for kernels, which load what they read, gathered rows get memory only if a matrix product or a
sum over rows reads them, unless as the index of a table's rows, and gradients of results lie in their slab if
anything but one kernel reads them.

With ``reuse`` a training step takes 0.94 of the time (Tree-LSTM, state 300, batch 64), 0.90 (state 128, batch
25) and 0.92 (an LSTM along one chain, state 100): `python -m benchmarks.passes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count

from arrows.engine.device import Kernels
from arrows.engine.program.instructions import (
    Gather,
    Instruction,
    LoadKeys,
    Pull,
    RowMap,
    Store,
    SumRows,
    attribute,
    is_elementwise,
    is_join,
    is_product,
    is_view,
)
from arrows.engine.program.program import (
    Memory,
    Place,
    Program,
    RangeOf,
    Slot,
)
from arrows.ops import INVARIANT, Var


def allocate(program: Program, *, reuse: bool = True) -> Program:
    """Allocates memory; see the head of this file.

    Args:
        program: without memory.
        reuse: False gives every value memory of its own, which is copied to where it is wanted.
    """
    together = _lying_together(program, program.kernels) if program.kernels else set()
    memory = _beyond_scratch(program, together, reuse)
    scratch: dict[str, tuple[Slot, ...]] = {}
    for name in program.regions:
        slots, in_slots = _scratch(program.region(name), memory, together, reuse)
        memory |= in_slots
        if slots:
            scratch[name] = tuple(slots)
    return replace(program, memory=memory, scratch=scratch)


def _computed(instruction: Instruction) -> tuple[Var, ...]:
    """The values with rows that an instruction computes, which need memory."""
    if isinstance(instruction, (Gather, LoadKeys, Pull)) or is_view(instruction):
        return ()
    return tuple(var for var in instruction.writes if var.rows != INVARIANT)


def _beyond_scratch(program: Program, together: Collection[Var], reuse: bool) -> dict[Var, Memory]:
    """The memory of all values but those in scratch."""
    home = {var: name for name, instruction in program for var in instruction.writes}
    computed = {var: name for name, instruction in program for var in _computed(instruction)}
    memory: dict[Var, Memory] = {}
    if reuse:
        for instruction in program.region("step"):
            if isinstance(instruction, Store) and instruction.operand in computed:
                memory.setdefault(instruction.operand, Place("result", instruction.number))
    read_later = {var for name, instruction in program for var in instruction.reads if home[var] != name}
    for number, (_, gather) in enumerate(program.gathers):
        if gather.result in read_later and (gather.result in together or not program.kernels):
            memory[gather.result] = Place("gathered", number)
    for _, instruction in program:
        if isinstance(instruction, Pull) and instruction.result in together:
            memory[instruction.result] = Place("gradient", instruction.number)
    kept, readers, forward = count(), _readers(program), ("early", "step")
    free: list[Var] = []  # what no region that runs backwards reads
    for var, name in computed.items():
        if var in read_later and var not in memory:
            same = [each for each in free if name not in forward and _slot(each) == _slot(var)]
            memory[var] = memory[same[0]] if same else Place("kept", next(kept))
            free = [each for each in free if each not in same[:1]]
            if reuse and name in forward and all(region in forward for region, _ in readers[var]):
                free.append(var)
    if reuse:
        for number, (name, scatter) in enumerate(program.scatters):
            if computed.get(scatter.operand) == name:
                memory.setdefault(scatter.operand, Place("scatter", number))
        if not program.kernels:  # whose maps write joins themselves
            memory |= _parts_of_joins(program, memory)
    return memory


def _readers(program: Program) -> dict[Var, list[tuple[str, Instruction]]]:
    """What reads each value, itself or a view of it, with the region."""
    readers: dict[Var, list[tuple[str, Instruction]]] = {}
    shows = {instruction.result: instruction.reads[0] for _, instruction in program if is_view(instruction)}
    for name, instruction in program:
        if not is_view(instruction):
            for var in dict.fromkeys(instruction.reads):
                while var in shows:
                    readers.setdefault(var, []).append((name, instruction))
                    var = shows[var]
                readers.setdefault(var, []).append((name, instruction))
    return readers


def _lying_together(program: Program, kernels: Kernels) -> set[Var]:
    """Of a program for kernels, the gathered rows that a product or a sum reads, and the gradients of results
    that not one kernel alone reads."""
    readers = _readers(program)
    together: set[Var] = set()
    for name, instruction in program:
        if isinstance(instruction, (Gather, Pull)):
            reads = readers.get(instruction.result, [])
            if isinstance(instruction, Gather):
                number = program.gather_numbers[instruction.result]
                needed = any(
                    is_product(each)
                    or (isinstance(each, SumRows) and kernels.index_of(program, each) != number)
                    for _, each in reads
                )
            else:
                needed = [region for region, _ in reads] != [name] or not _is_kernel(kernels, reads[0][1])
            if needed:
                together.add(instruction.result)
    return together


def _is_kernel(kernels: Kernels, instruction: Instruction) -> bool:
    """Whether a kernel maps rows: an element-wise primitive of a user's may have none."""
    return isinstance(instruction, RowMap) or (is_elementwise(instruction) and kernels.compute(instruction))


def _parts_of_joins(program: Program, memory: Mapping[Var, Memory]) -> dict[Var, Memory]:
    """Values that can be computed in their range of the join that alone reads them: by NumPy's functions of
    elements, which write to any memory as fast; a product would go by a copy."""
    uses = Counter(var for _, instruction in program for var in instruction.reads)
    parts: dict[Var, Memory] = {}
    for name in program.regions:
        elementwise = {each.result for each in program.region(name) if is_elementwise(each)}
        for instruction in program.region(name):
            if not is_join(instruction) or instruction.result.rows == INVARIANT:
                continue
            axis: int = attribute(instruction, "axis")
            start = 0
            for var in instruction.reads:
                stop = start + var.type.shape[axis]
                alone = uses[var] == 1 and var.rows == instruction.result.rows and var not in memory
                if alone and var in elementwise:
                    parts[var] = RangeOf(instruction.result, axis, start, stop)
                start = stop
    return parts


def _scratch(
    region: Sequence[Instruction], memory: Mapping[Var, Memory], together: Collection[Var], reuse: bool
) -> tuple[list[Slot], dict[Var, Memory]]:
    """The scratch arrays of a region, and what lies in them; gathers ``together`` do."""
    shows = {var: place.whole for var, place in memory.items() if isinstance(place, RangeOf)}
    shows |= {instruction.result: instruction.reads[0] for instruction in region if is_view(instruction)}

    def owner(var: Var) -> Var:
        """The value whose memory ``var`` lies in."""
        while var in shows:
            var = shows[var]
        return var

    last_read = {
        owner(var): position for position, instruction in enumerate(region) for var in instruction.reads
    }
    for instruction in region:  # a row-sparse gradient holds its rows, and does not copy them
        if isinstance(instruction, SumRows) and instruction.sparse:
            last_read |= dict.fromkeys(map(owner, instruction.reads), len(region))
    slots: list[Slot] = []
    slot_of: dict[Var, int] = {}
    lives: dict[int, int] = {}  # slots in use, and the last instruction that reads them
    free: dict[Slot, list[int]] = {}

    def release(number: int) -> None:
        del lives[number]
        if reuse:
            free.setdefault(slots[number], []).append(number)

    for position, instruction in enumerate(region):
        if is_elementwise(instruction) and instruction.result not in memory:
            # An element-wise kernel may write over what it reads, if it reads it as it lies.
            result = instruction.result
            for number in [number for number, until in lives.items() if until == position]:
                readers = [var for var in instruction.reads if slot_of.get(owner(var)) == number]
                fits = slots[number] == _slot(result) and bool(readers)
                if fits and all(var in slot_of and var.type == result.type for var in readers):
                    release(number)
        gathered = [instruction.result] if isinstance(instruction, Gather) else []
        for var in (*_computed(instruction), *(var for var in gathered if var in together)):
            whole = owner(var)
            if whole in memory or whole in slot_of:
                continue
            unused = free.get(_slot(whole))
            if unused:
                number = unused.pop()
            else:
                number = len(slots)
                slots.append(_slot(whole))
            slot_of[whole] = number
            lives[number] = last_read.get(whole, position)
        for number in [number for number, until in lives.items() if until == position]:
            release(number)
    return slots, {var: Place("scratch", number) for var, number in slot_of.items()}


def _slot(var: Var) -> Slot:
    return Slot(var.rows, var.type.shape, var.type.dtype)
