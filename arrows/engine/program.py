"""An operation made ready to run: its forward, backward and deferred parts as Python functions over arrays.

`Program` is made once for an operation, an array module and a set of wanted gradients; it holds no data.  A
written function ``make(I, P, O, R, G, D, S)`` binds a batch's arrays and returns ``step(a, z, ports,
ragged)``, which runs on the rows ``a`` to ``z`` of the operation.  By name: ``I`` values without rows, ``P``
operands and ``R`` intermediate values kept for all rows, ``O`` the rows of the results, ``G`` their
gradients, ``D`` what the backward step saves for the deferred part, ``S`` scratch; ``ports`` the operands
gathered for this step, ``ragged`` for each sequence the range of its elements and its bounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.engine.codegen import Part, Slot
from arrows.engine.derive import Backward, differentiate, prologue, specialise
from arrows.engine.fuse import Chain
from arrows.engine.jit import compiled
from arrows.engine.joints import Joint, joints
from arrows.engine.plan import Operation
from arrows.engine.profile import Clock, part_of
from arrows.ops.primitive import INVARIANT
from arrows.ops.trace import Equation, Trace, Var

Array = Any


@dataclass(frozen=True, slots=True)
class Function:
    """A written part.

    Attributes:
        make: ``make(I, P, O, R, G, D, S) -> step``: binds what holds for the whole batch.
        slots: the scratch arrays that the step wants.
        source: the Python source, for people.
    """

    make: Callable[..., Callable[..., Any]]
    slots: tuple[Slot, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Program:
    """What the executor needs of one operation.

    Attributes:
        operation: the operation.
        trace: its specialised trace.
        constants: the constants, as host arrays.
        compute_invariants: ``(constants, parameters) -> arrays``: all values without rows, once a batch.
        forward: the forward step.
        kept: the forward values kept for all rows that are neither operands nor results.
        joints: what is gathered for several ports at once; operands are numbered by port, then comes the key
            of chance, then these.
        gathered: the operands that the forward step reads or keeps.
        kept_ports: the operands whose gathered rows are kept.
        backward: the step part, returns the gradients of ``gradients``; None if there are none.
        deferred: the part run once over all rows, returns the gradients of ``parameters``; None if there are
            none.
        saved: what ``backward`` saves for ``deferred``.
        gradients: the ports that get a gradient, as positions in `Operation.ports`.
        parameters: the trace's parameters that get a gradient, by number.
        sparse: for each of ``parameters``, whether its gradient is row-sparse.
        clock: notes what each step takes; None: nobody asks.
    """

    operation: Operation
    trace: Trace
    constants: tuple[np.ndarray, ...]
    compute_invariants: Callable[..., tuple[Array, ...]]
    forward: Function
    kept: tuple[Var, ...]
    joints: tuple[Joint, ...]
    gathered: tuple[int, ...]
    kept_ports: tuple[int, ...]
    backward: Function | None
    deferred: Function | None
    saved: tuple[Var, ...]
    gradients: tuple[int, ...]
    parameters: tuple[int, ...]
    sparse: tuple[bool, ...]
    clock: Clock | None


def make_program(
    operation: Operation,
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
    assert operation.trace is not None
    trace = specialise(operation.trace, operation.constants, training=training)
    want_leaf = [False] * len(trace.inputs)
    for port, want in zip(operation.ports, wanted, strict=True):
        want_leaf[port.leaf] = want
    backward = differentiate(trace, want_leaf, seeded) if any(seeded) else None
    return _Writer(operation, xp, trace, backward, jit, clock).program()


class _Writer:
    def __init__(
        self,
        operation: Operation,
        xp: Any,
        trace: Trace,
        backward: Backward | None,
        jit: bool,
        clock: Clock | None,
    ) -> None:
        self.clock = clock
        self.fused = (lambda chain: compiled(chain.source, "float32")) if jit else None
        self.operation, self.xp, self.trace, self.backward = operation, xp, trace, backward
        self.before, self.main = prologue(trace)
        self.port_of = {trace.inputs[port.leaf]: number for number, port in enumerate(operation.ports)}
        self.chance = len(operation.ports)
        if trace.chance is not None:
            # The keys of chance come like one more operand, kept for all rows.
            self.port_of[trace.chance] = self.chance
        self.joints = joints(operation, trace, self.main)
        joined = {joint.result: self.chance + 1 + n for n, joint in enumerate(self.joints)}
        self.main = tuple(equation for equation in self.main if equation.result not in joined)
        self.port_of |= joined
        self.result_of: dict[Var, int] = {}
        views = {e.result for e in self.main if e.primitive.view}
        for number, var in enumerate(trace.results):
            if var not in self.port_of and var not in views and var.rows != INVARIANT:
                self.result_of.setdefault(var, number)
        read = [var for _, var in backward.forward if var.rows != INVARIANT] if backward else []
        kept_ports = {self.port_of[var] for var in read if var in self.port_of}
        self.kept_ports = tuple(sorted(kept_ports - {self.chance}))
        used = {self.port_of[var] for var in _variables(self.main, trace.results) if var in self.port_of}
        self.gathered = tuple(sorted((used | kept_ports) - {self.chance}))
        self.kept = tuple(var for var in read if var not in self.port_of and var not in self.result_of)
        self.invariant_code: list[str] = []

    def program(self) -> Program:
        backward = self.backward
        invariants, compute = self._invariants()
        forward = self._forward(invariants)
        step = deferred = None
        gradients: tuple[int, ...] = ()
        saved: tuple[Var, ...] = ()
        parameters: tuple[int, ...] = ()
        if backward is not None:
            saved = backward.saved
            leaf_port = {port.leaf: number for number, port in enumerate(self.operation.ports)}
            gradients = tuple(leaf_port[leaf] for leaf, var in enumerate(backward.inputs) if var is not None)
            if gradients:
                step = self._backward_step(invariants)
            if backward.pullback is not None:
                deferred = self._deferred(invariants)
                parameters = tuple(number for number, _ in backward.pullback.parameters)
        return Program(
            self.operation,
            self.trace,
            tuple(self.constants),
            compute,
            forward,
            self.kept,
            self.joints,
            self.gathered,
            self.kept_ports,
            step,
            deferred,
            saved,
            gradients,
            parameters,
            self._sparse(),
            self.clock,
        )

    def _sparse(self) -> tuple[bool, ...]:
        """Which parameters' gradients are the rows of a look-up, handed on as they are."""
        backward = self.backward
        if backward is None or backward.pullback is None:
            return ()
        rows = {
            var
            for var, found in backward.boundary
            if found.equation is not None
            and not found.parts
            and found.equation.primitive.name == "scatter_row"
        }
        sparse = {seed for seed, var in backward.pullback.seeds if var in rows}
        return tuple(var in sparse for _, var in backward.pullback.parameters)

    # ---------------------------------------------------------------------------------------- without rows

    def _invariants(self) -> tuple[dict[Var | tuple[str, Var], int], Callable[..., tuple[Array, ...]]]:
        """All values without rows, of the forward program and (keyed ``("b", var)``) of the backward
        program."""
        part = Part(self.xp)
        order: dict[Var | tuple[str, Var], int] = {}
        names: list[str] = []
        self.constants: list[np.ndarray] = []

        def known(key: Var | tuple[str, Var], name: str) -> None:
            order[key] = len(names)
            names.append(name)

        for array, var in self.trace.constants:
            part.names[var] = f"c{len(self.constants)}"
            self.constants.append(array)
            known(var, part.names[var])
        for number, (_, _, var) in enumerate(self.trace.parameters):
            part.names[var] = f"p{number}"
            known(var, part.names[var])
        part.write(self.before)
        for equation in self.before:
            known(equation.result, part.names[equation.result])
        kernels, lines = dict(part.kernels), list(part.lines)
        if self.backward is not None:
            late = Part(self.xp, "w", kernels=kernels, lines=lines)
            for mine, var in self.backward.forward:
                if var.rows == INVARIANT:
                    late.names[mine] = names[order[var]]
                    known(("b", mine), late.names[mine])
            for array, mine in self.backward.constants:
                late.names[mine] = f"c{len(self.constants)}"
                self.constants.append(array)
                known(("b", mine), late.names[mine])
            late.write(self.backward.hoisted)
            for equation in self.backward.hoisted:
                known(("b", equation.result), late.names[equation.result])
            for array, mine in self.backward.pullback.constants if self.backward.pullback else ():
                known(("p", mine), f"c{len(self.constants)}")
                self.constants.append(array)
        body = [
            *(f"c{n} = C[{n}]" for n in range(len(self.constants))),
            *(f"p{n} = P[{n}]" for n in range(len(self.trace.parameters))),
            *lines,
            f"return ({''.join(name + ', ' for name in names)})",
        ]
        function, _ = _compile("invariants", "C, P", body, kernels)
        return order, function

    def _named(
        self, part: Part, invariants: dict[Any, int], key: Callable[[Var], Any], variables: Sequence[Var]
    ) -> None:
        for var in variables:
            where = invariants.get(key(var))
            if where is not None:
                part.names[var] = f"i{where}"

    # ---------------------------------------------------------------------------------------- forward

    def _forward(self, invariants: dict[Any, int]) -> Function:
        part = Part(self.xp, fused=self.fused, tick=self._tick())
        self._named(part, invariants, lambda var: var, _variables(self.main, self.trace.results))
        for var, number in self.port_of.items():
            part.names[var] = f"P{number}"
        head: list[str] = []
        for number, var in enumerate(self.kept):
            head.append(_sliced(f"R{number}", f"R[{number}]", var))
            part.destinations[var] = f"R{number}"
        for var, number in self.result_of.items():
            head.append(_sliced(f"O{number}", f"O[{number}]", var))
            part.destinations[var] = f"O{number}"
        part.kept = set(self.trace.results)
        part.write(self.main)
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
        equations = (*backward.step, *backward.deferred)
        reduced = [var for _, reduction in backward.boundary for var in reduction.rows()]
        used = set(_variables(equations, reduced)) | {var for var in backward.inputs if var is not None}
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

    def _backward_step(self, invariants: dict[Any, int]) -> Function:
        backward = self.backward
        assert backward is not None
        part = Part(self.xp, fused=self.fused, tick=self._tick())
        head = self._names_of_backward(part, invariants, whole=False)
        for number, var in enumerate(backward.saved):
            head.append(_sliced(f"D{number}", f"D[{number}]", var))
            part.destinations[var] = f"D{number}"
        wanted = [var for var in backward.inputs if var is not None]
        part.kept = set(wanted)
        part.write(backward.step)
        tail = [f"return ({''.join(part.names[var] + ', ' for var in wanted)})"]
        return self._function("backward", part, head, tail)

    def _deferred(self, invariants: dict[Any, int]) -> Function:
        backward = self.backward
        assert backward is not None and backward.pullback is not None
        part = Part(self.xp, fused=self.fused, tick=self._tick())
        head = self._names_of_backward(part, invariants, whole=True)
        for number, var in enumerate(backward.saved):
            part.names[var] = f"D{number}"
            head.append(f"D{number} = D[{number}]")
        part.kept = {var for _, reduction in backward.boundary for var in reduction.rows()}
        part.write(backward.deferred)
        gradients = {var: part.reduction(reduction) for var, reduction in backward.boundary}
        # The prologue's own backward program follows in the same function.
        pull = Part(self.xp, "w", kernels=part.kernels, lines=part.lines)
        for mine, var in backward.pullback.forward:
            pull.names[mine] = f"i{invariants[var]}"
        for _, mine in backward.pullback.constants:
            pull.names[mine] = f"i{invariants['p', mine]}"
        for mine, var in backward.pullback.seeds:
            pull.names[mine] = gradients[var]
        pull.write(backward.pullback.equations)
        tail = [f"return ({''.join(pull.names[var] + ', ' for _, var in backward.pullback.parameters)})"]
        return self._function("deferred", part, head, tail)

    def _tick(self) -> Callable[[Equation | Chain], str] | None:
        if self.clock is None:
            return None
        return lambda unit: f"tick({part_of(unit)!r}, {self.operation.index})"

    def _function(self, name: str, part: Part, head: list[str], tail: list[str]) -> Function:
        """Wraps a part: ``make`` binds the arrays of a batch, ``step`` runs on rows ``a`` to ``z``."""
        inner = [*part.lines, *tail]
        words = set(re.findall(r"\w+", "\n".join(inner)))
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
        return Function(names["make"], tuple(part.slots), source)


def _compile(name: str, parameters: str, body: list[str], names: dict[str, Any]) -> tuple[Any, str]:
    source = "\n".join([f"def {name}({parameters}):", *("    " + line for line in body)])
    namespace = dict(names)
    exec(compile(source, f"<arrows {name}>", "exec"), namespace)
    return namespace[name], source


def _variables(equations: Sequence[Equation], more: Sequence[Var]) -> list[Var]:
    found = dict.fromkeys(more)
    for equation in equations:
        found.update(dict.fromkeys(equation.operands))
    return list(found)


def _sliced(name: str, source: str, var: Var) -> str:
    bounds = "a:z" if var.rows < 0 else f"a{var.rows}:z{var.rows}"
    return f"{name} = {source}[{bounds}]"
