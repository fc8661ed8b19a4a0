"""An operation made ready to run: its forward, backward and deferred parts as Python functions over arrays.

`Program` is made once for an operation, an array module and a set of wanted gradients; it holds no data.  A
written function ``make(I, P, O, R, G, D, S)`` binds a batch's arrays and returns ``step(a, z, ports,
ragged)``, which runs on the rows ``a`` to ``z`` of the operation.  By name: ``I`` values without rows, ``P``
operands and ``R`` intermediate values kept for all rows, ``O`` the rows of the results, ``G`` their
gradients, ``D`` what the backward step saves for the deferred part, ``S`` scratch; ``ports`` the operands
gathered for this step, ``ragged`` for each sequence the range of its elements and its bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.engine.planning import ApplyOperation
from arrows.engine.program.ahead import Ahead
from arrows.engine.program.codegen import Slot
from arrows.engine.program.joints import Joint
from arrows.engine.program.operands import Gradients
from arrows.engine.program.pieces import Piece
from arrows.engine.program.profile import Clock
from arrows.ops import Trace, Var

Array = Any


@dataclass(frozen=True, slots=True)
class GeneratedFunction:
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
        compute_invariants: ``(constants, parameters, steps) -> arrays``: all values without rows, once a
            batch, whose steps of more than a few rows are counted.
        early: what is computed for all rows ahead of the steps (`fission`); None if there is nothing.
        early_operands: the operands that it reads, held for all rows.
        forward: the forward step.
        kept: the forward values kept for all rows that are neither operands nor results.
        joints: what is gathered for several ports at once; operands are numbered by port, then comes the key
            of chance, then these.
        gathered: the operands that the forward step reads or keeps and that are not held already.
        held: those among ``early_operands`` that the forward step reads.
        kept_ports: the operands whose gathered rows are kept.
        backward: the step part of the gradients; None if no operand gets one.
        deferred: the part run once over all rows; it is given the arrays to write ``pieces`` to, and returns
            the values of those for which there is None; None if there are no pieces.
        late: the part run when all steps of a component have; None if nothing waits for it.
        saved: what ``backward`` and ``late`` save for later parts.
        gradients: what ``backward`` and ``late`` compute for the operands, by slab; written to arrays kept
            for all rows, whose numbers in ``D`` go on after those of ``saved``.
        pieces: what the gradients of parameters are put together from: the parameter's number, and the piece;
            None: all of the gradient, which is row-sparse.
        ahead: by whose rows what runs ahead and what waits is told apart; None: it runs for all rows. The
            sums by row that the deferred part reads come last in ``D``.
        clock: notes what each step takes; None: nobody asks.
    """

    operation: ApplyOperation
    trace: Trace
    constants: tuple[np.ndarray, ...]
    compute_invariants: Callable[..., tuple[Array, ...]]
    early: GeneratedFunction | None
    early_operands: tuple[int, ...]
    forward: GeneratedFunction
    kept: tuple[Var, ...]
    joints: tuple[Joint, ...]
    gathered: tuple[int, ...]
    held: tuple[int, ...]
    kept_ports: tuple[int, ...]
    backward: GeneratedFunction | None
    late: GeneratedFunction | None
    deferred: GeneratedFunction | None
    saved: tuple[Var, ...]
    gradients: tuple[Gradients, ...]
    pieces: tuple[tuple[int, Piece | None], ...]
    ahead: Ahead | None
    clock: Clock | None
