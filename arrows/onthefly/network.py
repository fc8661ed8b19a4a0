"""`OnTheFly`: what batches on the fly share: parameters, programs, and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import CodeType
from typing import Any

from arrows import combinators as core
from arrows.engine.compile import use_jit
from arrows.engine.device import Arena, Device, get_device
from arrows.engine.planning import SCHEDULES, GrowingParams, Plan, make_plan, slabs_by_type
from arrows.engine.program import Clock, Program
from arrows.engine.running import Executor
from arrows.engine.scheduling import Merged
from arrows.inference import Typed, infer
from arrows.onthefly.batch import LazyBatch
from arrows.onthefly.call_sites import CallSite, CallSites
from arrows.typesys import ArrowValueError
from arrows.typesys import types as T


class OnTheFly:
    """Parameters, programs and memory for code that computes with lazy tensors, batch by batch.

    Ordinary Python code calls layers, blocks and `arrows.ops` on the tensors of one example after the other;
    nothing runs until a value is asked for, and then all that waits runs in few large operations.  For models
    whose structure comes from the program, where a block's structure comes from the data.

    Args:
        seed: first values of parameters depend on it and on their names, and dropout.
        schedule: how steps are chosen: "strata" (call sites in topological order), "depth" (Looks et al.
            2017), "agenda" (Neubig et al. 2017) or "none" (one node at a time); None: "strata" or "agenda",
            whichever takes fewer steps.
        device: "cpu" or "cuda".
        float_type: every float becomes this type, say "float64".
        params: another model's `params`, whose arrays are used for the layers that both have; or values by
            name.
        jit: as in `arrows.compile`.

    Attributes:
        params: parameter name -> live array; a layer's parameters are there from its first call on. Layers
            without a name are numbered in the order of their first calls.
        device, seed: as given.
        step: how many training steps there have been; dropout depends on it.

    Source: Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017.

    Example:
        >>> import arrows as ar
        >>> net = ar.OnTheFly(seed=0)
        >>> embed, cell, score = ar.Embedding(100, 8), ar.LSTMCell(16), ar.FC(1)
        >>> with net.batch() as g:
        ...     losses = []
        ...     for words in [[1, 2, 3], [4], [5, 6]]:
        ...         state = g.zeros(cell.state)
        ...         for word in words:
        ...             state = cell(embed(word), state)
        ...         losses.append(ar.ops.sum(score(state[0]) ** 2))
        ...     loss, grads = g.value_and_grad(g.mean(losses))
        >>> sorted(grads)
        ['Embedding_1/table', 'FC_1/bias', 'FC_1/weight', 'LSTMCell_1/bias', 'LSTMCell_1/weight']
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        schedule: str | None = None,
        device: str | Device = "cpu",
        float_type: str | None = None,
        params: Mapping[str, Any] | None = None,
        jit: bool | None = None,
    ) -> None:
        if schedule is not None and schedule not in SCHEDULES:
            raise ArrowValueError(
                f"the schedule must be one of {', '.join(map(repr, SCHEDULES))}, not {schedule!r}"
            )
        self.seed, self.step = seed, 0
        self.device = get_device(device)
        self.float_type, self.schedule = float_type, schedule
        self.params = GrowingParams(self.device, seed, params)
        self.lock = self.params.lock
        self.call_sites = CallSites(self.params, float_type)
        self.int_type = self.call_sites.intern(T.Tensor((), "int32"))
        self.float_scalar = self.call_sites.intern(T.Tensor((), float_type or "float32"))
        self.sum_block, self.mean_block = core.Sum(), core.Mean()
        self.calls: dict[tuple[Any, ...], CallSite] = {}
        self.numbers: dict[tuple[int, ...], Any] = {}
        self.dropouts: dict[float, core.AnyBlock] = {}
        self.inside: dict[int, bool] = {}
        self.codes: list[CodeType] = []
        self.blocks: list[object] = []
        self._jit = use_jit(jit, self.device.name)
        self._typed: dict[tuple[int, T.Type | None], Typed] = {}
        self._planned = -1
        self._plan: Plan | None = None
        self._programs: dict[tuple[bool, bool], dict[Any, Program]] = {}
        self._executors: dict[tuple[bool, bool], Executor] = {}
        self._arenas: list[Arena] = []
        self._clock: Clock | None = None

    def batch(self, *, training: bool = False, gradients: bool = True) -> LazyBatch:
        """A batch, to be used as ``with net.batch() as g``.

        Args:
            training: let dropout act.
            gradients: keep what gradients need; without it, a batch takes less memory.
        """
        return LazyBatch(self, training=training, gradients=gradients)

    @property
    def schedule_name(self) -> str:
        """The schedule that batches have now."""
        return self.schedule or "strata"

    @property
    def plan(self) -> Plan:
        """The plan of all that has been observed."""
        if self._plan is None or self._planned != self.call_sites.version:
            self._planned = self.call_sites.version
            self._plan = make_plan(self.call_sites.lowered(), self.schedule_name, slabs_by_type)
            self._executors.clear()
        return self._plan

    def executor(self, plan: Plan, *, training: bool, gradients: bool) -> Executor:
        """The executor of the plan; programs of operations that stay the same are kept."""
        kind = training, gradients
        if kind not in self._executors:
            self._executors[kind] = Executor(
                plan,
                self.device,
                Arena(self.device),
                self.params.of,
                seeds=range(len(plan.slabs)) if gradients else (),
                training=training,
                jit=self._jit,
                clock=self._clock,
                keep_values=True,
                programs=self._programs.setdefault(kind, {}),
            )
        return self._executors[kind]

    def typed(self, block: Any, input: T.Type | None) -> Typed:
        """A block with its types, for an input."""
        key = id(block), input
        if key not in self._typed:
            self._typed[key] = infer(block, input, float_type=self.float_type)
            self.blocks.append(block)
        return self._typed[key]

    def parameters_changed(self) -> None:
        """Forgets what was computed of parameters alone."""
        for executor in self._executors.values():
            executor.refresh()

    def take_arena(self) -> Arena:
        """Memory for a run."""
        return self._arenas.pop() if self._arenas else Arena(self.device)

    def give_back(self, arenas: Iterable[Arena]) -> None:
        """Takes the memory of runs back, for later runs."""
        self._arenas.extend(reversed(list(arenas)))

    @property
    def held_memory(self) -> int:
        """Bytes of the device that are kept for further batches, beside the parameters."""
        return sum(arena.bytes for arena in self._arenas)

    def release_memory(self) -> None:
        """Lets go of all memory that is kept for further batches."""
        with self.lock.mutex:
            self._arenas.clear()
            self._executors.clear()

    def describe(self, site: int) -> str:
        """A call site, for people: what is called, and on which line."""
        for call in self.calls.values():
            if call.number == site or site in [number for number, _ in call.element_sites.values()]:
                return f"{self.call_sites.sites[call.number].typed.form.label} at {call.line}"  # type: ignore[attr-defined]
        return "a value that came in"

    def tick(self, part: str) -> None:
        """Counts the time since the last tick as spent on a part, while a profile is made."""
        if self._clock is not None:
            self._clock.tick(part)

    def count(self, merged: Merged) -> None:
        """Counts the steps of a run, while a profile is made."""
        if self._clock is not None:
            self._clock.count(merged)
