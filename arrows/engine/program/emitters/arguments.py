"""What the words of a kernel stand for: the arrays of one step of one region.

A kernel in C (`arrows.engine.cuda`) names its words by these; where a batch is bound, each becomes a column
of the table of launches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from arrows.engine.device import KernelSource
from arrows.ops import Var


class Argument(NamedTuple):
    """A number, or an address, that differs from step to step.

    Attributes:
        kind: what, of the step:

            * ``count``: how many rows it has at a level: the operation's rows, or the elements of a sequence.
            * ``rows``: its rows of a value that has memory, but no range of another's; rows lie together.
            * ``result``, ``gradient``, ``scatter``: its rows of this `Place`.
            * ``once``: a value without rows, of the region ``once``; its numbers lie together.
            * ``slab``: the rows that a gather reads: row ``index[r]`` for row r of the step.
            * ``index``: its part of a gather's index, int32; for a gather of k operands side by side, k
              numbers for each row.  0 where the step reads a range: row r is then row r of ``slab``.
            * ``pull offsets``: int32: row r of a result takes ``places[offsets[r]:offsets[r + 1]]`` of the
              values besides.  0 where no row takes any.
            * ``pull places``: int32, the places of all steps: what the offsets count from 0.
            * ``pull values``: the gradients that places number; rows lie together.
            * ``segment offsets``: int32, rows + 1 of them: the elements of row r, counted from 0 in the step.
            * ``segment rows``: int32, each element's row, counted from 0 in the step.
            * ``keys``: its dropout keys, uint64.
        of: the value of ``rows`` and ``once``; else the number of the level, of the gather or scatter in the
            program, or of the result.
    """

    kind: str
    of: Var | int


@dataclass(frozen=True, slots=True)
class CKernel:
    """A kernel of an instruction.

    Attributes:
        source: the kernel.
        arguments: what its words stand for; the first is how many rows it has.
    """

    source: KernelSource
    arguments: tuple[Argument, ...]
