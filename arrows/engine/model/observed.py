"""What a model tells of itself and of its last call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from arrows.engine.device import Device, ParameterLock
from arrows.engine.planning import LossWeights, Plan, SupportsStep, layer_name
from arrows.engine.program import Clock, Profile, Programs, profile
from arrows.engine.running import Executors, Records
from arrows.engine.scheduling import Examples, Prepared, Timeline, merge, timeline
from arrows.engine.values import Ragged
from arrows.typesys import ArrowTypeError


class Observed(Protocol):
    """The part of a `Model` that only looks: at the last call, at schedules, programs and times.

    Attributes:
        plan: what is settled before data comes.
        executors: run batches.
        step: how many training calls there have been.
    """

    plan: Plan
    executors: Executors
    step: int
    _lock: ParameterLock
    _records: Records
    _weights: LossWeights

    @property
    def device(self) -> Device: ...
    def prepare(self, examples: Examples, *, processes: int = 1) -> Prepared: ...
    def value_and_grad(self, examples: Examples) -> object: ...
    def train_step(self, examples: Examples, optimizer: SupportsStep) -> object: ...
    def __call__(self, examples: Examples) -> object: ...

    @property
    def metrics(self) -> Mapping[str, Ragged]:
        """For each `Metric` of the block, the values of the last successful call.

        A `Ragged` of one sequence an example, in the order of the visits; empty where it never fired. The
        last call is that of the thread that asks; of one that has made none, that of any.
        """
        return self._records.latest.metrics

    @property
    def labels(self) -> Mapping[str, list[list[Any]]]:
        """For each metric with labels, the labels by example, in the order of `metrics`."""
        return self._records.latest.labels

    @property
    def taps(self) -> Mapping[str, Any]:
        """For each `Tap` of the block, what passed it in the last successful call, as in `metrics`.

        A `Ragged` of one sequence an example, in the order of the visits; lists for Python objects.
        """
        return self._records.latest.taps

    def profile(self, examples: Any, optimizer: SupportsStep | None = None, *, runs: int = 3) -> Profile:
        """Where the time of a batch goes: `print(model.profile(batch))` is a table.

        Args:
            examples: a batch, as `value_and_grad` takes it, that has a length.
            optimizer: makes its steps as well, and so changes the parameters. Without one, gradients are
                computed and forgotten; without a loss, results.
            runs: how often the batch runs, after once to warm up.

        Raises:
            ArrowTypeError: the batch has no length.
            ArrowValueError: there are no runs.
            InputError: an example does not fit.
        """
        if not hasattr(examples, "__len__"):
            kind = type(examples).__name__
            raise ArrowTypeError(f"profile: a batch must have a length, and {kind} has none")
        call: Callable[[], object]
        if optimizer is not None:
            mode, call = "training", partial(self.train_step, examples, optimizer)
        elif self._weights.missing is None:
            mode, call = "gradients", partial(self.value_and_grad, examples)
        else:
            mode, call = "inference", partial(self, examples)
        with self._lock.mutex:
            clock, step, record = Clock(self.device.synchronize), self.step, self._records.latest
            layer = partial(layer_name, self.executors.params)
            try:
                with self.executors.set_aside(clock):
                    return profile(mode, call, clock, self.plan, layer, len(examples), runs)
            finally:
                self._records.latest = record
                if optimizer is None:
                    self.step = step

    def timeline(self, examples: Examples) -> Timeline:
        """The schedule of a batch, without running it.

        Args:
            examples: Python objects, or a batch of a prepared set.

        Raises:
            InputError: an example does not fit.

        Example:
            >>> import arrows as ar
            >>> add = ar.Function(lambda total, x: total + x, name="add")
            >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Fold(add, ar.Zeros([])))
            >>> timeline = model.timeline([[1, 2, 3], [4], [5, 6]])
            >>> timeline.steps
            ((0, 3), (0, 2), (0, 1))
            >>> print(timeline)
            strata: 3 examples, 3 steps, 6 rows
            <BLANKLINE>
            add  █▆▃    3 steps, 6 rows
        """
        return timeline(self.plan, merge(self.plan, self.prepare(examples)[:].wired))

    def program(self, name: str | None = None, examples: Examples | None = None) -> Programs:
        """The programs that compute gradients, or results if there is no loss; printed, their text.

        Args:
            name: that of an operation, or a part of it; None: the programs of all operations.
            examples: a batch, which is scheduled, not run, for the numbers of rows and steps; None: the last.

        Raises:
            ArrowValueError: no operation has such a name; the message lists the names.
        """
        batch = None if examples is None else self.prepare(examples)[:].wired
        with self._lock.mutex:
            return self.executors.programs(name, batch, self._records.latest.counts)
