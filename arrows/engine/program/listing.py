"""The programs of a model's operations, for people to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from arrows.engine.program.format import OwnerName
from arrows.engine.program.program import Program
from arrows.engine.scheduling import Merged
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.quoting import quoted

RowCounts: TypeAlias = tuple[tuple[int, int], ...]
"""For each operation, how many steps it has in a batch, and how many rows in all."""


def row_counts(merged: Merged) -> RowCounts:
    """Counts the steps and the rows of each operation of a batch."""
    return tuple([(len(rows.bounds) - 1, rows.count) for rows in merged.operations])


@dataclass(frozen=True, eq=False, slots=True)
class Programs:
    """The programs of operations; printed, their text.  Made by `Model.program`.

    Attributes:
        programs: by number of the operation.
        owner: names layers as the model does.
        counts: of each run of a batch; none before the first batch.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Vector(2) >> ar.FC(3, name="answer"))
    >>> print(model.program("answer", [[1, 2], [3, 4]]))
    # rows: 2, steps: 1
    program answer
    operand 0: float32[2] row of slab 0, early
    result 0: float32[3] row
    once
      %1: float32[2, 3] = parameter answer/weight
      %2: float32[3] = parameter answer/bias
    step
      scratch 0: float32[3] row
      %0: float32[2] row = gather 0
      %3: float32[3] row in scratch 0 = matmul(%0, %1)
      %4: float32[3] row in result 0 = add(%3, %2)
      result 0 = %4
    """

    programs: Mapping[int, Program]
    owner: OwnerName
    counts: Sequence[RowCounts]

    def named(self, name: str) -> Programs:
        """Those of a name, or else those with it in their names.

        Raises:
            ArrowTypeError: the name is no text.
            ArrowValueError: there are none.
        """
        if not isinstance(name, str):
            raise ArrowTypeError(f"the name of an operation must be a text, not {name!r}")
        chosen = {n: program for n, program in self.programs.items() if program.name == name}
        chosen = chosen or {n: program for n, program in self.programs.items() if name in program.name}
        if not chosen:
            names = ", ".join(dict.fromkeys(program.name for program in self.programs.values()))
            raise ArrowValueError(f"no operation is named {quoted(name)}; there are {names or 'none'}")
        return Programs(chosen, self.owner, self.counts)

    def __str__(self) -> str:
        return "\n\n".join(
            self._comment(number) + program.format(self.owner) for number, program in self.programs.items()
        )

    def _comment(self, number: int) -> str:
        """A line that says how large the operation was in the batch."""
        if not self.counts:
            return ""
        steps, rows = (sum(numbers) for numbers in zip(*(run[number] for run in self.counts), strict=True))
        return f"# rows: {rows:,}, steps: {steps:,}\n"
