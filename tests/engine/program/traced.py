"""Programs of functions, with every pass before memory is allocated."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

from arrows.engine.program.passes.differentiate import differentiate
from arrows.engine.program.passes.fuse import join
from arrows.engine.program.passes.hoist import defer, push_sums, split
from arrows.engine.program.pipeline import build
from arrows.engine.program.program import Program
from arrows.ops import trace
from arrows.typesys import types as T


def program_of(
    function: Callable[..., Any],
    input: Any,
    *,
    early: Collection[int] = (),
    slabs: tuple[int, ...] | None = None,
    gradients: bool = True,
    defers: bool = True,
) -> Program:
    """The program of a function: its operands are the leaves of the input, in order.

    Args:
        function: on tensors.
        input: its input type, or what stands for it.
        early: the numbers of early operands.
        slabs: of the operands; None: each in one of its own.
        gradients: whether it is differentiated.
        defers: whether what no step waits for is deferred.
    """
    traced = trace(function, T.as_type(input))
    ports = [
        SimpleNamespace(leaf=leaf, slab=leaf if slabs is None else slabs[leaf])
        for leaf in range(len(traced.inputs))
    ]
    operation: Any = SimpleNamespace(
        name="example", trace=traced, constants=(), ports=ports, early=tuple(early)
    )
    program = join(split(build(operation, [gradients] * len(ports), training=True)))
    if not gradients:
        return program
    program = differentiate(program, [True] * len(program.results))
    program = push_sums(program)
    return defer(program) if defers else program
