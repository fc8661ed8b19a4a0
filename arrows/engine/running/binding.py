"""A batch's operation bound to arrays: gathers its operands, runs its steps, adds gradients back to where
they go."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from arrows.engine.device import Arena, Device, Upload
from arrows.engine.program import Program
from arrows.engine.program.codegen import Slot
from arrows.engine.program.program import GeneratedFunction
from arrows.engine.reading import lengths_of
from arrows.engine.running.flow_back import Flow, Sums
from arrows.engine.running.gather import Gather
from arrows.engine.running.unlike import Alike, Unlike
from arrows.engine.scheduling import OperationRows, PortRows
from arrows.ops import Segments

Array = Any


class _Sums:
    """A planned sum of gradients by row, on the device."""

    def __init__(self, upload: Upload, push: Sums) -> None:
        self.order, self.rows, self.starts = (
            upload.get(part) for part in (push.order, push.rows, push.starts)
        )
        self.plan = push

    def add(self, device: Device, arena: Arena, target: Array, values: Array, piece: int) -> None:
        """Adds the sums of one piece to the rows of ``target``."""
        plan = self.plan
        b, y = plan.bounds[piece : piece + 2]
        c, x = plan.places[piece : piece + 2]
        if b == y:
            return
        if plan.longest > 1:
            order, starts = self.order[c:x], self.starts[b:y]
            device.scatter_add(target, self.rows[b:y], values, order, starts, plan.longest)
            return
        first, place = plan.ranges[piece]
        if place >= 0:
            given = values[place : place + x - c]
        else:
            scratch = arena.array("pull", (x - c, *values.shape[1:]), values.dtype)
            given = device.take(values, self.order[c:x], scratch)
        if first >= 0:
            rows = target[first : first + y - b]
            rows += given
        else:
            device.scatter_add_unique(target, self.rows[b:y], given)


class Binding:
    """One operation of one batch.

    Args:
        program: what to run.
        rows: the operation's part of the merged batch.
        upload: where index arrays are sent to the device.
        unlike: the rows that are computed ahead, if not all are.
    """

    def __init__(
        self, program: Program, rows: OperationRows, upload: Upload, unlike: Unlike | None = None
    ) -> None:
        self.program = program
        self.rows = rows if unlike is None else unlike.rows
        rows = self.rows
        self.alike = None if unlike is None else Alike(unlike, upload)
        self.bounds = rows.bounds.tolist()
        self.upload = upload
        operation = program.operation
        # By number of the operand: what is read forwards.
        wanted = {*program.gathered, *program.early_operands}
        # What is early is gathered for all rows of a component at once.
        ahead = set(program.early_operands)
        parts = rows.bounds[rows.parts] if self.alike is None else np.array([0, self.alike.count])
        self.parts: list[int] = parts.tolist()
        self.part_at = {step: part for part, step in enumerate(rows.parts[:-1].tolist())}
        self.gathers: dict[int, Gather] = {}
        domain_bounds = {d: rows.offsets[d][rows.bounds] for d in operation.domains}
        for number, (port, found) in enumerate(zip(operation.ports, rows.ports, strict=True)):
            if number not in wanted:
                continue
            bounds = rows.bounds if port.domain is None else domain_bounds[port.domain]
            if number in ahead:
                bounds = parts
            of = program.trace.inputs[port.leaf].type
            self.gathers[number] = Gather(of, port.slab, found, bounds)
        for number, joint in enumerate(program.joints, len(operation.ports) + 1):
            found, width = PortRows(rows.side_by_side(joint.ports)), len(joint.ports)
            bounds = parts if number in ahead else rows.bounds
            self.gathers[number] = Gather(joint.result.type, joint.slab, found, bounds, width)
        self.width = len(operation.ports) + 1 + len(program.joints)
        for number in (*program.gathered, *program.early_operands):
            gather = self.gathers[number]
            if -1 in gather.views:
                gather.rows = upload.add(gather.found.rows)
        self.segments = {d: self._segments(rows.offsets[d], rows.bounds) for d in operation.domains}

    def _segments(self, offsets: np.ndarray, bounds: np.ndarray) -> tuple[list[tuple[int, int, Any]], Any]:
        """The bounds of the sequences, step by step and for the whole operation; index arrays still on their
        way."""
        lengths = lengths_of(offsets)
        nodes = len(lengths)
        steps = lengths_of(bounds)
        # Offsets that start at 0 in every step: one entry more than nodes for each step.
        at = np.arange(nodes + len(steps)) - np.repeat(np.arange(len(steps)), steps + 1)
        local = offsets[at] - np.repeat(offsets[bounds[:-1]], steps + 1)
        ids = np.repeat(np.arange(nodes) - np.repeat(bounds[:-1], steps), lengths)
        local_handle, ids_handle = self.upload.add(local), self.upload.add(ids)
        whole = (self.upload.add(offsets), self.upload.add(np.repeat(np.arange(nodes), lengths)))
        longest = int(lengths.max(initial=0))
        gapless = bool(nodes == 0 or lengths.min() > 0)
        pieces = []
        elements = offsets[bounds].tolist()
        for j, (a, z) in enumerate(zip(self.bounds[:-1], self.bounds[1:], strict=True)):
            pieces.append(
                (elements[j], elements[j + 1], (local_handle, a + j, z + j + 1, ids_handle, longest, gapless))
            )
        return pieces, (whole, nodes, int(offsets[-1]), longest, gapless)

    def bind(
        self,
        device: Device,
        arena: Arena,
        room: int,
        invariants: tuple[Array, ...],
        slabs: Sequence[Array],
        outputs: list[Array],
        keys: Array = None,
    ) -> None:
        """Binds the forward part to arrays, once the index arrays are on the device; ``room`` is the number
        of the memory for what is kept, ``keys`` are those of chance."""
        program, operation = self.program, self.program.operation
        self.device, self.arena, self.slabs = device, arena, slabs
        self.invariants, self.outputs = invariants, outputs
        kept_ports = {*program.kept_ports, *program.early_operands}
        self.operands: list[Array] = [None] * self.width  # kept for all rows
        self.copies: list[bool] = [False] * self.width
        for number, gather in self.gathers.items():
            if gather.rows is not None:
                gather.rows = self.upload.get(gather.rows)
            if number not in kept_ports:
                continue
            slab, total = slabs[gather.slab], gather.bounds[-1]
            if gather.whole >= 0:
                self.operands[number] = gather.view(slab, gather.whole, total)
            else:
                self.copies[number] = True
                self.operands[number] = arena.array(
                    ("operand", room, number), (total, *gather.type.shape), gather.type.dtype
                )
        self.keys = self.operands[len(operation.ports)] = keys
        self.kept = [
            arena.array(("kept", room, number), (self._total(var.rows), *var.type.shape), var.type.dtype)
            for number, var in enumerate(program.kept)
        ]
        self.bound_segments: list[list[tuple[int, int, Segments]]] = []
        self.whole_segments: list[tuple[int, int, Segments]] = []
        for domain in operation.domains:
            pieces, ((offsets, ids), count, total, longest, gapless) = self.segments[domain]
            bound = []
            for a, z, (local, first, last, ids_handle, _, _) in pieces:
                segments = Segments(
                    self.upload.get(local)[first:last],
                    self.upload.get(ids_handle)[a:z],
                    last - first - 1,
                    z - a,
                    longest,
                    gapless,
                )
                bound.append((a, z, segments))
            self.bound_segments.append(bound)
            whole = Segments(self.upload.get(offsets), self.upload.get(ids), count, total, longest, gapless)
            self.whole_segments.append((0, total, whole))
        self.forward = program.forward.make(
            invariants, None, outputs, self.kept, None, None, self._scratch("s", program.forward.slots)
        )
        if program.early is not None:
            scratch = self._scratch("early", program.early.slots, whole=True)
            made = self.kept if self.alike is None else self.alike.bind(device, arena, self.kept)
            self.early = program.early.make(invariants, None, outputs, made, None, None, scratch)

    def _total(self, level: int) -> int:
        if level < 0:
            return self.rows.count
        return int(self.rows.offsets[level][-1])

    def _scratch(self, kind: Hashable, slots: Sequence[Slot], whole: bool = False) -> list[Array]:
        """Scratch arrays are shared by all operations: nothing outlives its step."""
        made = []
        for slot in slots:
            if whole:
                rows = self._total(slot.rows)
            elif slot.rows < 0:
                rows = self.rows.longest
            else:
                rows = int(lengths_of(self.rows.offsets[slot.rows][self.rows.bounds]).max(initial=0))
            made.append(self.arena.array((kind, slot.number), (rows, *slot.shape), slot.dtype))
        return made

    # --------------------------------------------------------------------------------------------------
    # running

    def run(self, step: int) -> None:
        """Runs the forward part on the rows of one step."""
        clock, index = self.program.clock, self.program.operation.index
        if clock is not None:
            clock.tick("host")
        if self.program.early is not None and step in self.part_at:
            self._run_early(self.part_at[step])
        start, stop = self.bounds[step], self.bounds[step + 1]
        ports: list[Array] = [None] * self.width
        for number in self.program.gathered:
            ports[number] = self._gathered(number, step)
        for number in self.program.held:
            ports[number] = self.operands[number][start:stop]
        if self.keys is not None:
            ports[len(self.program.operation.ports)] = self.keys[start:stop]
        if clock is not None:
            clock.tick("gather", index)
        self.forward(start, stop, ports, [bound[step] for bound in self.bound_segments])

    def _gathered(self, number: int, step: int) -> Array:
        """An operand of one step (of one component, if it is early)."""
        gather = self.gathers[number]
        first = gather.views[step]
        a, z = gather.bounds[step], gather.bounds[step + 1]
        slab = self.slabs[gather.slab]
        if first >= 0:
            value = gather.view(slab, first, z - a)
            if not self.copies[number]:
                return value
            kept = self.operands[number][a:z]
            kept[...] = value
            return kept
        if self.copies[number]:
            out = self.operands[number][a:z]
        else:
            shape = (gather.longest, *gather.type.shape)
            out = self.arena.array(("gather", number), shape, gather.type.dtype)[: z - a]
        return gather.take(self.device, slab, a, z, out)

    def _run_early(self, part: int) -> None:
        """Runs what is ahead of the steps of one component."""
        ports: list[Array] = [None] * self.width
        for number in self.program.early_operands:
            ports[number] = self._gathered(number, part)
        start, stop = self.parts[part], self.parts[part + 1]
        if self.keys is not None:
            ports[len(self.program.operation.ports)] = self.keys[start:stop]
        if self.program.clock is not None:
            self.program.clock.tick("gather", self.program.operation.index)
        self.early(start, stop, ports, [])
        if self.alike is not None:
            self.alike.spread(self.kept)

    def bind_backward(self, gradients: Sequence[Array], seeds: list[Array]) -> None:
        """Binds the backward parts to arrays: slabs of gradients, and the rows of the results' gradients."""
        program, name = self.program, self.program.operation.index
        self.gradients, self.seeds = gradients, seeds
        self.saved = [
            self.arena.array(
                ("saved", name, number), (self._total(var.rows), *var.type.shape), var.type.dtype
            )
            for number, var in enumerate(program.saved)
        ]
        # What is pushed right after the step that makes it needs its array no longer, so operations share
        # these. A component may have several steps, though (under `depth`, say), and pushes after the last.
        at_once = len(self.part_at) == len(self.bounds) - 1
        self.places: list[Array] = []
        for number, found in enumerate(program.gradients):
            counts = [sum(len(self.rows.ports[port].rows) for port in of.ports) for of in found.operands]
            slab = gradients[found.slab]
            shape = (sum(counts) + 1, *slab.shape[1:])
            shared = at_once and found.early
            array = self.arena.array(("places", number if shared else (name, number)), shape, slab.dtype)
            array[-1] = 0
            self.places.append(array)
            start = 0
            for operand, count in zip(found.operands, counts, strict=True):
                width = len(operand.ports)
                flat = array[start : start + count]
                start += count
                shape = (count // width, width * flat.shape[1], *flat.shape[2:]) if width > 1 else flat.shape
                self.saved.append(flat.reshape(shape))
        if program.backward is not None:
            self.backward = self._bound(
                program.backward, self._scratch("s", program.backward.slots), self.saved
            )
        late = list(self.saved)
        if program.ahead is not None:
            self.sums = [self.saved[number] for number in program.ahead.sums]
            if self.alike is not None:
                self.sums = self.alike.sums(name, self.saved)
            for number, total in zip(program.ahead.sums, self.sums, strict=True):
                late[number] = total
            self.saved += self.sums
        if program.late is not None:
            scratch = self._scratch("early", program.late.slots, whole=True)
            self.late = self._bound(program.late, scratch, late)

    def bind_flow(self, flow: Flow, bindings: Mapping[int, Binding]) -> None:
        """Binds what the gradients of rows come from, once all operations have their arrays."""
        self.pulls = [
            (
                self.seeds[pull.result],
                bindings[pull.reader].places[pull.number],
                self.upload.get(pull.index),
                pull.spans,
                None if pull.more is None else _Sums(self.upload, pull.more),
            )
            for pull in flow.pulls
        ]
        self.pushes = [None if push is None else _Sums(self.upload, push) for push in flow.pushes]

    def _bound(
        self, function: GeneratedFunction, scratch: list[Array], saved: Sequence[Array]
    ) -> Callable[..., Any]:
        """A backward part, bound to the arrays of the batch."""
        return function.make(
            self.invariants, self.operands, self.outputs, self.kept, self.seeds, saved, scratch
        )

    def run_backward(self, step: int) -> None:
        """Runs the backward step part on the rows of one step, and with the last step of a component what
        waits for it."""
        program = self.program
        clock, index = program.clock, program.operation.index
        if clock is not None:
            clock.tick("host")
        if self.pulls:
            self._pull(step)
            if clock is not None:
                clock.tick("scatter", index)
        if program.backward is not None:
            a, z = self.bounds[step], self.bounds[step + 1]
            self.backward(a, z, None, [bound[step] for bound in self.bound_segments])
        if self.pushes and step in self.part_at:
            # The first step of a component is the last to run backwards.
            part = self.part_at[step]
            if self.alike is not None:
                self.alike.sum(self.saved, self.sums)
            if program.late is not None:
                self.late(self.parts[part], self.parts[part + 1], None, [])
            for found, values, push in zip(program.gradients, self.places, self.pushes, strict=True):
                if push is not None:
                    push.add(self.device, self.arena, self.gradients[found.slab], values, part)
            if clock is not None:
                clock.tick("scatter", index)

    def _pull(self, step: int) -> None:
        """Adds the gradients that the readers of a step's rows have left."""
        for gradients, values, index, spans, more in self.pulls:
            a, z, first = spans[step]
            if z > a:
                rows = gradients[a:z]
                if first >= 0:
                    rows += values[first : first + z - a]
                else:
                    scratch = self.arena.array("pull", rows.shape, rows.dtype)
                    rows += self.device.take(values, index[a:z], scratch)
            if more is not None:
                more.add(self.device, self.arena, gradients, values, step)

    def run_deferred(self, targets: Sequence[Array]) -> tuple[Array, ...]:
        """Runs the deferred part over all rows; returns the values of `Program.pieces`.

        Args:
            targets: where to write each; None: to a new array.
        """
        program = self.program
        assert program.deferred is not None
        kind = ("deferred", program.operation.index)
        scratch = self._scratch(kind, program.deferred.slots, whole=True)
        step = self._bound(program.deferred, scratch, self.saved)
        if program.clock is not None:
            program.clock.tick("host")
        result: tuple[Array, ...] = step(0, self.rows.count, targets, self.whole_segments)
        if program.clock is not None:
            program.clock.tick("sums", program.operation.index)
        return result
