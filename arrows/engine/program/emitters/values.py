"""What the values of a region are called in its function, and where they are bound to arrays.

Three times: for the batch, for a number of rows, for a step.  What lies ready for all rows is bound once,
with its views; a step slices the rows that it reads.  Scratch, and its views, depend on how many rows there
are.
"""

from __future__ import annotations

from dataclasses import dataclass

from arrows.engine.program.emitters.calls import Calls
from arrows.engine.program.instructions import Instruction, LoadKeys, Pull, is_view
from arrows.engine.program.program import Place, Program, RangeOf
from arrows.ops import ROW, Equation, Var


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that lie in an array of the batch, or in a view of it.

    Attributes:
        array: the name of what is bound for the batch.
        level: what counts the rows.
        contiguous: whether the array lies together in memory, so that a reshape is a view.
        scratch: whether the rows of a step are the first ones, else those of the step.
    """

    array: str
    level: int
    contiguous: bool
    scratch: bool


class Values:
    """The values of a region.

    Args:
        program: with memory.
        region: any but ``once``.
        calls: what the function calls.

    Attributes:
        batch: what is bound for the batch: code, by name.
        sized: what is bound for a number of rows: code, by name.
        body: the lines of a step.
        names: of values.
        levels: those whose bounds are read: ``a``, ``z`` and ``n`` of rows, ``a0``, ``z0``, ``n0`` and the
            segments ``g0`` of the elements of sequence 0.
        sized_levels: those whose number of rows ``sized`` depends on.
        made_by: the instructions with rows, by what they make.
    """

    def __init__(self, program: Program, region: str, calls: Calls) -> None:
        self.program, self.region, self.calls = program, region, calls
        self.whole = region == "deferred"
        self.batch: dict[str, str] = {}
        self.sized: dict[str, str] = {}
        self.body: list[str] = []
        self.names: dict[Var, str] = {}
        self.levels: set[int] = set()
        self.sized_levels: set[int] = set()
        self.made_by: dict[Var, Instruction] = {
            var: instruction for name, instruction in program if name != "once" for var in instruction.writes
        }
        self._once = program.once_numbers
        self._rows: dict[Var, Rows | None] = {}
        self._slices: dict[str, str] = {}  # the names of rows of a step, by that of their array

    def bound(self, name: str, code: str) -> str:
        """The name of what is bound for the batch."""
        self.batch[name] = code
        return name

    def assign(self, var: Var, code: str) -> None:
        """Gives a value that has no memory a name."""
        self.names[var] = f"v{var.id}"
        self.body.append(f"v{var.id} = {code}")

    def name(self, var: Var) -> str:
        """The name of a value; its rows of the step are sliced where it is first named."""
        if var not in self.names:
            if var in self._once:
                number = self._once[var]
                return self.bound(f"i{number}", f"arrays.once[{number}]")
            rows = self.rows(var)
            assert rows is not None, var
            self.names[var] = self.sliced(rows)
        return self.names[var]

    def number(self, var: Var) -> str:
        """The name of a value, without axes if it is a single number of ``once``: NumPy's functions of
        elements take 0.3 us longer where it has axes of length 1."""
        if var not in self._once or not var.type.shape or var.type.size != 1:
            return self.name(var)
        return self.bound(f"{self.name(var)}n", f"{self.name(var)}.reshape(())")

    def sliced(self, rows: Rows) -> str:
        """The name of the rows of a step."""
        if rows.array in self._slices:
            return self._slices[rows.array]
        end = suffix(rows.level)
        if rows.scratch:
            self.levels.add(rows.level)
            self.sized_levels.add(rows.level)
            name = f"{rows.array}n"
            self.sized[name] = f"{rows.array}[:n{end}]"
        elif self.whole:
            name = rows.array
        else:
            self.levels.add(rows.level)
            name = f"{rows.array}s"
            self.body.append(f"{name} = {rows.array}[a{end}:z{end}]")
        self._slices[rows.array] = name
        return name

    def rows(self, var: Var) -> Rows | None:
        """Where the rows of a value lie, if in an array of the batch."""
        if var not in self._rows:
            self._rows[var] = self._find_rows(var)
        return self._rows[var]

    def _find_rows(self, var: Var) -> Rows | None:
        scratch = False
        match self.program.memory.get(var):
            case Place(kind, number) as place:
                scratch = kind == "scratch"
                array = self.memory(self.region, number) if scratch else self.memory(*self._lies_in(place))
            case RangeOf(whole, axis, start, stop):
                return self.range(whole, axis, start, stop)
            case None:
                match self.made_by.get(var):
                    case Pull(_, number):
                        array = self.memory("gradient", number)
                    case LoadKeys():
                        array = self.bound("keys", "arrays.keys")
                    case Equation() as view if is_view(view):
                        return self._rows_of_view(view)
                    case _:
                        return None
        return Rows(array, var.rows, contiguous=True, scratch=scratch)

    def memory(self, kind: str, number: int) -> str:
        """The name of an array of `Frame.memory`."""
        return self.bound(f"{kind}{number}", f"arrays.memory.get(({kind!r}, {number}))")

    def _lies_in(self, place: Place) -> tuple[str, int]:
        """The array of `Frame.memory`: that of distinct rows where the region runs over these."""
        kind = {"early": "spread", "late": "sums"}.get(self.region)
        for key, of_all in self.program.distinct_places.items():
            if key[0] == kind and of_all == place:
                return key
        return place.kind, place.number

    def range(self, whole: Var, axis: int, start: int, stop: int) -> Rows:
        """A range of a value along a negative axis."""
        rows = self.rows(whole)
        assert rows is not None
        before = ":, " * (len(whole.type.shape) + axis + 1)
        return self._view(rows, f"{rows.array}[{before}{start}:{stop}]", contiguous=False)

    def _rows_of_view(self, equation: Equation) -> Rows | None:
        """Where the rows of a view lie, if it can be made of all rows at once."""
        rows, reshape = self.rows(equation.operands[0]), equation.primitive.name == "reshape"
        if rows is None or (reshape and not rows.contiguous):  # which may be a copy
            return None
        return self._view(rows, self.calls.call(equation, [rows.array]), contiguous=reshape)

    def _view(self, rows: Rows, code: str, *, contiguous: bool) -> Rows:
        """A view of rows, bound for the batch."""
        name = next((name for name, other in self.batch.items() if other == code), None)
        if name is None:
            name = self.bound(f"{rows.array}v{len(self.batch)}", code)
        return Rows(name, rows.level, contiguous, rows.scratch)


def suffix(level: int) -> str:
    """How the names of a level's bounds end."""
    return "" if level == ROW else str(level)
