"""A compiled model: runs whole batches, differentiates them, predicts streams, and holds the parameters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine import reference
from arrows.engine.device import Device, get_device
from arrows.engine.lowering import lower
from arrows.engine.planning import (
    LossCheck,
    Plan,
    SupportsStep,
    check_output,
    check_slab_types,
    input_names,
    make_params,
    parse_loss,
)
from arrows.engine.program import Clock, Profile, Programs, profile
from arrows.engine.reading import ExampleReader, Outputs, blocks
from arrows.engine.reference import Explainer
from arrows.engine.running import (
    BatchRunner,
    CallRecord,
    Differentiated,
    Executors,
    Gradient,
    ModelCall,
    Records,
    collect_record,
    only_reads,
    parse_memory,
    show_tapped,
    show_taps,
)
from arrows.engine.scheduling import (
    AtOnce,
    Batch,
    BatchInput,
    BatchReader,
    ByNodes,
    Examples,
    Prepared,
    Timeline,
    as_stream,
    checked_count,
    merge,
    naming_places,
    placed,
    timeline,
)
from arrows.engine.values import Ragged, rows_of
from arrows.inference import Typed
from arrows.machine import faster, limited_to
from arrows.storage import require_path
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError, no_model_attribute, types as T

if TYPE_CHECKING:
    from concurrent.futures import Executor

_TRIED = 64  # examples of a first batch by which the number of threads is tried out


class Model:
    """A compiled block: its plan, its parameters, and the device it runs on.  Made by `compile`.

    Attributes:
        typed: the typed expression; prints as a tree with types.
        params: parameter name -> live array of the device.
        seed: what first values and dropout depend on.
        step: how many training calls there have been; dropout depends on it, so set it when training goes on
            elsewhere.

    Threads may call one model, and models that share parameters: they take turns. A process that was forked
    while another thread was using a model cannot use it.

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
        *,
        loss: str | Mapping[str, float] | None,
        seed: int,
        schedule: str,
        device: Device,
        float_type: str | None,
        params: Mapping[str, Any] | None,
        max_nodes: int,
        jit: bool,
        precision: str,
        fingerprint: str | None,
        memory_limit: int | None,
    ) -> None:
        check_output(typed)
        self.typed = typed
        self.schedule, self.float_type, self.max_nodes, self.loss = schedule, float_type, max_nodes, loss
        self.params = make_params(typed, device, seed, params)
        self.seed, self.step = seed, 0
        self.plan = Plan(lower(typed), schedule)
        check_slab_types(self.plan.slabs, device)
        explain = Explainer(typed, self.params.host, max_nodes, float_type)
        self.reader = ExampleReader(self.plan, max_nodes, explain)
        self.batches = BatchReader(self.reader, fingerprint)
        self._weights = parse_loss(typed, self.plan, loss)
        self._lock = self.params.lock
        self.executors = Executors(self.plan, self.params, self._weights, jit=jit, precision=precision)
        self.executors.memory_limit = memory_limit
        self.runner = BatchRunner(self.batches, self.executors, self._weights, explain)
        self._records = Records(collect_record(self.plan, device, [], None))

    def __call__(
        self, examples: Examples, *, training: bool = False, ids: object = None, step: int | None = None
    ) -> Any:
        """The block's results for a batch.

        Args:
            examples: Python objects, each of its own shape, or a batch of a prepared set.
            training: let dropout act, and count as a step.
            ids: an integer for each example, which its dropout masks and random numbers depend on; by default
                its place in the prepared set, else in the batch.
            step: the step whose random numbers are drawn; by default the model's.

        Returns:
            By the block's output type: an array ``[examples, *shape]`` for a tensor, a tuple (with keys where
            there are) for a tuple, a `Ragged` for a sequence, None for Void; arrays of the device, which stay
            as they are.

        Raises:
            InputError: an example does not fit; the message says which, where in it, and why.
            ArrowTypeError: ``examples`` is no batch.
            MemoryError: memory ran out; the message says how much the batch takes, and how many examples
                would fit. Nothing is lost, and `memory_limit` runs such a batch in parts.
        """
        call = self._call(examples, ids, step)
        with self._lock.mutex:
            with naming_places(call.examples):
                ran = self.runner.evaluate(call, training=training)
            self.step += training
            return self.noted(*ran)

    def predict(self, examples: Examples, *, batch_size: int = 256, errors: str = "stop") -> HostArray | Any:
        """The block's results for any number of examples, in their order, on the host.

        The examples run batch by batch; memory holds one batch besides the results.

        Args:
            examples: as those of `predict_stream`, which also takes endless ones.
            batch_size: how many run at once.
            errors: "stop": an example that does not fit raises its `InputError`; "return": the error is its
                result, and the others go on.

        Returns:
            For a block whose output is a tensor, a NumPy array ``[examples, *shape]`` of its type, so that
            ``model.predict(examples) == labels`` compares each with its label; else, and with
            ``errors="return"``, a list with the row of each example, as `predict_stream` gives it.

        Raises:
            InputError, ArrowTypeError, ArrowValueError: as `predict_stream`.

        Example:
            >>> import arrows as ar
            >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum())
            >>> model.predict([[1, 2], [], [3]])
            array([3., 0., 3.], dtype=float32)
            >>> model.predict([[1, 2], "three"], errors="return")[1].details.example
            1
        """
        rows = self._predictions("predict", examples, batch_size, errors)
        output = self.typed.output
        if errors == "return" or not isinstance(output, T.Tensor):
            return list(rows)
        listed = list(rows)
        return np.array(listed, output.dtype).reshape(len(listed), *output.shape)

    def predict_stream(
        self, examples: Examples, *, batch_size: int = 256, errors: str = "stop"
    ) -> Iterator[Any]:
        """The block's results for a stream of examples, one after another, in their order.

        Memory holds one batch: so many examples are read before the first result comes, and no more until
        the results of a batch have been taken.  The stream may be endless.  Each example is read once.

        Args:
            examples: whatever gives examples one by one: a list, a generator, a file's examples, a PyTorch or
                Hugging Face `Dataset`, a table of pandas, Polars or PyArrow, a prepared set.
            batch_size: how many run at once.
            errors: "stop": an example that does not fit raises its `InputError`, after the results of those
                before it; "return": the error is its result, and the others go on.

        Returns:
            For each example a row on the host, which is a number for a scalar, a NumPy array for a tensor
            with axes, a dict for a record (`pandas.DataFrame(model.predict(records))` is a table), a tuple
            for another tuple, an array for a sequence of tensors, a list of rows for another sequence, None
            for Void. Random numbers (`ops.normal`) depend on the place in the stream, not on the batch.

        Raises:
            InputError: an example does not fit; the message says which of the stream, counted from 0, and for
                the examples of a file its file and line.
            ArrowTypeError, ArrowValueError: a wrong argument; at once.

        Example:
            >>> import arrows as ar
            >>> total = ar.Map(ar.Scalar()) >> ar.Sum()
            >>> model = ar.compile(ar.arrow(lambda xs: {"sum": total(xs), "n": ar.Length()(xs)}))
            >>> list(model.predict_stream(iter([[1, 2], []])))
            [{'sum': 3.0, 'n': 2}, {'sum': 0.0, 'n': 0}]
        """
        return self._predictions("predict_stream", examples, batch_size, errors)

    def value_and_grad(
        self, examples: Examples, inputs: Iterable[str] = (), *, ids: object = None
    ) -> tuple[Array, dict[str, Gradient | Ragged]]:
        """The loss of a batch and its gradients.

        Args:
            examples: Python objects, or a batch of a prepared set.
            inputs: names of inputs (``Scalar(name="x")``) whose gradients are wanted as well.
            ids: as in `__call__`.

        Returns:
            The loss, a scalar of the device, which is the mean over the examples (0 for an empty batch), and
            the gradients by parameter name: an array of the parameter's shape, or a `RowSparse` for the table
            of an embedding.  For each of ``inputs``: a `Ragged` with one sequence an example, a gradient for
            each time the input was read: the same block on the same value reads once, wherever it stands.

        Raises:
            InputError: an example does not fit.
            ArrowTypeError: the block has no loss, or an input has no gradient.
            MemoryError: as in `__call__`.
        """
        names = input_names(inputs, self.params)
        with self._lock.mutex:
            differentiated, record, outputs = self._differentiate(examples, names, ids)
            # What is handed out stays as it is: no memory of the engine, no array under two names.
            grads = differentiated.own_grads()
            show_taps(self.plan.lowered.streams, record.taps, outputs)
            return differentiated.loss, grads | differentiated.inputs

    def train_step(
        self,
        examples: Examples,
        optimizer: SupportsStep,
        *,
        ids: object = None,
        check: LossCheck | None = None,
        at_once: AtOnce = None,
    ) -> Array:
        """Computes gradients, shows the loss to ``check``, lets the optimizer make a step, returns the loss.

        On a GPU it waits for nothing: the loss is a number of the GPU until somebody reads it.  At most
        ``at_once`` examples run at a time, or as many as have so many nodes (`ByNodes`), whose gradients are
        summed up; None: as many as memory allows.

        A step that raises counts as none: `step`, metrics and taps are those of the call before, and the
        parameters are as they were if the optimizer left them so. What taps show comes last, when all has
        happened.

        Raises:
            ArrowTypeError, ArrowValueError: that is no optimizer, or no number of examples.
            Exception: as of `value_and_grad`, or what ``check`` raises; the parameters are as they were then.
        """
        if isinstance(optimizer, type) or not hasattr(optimizer, "step"):
            raise ArrowTypeError(
                f"train_step: the optimizer must be one such as Adam(0.001), not {optimizer!r}"
            )
        if at_once is not None and not isinstance(at_once, ByNodes):
            at_once = checked_count("train_step: at_once", at_once, ", or ByNodes(...)")
        with self._lock.mutex:
            before = self.step, self._records.state
            differentiated, record, outputs = self._differentiate(examples, (), ids, at_once)
            self.executors.tick("host")
            try:
                if check is not None:
                    with self.executors.set_aside():
                        check(differentiated.loss)
                with self._lock.updating():
                    if only_reads(optimizer):
                        with self.executors.set_aside():
                            optimizer.step(self, differentiated.grads)
                    else:
                        optimizer.step(self, differentiated.own_grads())
            except BaseException:
                self.step, self._records.state = before
                raise
            self.executors.tick("update")
            self._records.latest = record  # the optimizer may have called the model
            show_taps(self.plan.lowered.streams, record.taps, outputs)
            return differentiated.loss

    def first_not_finite(
        self, examples: Examples, *, ids: object = None, at_once: AtOnce = None
    ) -> str | None:
        """What is first not finite where a training step on a batch computes its loss, in words.

        That is an input, or what an operation computes of operands that are finite; None if all is finite.
        The model must have the parameters and the step that it had before that training step.

        Args:
            examples, ids, at_once: as `train_step` takes them.
        """
        with self._lock.mutex:
            return self.runner.first_not_finite(self._call(examples, ids, at_once=at_once))

    def eval(self, example: object, *, id: int = 0, step: int | None = None) -> Any:
        """The result of one example by the reference: node by node, without batching; for looking at things.

        Args:
            example: the example.
            id, step: what random numbers (`ops.normal`) depend on, as `ids` and `step` of `__call__`.

        Returns:
            NumPy arrays, tuples, lists, Python objects, as the output type says.
        """
        outcome = reference.evaluate(
            self.typed,
            example,
            self.params.host,
            max_nodes=self.max_nodes,
            float_type=self.float_type,
            draw=(self.seed, self.step if step is None else step, id),
        )
        show_tapped(outcome.tapped)
        return outcome.value

    def prepare(
        self,
        examples: Examples,
        *,
        processes: int = 1,
        executor: Executor | None = None,
        cache: str | os.PathLike[str] | None = None,
        data: str | None = None,
    ) -> Prepared:
        """Lowers and numbers examples once; ``prepared[indices]`` is a batch of them.

        Args:
            examples: to lower: a list, or whatever else can be gone over or has a length and items.
            processes: how many share the work: on Linux, while no other thread runs. What the block's
                functions change in a process is lost there; labels and tapped objects come back as copies.
            executor: shares the work instead: a `concurrent.futures.Executor`, such as a
                `ProcessPoolExecutor`, an `mpi4py.futures.MPIPoolExecutor`, or `client.get_executor()` of a
                Dask client. The block and the examples are pickled, by cloudpickle where it is installed.
            cache: a file in which the set is kept, and from which batches are read, so that it may be larger
                than memory. If the file is not there, it is written, with bounded memory; if it is, it is
                mapped, and the examples are not read. It serves this version of arrows, models that read as
                this one does, and the same examples: lists, arrays and tables are compared by their content.
            data: names the examples of a `cache`, in place of their content: a generator's must be named,
                and those that are read from elsewhere when they are asked for. Say something else when they
                change.

        Raises:
            InputError: an example does not fit.
            ArrowTypeError: ``processes`` is no number; ``executor`` is none, or stands beside ``processes``;
                something cannot be pickled for the workers, or written to the file; or nothing shows whether
                a later call has the same examples and functions.
            ArrowValueError: ``processes`` is less than 1, or ``cache`` names no file; or its file is
                damaged, or does not fit the model or the examples: the message says how, and the file stays
                as it is.
            OSError: the file cannot be read or written.

        Example:
            >>> import arrows as ar, tempfile
            >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum())
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     for examples in [[[1, 2], [3]], [[1, 2], [3]]]:  # the second time, the file is there
            ...         prepared = model.prepare(examples, cache=f"{folder}/numbers.set")
            ...     model(prepared[[1, 0]]).tolist()
            [3.0, 3.0]
        """
        path = None if cache is None else require_path("prepare: cache", cache)
        return self.batches.prepare(examples, processes, executor, path, data)

    # ---------------------------------------------------------- the last call, schedules, programs and times

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

        Matrix products use as many threads as in `train`, or, without a loss, in `predict`.

        Args:
            examples: a batch, as `value_and_grad` takes it, that has a length.
            optimizer: makes its steps as well, and so changes the parameters. Without one, gradients are
                computed and forgotten; without a loss, results.
            runs: how often the batch runs, after once to warm up.

        Raises:
            ArrowTypeError, ArrowValueError: that is no number of runs.
            InputError: an example does not fit.
        """
        call: Callable[[], object]
        if optimizer is not None:
            mode, call = "training", partial(self.train_step, examples, optimizer)
        elif self._weights.missing is None:
            mode, call = "gradients", partial(self.value_and_grad, examples)
        else:
            mode, call = "inference", partial(self, examples)
        with self._lock.mutex:
            clock, step, record = Clock(self.device.synchronize), self.step, self._records.latest
            try:
                # On threads that wait for each other all would look slow.
                rehearse = call if optimizer is None else partial(self.value_and_grad, examples)
                limit = self._on_threads("predict" if mode == "inference" else "train", rehearse)
                self.step = step
                with limit, self.executors.set_aside(clock):
                    return profile(mode, call, clock, self.plan, len(examples), runs)
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

    def program(self, name: str | None = None) -> Programs:
        """The programs that compute gradients, or results if there is no loss; printed, their text.

        Args:
            name: that of an operation, or a part of it; None: the programs of all operations.

        Raises:
            ArrowValueError: no operation has such a name; the message lists the names.
        """
        with self._lock.mutex:
            return self.executors.programs(name)

    # ------------------------------------------------------------------------------------- device and memory

    @property
    def device(self) -> Device:
        """Where the model runs, and its parameters lie."""
        return self.params.device

    @property
    def memory_limit(self) -> int | None:
        """The bytes that a batch may take on the device; as `compile(memory_limit=)`, and may be set anew."""
        return self.executors.memory_limit

    @memory_limit.setter
    def memory_limit(self, limit: int | str | None) -> None:
        self.executors.memory_limit = parse_memory(limit)

    @property
    def held_memory(self) -> int:
        """Bytes of the device that are kept for further calls, beside the parameters."""
        with self._lock.mutex:
            return self.executors.bytes

    def to(self, device: str | Device) -> Self:
        """Moves the model to a device: its parameters, and those of all models that share some with it.

        An optimizer's state follows in its next step.  What calls have handed out, the last call's metrics
        included, stays where it is.

        Args:
            device: as for `compile`.

        Returns:
            The model itself.

        Raises:
            ArrowValueError: no such device; or a network on the fly shares parameters, and cannot move.

        Example:
            >>> import arrows as ar
            >>> model = ar.compile(ar.Vector(2) >> ar.FC(3)).to("cpu")
            >>> model.device
            get_device('cpu')
        """
        target = get_device(device)
        check_slab_types(self.executors.plan.slabs, target)
        with self._lock.mutex:
            self.params.shared.move(target)
            self.executors.release()
        return self

    def release_memory(self) -> None:
        """Lets go of all memory that is kept for further calls, which take it anew, and make their programs.

        On a GPU, the memory that CuPy keeps for later goes back to the system.

        Example:
            >>> import arrows as ar
            >>> model = ar.compile(ar.Vector(2) >> ar.FC(3))
            >>> _ = model([[n, 2] for n in range(1000)])
            >>> model.release_memory()
            >>> model.held_memory
            0
        """
        with self._lock.mutex:
            self.executors.release()
            self.device.release_memory()

    # ------------------------------------------------------------------------------------------------ inside

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a model is not pickled or copied: compile the block again with params=model.params for a model "
            "that shares its parameters, or save them with arrows.training.save"
        )

    def __repr__(self) -> str:
        count = sum(int(np.prod(array.shape)) for array in self.params.values())
        block = f"{self.typed.form.label}: {self.typed.input} -> {self.typed.output}"
        return f"<model of {block}, {count} parameters>"

    if not TYPE_CHECKING:  # a type checker would accept any misspelt name

        def __getattr__(self, name: str) -> NoReturn:
            no_model_attribute(self, name)

    def _call(
        self, examples: Examples, ids: object, step: int | None = None, at_once: AtOnce = None
    ) -> ModelCall:
        step = self.step if step is None else step
        return ModelCall(examples=examples, ids=ids, seed=self.seed, step=step, at_once=at_once)

    def _on_threads(self, work: str, rehearse: Callable[[], object]) -> AbstractContextManager[None]:
        """A context in which matrix products use as many threads as make this work fast."""
        return limited_to(faster(work, self, rehearse)) if self.device.name == "cpu" else nullcontext()

    def _predictions(
        self, name: str, examples: Examples, batch_size: object, errors: object
    ) -> Iterator[Any]:
        """Does the work of `predict_stream`; checks its arguments at once, for the method that was called."""
        size = checked_count(f"{name}: batch_size", batch_size)
        if errors not in ("stop", "return"):
            raise ArrowValueError(f"{name}: errors is {errors!r}, and should be 'stop' or 'return'")
        if isinstance(examples, Prepared):
            examples = examples[:]
        if isinstance(examples, Batch):
            rows = self._rows_of_prepared(examples, size)
        else:
            rows = self._rows_of_stream(as_stream(examples, "predict"), size, examples)
        return _stopped(rows, errors == "stop", examples)

    def _rows_of_prepared(self, batch: Batch, size: int) -> Iterator[Any]:
        for first in range(0, len(batch), size):
            part = batch.prepared[batch.indices[first : first + size]]
            yield from self._rows(self.batches.read(part, "predict", None))

    def _rows_of_stream(self, stream: Iterator[Any], size: int, examples: object) -> Iterator[Any]:
        """The rows of a stream of `examples`, which are as the user hands them in."""
        first = 0
        for batch in blocks(stream, size):
            fitting, refused = self.batches.read_fitting(batch, first)
            rows = iter(self._rows(fitting))
            for number in range(first, first + len(batch)):
                error = refused.get(number)
                yield next(rows) if error is None else self.batches.reader.hinted(error, examples)
            first += len(batch)

    def _rows(self, batch: BatchInput) -> list[Any]:
        """The rows of a batch, and errors of examples whose values do not fit; each runs alone then."""
        count = len(batch.wired)
        result = self._run_read(batch) if count else None
        if not isinstance(result, InputError):
            return rows_of(result, count)
        if count == 1:
            return [result]
        return [row for place in range(count) for row in self._rows(batch.select(np.array([place])))]

    def _run_read(self, batch: BatchInput) -> Any:
        """The results of a batch that has been read, or the error of an example whose values do not fit.

        What `show` of a tap raises is neither, and leaves the call.
        """
        with self._lock.mutex:
            run = partial(self.runner.evaluate, self._call((), None), training=False)
            first = np.arange(min(len(batch.wired), _TRIED))
            try:
                with self._on_threads("predict", lambda: run(batch=batch.select(first))):
                    ran = run(batch=batch)
            except InputError as error:
                return error
            return self.noted(*ran)

    def noted(self, result: Any, record: CallRecord, outputs: Outputs) -> Any:
        """The result of a call, of which metrics and taps are kept and shown."""
        self._records.latest = record
        show_taps(self.plan.lowered.streams, record.taps, outputs)
        return result

    def _differentiate(
        self, examples: Examples, inputs: tuple[str, ...], ids: object, at_once: AtOnce = None
    ) -> tuple[Differentiated, CallRecord, Outputs]:
        """Differentiates a batch; counts as a step."""
        call = self._call(examples, ids, at_once=at_once)
        with naming_places(examples):
            differentiated, record, outputs = self.runner.differentiate(call, inputs)
        self._records.latest = record
        self.step += 1
        return differentiated, record, outputs


def _stopped(rows: Iterator[Any], stop: bool, examples: object) -> Iterator[Any]:
    """Yields rows and errors, which also say where in a file an example stands; or raises the first."""
    for row in rows:
        if isinstance(row, InputError):
            row = placed(row, examples)
            if stop:
                raise row
        yield row
