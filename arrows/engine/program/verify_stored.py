"""Checks what lies in another type than its own: `Program.stored`."""

from __future__ import annotations

from arrows.engine.device import STORED_TYPES
from arrows.engine.program.emitters.products import is_launched, step_product, summed_outer
from arrows.engine.program.instructions import Downcast, Instruction, Product, SumRows, View
from arrows.engine.program.program import GatheredRows, Held, Program, RangeOf, Scratch
from arrows.engine.program.verify_equation import Violation
from arrows.ops import INVARIANT, Var


class StoredChecker:
    """Checks instruction by instruction that stored numbers are read and written as what they are.

    Args:
        program: otherwise right, with memory.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.made_by = {var: instruction for _, instruction in program for var in instruction.writes}

    def check(self, region: str, instruction: Instruction) -> None:
        """Checks an instruction.

        Raises:
            Violation: it breaks a rule.
        """
        program = self.program
        for var in instruction.writes:
            self._check_memory(region, instruction, var)
        stored = {
            var: name for var in (*instruction.reads, *instruction.writes) if (name := self._stored(var))
        }
        if not stored or isinstance(instruction, (View, Downcast)):
            return
        if region == "once" or not is_launched(program, instruction):
            raise Violation(f"%{min(var.id for var in stored)} is stored, and no kernel runs this")
        if isinstance(instruction, Product):
            self._check_product(instruction)
        elif isinstance(instruction, SumRows) and (factors := summed_outer(program, instruction)):
            if factors[0].stored != factors[1].stored:
                raise Violation("the factors are not stored alike")
        elif any(var.rows == INVARIANT for var in stored):
            raise Violation("products alone read what is rounded")

    def finish(self) -> None:
        """Checks what holds of the whole program.

        Raises:
            Violation: a rule is broken.
        """
        if self.program.delivered is not None and not self.program.kernels:
            raise Violation("kernels alone deliver rows")

    def _check_memory(self, region: str, instruction: Instruction, var: Var) -> None:
        """Checks that a value may lie as it does, and that others in its memory lie so, too."""
        program, stored = self.program, self.program.stored.get(var)
        place = program.memory.get(var)
        if isinstance(place, Scratch) and program.scratch[region][place.number].stored != stored:
            raise Violation(f"%{var.id} does not fit {place}")
        if isinstance(instruction, Downcast) and stored is None:
            raise Violation(f"%{var.id} is rounded and not stored")
        shows = isinstance(instruction, View) and region == "once"
        if shows and stored != self._stored(instruction.reads[0]):
            raise Violation(f"%{var.id} is not stored as what it shows")
        if stored is None:
            return
        if not program.kernels or var.type.dtype != "float32" or stored not in STORED_TYPES:
            raise Violation(f"%{var.id} cannot be stored as {stored}")
        if var.rows == INVARIANT:
            if not isinstance(instruction, (Downcast, View)):
                raise Violation(f"%{var.id} is stored and not rounded")
        elif not isinstance(place, (Held, GatheredRows, Scratch)):
            raise Violation(f"%{var.id} must not be stored as {stored}")

    def _check_product(self, instruction: Product) -> None:
        product = step_product(self.program, instruction.equation)
        assert product is not None
        (matrix,) = (var for var in instruction.reads if var.rows == INVARIANT)
        if product.rows.stored != self._stored(matrix):
            raise Violation("the factors are not stored alike")
        if product.result.stored not in (None, product.rows.stored):
            raise Violation("the result is not stored as the factors are")

    def _stored(self, var: Var) -> str | None:
        """The type in which the numbers of a value lie, if not in their own."""
        memory = self.program.memory
        while True:
            place, instruction = memory.get(var), self.made_by.get(var)
            if isinstance(place, RangeOf):
                var = place.whole
            elif isinstance(instruction, View) and var not in self.program.stored:
                var = instruction.reads[0]
            else:
                return self.program.stored.get(var)
