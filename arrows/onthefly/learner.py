"""Adapts a program on the fly to `arrows.training.train`: a model whose loss is a function of one example."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrows.arrays import Array
from arrows.combinators import function_name
from arrows.engine.device import Device
from arrows.engine.planning import LossCheck, Params, SupportsStep
from arrows.engine.running import Gradient, add_gradients
from arrows.engine.scheduling import AtOnce, ByNodes, as_examples
from arrows.engine.values import iterators_in
from arrows.onthefly.batch import LazyBatch
from arrows.onthefly.gradients import take_step
from arrows.onthefly.tensor import LazyTensor
from arrows.typesys import ArrowTypeError, InputError, input_message, message

if TYPE_CHECKING:
    from arrows.onthefly.network import OnTheFly

# The number of examples that the function is called on before the first step.
_FIRST = 32


class ExampleSet(tuple[Any, ...]):  # noqa: SLOT001 (a tuple has no room for slots that hold anything)
    """Examples that are selected by index, like those of a prepared set.

    >>> ExampleSet("abc")[np.array([2, 0])]
    ('c', 'a')
    """

    def __getitem__(self, numbers: Any) -> Any:
        chosen = range(len(self))[numbers] if isinstance(numbers, slice) else np.asarray(numbers).tolist()
        return ExampleSet(map(super().__getitem__, chosen))


class LearnerOnTheFly:
    """A function of one example as a model that `arrows.training.train` takes.

    Args:
        net: the network.
        function: ``function(g, example)`` returns the loss of an example, a lazy scalar. It may be a
            generator function that yields the tensors whose values it needs, as in `LazyBatch.run_all`.

    Attributes:
        net: the network.
    """

    def __init__(self, net: OnTheFly, function: Callable[[LazyBatch, Any], Any]) -> None:
        self.net, self._function = net, function

    @property
    def params(self) -> Params:
        """The network's parameters."""
        return self.net.params

    @property
    def device(self) -> Device:
        """The network's device."""
        return self.net.device

    @property
    def step(self) -> int:
        """The network's count of steps."""
        return self.net.step

    @step.setter
    def step(self, count: int) -> None:
        self.net.step = count

    def prepare(self, examples: object) -> ExampleSet:
        """The examples as a set; calls the function on the first, so that all layers have parameters.

        These also show which calls always follow one another, and so become one.

        Raises:
            InputError: an example is or holds an iterator: each epoch goes over it, and the first uses it up.
        """
        if isinstance(examples, ExampleSet):
            return examples
        prepared = ExampleSet(as_examples(examples, "prepare examples"))
        for number, example in enumerate(prepared):
            if iterators := iterators_in(example):
                reason = f"it is or holds a {type(iterators[0]).__name__}, which the first epoch would use up"
                hint = "each epoch reads the examples: make lists of their iterators, list(iterator)"
                raise InputError(input_message(number, "", reason, hint=hint))
        with self.net.batch(gradients=False) as g:
            g.runs.learn_chains([g.whole(loss).id for loss in self._losses(g, prepared[:_FIRST])])
        return prepared

    def train_step(
        self,
        batch: ExampleSet,
        optimizer: SupportsStep,
        *,
        check: LossCheck | None = None,
        at_once: AtOnce = None,
    ) -> Array:
        """Takes an optimizer's step on the mean loss of a batch, and returns that loss.

        At most `at_once` examples run at a time, whose gradients are summed up; None: all of them.

        Raises:
            ArrowTypeError: `at_once` is a number of nodes, which nobody knows before an example runs.
        """
        if isinstance(at_once, ByNodes):
            raise ArrowTypeError(f"train_step: at_once is {at_once}, and should be a number of examples")
        if at_once is None or len(batch) <= at_once:
            with self.net.batch(training=True) as g:
                return g.train_step(g.mean(self._losses(g, batch)), optimizer, check=check)
        loss: Array | None = None
        sums: dict[str, Gradient] = {}
        earlier: LazyBatch | None = None
        for first in range(0, len(batch), at_once):
            part = batch[first : first + at_once]
            with self.net.batch(training=True) as g:
                if earlier is not None:
                    g.instances, g.dropout_calls = earlier.instances, earlier.dropout_calls
                share = g.sum(self._losses(g, part, first)) * (1 / len(batch))
                assert isinstance(share, LazyTensor)
                value, gradients = g.value_and_grad(share)
            earlier = g
            loss = value if loss is None else loss + value
            add_gradients(self.device, sums, gradients, lend=True)
        assert loss is not None
        return take_step(self.net, loss, sums, optimizer, check)

    def _losses(self, g: LazyBatch, examples: Sequence[Any], first: int = 0) -> list[LazyTensor]:
        """The losses of consecutive examples of a batch, from the `first` on."""
        results = [self._function(g, example) for example in examples]
        if results and all(isinstance(result, Generator) for result in results):
            results = g.run_all(results)
        for number, loss in enumerate(results, first):
            if not isinstance(loss, LazyTensor) or loss.type.shape or not loss.type.floating:
                result = str(loss.type) if isinstance(loss, LazyTensor) else f"{loss!r:.60}"
                raise ArrowTypeError(
                    message(
                        f"cannot learn from {function_name(self._function)}",
                        reason=f"it returned {result} for example {number} of a batch, and must return the "
                        "example's loss, a lazy scalar",
                    )
                )
        return results or [g.tensor(0.0)]  # no examples have the loss 0, as those of a block
