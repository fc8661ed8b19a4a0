"""`OnTheFly` holds what batches on the fly share: parameters, programs, and memory."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import CodeType
from typing import Any, TypeVar

from arrows import combinators as core
from arrows.engine.compile import check_arguments, use_jit
from arrows.engine.device import Arena, Device, get_device
from arrows.engine.planning import SCHEDULES, GrowingParams, Plan
from arrows.engine.program import Clock, OperationCode, Profile, profile
from arrows.engine.reading import IndexPort, index_ports
from arrows.engine.running import Executor, ExecutorChoices
from arrows.engine.scheduling import Merged
from arrows.inference import Typed, infer
from arrows.layers import CHECKS, initializers
from arrows.onthefly.batch import LazyBatch
from arrows.onthefly.call_sites import CallSites
from arrows.onthefly.learner import LearnerOnTheFly
from arrows.ops import Initializer, Parameter, Weight
from arrows.typesys import SourceLine, answers, is_inside, message, types as T

R = TypeVar("R")
_frame = sys._getframe

_MANY = 200  # so many layers at one line may be meant


@answers("a network on the fly", "network")
class OnTheFly:
    """Parameters, programs and memory for code that computes with lazy tensors, batch by batch.

    Ordinary Python code calls layers, blocks and `arrows.ops` on the tensors of one example after the other.
    Nothing runs until the program asks for a value; then everything that the value needs runs in few large
    operations.  Use it for models whose structure comes from the program; a block's comes from the data.

    Args:
        seed: the initial values of parameters depend on it and on their names; dropout depends on it too.
        schedule: how steps are chosen: "strata" (call sites in topological order), "depth" (Looks et al.
            2017), "agenda" (Neubig et al. 2017) or "none" (one node at a time).
        device: "cpu" or "cuda".
        float_type: every float becomes this type, say "float64".
        params: another model's `params`, whose arrays are shared for the layers that both have; or values by
            name.
        jit: as in `arrows.compile`.

    Attributes:
        params: parameter name -> live array; a layer's parameters exist from its first call on. Layers
            without a name are numbered in the order of their first calls. `params.waiting` has the values
            that were loaded for layers that have not been called since.
        device, seed: as given.
        step: how many training steps have been taken; dropout depends on it.

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
        ['Embedding_1/weight', 'FC_1/bias', 'FC_1/weight', 'LSTMCell_1/bias', 'LSTMCell_1/weight']
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        schedule: str = SCHEDULES[0],
        device: str | Device = "cpu",
        float_type: str | None = None,
        params: Mapping[str, Any] | None = None,
        jit: bool | None = None,
    ) -> None:
        self.seed = check_arguments(schedule, seed, params, float_type)
        self.step = 0
        self.device = get_device(device)
        self.float_type, self.schedule = float_type, schedule
        self.params = GrowingParams(self.device, self.seed, params)
        self.lock = self.params.lock
        self.call_sites = CallSites(self.params, float_type)
        self.int_entrance = self.call_sites.entrance("read", T.Tensor((), "int32"))
        self.float_entrance = self.call_sites.entrance("read", T.Tensor((), float_type or "float32"))
        self.sum_block, self.mean_block = core.Sum(), core.Mean()
        self.calls = self.call_sites.calls
        self._numbers: dict[tuple[Any, ...], str] = {}
        self._inside: dict[int, bool] = {}  # by identity of code: whether it is the library's
        self._codes: list[CodeType] = []  # kept alive, so that no other code gets its identity
        self._kept: dict[int, object] = {}
        self.values: dict[int, core.AnyBlock] = {}  # by identity of a parameter: what gives its value
        self._anew: Counter[SourceLine] = Counter()
        self._jit = use_jit(jit, self.device.name)
        self._typed: dict[tuple[int, T.Type | None], Typed] = {}
        self._planned: tuple[object, dict[Hashable, Any]] = None, {}
        self._programs: dict[tuple[bool, bool], dict[Hashable, OperationCode]] = {}
        self._arenas: list[Arena] = []
        self._clock: Clock | None = None

    def batch(self, *, training: bool = False, gradients: bool = True) -> LazyBatch:
        """Makes a batch, for use as ``with net.batch() as g``.

        Args:
            training: let dropout act.
            gradients: keep the values that gradients need; without them, a batch takes less memory.
        """
        return LazyBatch(self, training=training, gradients=gradients)

    def parameter(
        self, shape: object, *, name: str | None = None, initializer: Initializer = initializers.zeros
    ) -> Any:
        """A parameter that is an operand by itself: a bias, a matrix, a first state.

        It stands in batches and in Functions as a tensor does; `b()` is its value there as one.  An operation
        on it keeps it within itself, so `x @ w` is one product for all of a batch.

        Args:
            shape: sizes of the axes; a number for a vector.
            name: the name in messages, and of the parameter: `name/value`.
            initializer: first values, one of `arrows.initializers`.

        Raises:
            ArrowTypeError: not a shape or not an initializer; another layer or parameter has the name.
            ArrowValueError: the initializer gives another shape; the parameters that were given or loaded
                lack it, or hold one of another shape.

        Example:
            >>> import arrows as ar
            >>> net = ar.OnTheFly()
            >>> w = net.parameter((2, 3), name="w", initializer=ar.initializers.ones)
            >>> b = net.parameter(3, name="b")
            >>> with net.batch() as g:
            ...     (g.tensor([1.0, 2.0]) @ w + b).numpy().tolist(), sorted(net.params)
            ([3.0, 3.0, 3.0], ['b/value', 'w/value'])
        """
        check, words = CHECKS["initializer"]
        check("a parameter", words, initializer)
        type = T.Tensor(shape if isinstance(shape, (tuple, list)) else (shape,), self.float_type or "float32")
        spec = Parameter("value", type.shape, type.dtype, initializer)
        weight = Weight(spec, name)
        with self.lock.mutex:
            self.params.ensure(weight, spec)
        return weight

    def learner(self, function: Callable[[LazyBatch, Any], Any]) -> LearnerOnTheFly:
        """A function of one example as a model that `arrows.training.train` takes.

        Args:
            function: ``function(g, example)`` returns the loss of an example, a lazy scalar. It may be a
                generator function that yields the tensors whose values it needs, as in `LazyBatch.run_all`.

        Example:
            >>> import arrows as ar
            >>> from arrows.training import SGD, train
            >>> net, score = ar.OnTheFly(), ar.FC(1)
            >>> learner = net.learner(lambda g, x: ar.ops.sum((score(g.tensor(x)) - 1.0) ** 2))
            >>> epochs = train(learner, [[1.0, 0.0], [0.0, 1.0]], SGD(0.1), epochs=20, progress=False)
            >>> epochs[-1].loss < 0.1 * epochs[0].loss
            True
        """
        return LearnerOnTheFly(self, function)

    def profile(self, function: Callable[[], object], *, examples: int = 1, runs: int = 3) -> Profile:
        """Measures where the time of a program goes: `print(net.profile(step))` prints a table.

        Args:
            function: makes a batch and asks for values, such as a training step.
            examples: how many examples it computes, for the table.
            runs: how often to call it, after a first call to warm up.
        """
        with self.lock.mutex:
            kept = self._planned, self._programs, self._clock
            try:
                self._planned, self._programs = (None, {}), {}
                self._clock = Clock(self.device.synchronize)
                function()  # so that the plan has all call sites
                return profile("batch", function, self._clock, self.plan(), examples, runs)
            finally:
                self._planned, self._programs, self._clock = kept

    def _once(self, key: Hashable, make: Callable[[], R]) -> R:
        """What is made once for the call sites and the flow that have been observed so far."""
        version = self.call_sites.version
        if self._planned[0] != version:
            self._planned = version, {}
        made = self._planned[1]
        if key not in made:
            made[key] = make()
        known: R = made[key]
        return known

    def plan(self) -> Plan:
        """The plan of all call sites observed so far."""
        return self._once("plan", lambda: Plan(self.call_sites.lowered(), self.schedule, slabs_by_type=True))

    def indices(self) -> list[IndexPort]:
        """The operands of the call sites observed so far that are indices, and may be data as it is."""
        return self._once("indices", lambda: index_ports(self.plan()))

    def executor(self, *, training: bool, gradients: bool) -> Executor:
        """The executor of the plan; operations that are still in the plan keep their programs."""

        def make() -> Executor:
            plan = self.plan()
            choices = ExecutorChoices(
                seeds=frozenset(range(len(plan.slabs)) if gradients else ()),
                training=training,
                jit=self._jit,
            )
            codes = self._programs.setdefault((training, gradients), {})
            arena = Arena(self.device)
            return Executor(plan, self.device, arena, self.params.of, choices, clock=self._clock, codes=codes)

        return self._once((training, gradients), make)

    def typed(self, block: object, input: T.Type | None) -> Typed:
        """A block with its types, for an input."""
        typed = self._typed.get((id(block), input))
        if typed is None:
            typed = infer(block, input, float_type=self.float_type)
            self.keep(block)
            self._typed[id(block), input] = typed
        return typed

    def keep(self, block: object) -> None:
        """Keeps a block for good, so that nothing else gets its address; warns of a line that makes many."""
        if id(block) in self._kept:
            return
        self._kept[id(block)] = block
        line = SourceLine.here()
        self._anew[line] += 1
        if self._anew[line] == _MANY + 1:
            text = message(
                f"{_MANY + 1} blocks that {line} calls were made anew, and are not equal",
                reason="each one is traced, compiled and kept for good, and a new layer has new parameters",
                hint="make layers, Functions and other blocks once, outside of the loop",
            )
            warnings.warn_explicit(text, UserWarning, line.file, line.line)

    def place(self) -> tuple[int, int]:
        """Where the user's code is: which code runs, by its identity, and which instruction of it."""
        frame: Any = _frame(2)
        while True:
            code = frame.f_code
            inside = self._inside.get(id(code))
            if inside is None:
                self._codes.append(code)
                inside = self._inside[id(code)] = is_inside(code.co_filename)
            if not inside:
                return id(code), frame.f_lasti
            frame = frame.f_back

    def stays_the_same(self, place: tuple[Any, ...], value: object) -> bool:
        """Whether a plain operand is the number that came first at a place: then it is part of the operation.

        Other numbers there are data; otherwise each of them would be an operation.
        """
        number = isinstance(value, (bool, int, float))
        return number and self._numbers.setdefault(place, repr(value)) == repr(value)

    def refresh(self) -> None:
        """Forgets the values that depend on parameters alone, since these may have been changed."""
        for executor in self._planned[1].values():
            if isinstance(executor, Executor):
                executor.refresh()

    def take_arena(self) -> Arena:
        """Memory for a run."""
        return self._arenas.pop() if self._arenas else Arena(self.device)

    def give_back(self, arenas: Iterable[Arena]) -> None:
        """Takes the memory of runs back, for later runs."""
        self._arenas.extend(reversed(list(arenas)))

    @property
    def held_memory(self) -> int:
        """Bytes of the device's memory that are kept for further batches, beside the parameters."""
        return sum(arena.bytes for arena in self._arenas)

    def release_memory(self) -> None:
        """Releases all memory that is kept for further batches."""
        with self.lock.mutex:
            self._arenas.clear()
            self._planned = None, {}
            self.device.release_memory()

    def describe(self, site: int) -> str:
        """A call site in words, for messages: what is called, and on which line."""
        for call in list(self.calls.values()):
            if site in (call.number, *call.element_sites.values()):
                return f"{self.call_sites.sites[call.number].typed.form.label} at {call.line}"
        return "a value that came in"

    def tick(self, part: str) -> None:
        """While a profile is made, counts the time since the last tick for a part."""
        if self._clock is not None:
            self._clock.tick(part)

    def count(self, merged: Merged) -> None:
        """While a profile is made, counts the steps of a run."""
        if self._clock is not None:
            self._clock.count(merged)
