"""A compiled model: runs whole batches, differentiates them, and holds the parameters."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from arrows.engine import reference
from arrows.engine.device import Device
from arrows.engine.lowering import lower
from arrows.engine.model.observed import Observed
from arrows.engine.model.placement import Placed
from arrows.engine.model.predictions import Predictor
from arrows.engine.model.preparing import Preparing
from arrows.engine.planning import (
    LossCheck,
    SupportsStep,
    check_output,
    check_slab_types,
    input_names,
    make_params,
    make_plan,
    parse_loss,
)
from arrows.engine.reading import ExampleReader, Outputs
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
    show_tapped,
    show_taps,
)
from arrows.engine.scheduling import AtOnce, BatchInput, BatchReader, Examples, checked_at_once, naming_places
from arrows.engine.values import Ragged
from arrows.inference import Typed
from arrows.machine import faster, limited_to
from arrows.ops.arrays import Array, HostArray
from arrows.typesys import ArrowTypeError, InputError
from arrows.typesys import types as T
from arrows.typesys.did_you_mean import explains_empty_call, no_model_attribute

_TRIED = 64  # examples of a first batch by which the number of threads is tried out


class Model(Placed, Preparing, Observed):
    """A compiled block: its plan, its parameters, and the device it runs on.  Made by `compile`.

    Attributes:
        typed: the typed expression; prints as a tree with types.
        params: parameter name -> live array of the device.
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
        self.plan = make_plan(lower(typed), schedule)
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
            MemoryError: memory ran out; the message says for what, how much it was, and how many examples
                would fit. Nothing is lost, and `memory_limit` runs such a batch in parts.
        """
        return self._evaluate(self._call(examples, ids, step), training)

    def predict(
        self, examples: Examples, *, batch_size: int = 256, errors: str = "stop"
    ) -> HostArray | list[Any]:
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
        rows = Predictor(self.batches, self._run_read).stream("predict", examples, batch_size, errors)
        output = self.typed.output
        if errors == "return" or not isinstance(output, T.Tensor):
            return list(rows)
        parts = [np.zeros((0, *output.shape), output.dtype)]
        while part := list(islice(rows, min(int(batch_size), sys.maxsize))):
            parts.append(np.array(part, output.dtype))
        return np.concatenate(parts)

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
        predictor = Predictor(self.batches, self._run_read)
        return predictor.stream("predict_stream", examples, batch_size, errors)

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
            show_taps(self.plan.lowered.streams.taps, record.taps, outputs)
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
        at_once = checked_at_once("train_step", at_once)
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
            show_taps(self.plan.lowered.streams.taps, record.taps, outputs)
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

    @explains_empty_call("there is no mode to switch: dropout acts in training steps, not in model(examples)")
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

    def _run_read(self, batch: BatchInput) -> Any:
        """The results of a batch that has been read, or the error of an example whose values do not fit.

        What `show` of a tap raises is neither, and leaves the call.
        """
        with self._lock.mutex:
            run = partial(self.runner.evaluate, self._call((), None), training=False)
            try:
                limit: AbstractContextManager[None] = nullcontext()
                if self.device.name == "cpu":
                    first = np.arange(min(len(batch.wired), _TRIED))
                    limit = limited_to(faster("predict", self, lambda: run(batch=batch.select(first))))
                with limit:
                    ran = run(batch=batch)
            except InputError as error:
                return error
            return self.noted(*ran)

    def _evaluate(self, call: ModelCall, training: bool) -> Any:
        with self._lock.mutex:
            with naming_places(call.examples):
                ran = self.runner.evaluate(call, training=training)
            self.step += training
            return self.noted(*ran)

    def noted(self, result: Any, record: CallRecord, outputs: Outputs) -> Any:
        """The result of a call, of which metrics and taps are kept and shown."""
        self._records.latest = record
        show_taps(self.plan.lowered.streams.taps, record.taps, outputs)
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
