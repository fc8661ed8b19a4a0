"""The executors of a model, one for each choice of what to differentiate, and the memory that they share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from arrows.engine.device import Arena
from arrows.engine.planning import LossWeights, Params, Plan, layer_name, read_sites
from arrows.engine.program import Clock, Programs
from arrows.engine.running.executor import Executor, ExecutorChoices


class Executors:
    """Makes each executor when it is first needed, and keeps executors and memory from call to call.

    Attributes:
        device: where the parameters were when the memory was taken.
        clock: of a profile that is being made; None at other times.
        memory_limit: the bytes that a batch may take; one that would take more runs in parts. None: no limit.
        arena: the memory that the executors share.
        kept: those that have been asked for.
    """

    def __init__(
        self, plan: Plan, params: Params, weights: LossWeights, *, jit: bool, precision: str
    ) -> None:
        self.plan, self.device, self.params, self.weights = plan, params.device, params, weights
        self.jit, self.precision = jit, precision
        self.clock: Clock | None = None
        self.memory_limit: int | None = None
        self.arena = Arena(self.device)
        self.kept: dict[ExecutorChoices, Executor] = {}

    def get(
        self,
        inputs: tuple[str, ...] = (),
        *,
        training: bool = False,
        gradients: bool = False,
        seeds: frozenset[int] = frozenset(),
    ) -> Executor:
        """The executor for one choice.

        Args:
            inputs: the named inputs whose gradients are wanted.
            training: whether dropout acts.
            gradients: whether the loss is differentiated.
            seeds: the slabs that gradients come into, if it is something else than the loss.
        """
        if self.device is not self.params.device:  # a model that shares the parameters has moved
            self.release()
        choices = ExecutorChoices(
            seeds=self._seeds() if gradients else seeds,
            inputs=tuple(site.index for name in sorted(inputs) for site in read_sites(self.plan, name)),
            training=training,
            jit=self.jit and self.device.name == "cpu",
            precision=self.precision,
        )
        if choices not in self.kept:
            self.kept[choices] = Executor(
                self.plan, self.device, self.arena, self.params.of, choices, clock=self.clock
            )
        return self.kept[choices]

    def programs(self, name: str | None) -> Programs:
        """The programs that compute gradients, or results if there is no loss.

        Args:
            name: as for `Programs.named`; None: all.
        """
        differentiated = self.weights.missing is None
        executor = self.get(training=differentiated, gradients=differentiated)
        programs = {number: code.program for number, code in executor.codes.items()}
        listed = Programs(programs, partial(layer_name, self.params))
        return listed if name is None else listed.named(name)

    def _seeds(self) -> frozenset[int]:
        """The slabs of what the loss is made of."""
        seeds = frozenset(self.plan.metrics[metric] for metric in self.weights.metrics)
        return seeds if self.weights.result is None else seeds | {self.plan.results[0]}

    @property
    def bytes(self) -> int:
        """The bytes of device memory that are kept, without the parameters."""
        spans = [(self.device.address(array), int(array.nbytes)) for array in self.params.values()]
        arrays = [array for executor in self.kept.values() for array in executor.kept]
        size = self.arena.bytes
        for array in sorted(arrays, key=lambda array: -array.nbytes):  # a view comes after what it shows
            address = self.device.address(array)
            if not any(start <= address < start + length for start, length in spans):
                spans.append((address, int(array.nbytes)))
                size += int(array.nbytes)
        return size

    def tick(self, part: str) -> None:
        """Counts the time since the last tick as spent on a part, while a profile is made."""
        if self.clock is not None:
            self.clock.tick(part)

    def release(self) -> None:
        """Drops all executors and their memory."""
        self.device = self.params.device
        self.arena, self.kept = Arena(self.device), {}

    @contextmanager
    def set_aside(self, clock: Clock | None = None) -> Iterator[None]:
        """Keeps executors and memory from being used meanwhile: calls of the model make others.

        An optimizer that reads gradients in this memory may call the model, and a profile needs programs with
        a clock between their lines.
        """
        kept = self.arena, self.kept, self.clock, self.device
        self.clock = clock if clock is not None else self.clock
        self.release()
        try:
            yield
        finally:
            self.arena, self.kept, self.clock, self.device = kept
