"""What passes leave to be tidied: instructions that nothing needs, views that another region reads."""

from __future__ import annotations

from dataclasses import replace

from arrows.engine.program.instructions import (
    Gather,
    Instruction,
    LoadKeys,
    Pull,
    is_view,
    with_operands,
)
from arrows.engine.program.program import Program
from arrows.ops import Var

_LOADS = (Gather, LoadKeys, Pull)  # which read nothing, so they may stand before what does


def prune(program: Program) -> Program:
    """The program without instructions that nothing needs."""
    needed: set[Var] = set()
    kept: dict[str, list[Instruction]] = {name: [] for name in program.regions}
    for name, instruction in reversed(list(program)):
        if not instruction.writes or not needed.isdisjoint(instruction.writes):
            kept[name].append(instruction)
            needed.update(instruction.reads)
    return program.with_regions(**{name: tuple(reversed(region)) for name, region in kept.items()})


def with_views(program: Program) -> Program:
    """The program with views made again at the head of each region that reads them, of what they show.

    A view costs nothing to make, and what it shows lies in memory that both regions see.
    """
    number = program.next_number
    home = {var: name for name, instruction in program for var in instruction.writes}
    views = {
        instruction.result: instruction
        for name, instruction in program
        if is_view(instruction) and name != "once"
    }
    regions: dict[str, tuple[Instruction, ...]] = {}
    for name in program.regions:
        region = program.region(name)
        wanted = {var for each in region for var in each.reads if var in views and home[var] != name}
        for view in reversed(views):
            if view in wanted:
                wanted.update(var for var in views[view].reads if var in views and home[var] != name)
        copies: dict[Var, Var] = {}
        made_again: list[Instruction] = []
        for view, origin in views.items():
            if view in wanted:
                copies[view] = copy = Var(number, view.type, view.rows)
                number += 1
                operands = tuple(copies.get(var, var) for var in origin.operands)
                made_again.append(replace(origin, operands=operands, result=copy))
        loads = [each for each in region if isinstance(each, _LOADS)]
        rest = [with_operands(each, copies) for each in region if not isinstance(each, _LOADS)]
        regions[name] = (*loads, *made_again, *rest) if copies else region
    return prune(program.with_regions(**regions))
