"""What a program on the fly means: every call is computed at once and alone, with a tape."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Self
from unittest import mock

import numpy as np

import arrows as ar
from arrows import ops
from arrows.combinators import Apply
from arrows.engine.reference import ArraySemantics, interpret, node_keys
from arrows.engine.values import make_tuple
from arrows.inference import Typed, infer
from arrows.ops import Value
from arrows.ops.context import current_context
from arrows.ops.random_numbers import GOLDEN, dropout_by_key
from arrows.typesys import types as T
from tests.compare import tape_meets_kink


class Eager:
    """Stands for a batch: it has the methods that programs call, and computes at once.

    Args:
        net: whose parameters are used; the program has run on it, so they are all there.
        training: whether dropout acts.
    """

    def __init__(self, net: ar.OnTheFly, *, training: bool = False) -> None:
        self.net, self.training = net, training
        self.semantics = _WithKeys(self)
        self.evaluation = self.semantics.evaluation
        self._sum, self._mean = ar.Sum(), ar.Mean()
        self._instance = self._instances = 0
        self._calls: dict[int, int] = {}
        self.key: int | None = None
        self._drops = 0
        self._drop = ops.dropout
        self._patches = ExitStack()

    def parameter(self, owner: object, spec: Any) -> Any:
        return ar.to_numpy(self.net.params.of(owner, spec))

    def __enter__(self) -> Self:
        for place in ("arrows.ops.dropout", "arrows.layers.dropout.dropout"):
            self._patches.enter_context(mock.patch(place, self.drop))
        for name in ("normal_like", "uniform_like"):
            draw = partial(self._draw_alone, getattr(ops, name))
            self._patches.enter_context(mock.patch(f"arrows.ops.{name}", draw))
        return self

    def __exit__(self, *error: object) -> None:
        self._patches.close()

    # values that come in

    def tensor(self, value: Any, dtype: str | None = None) -> Value:
        if isinstance(value, Value):
            return value
        array = np.asarray(value)
        dtype = dtype or {"f": "float32", "b": "bool"}.get(array.dtype.kind, "int32")
        return self.evaluation.value(array.astype(self._float(dtype)))

    def _float(self, dtype: str) -> str:
        floating = dtype.startswith("float")
        return self.net.float_type if floating and self.net.float_type else dtype

    def zeros(self, type: Any) -> Any:
        type = T.as_type(type)
        if isinstance(type, T.Tuple):
            return tuple(self.zeros(item) for item in type.items)
        return self.evaluation.value(np.zeros(type.shape, self._float(type.dtype)))

    def constant(self, array: Any) -> Value:
        return self.evaluation.value(array.astype(self._float(array.dtype.name)))

    # calls

    def call(self, block: Any, *arguments: Any) -> Any:
        """A function or a layer on values."""
        argument = self._read(arguments[0] if len(arguments) == 1 else arguments)
        if not isinstance(block, Apply):
            return self(block, argument)
        typed = infer(block, type_of(argument), float_type=self.net.float_type)
        result = self.semantics.apply(typed, argument)
        return make_tuple(result, typed.output.labels) if isinstance(typed.output, T.Tuple) else result

    def __call__(self, block: Any, *arguments: Any) -> Any:
        """Any block, on an example or on values."""
        argument = arguments[0] if len(arguments) == 1 else arguments
        lazy = _holds_values(argument)
        typed = infer(block, type_of(argument) if lazy else None, float_type=self.net.float_type)
        return interpret(typed, argument, self.semantics)

    def _read(self, argument: Any) -> Any:
        if isinstance(argument, tuple):
            return tuple(self._read(item) for item in argument)
        if isinstance(argument, list) and _holds_values(argument):
            return [self._read(item) for item in argument]
        return self.tensor(argument)

    def sum(self, values: Sequence[Any]) -> Value:
        return self.call(self._sum, list(values))

    def mean(self, values: Sequence[Any]) -> Value:
        return self.call(self._mean, list(values))

    # dropout and draws

    def begin_call(self, typed: Typed) -> None:
        """Gives a function that is random a key of its own, before it runs."""
        if typed.trace is not None and typed.trace.dropout_key is not None:
            self._next_key(typed.trace.draws)

    def _next_key(self, draws: bool) -> None:
        self._drops = 0
        self.key = None
        if self.training or draws:
            count = self._calls.get(self._instance, 0)
            self._calls[self._instance] = count + 1
            call = np.array([[self._instance, count]], np.uint64)
            self.key = int(node_keys(self.net.seed, self.net.step, *call.T)[0])
            self.evaluation.begin_draws(self.key)

    def _draw_alone(self, draw: Callable[..., Any], x: Any, *arguments: float) -> Any:
        """A draw that stands in no function."""
        if current_context.get() is self.evaluation or not isinstance(x, Value):
            return draw(x, *arguments)
        self._next_key(draws=True)
        with self.evaluation:
            return draw(x, *arguments)

    def drop(self, x: Any, rate: float) -> Any:
        """`ops.dropout` with the key of the call that it stands in."""
        if not isinstance(x, Value):
            return self._drop(x, rate)
        alone = current_context.get() is not self.evaluation
        if alone:
            self._next_key(draws=False)
        if self.key is None or not self.training:
            return x
        key = self.evaluation.value(np.asarray((self.key + self._drops * GOLDEN) % 2**64, np.uint64))
        self._drops += 1
        with self.evaluation:
            return dropout_by_key(x, key, rate)

    # values that are asked for

    def numpy(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.numpy(item) for key, item in value.items()}
        if isinstance(value, (tuple, list)):
            return type(value)([self.numpy(item) for item in value])
        return value.array

    def peek(self, seen: list[Any], value: Any) -> None:
        """Notes a value, to be compared."""
        seen.append(value)

    def run_all(self, instances: Iterable[Generator[Any, Any, Any]]) -> list[Any]:
        """One after the other."""
        generators = list(instances)
        outer, first = self._instance, self._instances + 1
        self._instances += len(generators)
        results = []
        for number, generator in enumerate(generators):
            numbers = None
            while True:
                self._instance = first + number
                try:
                    wanted = generator.send(numbers)
                except StopIteration as stop:
                    results.append(stop.value)
                    break
                finally:
                    self._instance = outer
                numbers = self.numpy(wanted)
        return results

    def value_and_grad(self, loss: Value) -> tuple[Any, dict[str, Any]]:
        """The loss, and a gradient for every parameter of the net."""
        gradients = self.evaluation.backward([(loss, np.ones((), loss.dtype))])
        by_name = {}
        for name in self.net.params:
            owner, spec = self.net.params.owner(name)
            if spec.has_gradient:
                dtype = self._float(spec.dtype)
                by_name[name] = gradients.get((owner, spec.name), np.zeros(spec.shape, dtype))
        return loss.array, by_name

    def meets_kink(self) -> bool:
        """Whether a value came so near a place without a derivative that rounding decides on the side."""
        return tape_meets_kink(self.evaluation)


class _WithKeys(ArraySemantics):
    """The reference's arrays, whose random numbers depend on the calls that the program has made."""

    def __init__(self, eager: Eager) -> None:
        super().__init__(infer(ar.Void()), eager.parameter, eager.net.float_type, record=True)
        self._eager = eager

    def apply(self, typed: Typed, value: Any) -> Any:
        self._eager.begin_call(typed)
        return super().apply(typed, value)

    def _draw_key(self, typed: Typed) -> int:
        key = self._eager.key
        assert key is not None
        return key


def type_of(value: Any) -> T.Type:
    if isinstance(value, Value):
        return value.type
    if isinstance(value, tuple):
        return T.Tuple([type_of(item) for item in value])
    return T.Sequence(type_of(value[0]))


def _holds_values(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_holds_values, value))
    return isinstance(value, Value)
