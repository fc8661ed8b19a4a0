"""Gradients through all runs of a batch.

The last run goes first.  The gradients of its carried rows are added to the gradients of the rows in earlier
runs that they were copied from, and so on back to the first run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from arrows.arrays import Array
from arrows.engine.device import Device
from arrows.engine.planning import LossCheck, SupportsStep
from arrows.engine.running import Gradient, ParameterKey, Run, add_gradients, only_reads, own
from arrows.onthefly.runs import Runs
from arrows.typesys import ArrowTypeError, ArrowValueError, message

if TYPE_CHECKING:
    from arrows.onthefly.network import OnTheFly


def differentiate(net: OnTheFly, runs: Runs, loss: int) -> tuple[Array, dict[str, Gradient]]:
    """The value of a loss and its gradients, which lie in memory that later runs write to.

    Raises:
        ArrowValueError: the batch keeps nothing for gradients, or a step has changed the parameters.
    """
    if not runs.gradients:
        raise ArrowValueError(
            message(
                "cannot differentiate",
                reason="the batch keeps nothing for gradients",
                hint="make it by net.batch(), without gradients=False",
            )
        )
    runs.check_parameters("differentiate")
    runs.compute([loss])
    _, rows, ((last, slab, _, _),) = runs.locate(np.array([loss]))
    run = runs.finished[last]
    value = run.gather(slab, rows).reshape(())
    sums: dict[ParameterKey, Gradient] = {}
    run.clear_gradients()
    seed = run.gradients[slab]
    if seed is not None:
        seed[int(rows[0])] = 1
        involved = {last}
        for number in range(last, -1, -1):
            earlier = runs.finished[number]
            if number in involved and earlier.executor.receiving:
                flowing = earlier.flow()
                _hand_back(net.device, runs, earlier, involved)
                add_gradients(net.device, sums, flowing, lend=number == min(involved))
    gradients: dict[str, Gradient] = {}
    for name in net.params:
        owner, spec = net.params.owner(name)
        if spec.has_gradient:  # zero where the batch does not reach it
            key = id(owner), spec.name
            gradients[name] = sums[key] if key in sums else run.executor.parameter_gradients.zero(key, spec)
    return value, gradients


def _hand_back(device: Device, runs: Runs, run: Run, involved: set[int]) -> None:
    """Adds the gradients of carried rows to the rows that they come from: those runs are involved."""
    for operation in run.executor.plan.operations:
        if operation.kind != "carried":
            continue
        rows_here, gradients = run.merged.operations[operation.index], run.gradients[operation.slabs[0]]
        if not rows_here.count or gradients is None:
            continue
        order, places, pieces = runs.locate(run.merged.raw[operation.stream])
        rows, order = (
            device.to_device(numbers.astype(device.index_dtype))
            for numbers in (places, rows_here.first_rows[0] + order)
        )
        values = device.take(gradients, order)
        for number, slab, a, z in pieces:
            earlier = runs.finished[number]
            if number not in involved:
                involved.add(number)
                earlier.clear_gradients()
            target = earlier.gradients[slab]
            if target is not None:
                device.scatter_add_unique(target, rows[a:z], values[a:z])


def take_step(
    net: OnTheFly,
    loss: Array,
    gradients: Mapping[str, Gradient],
    optimizer: SupportsStep,
    check: LossCheck | None,
) -> Array:
    """Shows the loss to `check`, lets an optimizer make a step with the gradients, and returns the loss."""
    if isinstance(optimizer, type) or not hasattr(optimizer, "step"):
        raise ArrowTypeError(f"train_step: the optimizer must be one such as Adam(0.001), not {optimizer!r}")
    with net.lock.mutex:
        if check is not None:
            check(loss)
        if not only_reads(optimizer):
            gradients = {name: own(gradient) for name, gradient in gradients.items()}
        net.tick("host")
        with net.lock.updating():
            optimizer.step(net, gradients)
            net.step += 1
        net.tick("update")
        return loss
