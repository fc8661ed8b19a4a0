"""`compile` and `Model`: a checked block that runs whole batches, differentiates them, and holds their
parameters."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np

from arrows.engine import reference
from arrows.engine.device import Arena, Device
from arrows.engine.lowering import lower
from arrows.engine.planning import (
    Check,
    StepsParameters,
    as_weights,
    check_output,
    input_names,
    make_params,
    make_plan,
    read_sites,
)
from arrows.engine.program.profile import Clock, Profile, profile
from arrows.engine.reading.example_reader import ExampleReader
from arrows.engine.reading.wiring import Outputs
from arrows.engine.reference import Explainer
from arrows.engine.running.dropout_keys import DropoutSeed
from arrows.engine.running.execute import Executor, Run, Seeds
from arrows.engine.running.gradients import add_gradients, own
from arrows.engine.running.input_errors import StepRefused, raise_input_error
from arrows.engine.running.outputs import CallRecord, OutputCollector, OutputRows
from arrows.engine.running.taps import show_tapped, show_taps
from arrows.engine.scheduling.batch_input import BatchInput, BatchReader
from arrows.engine.scheduling.prepared_set import Prepared, WiredBatch
from arrows.engine.values import Ragged
from arrows.inference import Typed
from arrows.typesys.errors import ArrowTypeError

Array = Any
Gradients = dict[str, Any]
Examples = Any  # an iterable of Python objects, a `Prepared` or a `Batch`


@dataclass(frozen=True, eq=False, slots=True)
class _Differentiated:
    """A loss and its gradients; those of parameters are the engine's memory, until the next call."""

    value: Array
    grads: Gradients
    inputs: dict[str, Ragged]
    outputs: Outputs
    seen: CallRecord


class Model:
    """A compiled block: its plan, its parameters, and the device it runs on.  Made by `compile`.

    Attributes:
        typed: the typed expression; prints as a tree with types.
        params: parameter name -> live array of the device.
        device: the device.
        seed: what first values and dropout depend on.
        step: how many training calls there have been; dropout depends on it, so set it when training goes on
            elsewhere.

    Threads may call one model, and models that share parameters: they take turns. In a forked process a model
    works, whatever other threads did with it when the process was forked.

    Example:
        >>> import arrows as ar
        >>> squares = ar.compile(ar.Scalar(name="x") >> ar.Function(lambda x: x * x))
        >>> value, grads = squares.value_and_grad([1, 2, 3], inputs=["x"])
        >>> float(value), grads["x"].tolist()
        (4.66666..., [[0.66666...], [1.33333...], [2.0]])
    """

    def __init__(
        self,
        typed: Typed,
        loss: str | Mapping[str, float] | None,
        seed: int,
        schedule: str,
        device: Device,
        float_type: str | None,
        params: Mapping[str, Any] | None,
        max_nodes: int,
        jit: bool,
        fingerprint: str | None,
    ) -> None:
        check_output(typed)
        self._jit = jit
        self._clock: Clock | None = None
        self.typed = typed
        self.device = device
        self.schedule = schedule
        self.float_type = float_type
        self.max_nodes = max_nodes
        self.params = make_params(typed, device, seed, params)
        self.seed = seed
        self.step = 0
        self.plan = make_plan(lower(typed), schedule)
        self._explain = Explainer(typed, self.params.host, max_nodes, float_type)
        self.reader = ExampleReader(self.plan, max_nodes, self._explain)
        self._batches = BatchReader(self.reader, fingerprint)
        self._weights = as_weights(typed, self.plan, loss)
        self._outcomes = OutputCollector(self.plan, device)
        self._lock = self.params.lock
        self._lost_holders = self._lock.lost_holders
        self._arena = Arena(device)
        self._executors: dict[tuple[Any, ...], Executor] = {}
        self._latest = self._outcomes.seen([], None)
        self._of_thread = threading.local()

    @property
    def metrics(self) -> dict[str, Ragged]:
        """For each `Metric` of the block, the values of the last successful call.

        A `Ragged` of one sequence an example, in the order of the visits; empty where it never fired. The
        last call is that of the thread that asks; of one that has made none, that of any.
        """
        return self._seen.metrics

    @property
    def labels(self) -> dict[str, list[list[Any]]]:
        """For each metric with labels, the labels by example, in the order of `metrics`."""
        return self._seen.labels

    @property
    def taps(self) -> dict[str, Any]:
        """For each `Tap` of the block, what passed it in the last successful call, as in `metrics`.

        A `Ragged` of one sequence an example, in the order of the visits; lists for Python objects.
        """
        return self._seen.taps

    @property
    def held_memory(self) -> int:
        """Bytes of the device that are kept for further calls, beside the parameters."""
        with self._lock.mutex:
            kept = [array for executor in self._executors.values() for array in executor.kept]
            others = {id(array): int(array.nbytes) for array in kept}
            for parameter in self.params.values():
                others.pop(id(parameter), None)
            return self._arena.bytes + sum(others.values())

    def release_memory(self) -> None:
        """Lets go of all memory that is kept for further calls, which take it anew, and make their programs.

        Example:
            >>> import arrows as ar
            >>> model = ar.compile(ar.Vector(2) >> ar.FC(3))
            >>> _ = model([[n, 2] for n in range(1000)])
            >>> model.held_memory > 1000 * 3 * 4
            True
            >>> model.release_memory()
            >>> model.held_memory
            0
        """
        with self._lock.mutex:
            self._renew()

    # ---------------------------------------------------------------------------------------------- calls

    def __call__(self, examples: Examples, *, training: bool = False, ids: Any = None) -> Any:
        """The block's results for a batch.

        Args:
            examples: Python objects, each of its own shape, or a batch of a prepared set.
            training: let dropout act, and count as a step.
            ids: an integer for each example, which its dropout masks depend on; by default its place in the
                prepared set, else in the batch.

        Returns:
            By the block's output type: an array ``[examples, *shape]`` for a tensor, a tuple (with keys where
            there are) for a tuple, a `Ragged` for a sequence, None for Void; arrays of the device, which stay
            as they are.

        Raises:
            InputError: an example does not fit; the message says which, where in it, and why.
            ArrowTypeError: ``examples`` is no batch.
        """
        with self._lock.mutex:
            given = self._batches.read(examples, "run a model", ids)
            executor = self._executor((), training=training)
            parts = [self._outcomes.rows(run, result=True) for run, _ in self._runs(executor, given)]
            outputs = given.outputs([part.run.merged for part in parts])
            result = self._outcomes.result(parts, outputs)
            self._take(self._outcomes.seen(parts, outputs))
            self.step += training
            show_taps(self.plan.lowered.streams.taps, self.taps, outputs)
            return result

    def value_and_grad(
        self, examples: Examples, inputs: Iterable[str] = (), *, ids: Any = None
    ) -> tuple[Array, Gradients]:
        """The loss of a batch and its gradients.

        Args:
            examples: Python objects, or a batch of a prepared set.
            inputs: names of inputs (``Scalar(name="x")``) whose gradients are wanted as well.
            ids: as in `__call__`.

        Returns:
            The loss, a scalar of the device: the mean over the examples (0 for an empty batch); and the
            gradients by parameter name: an array of the parameter's shape, or a `RowSparse` for the table of
            an embedding.  For each of ``inputs``: a `Ragged` with one sequence an example, a gradient for
            each time the input was read: the same block on the same value reads once, wherever it stands.

        Raises:
            InputError: an example does not fit.
            ArrowTypeError: the block has no loss, or an input has no gradient.
        """
        names = input_names(inputs, self.params)
        with self._lock.mutex:
            done = self._differentiate(examples, names, ids)
            # What is handed out stays as it is: no memory of ours, no array under two names.
            grads = {name: own(gradient) for name, gradient in done.grads.items()} | done.inputs
            show_taps(self.plan.lowered.streams.taps, done.seen.taps, done.outputs)
            return done.value, grads

    def train_step(
        self, examples: Examples, optimizer: StepsParameters, *, ids: Any = None, check: Check | None = None
    ) -> Array:
        """Computes gradients, shows the loss to ``check``, lets the optimizer make a step, returns the loss.

        A step that raises counts as none: `step`, metrics and taps are those of the call before, and the
        parameters are as they were if the optimizer left them so. What taps show comes last, when all has
        happened.

        Raises:
            ArrowTypeError: that is no optimizer.
            And as `value_and_grad`, or what ``check`` raises; the parameters are as they were then.
        """
        if isinstance(optimizer, type) or not hasattr(optimizer, "step"):
            raise ArrowTypeError(
                f"train_step: the optimizer must be one such as Adam(0.001), not {optimizer!r}"
            )
        with self._lock.mutex:
            step, seen, latest = self.step, self._seen, self._latest
            done = self._differentiate(examples, (), ids)
            if self._clock is not None:
                self._clock.tick("host")
            try:
                if check is not None:
                    with self._lent():
                        check(done.value)
                with self._lock.updating():
                    if _only_reads(optimizer):
                        with self._lent():
                            optimizer.step(self, done.grads)
                    else:
                        optimizer.step(self, {name: own(gradient) for name, gradient in done.grads.items()})
            except BaseException:
                self.step, self._of_thread.seen, self._latest = step, seen, latest
                raise
            if self._clock is not None:
                self._clock.tick("update")
            self._take(done.seen)  # the optimizer may have called the model
            show_taps(self.plan.lowered.streams.taps, done.seen.taps, done.outputs)
            return done.value

    def profile(
        self, examples: Examples, optimizer: StepsParameters | None = None, *, runs: int = 3
    ) -> Profile:
        """Where the time of a batch goes: `print(model.profile(batch))` is a table.

        Args:
            examples: a batch, as `value_and_grad` takes it.
            optimizer: makes its steps as well, and so changes the parameters. Without one, gradients are
                computed and forgotten; without a loss, results.
            runs: how often the batch runs, after once to warm up.
        """
        with self._lock.mutex:
            return profile(self, examples, optimizer, runs)

    def eval(self, example: Any) -> Any:
        """The result of one example by the reference: node by node, without batching; for looking at things.

        Returns:
            NumPy arrays, tuples, lists, Python objects, as the output type says.
        """
        outcome = reference.evaluate(
            self.typed, example, self.params.host, max_nodes=self.max_nodes, float_type=self.float_type
        )
        show_tapped(outcome.tapped)
        return outcome.value

    def prepare(self, examples: Examples, *, processes: int = 1) -> Prepared:
        """Lowers and numbers examples once; ``prepared[indices]`` is a batch of them.

        Args:
            examples: to lower: a list, or whatever else can be gone over or has a length and items.
            processes: how many share the work: on Linux, while no other thread runs. What the block's
                functions change in a process is lost there; labels and tapped objects come back as copies.

        Raises:
            InputError: an example does not fit.
            ArrowValueError: ``processes`` is no positive integer.
        """
        return self._batches.prepare(examples, processes)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a model is not pickled or copied: compile the block again with params=model.params for a model "
            "that shares its parameters, or save them with arrows.training.save"
        )

    def __repr__(self) -> str:
        count = sum(int(np.prod(array.shape)) for array in self.params.values())
        typed = self.typed
        return f"<model of {typed.form.label}: {typed.input} -> {typed.output}, {count} parameters>"

    # ---------------------------------------------------------------------------------------------- inside

    @property
    def _seen(self) -> CallRecord:
        """What the last call left: of this thread, if it has made one."""
        seen: CallRecord = getattr(self._of_thread, "seen", self._latest)
        return seen

    def _take(self, seen: CallRecord) -> None:
        self._of_thread.seen = self._latest = seen

    def _renew(self) -> None:
        """Begins with memory that nobody has used."""
        self._lost_holders = self._lock.lost_holders
        self._arena, self._executors = Arena(self.device), {}

    @contextmanager
    def _lent(self) -> Iterator[None]:
        """While others are at work before gradients in the engine's memory are read to the end, calls of the
        model have other memory."""
        kept = self._arena, self._executors
        self._renew()
        try:
            yield
        finally:
            self._arena, self._executors = kept

    def _runs(self, executor: Executor, given: BatchInput) -> Iterator[tuple[Run, WiredBatch]]:
        """Runs a batch, or, without batching, each example: each run before the next takes its memory."""
        executor.refresh()
        chance = DropoutSeed(self.seed, self.step, given.ids)
        for first, part in given.parts(self.schedule == "none"):
            keys = chance.part(first, len(part))
            run = executor.run(part, keys)
            try:
                run.forward()
            except StepRefused as refused:
                here = slice(first, first + len(part))
                objects = None if given.objects is None else given.objects[here]
                run_alone = partial(_run_alone, executor, part, keys)
                raise_input_error(
                    self.plan, run.merged, refused, given.numbers[here], objects, self._explain, run_alone
                )
            yield run, part

    def _executor(
        self, inputs: tuple[str, ...], *, training: bool = False, gradients: bool = False
    ) -> Executor:
        if self._lost_holders != self._lock.lost_holders:  # forked, while a thread was at work in this memory
            self._renew()
        key = (training, gradients, tuple(sorted(inputs)))
        if key not in self._executors:
            loss = list(self._weights.metrics) if gradients else []
            sites = [site.index for name in inputs for site in read_sites(self.plan, name)]
            self._executors[key] = Executor(
                self.plan,
                self.device,
                self._arena,
                self.params.of,
                loss,
                gradients and self._weights.result is not None,
                sites,
                training,
                self._jit,
                self._clock,
            )
        return self._executors[key]

    def _differentiate(self, examples: Examples, inputs: tuple[str, ...], ids: Any) -> _Differentiated:
        if self._weights.missing is not None:
            raise ArrowTypeError(self._weights.missing)
        executor = self._executor(inputs, training=True, gradients=True)
        given = self._batches.read(examples, "differentiate", ids)
        batch = max(len(given.wired), 1)
        seeds = Seeds(
            {m: weight / batch for m, weight in self._weights.metrics.items()},
            None if self._weights.result is None else self._weights.result / batch,
        )
        total: Array = None
        found: dict[Any, Any] = {}
        parts: list[OutputRows] = []
        of_inputs: list[dict[str, tuple[Array, np.ndarray]]] = []
        for run, part in self._runs(executor, given):
            parts.append(self._outcomes.rows(run, result=False))
            value = run.loss(seeds)
            total = value if total is None else total + value
            for key, gradient in run.backward(seeds).items():
                if key in found:
                    found[key] = add_gradients(self.device, found[key], gradient)
                else:
                    found[key] = own(gradient) if self.schedule == "none" else gradient
            of_inputs.append(
                {
                    name: run.input_gradients(part, [site.index for site in read_sites(self.plan, name)])
                    for name in inputs
                }
            )
        grads = {
            name: found[key] if key in found else executor.no_gradient(*self.params.owner(name))
            for name, key in self.params.keys_by_name().items()
            if self.params.owner(name)[1].has_gradient
        }
        if total is None:
            total = self.device.zeros((), self._weights.dtype)
        outputs = given.outputs([part.run.merged for part in parts])
        ragged = {name: self._joined([some[name] for some in of_inputs], name) for name in inputs}
        seen = self._outcomes.seen(parts, outputs)
        self._take(seen)
        self.step += 1
        return _Differentiated(total, grads, ragged, outputs, seen)

    def _joined(self, pieces: list[tuple[Array, np.ndarray]], name: str) -> Ragged:
        """The gradients of an input, of all parts of a batch."""
        lengths = np.concatenate([np.zeros(0, np.int64), *(np.diff(offsets) for _, offsets in pieces)])
        (of,) = read_sites(self.plan, name)[0].outputs
        values = self._outcomes.joined([values for values, _ in pieces], of)
        return Ragged(values, np.concatenate(([0], np.cumsum(lengths))))


def _only_reads(optimizer: Any) -> bool:
    """Whether an optimizer leaves gradients as they are and keeps none: one of ours, with a rule of ours."""
    only_reads = getattr(type(optimizer), "only_reads_gradients", None)
    return only_reads is not None and only_reads(optimizer) is True


def _run_alone(executor: Executor, chosen: WiredBatch, chance: DropoutSeed, place: int) -> None:
    """Runs one example of a batch by itself."""
    executor.run(chosen.part(place, 1), chance.part(place, 1)).forward()
