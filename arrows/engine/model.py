"""`compile` and `Model`: a checked block that runs whole batches, differentiates them, and holds their
parameters."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, Protocol

import numpy as np

from arrows.combinators.inputs import Read
from arrows.combinators.typed import Typed
from arrows.engine import reference
from arrows.engine.backend import Backend, host
from arrows.engine.blame import StepRefused, blame
from arrows.engine.chance import Chance
from arrows.engine.check import check_example
from arrows.engine.chosen import Chosen
from arrows.engine.execute import Executor, Run, Seeds
from arrows.engine.gradients import add_gradients, own
from arrows.engine.losses import as_weights, check_output
from arrows.engine.lowerer import Lowerer
from arrows.engine.lowering import lower
from arrows.engine.memory import Arena
from arrows.engine.params import make_params
from arrows.engine.plan import make_plan
from arrows.engine.prepared import Batch, Given, Prepared, as_examples, as_ids
from arrows.engine.profile import Clock, Profile, profile
from arrows.engine.results import Named, Ragged
from arrows.engine.spread import checked_processes
from arrows.engine.taps import show_tapped
from arrows.engine.wiring import Outputs
from arrows.ops.context import Parameter
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, message

Array = Any
Gradients = dict[str, Any]
Examples = Any  # an iterable of Python objects, a `Prepared` or a `Batch`


class Optimizer(Protocol):
    """What `Model.train_step` asks of an optimizer."""

    def step(self, model: Any, grads: Mapping[str, Any], /) -> None:
        """Changes the model's parameters in place."""


class Model:
    """A compiled block: its plan, its parameters, and the device it runs on.  Made by `compile`.

    Attributes:
        typed: the typed expression; prints as a tree with types.
        params: parameter name -> live array of the device.
        metrics: for each `Metric` of the block, the values of the last successful call: a `Ragged` of one
            sequence an example, in the order of the visits; empty where it never fired.
        labels: for each metric with labels, the labels by example, in the same order.
        taps: for each `Tap` of the block, what passed it in the last successful call: a `Ragged` of one
            sequence an example, in the order of the visits; lists for Python objects.
        backend: the device.
        seed: what first values and dropout depend on.
        step: how many training calls there have been; dropout depends on it, so set it when training goes on
            elsewhere.

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
        device: Backend,
        float_type: str | None,
        params: Mapping[str, Any] | None,
        max_nodes: int,
        jit: bool,
    ) -> None:
        check_output(typed)
        self._jit = jit
        self._clock: Clock | None = None
        self.typed = typed
        self.backend = device
        self.schedule = schedule
        self.float_type = float_type
        self.max_nodes = max_nodes
        self.params = make_params(typed, device, seed, params)
        self.seed = seed
        self.step = 0
        self.plan = make_plan(lower(typed), schedule)
        self.lowerer = Lowerer(self.plan, max_nodes, self._explain)
        self._weights = as_weights(typed, self.plan, loss)
        self._arena = Arena(device)
        self._lock = threading.RLock()  # calls share the arena: threads take turns
        self._executors: dict[tuple[Any, ...], Executor] = {}
        self.metrics: dict[str, Ragged] = Named("metric")
        self.labels: dict[str, list[list[Any]]] = {}
        self.taps: dict[str, Any] = Named("tap")
        self._take_metrics([])

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
        with self._lock:
            given = self._given(examples, "run a model", ids)
            executor = self._executor((), training=training)
            parts = [self._collect(run) for run, _ in self._runs(executor, given)]
            outputs = given.outputs([run.merged for _, _, run in parts])
            result = self._result(outputs, parts)
            self._take_metrics(parts, outputs)
            self.step += training
            self.plan.lowered.taps.show(self.taps, outputs)
            return result

    def value_and_grad(
        self, examples: Examples, inputs: Sequence[str] = (), *, ids: Any = None
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
            each time the input was read.

        Raises:
            InputError: an example does not fit.
            ArrowTypeError: the block has no loss, or an input has no gradient.
        """
        if isinstance(inputs, str):
            raise ArrowTypeError(f"inputs must be a list of names, not {inputs!r}")
        taken = sorted(set(inputs) & set(self.params))
        if taken:
            raise ArrowValueError(f"an input and a parameter are both named {taken[0]!r}; rename the input")
        with self._lock:
            value, found, given = self._differentiate(examples, tuple(inputs), ids)
            # What is handed out stays as it is: no memory of ours, no array under two names.
            grads = {name: own(gradient) for name, gradient in found.items()}
            return value, grads | given

    def train_step(self, examples: Examples, optimizer: Optimizer, *, ids: Any = None) -> Array:
        """Computes a batch's gradients, lets the optimizer make one step, and returns the loss.

        Raises:
            ArrowTypeError: that is no optimizer.
            And as `value_and_grad`; the parameters are as they were then.
        """
        if isinstance(optimizer, type) or not hasattr(optimizer, "step"):
            raise ArrowTypeError(
                f"train_step: the optimizer must be one such as Adam(0.001), not {optimizer!r}"
            )
        with self._lock:
            value, grads, _ = self._differentiate(examples, (), ids)
            if self._clock is not None:
                self._clock.tick("host")
            optimizer.step(self, grads)
            if self._clock is not None:
                self._clock.tick("update")
            return value

    def profile(self, examples: Examples, optimizer: Optimizer | None = None, *, runs: int = 3) -> Profile:
        """Where the time of a batch goes: `print(model.profile(batch))` is a table.

        Args:
            examples: a batch, as `value_and_grad` takes it.
            optimizer: makes its steps as well, and so changes the parameters. Without one, gradients are
                computed and forgotten; without a loss, results.
            runs: how often the batch runs, after once to warm up.
        """
        with self._lock:
            return profile(self, examples, optimizer, runs)

    def eval(self, example: Any) -> Any:
        """The result of one example by the reference: node by node, without batching; for looking at things.

        Returns:
            NumPy arrays, tuples, lists, Python objects, as the output type says.
        """
        outcome = reference.evaluate(
            self.typed, example, self._host_parameter, max_nodes=self.max_nodes, float_type=self.float_type
        )
        show_tapped(outcome.tapped)
        return outcome.value

    def prepare(self, examples: Examples, *, processes: int = 1) -> Prepared:
        """Lowers and numbers examples once; ``prepared[indices]`` is a batch of them.

        Args:
            examples: to lower.
            processes: how many share the work: on Linux, while no other thread runs. What the block's
                functions change in a process is lost there; labels and tapped objects come back as copies.

        Raises:
            InputError: an example does not fit.
            ArrowValueError: ``processes`` is no positive integer.
        """
        processes = checked_processes(processes)
        if isinstance(examples, Prepared):
            self._check_owner(examples)
            return examples
        if isinstance(examples, Batch):
            self._check_owner(examples.prepared)
            wirings = examples.prepared.wirings.select(examples.indices)
            return Prepared.numbered(self.plan, wirings, self.lowerer.fingerprint)
        wirings = self.lowerer.lower_all(as_examples(examples, "prepare examples"), processes)
        return Prepared.numbered(self.plan, wirings, self.lowerer.fingerprint)

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

    def _given(self, examples: Examples, what: str, ids: Any) -> Given:
        """A batch, lowered."""
        if isinstance(examples, Prepared):
            examples = examples[:]
        objects = None
        if isinstance(examples, Batch):
            self._check_owner(examples.prepared)
            chosen, places = examples.chosen, examples.indices
        else:
            objects = as_examples(examples, what)
            chosen = Chosen.all(self.lowerer.lower_all(objects))
            places = chosen.indices
        return Given(chosen, objects, places, places if ids is None else as_ids(ids, len(chosen)))

    def _check_owner(self, prepared: Prepared) -> None:
        if not prepared.fits(self.plan, self.lowerer.fingerprint):
            raise ArrowValueError("these examples were prepared by another model; prepare them with this one")

    def _runs(self, executor: Executor, given: Given) -> Iterator[tuple[Run, Chosen]]:
        """Runs a batch, or, without batching, each example: each run before the next takes its memory."""
        executor.refresh()
        chance = Chance(self.seed, self.step, given.ids)
        for first, part in given.parts(self.schedule == "none"):
            keys = chance.part(first, len(part))
            run = executor.run(part, keys)
            try:
                run.forward()
            except StepRefused as refused:
                here = slice(first, first + len(part))
                objects = None if given.objects is None else given.objects[here]
                alone = partial(_run_alone, executor, part, keys)
                blame(self.plan, run.merged, refused, given.numbers[here], objects, self._explain, alone)
            yield run, part

    def _executor(
        self, inputs: tuple[str, ...], *, training: bool = False, gradients: bool = False
    ) -> Executor:
        key = (training, gradients, inputs)
        if key not in self._executors:
            loss = list(self._weights.metrics) if gradients else []
            sites = [site for name in inputs for site in self._read_sites(name)]
            self._executors[key] = Executor(
                self.plan,
                self.backend,
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

    def _read_sites(self, name: str) -> list[int]:
        sites = self.plan.lowered.sites.sites
        forms = {s.index: s.typed.form for s in sites if s.typed is not None}
        named = {s: form.name for s, form in forms.items() if isinstance(form, Read) and form.name}
        found = [s for s, known in named.items() if known == name]
        if not found:
            names = sorted(set(named.values()))
            raise ArrowValueError(f"no input is named {name!r}; named inputs are {names or 'none'}")
        if not all(sites[s].outputs[0].dtype.startswith("float") for s in found):
            raise ArrowTypeError(
                message(
                    f"cannot differentiate with respect to the input {name!r}",
                    reason=f"it is {sites[found[0]].outputs[0]}, and only floats have gradients",
                )
            )
        types = {sites[s].outputs[0] for s in found}
        if len(types) > 1:
            raise ArrowTypeError(
                message(
                    f"cannot differentiate with respect to the input {name!r}",
                    reason=f"inputs of two types have that name: {' and '.join(sorted(map(str, types)))}",
                    hint="give them two names",
                )
            )
        return found

    def _differentiate(
        self, examples: Examples, inputs: tuple[str, ...], ids: Any
    ) -> tuple[Array, Gradients, dict[str, Ragged]]:
        if self._weights.missing is not None:
            raise ArrowTypeError(self._weights.missing)
        executor = self._executor(inputs, training=True, gradients=True)
        batch_given = self._given(examples, "differentiate", ids)
        batch = max(len(batch_given.chosen), 1)
        seeds = Seeds(
            {m: weight / batch for m, weight in self._weights.metrics.items()},
            None if self._weights.result is None else self._weights.result / batch,
        )
        total: Array = None
        found: dict[Any, Any] = {}
        parts = []
        given: list[dict[str, tuple[Array, np.ndarray]]] = []
        for run, part in self._runs(executor, batch_given):
            parts.append(self._collect(run))
            value = run.loss(seeds)
            total = value if total is None else total + value
            for key, gradient in run.backward(seeds).items():
                if key in found:
                    found[key] = add_gradients(self.backend, found[key], gradient)
                else:
                    found[key] = own(gradient) if self.schedule == "none" else gradient
            given.append({name: run.input_gradients(part, self._read_sites(name)) for name in inputs})
        outputs = batch_given.outputs([run.merged for _, _, run in parts])
        self._take_metrics(parts, outputs)
        self.step += 1
        self.plan.lowered.taps.show(self.taps, outputs)
        grads = {
            name: found[key] if key in found else executor.no_gradient(*self.params.owner(name))
            for name, key in self.params.keys_by_name().items()
            if self.params.owner(name)[1].has_gradient
        }
        if total is None:
            total = self.backend.zeros((), self._weights.dtype)
        return (
            total,
            grads,
            {name: self._joined([one[name] for one in given], self._read_sites(name)[0]) for name in inputs},
        )

    def _collect(self, run: Run) -> tuple[list[Array], list[Array], Run]:
        """Copies of the result's leaves and of the metrics: the slabs are the next batch's."""
        found, plan = run.merged.outputs, self.plan
        leaves = [
            run.gather(slab, column.values) for slab, column in zip(plan.results, found.results, strict=True)
        ]
        metrics = [
            run.gather(slab, column.values) for slab, column in zip(plan.metrics, found.metrics, strict=True)
        ]
        return leaves, metrics, run

    def _concatenated(self, columns: list[list[Array]], number: int, of: T.Tensor) -> Array:
        if not columns:
            return self.backend.zeros((0, *of.shape), of.dtype)
        if len(columns) == 1:
            return columns[0][number]
        return self.backend.xp.concatenate([one[number] for one in columns])

    def _result(self, outputs: Outputs, parts: list[tuple[list[Array], list[Array], Run]]) -> Any:
        arrays = self._leaves(parts, self.plan.lowered.result.leaves)
        return self.plan.lowered.result.collected(arrays, [column.values for column in outputs.levels])

    def _leaves(
        self, parts: list[tuple[list[Array], list[Array], Run]], count: int | None = None
    ) -> list[Array]:
        """The arrays of the first leaf streams, the result's; or of all, those of taps as well."""
        leaves = [part[0] for part in parts]
        types = self.plan.lowered.leaf_types[:count]
        return [self._concatenated(leaves, n, of) for n, of in enumerate(types)]

    def _take_metrics(
        self, parts: list[tuple[list[Array], list[Array], Run]], outputs: Outputs | None = None
    ) -> None:
        streams = self.plan.metric_streams
        values = [part[1] for part in parts]
        metrics: dict[str, Ragged] = {}
        labels: dict[str, list[list[Any]]] = {}
        for number, stream in enumerate(streams):
            offsets = outputs.metrics[number].offsets if outputs is not None else np.zeros(1, np.int64)
            metrics[stream.name] = Ragged(
                self._concatenated(values, number, stream.type), offsets - offsets[0]
            )
            if stream.labelled:
                found = outputs.labels[number] if outputs is not None else ()
                labels[stream.name] = list(found or ())
        taps = self.plan.lowered.taps
        tapped = taps.collected(self._leaves(parts), outputs) if taps.streams else {}
        self.metrics, self.labels, self.taps = Named("metric", metrics), labels, Named("tap", tapped)

    def _joined(self, pieces: list[tuple[Array, np.ndarray]], site: int) -> Ragged:
        lengths = np.concatenate([np.zeros(0, np.int64), *(np.diff(offsets) for _, offsets in pieces)])
        (of,) = self.plan.lowered.sites.sites[site].outputs
        values = self._concatenated([[values] for values, _ in pieces], 0, of)
        return Ragged(values, np.concatenate(([0], np.cumsum(lengths))))

    def _host_parameter(self, owner: object, spec: Parameter) -> np.ndarray:
        return host(self.params.of(owner, spec))

    def _explain(self, example: Any, number: int, values: bool) -> None:
        """Raises the `InputError` that says what is wrong with an example; returns if nothing is found."""
        if values:
            reference.evaluate(
                self.typed,
                example,
                self._host_parameter,
                number=number,
                max_nodes=self.max_nodes,
                float_type=self.float_type,
            )
        else:
            check_example(self.typed, example, number, self.max_nodes)


def _run_alone(executor: Executor, chosen: Chosen, chance: Chance, place: int) -> None:
    """Runs one example of a batch by itself."""
    executor.run(chosen.part(place, 1), chance.part(place, 1)).forward()
