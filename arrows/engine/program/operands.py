"""Groups the gradients that an operation computes for its operands, by the slab that receives them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from arrows.engine.planning import ApplyOperation
from arrows.engine.program.derive import Backward
from arrows.engine.program.joints import Joint
from arrows.ops import Equation, Trace, Var


@dataclass(frozen=True, slots=True)
class Operand:
    """Ports that get their gradients as one array.

    Attributes:
        ports: positions in `ApplyOperation.ports`; of several, the rows lie side by side.
        var: the gradient.
        late: whether the part that runs after all steps computes it.
    """

    ports: tuple[int, ...]
    var: Var
    late: bool


@dataclass(frozen=True, slots=True)
class Gradients:
    """The gradients of all operands whose rows lie in one slab.

    Attributes:
        slab: its number.
        operands: these.
        early: all their rows are there before the operation's first step in a component.
    """

    slab: int
    operands: tuple[Operand, ...]
    early: bool


def read_whole(
    operation: ApplyOperation,
    trace: Trace,
    equations: Sequence[Equation],
    joints: Sequence[Joint],
    wanted: Sequence[bool],
) -> dict[Var, list[int]]:
    """Returns the joined operands whose ports nothing else reads, with the input leaves of these ports.

    The gradient of such an operand holds those of its ports, side by side.

    Args:
        operation: the operation.
        trace: its trace.
        equations: those with rows.
        joints: the values that one gather makes.
        wanted: for each input leaf, whether its gradient is wanted.
    """
    readers: dict[Var, int] = {}
    for equation in equations:
        for var in equation.operands:
            readers[var] = readers.get(var, 0) + 1
    leaves_of = {}
    for joint in joints:
        leaves = [operation.ports[number].leaf for number in joint.ports]
        inputs = [trace.inputs[leaf] for leaf in leaves]
        alone = all(readers[var] == 1 and var not in trace.results for var in inputs)
        if alone and all(wanted[leaf] for leaf in leaves):
            leaves_of[joint.result] = leaves
    return leaves_of


def by_slab(
    operation: ApplyOperation,
    joints: Sequence[Joint],
    backward: Backward | None,
    whole: Sequence[Var],
    late: Collection[int],
) -> tuple[Gradients, ...]:
    """Groups the gradients of an operation's operands by slab.

    Args:
        operation: the operation.
        joints: the values that one gather makes.
        backward: its backward program, if it has one.
        whole: the joined values that the backward program gives the gradients of.
        late: the ports whose gradients wait until all steps have run.
    """
    if backward is None:
        return ()
    number_of = {port.leaf: number for number, port in enumerate(operation.ports)}
    ports_of = {joint.result: joint.ports for joint in joints}
    gradients: list[tuple[tuple[int, ...], Var]] = []
    for leaf, var in enumerate(backward.inputs):
        if var is not None:
            gradients.append(((number_of[leaf],), var))
    for joined, var in zip(whole, backward.joined, strict=True):
        if var is not None:
            gradients.append((ports_of[joined], var))
    slabs: dict[int, list[Operand]] = {}
    for ports, var in gradients:
        slab = operation.ports[ports[0]].slab
        slabs.setdefault(slab, []).append(Operand(ports, var, all(port in late for port in ports)))
    return tuple(
        Gradients(
            slab, tuple(operands), all(set(operation.early).issuperset(operand.ports) for operand in operands)
        )
        for slab, operands in slabs.items()
    )
