"""Writes an operation's program: which equations run in which part, and each part as Python source."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from arrows.engine.device.jit import compiled
from arrows.engine.planning import ApplyOperation
from arrows.engine.program.ahead import told_apart
from arrows.engine.program.codegen import Part
from arrows.engine.program.derive import differentiate, prologue, specialise
from arrows.engine.program.fission import divide, fission
from arrows.engine.program.fuse import Chain
from arrows.engine.program.invariants import write_invariants
from arrows.engine.program.joints import joints
from arrows.engine.program.operands import by_slab, read_whole
from arrows.engine.program.pieces import Piece, whole
from arrows.engine.program.profile import Clock, part_of
from arrows.engine.program.program import GeneratedFunction, Program
from arrows.ops import INVARIANT, Equation, Trace, Var


def make_program(
    operation: ApplyOperation,
    xp: Any,
    wanted: Sequence[bool],
    seeded: Sequence[bool],
    *,
    training: bool = False,
    jit: bool = False,
    clock: Clock | None = None,
) -> Program:
    """Writes an operation's program.

    Args:
        operation: an ``"apply"`` operation.
        xp: the array module it will run on.
        wanted: for each port, whether its gradient is wanted.
        seeded: for each result, whether a gradient comes in; none of them for inference.
        training: whether dropout acts.
        jit: compile runs of element-wise equations (`jit.compiled`).
        clock: notes what each equation takes, for a profile.
    """
    trace = specialise(operation.trace, operation.constants, training=training)
    # Where all operands are early there is one step anyway.
    early = operation.early if len(operation.early) < len(operation.ports) and not operation.domains else ()
    leaves = {operation.ports[number].leaf for number in early}
    trace = fission(trace, leaves)
    want_leaf = [False] * len(trace.inputs)
    for port, want in zip(operation.ports, wanted, strict=True):
        want_leaf[port.leaf] = want
    return _ProgramWriter(operation, xp, trace, leaves, want_leaf, seeded, jit, clock).program()


class _ProgramWriter:
    def __init__(
        self,
        operation: ApplyOperation,
        xp: Any,
        trace: Trace,
        early: set[int],
        want_leaf: Sequence[bool],
        seeded: Sequence[bool],
        jit: bool,
        clock: Clock | None,
    ) -> None:
        self.clock = clock
        self.fused = (lambda chain: compiled(chain.source, "float32")) if jit else None
        self.operation, self.xp, self.trace = operation, xp, trace
        self.before, self.main = prologue(trace)
        # The gradients of what nothing is computed of ahead come with each step.
        there = [trace.inputs[leaf] for leaf in early]
        if trace.dropout_key is not None:
            there.append(trace.dropout_key)
        ahead = set(_variables(divide(trace, self.main, there, ()).early, ()))
        late = {leaf for leaf in early if trace.inputs[leaf] in ahead}
        self.late = {number for number, port in enumerate(operation.ports) if port.leaf in late}
        self.port_of = {trace.inputs[port.leaf]: number for number, port in enumerate(operation.ports)}
        self.chance = len(operation.ports)
        if trace.dropout_key is not None:
            # The keys of chance come like one more operand, kept for all rows.
            self.port_of[trace.dropout_key] = self.chance
        self.joints = joints(operation, trace, self.main)
        whole = read_whole(operation, trace, self.main, self.joints, want_leaf)
        self.backward = backward = (
            differentiate(trace, want_leaf, seeded, late, whole) if any(seeded) else None
        )
        self.gradients = by_slab(operation, self.joints, backward, list(whole), self.late)
        joined = {joint.result: self.chance + 1 + n for n, joint in enumerate(self.joints)}
        self.main = tuple(equation for equation in self.main if equation.result not in joined)
        self.port_of |= joined
        self.result_of: dict[Var, int] = {}
        views = {e.result for e in self.main if e.primitive.view}
        for number, var in enumerate(trace.results):
            if var not in self.port_of and var not in views and var.rows != INVARIANT:
                self.result_of.setdefault(var, number)
        read = [var for _, var in backward.forward if var.rows != INVARIANT] if backward else []
        there += [joint.result for joint in self.joints if self.late.issuperset(joint.ports)]
        self.division = divide(trace, self.main, there, read)
        kept_ports = self._operands(read)
        self.kept_ports = tuple(sorted(kept_ports))
        used = self._operands(_variables(self.division.step, trace.results))
        early_operands = self._operands(_variables(self.division.early, ()))
        if self.division.early:
            early_operands |= used & self.late
        self.early_operands = tuple(sorted(early_operands))
        self.gathered = tuple(sorted((used | kept_ports) - early_operands))
        self.held = tuple(sorted(used & early_operands))
        kept = dict.fromkeys((*read, *self.division.held))
        self.kept = tuple(var for var in kept if var not in self.port_of and var not in self.result_of)
        self.ahead = told_apart(
            trace.inputs,
            self.joints,
            self.early_operands,
            self.held,
            self.division,
            self.port_of,
            self.kept,
            backward,
            self.gradients,
        )

    def _operands(self, variables: Sequence[Var]) -> set[int]:
        """The operands among the variables, without the key of chance."""
        return {self.port_of[var] for var in variables if var in self.port_of} - {self.chance}

    def program(self) -> Program:
        backward = self.backward
        # What is laid out anew for many steps; where there is one, a product reads each matrix once.
        many = len(self.operation.early) < len(self.operation.ports)
        found = write_invariants(
            self.xp,
            self.trace,
            self.before,
            backward,
            _variables(self.division.step, ()) if many else (),
            _variables(backward.step, ()) if many and backward is not None else (),
        )
        invariants = found.numbers
        early = self._early(invariants) if self.division.early else None
        forward = self._forward(invariants)
        step = late = deferred = None
        saved: tuple[Var, ...] = ()
        pieces: tuple[tuple[int, Piece | None], ...] = ()
        if backward is not None:
            saved = backward.saved
            late_ones = [operand.late for some in self.gradients for operand in some.operands]
            if not all(late_ones):
                step = self._backward_step(invariants)
            if any(late_ones):
                late = self._late(invariants)
            if backward.pullback is not None:
                deferred = self._deferred(invariants)
                sparse = self._sparse()
                pieces = tuple(
                    (number, None if piece.var in sparse else piece) for number, piece in self._pieces()
                )
        return Program(
            self.operation,
            self.trace,
            found.constants,
            found.compute,
            early,
            self.early_operands,
            forward,
            self.kept,
            self.joints,
            self.gathered,
            self.held,
            self.kept_ports,
            step,
            late,
            deferred,
            saved,
            self.gradients,
            pieces,
            self.ahead,
            self.clock,
        )

    def _pieces(self) -> list[tuple[int, Piece]]:
        """The pieces of the parameters' gradients, with the parameters' numbers."""
        assert self.backward is not None and self.backward.pullback is not None
        return [(number, piece) for number, some in self.backward.pullback.parameters for piece in some]

    def _sparse(self) -> set[Var]:
        """The seeds of the pullback that are handed on as they are: the rows of look-ups, where a parameter
        gets nothing else."""
        backward = self.backward
        assert backward is not None and backward.pullback is not None
        rows = {
            seed
            for seed, (_, reduction) in zip(backward.pullback.seeds, backward.boundary, strict=True)
            if reduction.equation is not None and reduction.equation.primitive.name == "scatter_row"
        }
        rows.difference_update(_variables(backward.pullback.equations, ()))  # which take arrays alone
        return {
            piece.var
            for number, some in backward.pullback.parameters
            for piece in some
            if rows.issuperset(other.var for other in some)
            and all(other.region == whole(self.trace.parameters[number][1].shape) for other in some)
        }

    def _named(
        self, part: Part, invariants: dict[Any, int], key: Callable[[Var], Any], variables: Sequence[Var]
    ) -> None:
        for var in variables:
            where = invariants.get(key(var))
            if where is not None:
                part.names[var] = f"i{where}"

    # ---------------------------------------------------------------------------------------- forward

    def _forward_part(
        self, invariants: dict[Any, int], equations: Sequence[Equation]
    ) -> tuple[Part, list[str]]:
        """A part of the forward program, not written yet, and the lines that slice what is kept."""
        part = Part(self.xp, fused=self.fused, tick=self._tick())
        self._named(part, invariants, lambda var: var, _variables(self.main, self.trace.results))
        for var, number in self.port_of.items():
            part.names[var] = f"P{number}"
        made = {equation.result for equation in equations}
        head: list[str] = []
        kept = [(f"R{number}", f"R[{number}]", var) for number, var in enumerate(self.kept)]
        results = [(f"O{number}", f"O[{number}]", var) for var, number in self.result_of.items()]
        for name, source, var in (*kept, *results):
            head.append(_sliced(name, source, var))
            if var in made:
                part.destinations[var] = name
            else:  # made by another part
                part.names[var] = name
        return part, head

    def _early(self, invariants: dict[Any, int]) -> GeneratedFunction:
        """What runs for all rows ahead of the steps."""
        part, head = self._forward_part(invariants, self.division.early)
        part.write(self.division.early)
        return self._function("early", part, head, [])

    def _forward(self, invariants: dict[Any, int]) -> GeneratedFunction:
        part, head = self._forward_part(invariants, self.division.step)
        part.kept = set(self.trace.results)
        part.write(self.division.step)
        tail = []
        for number, var in enumerate(self.trace.results):
            if self.result_of.get(var) != number:
                if var.rows == INVARIANT:
                    head.append(f"O{number} = O[{number}][a:z]")
                else:
                    head.append(_sliced(f"O{number}", f"O[{number}]", var))
                tail.append(f"O{number}[...] = {part.names[var]}")
        return self._function("forward", part, head, tail)

    # ---------------------------------------------------------------------------------------- backward

    def _names_of_backward(self, part: Part, invariants: dict[Any, int], whole: bool) -> list[str]:
        """Names the forward values, the seeds and what has no rows; returns the lines that slice them."""
        backward = self.backward
        assert backward is not None
        head: list[str] = []
        equations = (*backward.step, *backward.late, *backward.deferred)
        reduced = [var for _, reduction in backward.boundary for var in reduction.rows()]
        operands = [operand.var for some in self.gradients for operand in some.operands]
        used = {*_variables(equations, reduced), *operands}
        self._named(part, invariants, lambda var: ("b", var), list(used))
        for mine, var in backward.forward:
            if var.rows == INVARIANT:
                continue
            if var in self.port_of:
                source = f"P[{self.port_of[var]}]"
            elif var in self.result_of:
                source = f"O[{self.result_of[var]}]"
            else:
                source = f"R[{self.kept.index(var)}]"
            name = f"f{len(part.names)}"
            part.names[mine] = name
            head.append(f"{name} = {source}" if whole else _sliced(name, source, var))
        for mine, number in backward.cotangents:
            part.names[mine] = f"G{number}"
            head.append(f"G{number} = G[{number}]" if whole else _sliced(f"G{number}", f"G[{number}]", mine))
        return head

    def _backward_step(self, invariants: dict[Any, int]) -> GeneratedFunction:
        backward = self.backward
        assert backward is not None
        part = Part(self.xp, fused=self.fused, tick=self._tick())
        head = self._names_of_backward(part, invariants, whole=False)
        return self._gradient_part("backward", part, head, backward.step, late=False)

    def _late(self, invariants: dict[Any, int]) -> GeneratedFunction:
        """The gradients of early operands, when all steps have run."""
        backward = self.backward
        assert backward is not None
        part = Part(self.xp, fused=self.fused, tick=self._tick())
        head = self._names_of_backward(part, invariants, whole=False)
        return self._gradient_part("late", part, head, backward.late, late=True)

    def _gradient_part(
        self, name: str, part: Part, head: list[str], equations: Sequence[Equation], *, late: bool
    ) -> GeneratedFunction:
        """Writes a part that computes gradients of operands and saves what later parts read."""
        backward = self.backward
        assert backward is not None
        made = {equation.result for equation in equations}
        for number, var in enumerate(backward.saved):
            head.append(_sliced(f"D{number}", f"D[{number}]", var))
            if var in made:
                part.destinations[var] = f"D{number}"
            else:
                part.names[var] = f"D{number}"
        operands = [operand for some in self.gradients for operand in some.operands]
        copied = []
        for number, operand in enumerate(operands, len(backward.saved)):
            if operand.late is not late:
                continue
            source, var = f"D{number}", operand.var
            port = self.operation.ports[operand.ports[0]]
            head.append(_sliced(source, f"D[{number}]", self.trace.inputs[port.leaf]))
            if var in made and var not in part.destinations:
                part.destinations[var] = source
            else:  # computed elsewhere, or for two operands at once
                copied.append((source, var))
        part.kept = {var for _, var in copied}
        part.write(equations)
        tail = [f"{source}[...] = {part.names[var]}" for source, var in copied]
        return self._function(name, part, head, tail)

    def _deferred(self, invariants: dict[Any, int]) -> GeneratedFunction:
        backward = self.backward
        assert backward is not None and backward.pullback is not None
        part = Part(self.xp, fused=self.fused, tick=self._tick())
        head = self._names_of_backward(part, invariants, whole=True)
        for number, var in enumerate(backward.saved):
            part.names[var] = f"D{number}"
            head.append(f"D{number} = D[{number}]")
        part.kept = {var for _, reduction in backward.boundary for var in reduction.rows()}
        if self.ahead is not None:
            # Products with what was computed ahead are of sums by row, which follow all else in `D`.
            first = len(backward.saved) + sum(len(some.operands) for some in self.gradients)
            for place, number in enumerate(self.ahead.sums, first):
                head.append(f"D{place} = D[{place}]")
                for var in self.ahead.products:
                    part.summed[var, backward.saved[number]] = f"D{place}"
        part.write(backward.deferred)
        pieces, sparse = self._pieces(), self._sparse()
        ends = [piece.var for _, piece in pieces]
        read = set(_variables(backward.pullback.equations, ()))
        gradients: dict[Var, str] = {}
        for seed, (_, reduction) in zip(backward.pullback.seeds, backward.boundary, strict=True):
            target = None
            if ends.count(seed) == 1 and seed not in read | sparse:
                target = f"T[{ends.index(seed)}]"
            gradients[seed] = part.reduction(reduction, target, sparse=seed in sparse)
        # The prologue's own backward program follows in the same function.
        pull = Part(self.xp, "w", kernels=part.kernels, lines=part.lines)
        for mine, var in backward.pullback.forward:
            pull.names[mine] = f"i{invariants[var]}"
        for _, mine in backward.pullback.constants:
            pull.names[mine] = f"i{invariants['p', mine]}"
        pull.names |= gradients
        pull.write(backward.pullback.equations)
        for number, end in enumerate(ends):
            if end not in sparse:
                pull.hand_over(f"T[{number}]", pull.names[end])
        tail = [f"return ({''.join(pull.names[end] + ', ' for end in ends)})"]
        return self._function("deferred", part, ["T = ports", *head], tail)

    def _tick(self) -> Callable[[Equation | Chain], str] | None:
        if self.clock is None:
            return None
        return lambda unit: f"tick({part_of(unit)!r}, {self.operation.index})"

    def _function(self, name: str, part: Part, head: list[str], tail: list[str]) -> GeneratedFunction:
        """Wraps a part: ``make`` binds the arrays of a batch, ``step`` runs on rows ``a`` to ``z``."""
        inner = [*part.lines, *tail]
        words = set(re.findall(r"\w+", "\n".join(inner)))
        head = [line for line in head if line.partition(" ")[0] in words]
        for slot in part.slots:
            stop = "z - a" if slot.rows < 0 else f"z{slot.rows} - a{slot.rows}"
            head.append(f"s{slot.number} = S[{slot.number}][:{stop}]")
        for number in range(self.chance + 1 + len(self.joints)):
            if f"P{number}" in words:
                head.append(f"P{number} = ports[{number}]")
        # A sequence's own range of rows and its bounds come with the step.
        for domain in self.operation.domains:
            head.insert(0, f"a{domain}, z{domain}, g{domain} = ragged[{domain}]")
        lines = ["def make(I, P, O, R, G, D, S):"]
        lines += sorted(f"    {word} = I[{word[1:]}]" for word in words if re.fullmatch(r"i\d+", word))
        lines.append("    def step(a, z, ports, ragged):")
        lines += ["        " + line for line in [*head, *inner]] or ["        pass"]
        lines.append("    return step")
        source = "\n".join(lines)
        names = dict(part.kernels)
        if self.clock is not None:
            names["tick"] = self.clock.tick
        exec(compile(source, f"<arrows {name} of {self.operation.name}>", "exec"), names)
        return GeneratedFunction(names.pop("make"), tuple(part.slots), source)


def _variables(equations: Sequence[Equation], more: Sequence[Var]) -> list[Var]:
    found = dict.fromkeys(more)
    for equation in equations:
        found.update(dict.fromkeys(equation.operands))
    return list(found)


def _sliced(name: str, source: str, var: Var) -> str:
    bounds = "a:z" if var.rows < 0 else f"a{var.rows}:z{var.rows}"
    return f"{name} = {source}[{bounds}]"
