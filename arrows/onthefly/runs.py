"""Runs the nodes of a batch whose values are needed, and locates their values in memory.

A batch on the fly may take several runs, since the program may read values in between.  Each run has the
nodes that are needed and have not run; values of earlier runs enter it as *carried* rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arrows.engine.device import Arena
from arrows.engine.lowering import ReadSite
from arrows.engine.running import Executor, Run, StepRefused
from arrows.engine.scheduling import Merged, Timeline, WiredBatch, merge, timeline
from arrows.onthefly.recording import Recording, dropout_keys
from arrows.onthefly.tensor import OUTPUT_BITS
from arrows.onthefly.wiring import HAS_RUN, OUTPUT, WAITING, NodeSelection, Wirer
from arrows.ops.arrays import Array, HostArray
from arrows.typesys import ArrowValueError
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from arrows.onthefly.network import OnTheFly


@dataclass(frozen=True, eq=False, slots=True)
class FinishedRun:
    """A run that has computed its values.

    Attributes:
        run: the run.
        slab: the slab of the values, by operation and output.
        offset: how far a value's row lies behind that of its node's first output, by operation and output.
        operation: the operation of each site.
        updates: how often the parameters had been changed before the run.
    """

    run: Run
    slab: HostArray
    offset: HostArray
    operation: HostArray
    updates: int

    @staticmethod
    def of(run: Run, updates: int) -> FinishedRun:
        """Computes the places of the values of a run."""
        plan = run.executor.plan
        shape = len(plan.operations), plan.widest
        slab, offset = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for operation in plan.operations:
            first_rows = run.merged.operations[operation.index].first_rows
            for k, (number, first) in enumerate(zip(operation.slabs, first_rows, strict=True)):
                slab[operation.index, k] = number
                offset[operation.index, k] = first - first_rows[0]
        return FinishedRun(run=run, slab=slab, offset=offset, operation=plan.sites.operation, updates=updates)


class Runs:
    """The runs of a batch.

    Args:
        net: the network.
        recording: the nodes.
        training: whether dropout acts.
        gradients: whether gradients may be asked for.

    Attributes:
        finished: the runs so far.
        gradients: whether gradients may be asked for.
    """

    def __init__(self, net: OnTheFly, recording: Recording, *, training: bool, gradients: bool) -> None:
        self.finished: list[FinishedRun] = []
        self.gradients = gradients
        self._net, self._recording, self._training = net, recording, training
        self._wirer = Wirer(recording, net.call_sites)
        self._run_of = np.zeros(0, np.int32)
        self._row = np.zeros(0, np.int64)  # of a node's first output
        self._arenas: list[Arena] = []

    def compute(self, ids: Sequence[int]) -> None:
        """Runs the nodes that some values need and that have not run.

        Raises:
            ArrowValueError: a kernel refuses its operands.
        """
        net = self._net
        with net.lock.mutex:
            net.refresh()
            selection = self._wirer.select(ids)
            if selection is None:
                return
            if net.lock.updates and self._are_outdated(selection.carried):
                self._wirer.set_state(selection, WAITING)
                raise outdated("compute a value", "it")
            merged = None
            try:
                executor, merged = self._schedule(selection)
                keys = self._dropout_keys(executor, selection, merged)
                self._arenas.append(net.take_arena())
                run = executor.bound(merged, keys, self._arenas[-1], self.carry)
                net.tick("merge")
                run.forward()
                self._finish(selection, run)
            except StepRefused as refused:
                self._wirer.set_state(selection, WAITING)
                assert merged is not None
                raise self._refusal(selection, merged, refused) from refused.__cause__
            except BaseException:  # Ctrl-C, say: a later run can compute the nodes
                self._wirer.set_state(selection, WAITING)
                raise

    def _schedule(self, selection: NodeSelection) -> tuple[Executor, Merged]:
        """Wires and merges selected nodes by the network's schedule, or by the best of those on trial."""
        net = self._net
        merged_by = {}
        for schedule in net.schedules():
            plan = net.plan(schedule)
            wirings = self._wirer.wire(selection, plan)
            net.tick("prepare")
            merged_by[schedule] = merge(plan, WiredBatch.all(wirings), share=False)
        schedule = net.choose({name: len(merged.steps) for name, merged in merged_by.items()})
        net.count(merged_by[schedule])
        executor = net.executor(schedule, training=self._training, gradients=self.gradients)
        return executor, merged_by[schedule]

    def timeline(self, ids: Sequence[int]) -> Timeline:
        """The schedule of the run that would compute some values."""
        net = self._net
        with net.lock.mutex:
            selection = self._wirer.select(ids)
            schedule = net.schedules()[0]
            if selection is None:
                return Timeline(schedule, 1, (), ())
            self._wirer.set_state(selection, WAITING)
            plan = net.plan(schedule)
            batch = WiredBatch.all(self._wirer.wire(selection, plan))
            return timeline(plan, merge(plan, batch, share=False))

    def _finish(self, selection: NodeSelection, run: Run) -> None:
        """Records where the values of a run lie."""
        total = len(self._recording.site)
        self._run_of, self._row = _grown(self._run_of, total), _grown(self._row, total)
        self._run_of[selection.nodes] = len(self.finished)
        self._row[selection.nodes] = run.merged.outputs.results[0].values
        self.finished.append(FinishedRun.of(run, self._net.lock.updates))
        self._wirer.set_state(selection, HAS_RUN)
        self._wirer.forget_values(selection)

    def _dropout_keys(
        self, executor: Executor, selection: NodeSelection, merged: Merged
    ) -> Mapping[int, HostArray]:
        """The dropout keys of the operations that have dropout."""
        keys = {}
        for o, program in executor.programs.items():
            if program.trace.dropout_key is not None and merged.operations[o].count:
                nodes = _nodes_of(selection, merged, o).tolist()
                calls = [self._recording.dropout[node] for node in nodes]
                keys[o] = dropout_keys(self._net.seed, self._net.step, np.array(calls, np.uint64))
        return keys

    # ------------------------------------------------------------------------------------------------------

    def _are_outdated(self, ids: HostArray) -> bool:
        """Whether a step has changed the parameters since any of these values, data aside, was computed."""
        if not len(ids):
            return False
        sites = self._net.call_sites.sites
        own = self._recording.site_column.array()[ids >> OUTPUT_BITS].tolist()
        read = [isinstance(sites[site], ReadSite) for site in own]
        numbers = set(self.runs_of(ids)[~np.array(read)].tolist())
        return any(self.finished[number].updates != self._net.lock.updates for number in numbers)

    def runs_of(self, ids: HostArray) -> HostArray:
        """The number of the run that computed each value."""
        numbers: HostArray = self._run_of[ids >> OUTPUT_BITS]
        return numbers

    def came_in(self, ids: HostArray) -> HostArray:
        """A mask of the values that are data, not computed."""
        sites = self._recording.site_column.array()[ids >> OUTPUT_BITS]
        return np.isin(sites, self._net.call_sites.read_sites)

    def locate(self, ids: HostArray) -> tuple[HostArray, HostArray, HostArray]:
        """For values that have been computed, the numbers of their runs and slabs, and their rows."""
        nodes, outputs = ids >> OUTPUT_BITS, ids & OUTPUT
        runs, rows = self._run_of[nodes], self._row[nodes]
        sites = self._recording.site_column.array()[nodes]
        slabs = np.zeros(len(ids), np.int64)
        for number in np.unique(runs).tolist():
            chosen = runs == number
            finished = self.finished[number]
            operation = finished.operation[sites[chosen]]
            slabs[chosen] = finished.slab[operation, outputs[chosen]]
            rows[chosen] += finished.offset[operation, outputs[chosen]]
        return runs, slabs, rows

    def carry(self, target: Array, ids: HostArray) -> None:
        """Writes values of earlier runs to rows; all are of one type, so their slabs have one number."""
        device = self._net.device
        runs, slabs, rows = self.locate(ids)
        numbers = np.unique(runs).tolist()
        for number in numbers:
            (places,) = (runs == number).nonzero()
            values = self.finished[number].run.gather(int(slabs[places[0]]), rows[places])
            if len(numbers) == 1:
                target[...] = values
            else:
                target[device.to_device(places.astype(device.index_dtype))] = values

    def values(self, ids: Sequence[int]) -> list[HostArray]:
        """The numbers of some values, on the host."""
        if not ids:
            return []
        self.compute(ids)
        arrays: list[HostArray] = [np.zeros(0)] * len(ids)
        with self._net.lock.mutex:
            runs, slabs, rows = self.locate(np.array(ids))
            slab_of_run = runs.astype(np.int64) << 32 | slabs
            for key in np.unique(slab_of_run).tolist():
                (places,) = (slab_of_run == key).nonzero()
                gathered = self.finished[key >> 32].run.gather(key & 0xFFFFFFFF, rows[places])
                for place, row in zip(places.tolist(), self._net.device.to_numpy(gathered), strict=True):
                    arrays[place] = row
        return arrays

    @property
    def timelines(self) -> tuple[Timeline, ...]:
        """The schedules of the runs so far."""
        return tuple(timeline(each.run.executor.plan, each.run.merged) for each in self.finished)

    def release(self) -> None:
        """Gives the memory of all runs back."""
        self.finished.clear()
        self._net.give_back(self._arenas)
        self._arenas = []

    def _refusal(self, selection: NodeSelection, merged: Merged, refused: StepRefused) -> ArrowValueError:
        """The error for a kernel that refused its operands: which call, on which line."""
        rows = merged.operations[refused.operation]
        nodes = _nodes_of(selection, merged, refused.operation)
        if refused.step is not None:
            nodes = nodes[rows.bounds[refused.step] : rows.bounds[refused.step + 1]]
            row = getattr(refused.__cause__, "row", None)
            if row is not None and not rows.offsets:  # with sequences, the row may be an element's
                nodes = nodes[row : row + 1]
        sites = self._recording.site_column.array()[nodes]
        calls = sorted({self._net.describe(site) for site in sites.tolist()})
        return ArrowValueError(
            message(f"cannot compute {' or '.join(calls[:3])}", reason=str(refused.__cause__))
        )


def _nodes_of(selection: NodeSelection, merged: Merged, operation: int) -> HostArray:
    """The nodes of a computing operation, in the order of its rows."""
    _, numbers = merged.nodes(operation)
    nodes: HostArray = selection.nodes[numbers - len(selection.carried)]
    return nodes


def _grown(array: HostArray, size: int) -> HostArray:
    """The array, with room for at least `size` numbers."""
    if len(array) >= size:
        return array
    larger = np.zeros(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


def outdated(attempt: str, dependent: str) -> ArrowValueError:
    """The error for mixing values computed with two sets of parameters: no model has such a result."""
    return ArrowValueError(
        message(
            f"cannot {attempt}",
            reason=f"{dependent} depends on values computed before a step changed the parameters",
            hint="begin another batch after a step",
        )
    )
