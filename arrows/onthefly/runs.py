"""Runs the nodes of a batch whose values are needed, and locates their values in memory.

A batch on the fly may take several runs, since the program may read values in between.  Each run has the
nodes that are needed and have not run; values of earlier runs enter it as *carried* rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine.device import Arena
from arrows.engine.reading import indices_out_of_range, starts_of_runs
from arrows.engine.reference import node_keys
from arrows.engine.running import Executor, OperationRefused, PlannedBatch, Run
from arrows.engine.scheduling import Merged, Timeline, WiredBatch, merge, timeline
from arrows.onthefly.recording import Recording, grown
from arrows.onthefly.tensor import OUTPUT, OUTPUT_BITS
from arrows.onthefly.wiring import WiredNodes, wire
from arrows.typesys import ArrowValueError, message

if TYPE_CHECKING:
    from arrows.onthefly.network import OnTheFly


ValuePlaces: TypeAlias = "tuple[HostArray, HostArray, list[tuple[int, int, int, int]]]"
"""Where some values lie: their order, in which those of one slab of one run stand together; of each, in this
order, the row of its slab; and of each such piece the run, the slab, and where it begins and ends."""


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
        self.finished: list[Run] = []
        self._updates = 0  # how often the parameters had been changed before the first run
        self.gradients = gradients
        self._net, self._recording, self._training = net, recording, training
        self._row = np.zeros(0, np.int64)  # of a node's first output
        self._output = np.zeros(0, np.int64)  # by node, the place of its first output in the next two
        self._slab = np.zeros(0, np.int64)  # by run, operation and output
        self._further = np.zeros(0, np.int64)  # likewise: how far its rows are from those of the first output
        self._outputs = 0
        self._arenas: list[Arena] = []
        self._timelines: tuple[Timeline, ...] | None = None

    def compute(self, ids: Sequence[int]) -> None:
        """Runs the nodes that some values need and that have not run.

        Raises:
            ArrowValueError: a kernel refuses its operands.
        """
        net = self._net
        with net.lock.mutex:
            wired = wire(self._recording, net.call_sites, net.plan, ids)
            if wired is None:
                return
            self.check_parameters("compute a value")
            if not self.finished:
                net.refresh()
                self._updates = net.lock.updates
            self._check_indices(wired)
            net.tick("prepare")
            merged = merge(net.plan(), WiredBatch.all(wired.wirings), share=False)
            net.count(merged)
            executor = net.executor(training=self._training, gradients=self.gradients)
            try:
                keys = self._dropout_keys(executor, wired, merged)
                self._arenas.append(net.take_arena())
                planned = PlannedBatch(executor, merged, keys)
                net.tick("merge")
                self._finish(wired, executor.forward(planned, self._arenas[-1], self.carry))
            except OperationRefused as refused:
                raise self._refusal(wired, merged, refused) from refused.__cause__

    def learn_chains(self, ids: Sequence[int]) -> None:
        """Learns the chains among the calls that some values need, and none from any later batch.

        With other chains sums have other last bits, and a run that is resumed sees other batches first.
        """
        with self._net.lock.mutex:
            wire(self._recording, self._net.call_sites, self._net.plan, ids)
            self._net.call_sites.learns = False

    def _check_indices(self, wired: WiredNodes) -> None:
        """Checks the indices that are data of this run as it is, where kernels do not check them.

        Raises:
            ArrowValueError: an index is out of range.
        """
        plan, wirings = self._net.plan(), wired.wirings
        indices = [] if self._net.device.name == "cpu" else self._net.indices()
        if not indices:
            return
        site = wirings.site.values
        misfits = indices_out_of_range(
            plan,
            indices,
            site,
            wirings.sources.values - (len(plan.lowered.constants) << plan.shift),  # they have no nodes here
            wirings.counts.values,
            [column.values for column in wirings.raw],
        )
        for node, error in misfits:
            raise self._refused_call([int(site[node])], error)

    def _finish(self, wired: WiredNodes, run: Run) -> None:
        """Records where the values of a run lie, and drops the data that have entered with its nodes."""
        recording, nodes, plan = self._recording, wired.nodes, run.executor.plan
        self._row = grown(self._row, len(recording.nodes))
        self._output = grown(self._output, len(recording.nodes))
        self._row[nodes] = run.merged.outputs.results[0].values
        self._output[nodes] = self._outputs + plan.sites.operation[wired.sites] * plan.widest
        inner, of, offset = wired.inner  # of chains: the values that are kept lie where those of the chain do
        self._row[inner] = self._row[nodes[of]]
        self._output[inner] = self._output[nodes[of]] + offset
        first_rows, start = run.merged.first_rows, self._outputs
        self._outputs += first_rows.size
        self._slab, self._further = grown(self._slab, self._outputs), grown(self._further, self._outputs)
        self._slab[start : self._outputs] = plan.slab_of.ravel()
        self._further[start : self._outputs] = (first_rows - first_rows[:, :1]).ravel()
        self.finished.append(run)
        recording.run_of[nodes] = recording.run_of[inner] = len(self.finished)
        if recording.all_before is not None:
            recording.all_before = int(nodes[-1]) + 1
        for node in nodes[plan.sites.arity[wired.sites] == 0].tolist():
            recording.reads.pop(node, None)

    def _dropout_keys(self, executor: Executor, wired: WiredNodes, merged: Merged) -> Mapping[int, HostArray]:
        """The dropout keys of the operations that have dropout."""
        keys = {}
        for o, code in executor.codes.items():
            if code.has_keys and merged.operations[o].count:
                nodes = _nodes_of(wired, merged, o).tolist()
                calls = [self._recording.dropout[node] for node in nodes]
                # Masks depend neither on which nodes run together nor on what was read in between.
                keys[o] = node_keys(self._net.seed, self._net.step, *np.array(calls, np.uint64).T)
        return keys

    # ------------------------------------------------------------------------------------------------------

    def check_parameters(self, attempt: str) -> None:
        """Refuses to mix values computed with two sets of parameters: no model has such a result."""
        if self.finished and self._updates != self._net.lock.updates:
            raise ArrowValueError(
                message(
                    f"cannot {attempt}",
                    reason="a step has changed the parameters since the batch computed its first values",
                    hint="begin another batch after a step",
                )
            )

    def locate(self, ids: HostArray) -> ValuePlaces:
        """Where values lie that have been computed."""
        nodes = ids >> OUTPUT_BITS
        outputs = self._output[nodes] + (ids & OUTPUT)
        slabs = (self._recording.run_of[nodes] - 1) << 32 | self._slab[outputs]
        order = slabs.argsort(kind="stable")
        slabs = slabs[order]
        starts = starts_of_runs(slabs)
        numbers, cuts = slabs[starts].tolist(), [*starts.tolist(), len(ids)]
        ends = pairwise(cuts)
        pieces = [(n >> 32, n & 0xFFFFFFFF, a, z) for n, (a, z) in zip(numbers, ends, strict=True)]
        return order, (self._row[nodes] + self._further[outputs])[order], pieces

    def carry(self, target: Array, ids: HostArray) -> None:
        """Writes values of earlier runs to rows; all are of one type."""
        device, (order, places, pieces) = self._net.device, self.locate(ids)
        rows = device.to_device(places.astype(device.index_dtype))
        values = target if len(pieces) == 1 else device.empty(target.shape, target.dtype)
        for number, slab, a, z in pieces:
            device.take(self.finished[number].slabs[slab], rows[a:z], values[a:z])
        if values is not target:
            target[device.to_device(order.astype(device.index_dtype))] = values

    def values(self, ids: Sequence[int]) -> list[HostArray]:
        """The numbers of some values, on the host."""
        if not ids:
            return []
        self.compute(ids)
        arrays: list[HostArray] = [np.zeros(0)] * len(ids)
        with self._net.lock.mutex:
            order, rows, pieces = self.locate(np.array(ids))
            for number, slab, a, z in pieces:
                values = self._net.device.to_numpy(self.finished[number].gather(slab, rows[a:z]))
                for place, value in zip(order[a:z].tolist(), values, strict=True):
                    arrays[place] = value
        return arrays

    @property
    def timelines(self) -> tuple[Timeline, ...]:
        """The schedules of the runs so far."""
        if self._timelines is not None:
            return self._timelines
        # What a run computes belongs to no example.
        return tuple(replace(timeline(run.executor.plan, run.merged), examples=None) for run in self.finished)

    def release(self) -> None:
        """Gives the memory of all runs back; their schedules stay."""
        self._timelines = self.timelines
        self.finished.clear()
        self._net.give_back(self._arenas)
        self._arenas = []

    def _refusal(self, wired: WiredNodes, merged: Merged, refused: OperationRefused) -> ArrowValueError:
        """The error for a kernel that refused its operands: which call, on which line."""
        rows = merged.operations[refused.operation]
        nodes = _nodes_of(wired, merged, refused.operation)
        if refused.step is not None:
            nodes = nodes[rows.bounds[refused.step] : rows.bounds[refused.step + 1]]
            row = getattr(refused.__cause__, "row", None)
            if row is not None and not rows.offsets:  # with sequences, the row may be an element's
                nodes = nodes[row : row + 1]
        sites = [-1 - self._recording.nodes[node][0] for node in nodes.tolist()]
        return self._refused_call(sites, refused.__cause__)

    def _refused_call(self, sites: list[int], cause: BaseException | None) -> ArrowValueError:
        """The error for operands that a call at one of some sites refuses."""
        calls = sorted({self._net.describe(site) for site in sites})
        return ArrowValueError(message(f"cannot compute {' or '.join(calls[:3])}", reason=str(cause)))


def _nodes_of(wired: WiredNodes, merged: Merged, operation: int) -> HostArray:
    """The nodes of a computing operation, in the order of its rows."""
    _, numbers = merged.nodes(operation)
    nodes: HostArray = wired.nodes[numbers - len(wired.carried)]
    return nodes
