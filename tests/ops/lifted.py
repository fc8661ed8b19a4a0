"""Runs a trace over many rows, as the engine must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arrows.arrays import Array, ArrayModule
from arrows.engine.device import get_device
from arrows.ops import INVARIANT, Equation, Segments, Trace, Var


def run_lifted(
    trace: Trace,
    inputs: Sequence[Array],
    parameters: Mapping[tuple[Any, str], Array] | None = None,
    segments: Mapping[int, Segments] | None = None,
    device: str = "cpu",
) -> list[Array]:
    """Runs a trace over many rows at once, equation by equation; the engine's code must give the same.

    Args:
        trace: what to run.
        inputs: arrays on the device, each with its rows in front.
        parameters: by (owner, name), on the device.
        segments: of each sequence, by its number.
        device: the name of the device where the kernels run, as in `arrows.compile`.

    Returns:
        The results; one that does not depend on the example has no row axis.
    """
    on = get_device(device)
    values: dict[Var, Array] = dict(zip(trace.inputs, inputs, strict=True))
    values |= {var: on.to_device(np.asarray(array)) for array, var in trace.constants}
    values |= {var: (parameters or {})[owner, spec.name] for owner, spec, var in trace.parameters}
    for equation in trace.equations:
        run_equation(equation, values, on.xp, segments or {})
    return [values[var] for var in trace.results]


def run_equation(
    equation: Equation, values: dict[Var, Array], xp: ArrayModule, segments: Mapping[int, Segments]
) -> None:
    """Adds what an equation gives to the values, which have their rows in front."""
    has_rows = tuple(var.rows != INVARIANT for var in equation.operands)
    types = tuple(var.type for var in equation.operands)
    attributes = equation.primitive.lift(dict(equation.attributes), has_rows, types)
    run = equation.primitive.kernel(xp, **attributes)
    extra = {}
    if equation.primitive.segmented:
        domain = max(var.rows for var in (*equation.operands, equation.result))
        extra["segments"] = segments[domain]
    values[equation.result] = run(*(values[var] for var in equation.operands), **extra)
