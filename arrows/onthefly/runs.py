"""Runs the nodes of a batch that somebody asked for, and takes gradients back through all runs of a batch.

A batch on the fly may take several runs, since values may be read in between.  Each run has the nodes that
are needed and have not run; values of earlier runs come into it as *carried* rows.  Backwards, the gradients
of carried rows are added to the rows of the runs that they came from, last run first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arrows.engine.device import Arena, Device
from arrows.engine.lowering import ApplySite
from arrows.engine.planning import ApplyOperation, CarriedOperation, Plan, SupportsStep
from arrows.engine.reading import Column, Outputs, Wirings
from arrows.engine.running import Executor, Gradient, Run, StepRefused, add_gradients, only_reads, own
from arrows.engine.scheduling import Merged, Timeline, WiredBatch, merge, timeline
from arrows.engine.values import convert_many
from arrows.onthefly.dropout import dropout_keys
from arrows.onthefly.recording import Recording
from arrows.onthefly.tensor import OUTPUT_BITS
from arrows.ops.arrays import Array, HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from arrows.onthefly.network import OnTheFly

_OUTPUT = (1 << OUTPUT_BITS) - 1


@dataclass(frozen=True, eq=False, slots=True)
class Wired:
    """The nodes of a run.

    Attributes:
        plan: the plan that they were wired for.
        nodes: the nodes of the recording, ascending; the run's own nodes after the carried ones.
        carried: ids of the values of earlier runs that they read.
        wirings: all of them, as one example.
        reads: how many values of each type came in with them.
    """

    plan: Plan
    nodes: HostArray
    carried: HostArray
    wirings: Wirings


@dataclass(frozen=True, eq=False, slots=True)
class Finished:
    """A run that has computed its values.

    Attributes:
        run: the run.
        slab: by operation and output, the slab of the values.
        offset: by operation and output, how much further on than the first output's a value's row is.
        operation: by site, its operation.
    """

    run: Run
    slab: HostArray
    offset: HostArray
    operation: HostArray


class Runs:
    """The runs of a batch.

    Args:
        net: the network.
        recording: the nodes.
        training: whether dropout acts.
        gradients: whether gradients may be asked for.
    """

    def __init__(self, net: OnTheFly, recording: Recording, *, training: bool, gradients: bool) -> None:
        self._net, self._recording = net, recording
        self._training, self._gradients = training, gradients
        self._state = bytearray()  # by node: 0 waiting, 1 wanted, 2 has run
        self._run_of = np.zeros(0, np.int32)
        self._row = np.zeros(0, np.int64)  # of a node's first output
        self._finished: list[Finished] = []
        self._arenas: list[Arena] = []
        self._sealed = 0  # runs before the last change of parameters
        self._step = net.step

    # ------------------------------------------------------------------------------------------------------
    # forward

    def compute(self, ids: Sequence[int]) -> None:
        """Runs what some values need and has not run."""
        wired = self._wire(ids)
        if wired is None:
            return
        net = self._net
        with net.lock.mutex:
            executor = net.executor(wired.plan, training=self._training, gradients=self._gradients)
            merged = self._merge(executor, wired)
            keys = self._dropout_keys(executor, wired, merged)
            arena = net.take_arena()
            self._arenas.append(arena)
            run = executor.bound(merged, keys, arena, self._carry)
            net.count(merged)
            try:
                run.forward()
            except StepRefused as refused:
                raise self._refusal(wired, merged, refused) from refused.__cause__
            self._finish(wired, run)

    def timeline(self, ids: Sequence[int]) -> Timeline:
        """The schedule of the run that would compute some values."""
        wired = self._wire(ids)
        if wired is None:
            return Timeline(self._net.schedule_name, 1, (), ())
        for node in wired.nodes.tolist():
            self._state[node] = 0
        return timeline(wired.plan, merge(wired.plan, WiredBatch.all(wired.wirings), share=False))

    @property
    def timelines(self) -> tuple[Timeline, ...]:
        """The schedules of the runs so far."""
        return tuple(timeline(finished.run.executor.plan, finished.run.merged) for finished in self._finished)

    def _merge(self, executor: Executor, wired: Wired) -> Merged:
        net = self._net
        net.tick("prepare")
        merged = merge(wired.plan, WiredBatch.all(wired.wirings), share=False)
        net.tick("merge")
        return merged

    def _needed(self, ids: Sequence[int]) -> list[int]:
        """The nodes that some values need and that have not run, ascending."""
        recording, state = self._recording, self._state
        state.extend(bytes(len(recording.site) - len(state)))
        start, sources, rows, row_of = recording.start, recording.sources, recording.rows, recording.row_of
        needed: list[int] = []
        waiting = [id >> OUTPUT_BITS for id in ids]
        while waiting:
            node = waiting.pop()
            if state[node]:
                continue
            state[node] = 1
            needed.append(node)
            for id in sources[start[node] : start[node + 1]]:
                if not state[id >> OUTPUT_BITS]:
                    waiting.append(id >> OUTPUT_BITS)
            if node in row_of:
                waiting.append(row_of[node])
            if node in rows:
                for each in rows[node]:
                    waiting.extend(each)
        needed.sort()
        return needed

    def _wire(self, ids: Sequence[int]) -> Wired | None:
        """Makes one example of the nodes that some values need; None if all have run."""
        recording, sites = self._recording, self._net.call_sites
        needed = self._needed(ids)
        if not needed:
            return None
        nodes = np.array(needed)
        site = recording.site_column.array()
        start = recording.start_column.array()
        begins, lengths = start[nodes], start[nodes + 1] - start[nodes]
        inner = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        sources = recording.source_column.array()[np.repeat(begins, lengths) + inner]
        source_nodes, outputs = sources >> OUTPUT_BITS, sources & _OUTPUT
        own_sites = site[nodes]
        table = sites.table
        places = np.repeat(table.first_place[own_sites], lengths) + self._ports(
            nodes, own_sites, inner, lengths
        )
        sites.observe(places, site[source_nodes], outputs)

        has_run = np.frombuffer(bytes(self._state), np.uint8)[source_nodes] == 2
        carried, order = np.unique(sources[has_run], return_inverse=True)
        types = table.type[table.first_producer[site[carried >> OUTPUT_BITS]] + (carried & _OUTPUT)]
        carried_sites = np.array([sites.carried_site(type) for type in types.tolist()], np.int64)

        plan = self._net.plan
        constants, shift = len(plan.lowered.constants), plan.shift
        local = np.zeros(len(recording.site), np.int64)
        local[nodes] = constants + len(carried) + np.arange(len(nodes))
        ids_of = (local[source_nodes] << shift) + outputs
        ids_of[has_run] = (constants + order) << shift
        count = len(carried) + len(nodes)
        bounds = np.array([0, count])
        depth = np.zeros(count, np.int32)
        depth[len(carried) :] = self._depths(needed, plan)
        results = np.arange(constants + len(carried), constants + count) << shift
        counts = [length for node in self._with_lengths(needed) for length in recording.lengths[node]]
        wirings = Wirings(
            base=np.array([constants]),
            site=Column(np.concatenate([carried_sites, own_sites]).astype(np.int32), bounds),
            depth=Column(depth, bounds),
            sources=_column(ids_of),
            counts=_column(np.array(counts, np.int64)),
            raw=self._raw(plan, carried, types),
            outputs=Outputs((_column(results),), (), (), ()),
        )
        return Wired(plan, nodes, carried, wirings)

    def _with_lengths(self, needed: Sequence[int]) -> list[int]:
        lengths = self._recording.lengths
        return [node for node in needed if node in lengths] if lengths else []

    def _ports(
        self, nodes: HostArray, own_sites: HostArray, inner: HostArray, lengths: HostArray
    ) -> HostArray:
        """For each source, the number of the port that reads it, within its site."""
        recording = self._recording
        if not recording.lengths:
            return inner
        ports = inner.copy()
        ends = np.cumsum(lengths)
        for place in np.flatnonzero(np.isin(nodes, list(recording.lengths))).tolist():
            site = self._net.call_sites.sites[own_sites[place]]
            assert isinstance(site, ApplySite)
            single = sum(port.domain is None for port in site.ports)
            spans = [port.domain for port in site.ports if port.domain is not None]
            of_domain = dict(zip(site.domains, recording.lengths[int(nodes[place])], strict=True))
            numbers = [np.arange(single)]
            numbers += [np.full(of_domain[domain], single + number) for number, domain in enumerate(spans)]
            ports[ends[place] - lengths[place] : ends[place]] = np.concatenate(numbers)
        return ports

    def _depths(self, needed: Sequence[int], plan: Plan) -> list[int]:
        """The depth of each node within its component, counted from what has run."""
        recording = self._recording
        base: list[int] = plan.sites.base.tolist()
        site, start, sources, row_of = recording.site, recording.start, recording.sources, recording.row_of
        keys: dict[int, int] = {}
        find = keys.get
        depths = []
        for node in needed:
            low = key = base[site[node]]
            if node in row_of:
                key = keys[row_of[node]]
            for id in sources[start[node] : start[node + 1]]:
                other = find(id >> OUTPUT_BITS, -1)
                if other >= key:
                    key = other + 1
            keys[node] = key
            depths.append(key - low)
        return depths

    def _raw(self, plan: Plan, carried: HostArray, types: HostArray) -> tuple[Column, ...]:
        """The values that come in with the nodes that are wanted, by stream."""
        columns = []
        for type in plan.lowered.streams.reads:
            reads = self._recording.reads.get(type)
            values: list[Any] = []
            if reads is not None:
                wanted = [self._state[node] == 1 for node in reads.nodes]
                values = [value for value, want in zip(reads.values, wanted, strict=True) if want]
            columns.append(_column(convert_many(values, type)))
        for type_number in self._net.call_sites.carried_types:
            columns.append(_column(carried[types == type_number]))
        return tuple(columns)

    def _forget_reads(self) -> None:
        """Drops the values that have come in to a run."""
        for reads in self._recording.reads.values():
            left = [place for place, node in enumerate(reads.nodes) if self._state[node] != 2]
            reads.nodes = [reads.nodes[place] for place in left]
            reads.values = [reads.values[place] for place in left]

    def _finish(self, wired: Wired, run: Run) -> None:
        """Notes where the values of a run lie."""
        plan, merged, recording = wired.plan, run.merged, self._recording
        shape = len(plan.operations), plan.widest
        slab, offset = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for operation in plan.operations:
            first_rows = merged.operations[operation.index].first_rows
            for k, (number, first) in enumerate(zip(operation.slabs, first_rows, strict=True)):
                slab[operation.index, k] = number
                offset[operation.index, k] = first - first_rows[0]
        total = len(recording.site)
        self._run_of = _grown(self._run_of, total)
        self._row = _grown(self._row, total)
        self._run_of[wired.nodes] = len(self._finished)
        self._row[wired.nodes] = merged.outputs.results[0].values
        self._finished.append(Finished(run, slab, offset, plan.sites.operation))
        for node in wired.nodes.tolist():
            self._state[node] = 2
        self._forget_reads()

    def _dropout_keys(self, executor: Executor, wired: Wired, merged: Merged) -> Mapping[int, HostArray]:
        """The dropout keys of the operations that have dropout."""
        keys = {}
        for o, program in executor.programs.items():
            if program.trace.dropout_key is not None and merged.operations[o].count:
                _, number = merged.nodes(o)
                nodes = wired.nodes[number - len(wired.carried)].tolist()
                calls = [self._recording.dropout[node] for node in nodes]
                keys[o] = dropout_keys(self._net.seed, self._step, np.array(calls, np.uint64))
        return keys

    # ------------------------------------------------------------------------------------------------------
    # values

    def _locate(self, ids: HostArray) -> tuple[HostArray, HostArray, HostArray]:
        """For values that have been computed, their runs, slabs and rows."""
        nodes, outputs = ids >> OUTPUT_BITS, ids & _OUTPUT
        runs = self._run_of[nodes]
        site = self._recording.site_column.array()[nodes]
        slabs, rows = np.zeros(len(ids), np.int64), self._row[nodes]
        for number in np.unique(runs).tolist():
            chosen = runs == number
            finished = self._finished[number]
            operation = finished.operation[site[chosen]]
            slabs[chosen] = finished.slab[operation, outputs[chosen]]
            rows[chosen] += finished.offset[operation, outputs[chosen]]
        return runs, slabs, rows

    def _carry(self, target: Array, ids: HostArray) -> None:
        """Writes values of earlier runs to rows; all are of one type, and so in the slabs of one number."""
        device = self._net.device
        runs, slabs, rows = self._locate(ids)
        numbers = np.unique(runs).tolist()
        for number in numbers:
            (places,) = (runs == number).nonzero()
            values = self._finished[number].run.gather(int(slabs[places[0]]), rows[places])
            if len(numbers) == 1:
                target[...] = values
            else:
                target[device.to_device(places.astype(device.index_dtype))] = values

    def values(self, ids: Sequence[int]) -> list[HostArray]:
        """The numbers of some values, on the host."""
        if not ids:
            return []
        self.compute(ids)
        wanted = np.array(ids)
        runs, slabs, rows = self._locate(wanted)
        arrays: list[HostArray] = [np.zeros(0)] * len(ids)
        places_of = runs.astype(np.int64) << 32 | slabs
        with self._net.lock.mutex:
            for key in np.unique(places_of).tolist():
                (places,) = (places_of == key).nonzero()
                gathered = self._finished[key >> 32].run.gather(key & 0xFFFFFFFF, rows[places])
                host = self._net.device.to_numpy(gathered)
                for place, row in zip(places.tolist(), host, strict=True):
                    arrays[place] = row
        return arrays

    # ------------------------------------------------------------------------------------------------------
    # backward

    def value_and_grad(self, loss: int) -> tuple[Array, dict[str, Gradient]]:
        """The loss and its gradients, in memory of their own."""
        with self._net.lock.mutex:
            value, gradients = self._differentiate(loss)
            return value, {name: own(gradient) for name, gradient in gradients.items()}

    def train_step(self, loss: int, optimizer: SupportsStep, check: Any) -> Array:
        """Computes gradients and lets an optimizer make a step."""
        net = self._net
        if isinstance(optimizer, type) or not hasattr(optimizer, "step"):
            raise ArrowTypeError(
                f"train_step: the optimizer must be one such as Adam(0.001), not {optimizer!r}"
            )
        with net.lock.mutex:
            value, gradients = self._differentiate(loss)
            if check is not None:
                check(value)
            if not only_reads(optimizer):
                gradients = {name: own(gradient) for name, gradient in gradients.items()}
            with net.lock.updating():
                optimizer.step(net, gradients)
            net.parameters_changed()
            net.step += 1
            self._step = net.step
            self._sealed = len(self._finished)
            return value

    def _differentiate(self, loss: int) -> tuple[Array, dict[str, Gradient]]:
        if not self._gradients:
            raise ArrowValueError(
                message(
                    "cannot differentiate",
                    reason="the batch keeps nothing for gradients",
                    hint="make it by net.batch(), without gradients=False",
                )
            )
        net, device = self._net, self._net.device
        self.compute([loss])
        runs, slabs, rows = self._locate(np.array([loss]))
        last = int(runs[0])
        involved = self._involved(last)
        if involved[0] < self._sealed:
            raise ArrowValueError(
                message(
                    "cannot differentiate",
                    reason="the loss depends on values computed before a step changed the parameters",
                    hint="begin another batch after a step",
                )
            )
        value = self._finished[last].run.gather(int(slabs[0]), rows).reshape(())
        for number in involved:
            self._finished[number].run.begin_backward()
        seeded = self._finished[last].run.gradients[int(slabs[0])]
        sums: dict[Any, Gradient] = {}
        if seeded is not None:
            seeded[int(rows[0])] = 1
            for number in reversed(involved):
                run = self._finished[number].run
                if not run.executor.receiving:
                    continue
                for key, gradient in run.flow_back().items():
                    if key in sums:
                        sums[key] = add_gradients(device, sums[key], gradient)
                    else:  # one run after another writes to the same memory
                        sums[key] = gradient if number == involved[0] else own(gradient)
                self._hand_back(run)
        executor = self._finished[last].run.executor
        gradients: dict[str, Gradient] = {}
        for name in net.params:
            owner, spec = net.params.owner(name)
            if spec.has_gradient:
                key = id(owner), spec.name
                gradients[name] = sums[key] if key in sums else executor.no_gradient(owner, spec)
        return value, gradients

    def _involved(self, last: int) -> list[int]:
        """The runs that the values of one depend on, itself included, ascending."""
        involved = {last}
        for number in range(last, -1, -1):
            if number in involved:
                for ids in self._carried_by(self._finished[number].run).values():
                    involved.update(self._run_of[ids >> OUTPUT_BITS].tolist())
        return sorted(involved)

    def _carried_by(self, run: Run) -> dict[int, HostArray]:
        """By operation that brings values back, their ids, in the order of its rows."""
        return {
            operation.index: run.merged.raw[operation.stream]
            for operation in run.executor.plan.operations
            if isinstance(operation, CarriedOperation) and run.merged.operations[operation.index].count
        }

    def _hand_back(self, run: Run) -> None:
        """Adds the gradients of carried rows to the rows that they were copied from."""
        device = self._net.device
        for o, ids in self._carried_by(run).items():
            first = run.merged.operations[o].first_rows[0]
            gradients = run.gradients[run.executor.plan.operations[o].slabs[0]]
            if gradients is None:
                continue
            runs, slabs, rows = self._locate(ids)
            for number in np.unique(runs).tolist():
                (places,) = (runs == number).nonzero()
                earlier = self._finished[number].run
                target = earlier.gradients[int(slabs[places[0]])]
                if target is None:
                    continue
                values = device.take(gradients, _index(device, first + places))
                device.scatter_add_unique(target, _index(device, rows[places]), values)

    # ------------------------------------------------------------------------------------------------------

    def release(self) -> None:
        """Gives the memory of all runs back."""
        self._finished.clear()
        self._net.give_back(self._arenas)
        self._arenas = []

    def _refusal(self, wired: Wired, merged: Merged, refused: StepRefused) -> ArrowValueError:
        """The error for a kernel that refused its operands: which call, on which line."""
        for node in wired.nodes.tolist():
            self._state[node] = 0
        operation = wired.plan.operations[refused.operation]
        assert isinstance(operation, ApplyOperation)
        _, number = merged.nodes(refused.operation)
        if refused.step is not None:
            bounds = merged.operations[refused.operation].bounds
            number = number[bounds[refused.step] : bounds[refused.step + 1]]
            row = getattr(refused.__cause__, "row", None)
            if row is not None and not merged.operations[refused.operation].offsets:
                number = number[row : row + 1]
        sites = self._recording.site_column.array()[wired.nodes[number - len(wired.carried)]]
        lines = sorted({self._net.describe(site) for site in sites.tolist()})
        return ArrowValueError(
            message(f"cannot compute {' or '.join(lines[:3])}", reason=str(refused.__cause__))
        )


def _column(values: HostArray) -> Column:
    return Column(values, np.array([0, len(values)]))


def _index(device: Device, places: HostArray) -> Array:
    return device.to_device(places.astype(device.index_dtype))


def _grown(array: HostArray, size: int) -> HostArray:
    """The array with room for more."""
    if len(array) >= size:
        return array
    larger = np.zeros(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger
