"""A batch on the fly: records what ordinary code computes, and runs it when a value is asked for."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from arrows.engine.planning import LossCheck, SupportsStep
from arrows.engine.running import Gradient
from arrows.engine.scheduling import Timeline
from arrows.engine.values import make_tuple
from arrows.onthefly.arguments import foreign
from arrows.onthefly.calls import LazyCalls
from arrows.onthefly.gradients import Differentiation
from arrows.onthefly.instances import run_all
from arrows.onthefly.interpretation import run_block
from arrows.onthefly.runs import Runs
from arrows.onthefly.tensor import LazyTensor
from arrows.ops import miscalls
from arrows.ops.arrays import Array, HostArray
from arrows.ops.innermost import enter, leave
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.did_you_mean import answers
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from arrows.onthefly.network import OnTheFly


@answers("a batch on the fly", "batch")
class LazyBatch(LazyCalls):
    """Records what is computed inside of `with net.batch() as g`, and runs it in large batches.

    Nothing runs before a value is asked for: by `numpy`, by `value_and_grad` or `train_step`, or by a
    generator in `run_all`.  Then what the value needs runs, and the rest stays lazy.

    Attributes:
        net: the network.
        training: whether dropout acts.
        instance: which instance of `run_all` is being advanced; 0: none.
        instances: how many instances there have been.

    Example:
        >>> import arrows as ar
        >>> net, double = ar.OnTheFly(), ar.Function(lambda x: 2 * x)
        >>> with net.batch() as g:
        ...     xs = [double(g.tensor(x)) for x in [1.0, 2.0, 3.0]]
        ...     float(g.sum(xs)), [timeline.steps for timeline in g.timelines]
        (12.0, [((0, 3), (1, 1))])
    """

    def __init__(self, net: OnTheFly, *, training: bool, gradients: bool) -> None:
        super().__init__(net, training)
        self.instances = 0
        self._runs = Runs(net, self.recording, training=training, gradients=gradients)
        self._differentiation = Differentiation(net, self._runs)
        self._zeros_of: dict[T.Type, Any] = {}

    def _follow(self, earlier: LazyBatch) -> None:
        """Counts on from an earlier batch of the same step, so that dropout draws other numbers."""
        self.instances = earlier.instances
        self._dropout_calls = earlier._dropout_calls

    def __enter__(self) -> Self:
        if self.entered:
            raise ArrowValueError("a batch is entered once: make another by net.batch()")
        self.net.refresh(always=True)
        self.net.growth.batches += 1
        self.entered = True
        enter(self)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        leave(self)
        self._runs.release()
        if isinstance(error, TypeError) and (refusal := miscalls.explained(error)) is not None:
            attempt = f"cannot compute at {miscalls.line_of(error)}"
            text = message(attempt, reason=refusal.reason, hint=refusal.hint)
            raise ArrowTypeError(text) from error

    def zeros(self, type: object) -> Any:
        """Zeros of a type, as a cell starts from: `g.zeros(cell.state)`, `g.zeros([128])`.

        Args:
            type: a type of tensors and tuples, or a short-hand for one.
        """
        self.check_open("make zeros")
        type = T.as_type(type)
        if type not in self._zeros_of:
            self._zeros_of[type] = self._zeros(type)
        return self._zeros_of[type]

    def _zeros(self, type: T.Type) -> Any:
        if isinstance(type, T.Tuple):
            return make_tuple([self._zeros(item) for item in type.items], type.labels)
        if not isinstance(type, T.Tensor):
            raise ArrowTypeError(f"there are no zeros of {type}: only of tensors, and of tuples of such")
        return self.constant(np.zeros(type.shape, type.dtype))

    def __call__(self, block: object, *arguments: object) -> Any:
        """Runs a block inside of the batch.

        Args:
            block: any block.
            arguments: an example, for a block that reads one; or lazy tensors, tuples and lists of them, for
                a block of tensors (several are a tuple).

        Returns:
            Its result, of lazy tensors; sequences are lists.

        Raises:
            ArrowTypeError: the block does not take these arguments.
            InputError: the example does not fit the block.
        """
        self.check_open("run a block")
        return run_block(self, block, arguments)

    def sum(self, tensors: Sequence[Any]) -> LazyTensor:
        """The sum of a list of tensors of one type, in one operation."""
        result: LazyTensor = self.call_block(self.net.sum_block, (list(tensors),))
        return result

    def mean(self, tensors: Sequence[Any]) -> LazyTensor:
        """The mean of a list of tensors of one type, in one operation."""
        result: LazyTensor = self.call_block(self.net.mean_block, (list(tensors),))
        return result

    # ------------------------------------------------------------------------------------------------------
    # values that are asked for

    def numpy(self, value: object) -> Any:
        """The numbers of a lazy tensor, or of nested tuples, lists and dicts of such, on the host.

        One run computes everything that they need; the rest stays lazy.
        """
        self.check_open("compute a value")
        ids: list[int] = []
        self._collect(value, ids, SourceLine.here)
        return _rebuild(value, iter(self._runs.values(ids)))

    def _numpy_of_many(self, values: Sequence[Any], ids: Sequence[int]) -> list[Any]:
        """The numbers of many values in one run; `ids` are those that `_collect` has found in them."""
        self.check_open("compute a value")
        arrays = iter(self._runs.values(ids))
        return [_rebuild(value, arrays) for value in values]

    def _collect(self, value: object, ids: list[int], line: Callable[[], SourceLine]) -> None:
        """Appends the ids of nested lazy tensors to a list.

        Args:
            value: a lazy tensor, or nested tuples, lists and dicts of such.
            ids: the list.
            line: finds the user's line that asks for the value, for messages.
        """
        if isinstance(value, LazyTensor):
            if value.context is not self:
                raise foreign(value, line())
            ids.append(self.value_id(value))
        elif isinstance(value, dict):
            for item in value.values():
                self._collect(item, ids, line)
        elif isinstance(value, (tuple, list)):
            for item in value:
                self._collect(item, ids, line)
        elif value is not None:  # as a block gives for Void
            attempt, hint = f"cannot compute {value!r:.100}", ""
            if isinstance(value, Generator):
                attempt = "cannot wait for a generator"
                hint = "to wait for another generator function: `x = yield from f(...)`"
            raise ArrowTypeError(
                message(
                    f"{attempt} at {line()}",
                    reason="it is not a lazy tensor, nor a tuple, list or dict of lazy tensors",
                    hint=hint,
                )
            )

    def value_and_grad(self, loss: LazyTensor) -> tuple[Array, dict[str, Gradient]]:
        """The value of a scalar and its gradients, forward and backward in batches.

        Returns:
            The loss, a scalar of the device, and the gradients by parameter name, as `Model.value_and_grad`
            gives them.

        Raises:
            ArrowTypeError: the loss is not a floating scalar.
            ArrowValueError: the batch was made with `gradients=False`, or the loss depends on values
                computed before a step changed the parameters.
        """
        return self._differentiation.value_and_grad(self._loss_id(loss))

    def train_step(
        self, loss: LazyTensor, optimizer: SupportsStep, *, check: LossCheck | None = None
    ) -> Array:
        """Computes gradients, calls ``check`` with the loss, takes the optimizer's step, returns the loss.

        Raises:
            Exception: as of `value_and_grad`, and whatever ``check`` or the optimizer raises.
        """
        return self._differentiation.train_step(self._loss_id(loss), optimizer, check)

    def run_all(self, instances: Iterable[Generator[Any, Any, Any]]) -> list[Any]:
        """Advances all instances together; each is a generator that yields the tensors whose values it needs.

        An instance runs until it yields a lazy tensor, or a tuple, list or dict of lazy tensors.  When all
        unfinished instances wait, one run computes everything that they wait for, and each of them gets its
        values: NumPy arrays, nested like the tensors that it yielded.

        Args:
            instances: generators, such as `parse(sentence)`.

        Returns:
            The result of each instance, in the order of `instances`.

        Raises:
            ArrowTypeError: an instance is not a generator, or yields something other than lazy tensors.
            Exception: the error that an instance raises; the others are closed.

        Example:
            >>> import arrows as ar
            >>> net = ar.OnTheFly()
            >>> def halve(x, g):
            ...     x, steps = g.tensor(x), 0
            ...     while (yield x) > 1:
            ...         x, steps = x * 0.5, steps + 1
            ...     return steps
            >>> with net.batch() as g:
            ...     g.run_all(halve(x, g) for x in [1.0, 5.0, 100.0])
            [0, 3, 7]
        """
        self.check_open("run instances")
        return run_all(self, instances)

    @property
    def timelines(self) -> tuple[Timeline, ...]:
        """The schedule of each run that the batch has taken so far; after the batch, of all of them."""
        return self._runs.timelines

    def timeline(self, *values: object) -> Timeline:
        """The schedule of the run that would compute some values, without running it."""
        self.check_open("schedule a run")
        ids: list[int] = []
        self._collect(values, ids, SourceLine.here)
        return self._runs.timeline(ids)

    def _loss_id(self, loss: object) -> int:
        self.check_open("differentiate")
        if not isinstance(loss, LazyTensor) or loss.type.shape or not loss.type.floating:
            actual = loss.type if isinstance(loss, LazyTensor) else f"a {type(loss).__name__}"
            raise ArrowTypeError(
                message(
                    f"cannot differentiate at {SourceLine.here()}",
                    reason=f"the loss must be a floating scalar, and it is {actual}",
                    hint="put the losses of a batch together: g.mean(losses)",
                )
            )
        return self.value_id(loss)


def _rebuild(value: Any, arrays: Iterator[HostArray]) -> Any:
    if isinstance(value, LazyTensor):
        return next(arrays)
    if isinstance(value, dict):
        return {key: _rebuild(item, arrays) for key, item in value.items()}
    if isinstance(value, tuple):
        return make_tuple([_rebuild(item, arrays) for item in value], getattr(value, "labels", None))
    return None if value is None else [_rebuild(item, arrays) for item in value]
