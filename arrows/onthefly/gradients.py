"""Gradients through all runs of a batch.

The last run goes first.  The gradients of its carried rows are added to the gradients of the rows in earlier
runs that they were copied from, and so on back to the first run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from arrows.engine.device import write_arrays
from arrows.engine.planning import CarriedOperation, LossCheck, SupportsStep
from arrows.engine.running import Gradient, ParameterKey, Run, add_gradients, only_reads, own
from arrows.onthefly.runs import Runs, outdated
from arrows.ops.arrays import Array, HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from arrows.onthefly.network import OnTheFly


class Differentiation:
    """Takes gradients of the values of a batch.

    Args:
        net: the network.
        runs: the runs of the batch.
    """

    def __init__(self, net: OnTheFly, runs: Runs) -> None:
        self._net, self._runs = net, runs

    def value_and_grad(self, loss: int) -> tuple[Array, dict[str, Gradient]]:
        """A value and its gradients, in memory of their own."""
        with self._net.lock.mutex:
            value, gradients = self._differentiate(loss)
            return value, {name: own(gradient) for name, gradient in gradients.items()}

    def train_step(self, loss: int, optimizer: SupportsStep, check: LossCheck | None) -> Array:
        """Computes gradients and lets an optimizer make a step; returns the value."""
        if isinstance(optimizer, type) or not hasattr(optimizer, "step"):
            raise ArrowTypeError(
                f"train_step: the optimizer must be one such as Adam(0.001), not {optimizer!r}"
            )
        with self._net.lock.mutex:
            return take_step(self._net, *self._differentiate(loss), optimizer, check)

    def _differentiate(self, loss: int) -> tuple[Array, dict[str, Gradient]]:
        runs, device = self._runs, self._net.device
        if not runs.gradients:
            raise ArrowValueError(
                message(
                    "cannot differentiate",
                    reason="the batch keeps nothing for gradients",
                    hint="make it by net.batch(), without gradients=False",
                )
            )
        runs.compute([loss])
        places = runs.locate(np.array([loss]))
        ((last, slab, _, _),) = places.pieces
        involved = self._involved(last)
        if runs.finished[involved[0]].updates != self._net.lock.updates:
            raise outdated("differentiate", "the loss")
        run = runs.finished[last].run
        value = run.gather(slab, places.rows).reshape(())
        sums: dict[ParameterKey, Gradient] = {}
        backward = {number: runs.finished[number].run for number in involved}
        for each in backward.values():
            write_arrays(device, each.first_gradients())
        gradients = run.gradients[slab]
        if gradients is not None:
            gradients[int(places.rows[0])] = 1
            for number in reversed(involved):
                earlier = backward[number]
                if not earlier.executor.receiving:
                    continue
                add_gradients(device, sums, earlier.flow(), lend=number == involved[0])
                self._hand_back(earlier, backward)
        return value, self._by_name(run, sums)

    def _by_name(self, run: Run, sums: Mapping[ParameterKey, Gradient]) -> dict[str, Gradient]:
        """The gradients of all parameters; zero for those that the batch does not reach."""
        params = self._net.params
        gradients: dict[str, Gradient] = {}
        for name in params:
            owner, spec = params.owner(name)
            if spec.has_gradient:
                key = id(owner), spec.name
                gradients[name] = sums[key] if key in sums else run.executor.no_gradient(owner, spec)
        return gradients

    def _involved(self, last: int) -> list[int]:
        """The numbers of the runs that a run depends on, itself included, ascending.

        A run that only supplied data does not count: a later change of parameters did not change the data.
        """
        involved = {last}
        for number in range(last, -1, -1):
            if number in involved:
                for ids in _carried(self._runs.finished[number].run).values():
                    involved |= self._runs.computed_in(ids)
        return sorted(involved)

    def _hand_back(self, run: Run, involved: Mapping[int, Run]) -> None:
        """Adds the gradients of carried rows to those of the rows in `involved` runs that they come from."""
        device = self._net.device
        for o, ids in _carried(run).items():
            first = run.merged.operations[o].first_rows[0]
            gradients = run.gradients[run.executor.plan.operations[o].slabs[0]]
            if gradients is None:
                continue
            places = self._runs.locate(ids)
            rows, values = self._index(places.rows), device.take(gradients, self._index(first + places.order))
            for number, slab, a, z in places.pieces:
                target = involved[number].gradients[slab] if number in involved else None
                if target is not None:
                    device.scatter_add_unique(target, rows[a:z], values[a:z])

    def _index(self, rows: HostArray) -> Any:
        device = self._net.device
        return device.to_device(rows.astype(device.index_dtype))


def take_step(
    net: OnTheFly,
    loss: Array,
    gradients: Mapping[str, Gradient],
    optimizer: SupportsStep,
    check: LossCheck | None,
) -> Array:
    """Shows the loss to `check`, lets an optimizer make a step with the gradients, and returns the loss."""
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


def _carried(run: Run) -> dict[int, HostArray]:
    """Operation that carries values of earlier runs -> their ids, in the order of its rows."""
    return {
        operation.index: run.merged.raw[operation.stream]
        for operation in run.executor.plan.operations
        if isinstance(operation, CarriedOperation) and run.merged.operations[operation.index].count
    }
