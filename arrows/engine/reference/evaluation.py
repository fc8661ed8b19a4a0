"""The reference: one example at a time, node by node, on the functions as they are written.

No lifting, no planner, no generated code, no batching: this is what a model *means*.  The engine is measured
against it in every property test, and `eval` runs it.  It is slow and meant to be plainly right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows.combinators import Apply, Constant, Metric, Read, Tap
from arrows.engine.reference.interpreter import interpret
from arrows.engine.reference.semantics import Endless
from arrows.engine.reference.walk import MAX_NODES
from arrows.engine.values import Recursion, convert, make_tuple, trampoline
from arrows.inference import Typed
from arrows.ops import INVARIANT, Evaluation, Parameter, Value
from arrows.ops.arrays import quiet
from arrows.ops.structure import collect
from arrows.typesys import types as T

Array = npt.NDArray[Any]
Lookup = Callable[[Any, Parameter], Array]
Key = tuple[Any, str]
"""A parameter: the layer that owns it, and its name there."""


@dataclass(frozen=True, eq=False, slots=True)
class ReferenceResult:
    """What the reference found of one example.

    Attributes:
        value: the result: arrays (0-d for scalars), tuples (with keys where there are), lists, None, Python
            objects.
        metrics: for each `Metric` that was visited, its values in the order of the visits.
        labels: the labels that came with them (None where there was none).
        inputs: for each named `Read`, what it read, in the order of the visits.
        tapped: for each visit of a `Tap`, in order, the tap, the value's type, and the value.
    """

    value: Any
    metrics: dict[str, list[Array]]
    labels: dict[str, list[Any]]
    inputs: dict[str, list[Array]]
    tapped: list[tuple[Tap, T.Type, Any]]


@dataclass(frozen=True, eq=False, slots=True)
class ReferenceGradient:
    """The reference's value and gradients for a batch.

    Attributes:
        value: the loss: the mean over the examples.
        parameters: for each parameter of the expression, its gradient (zeros where the batch does not reach).
        inputs: for each example, for each named input that was asked for, the gradients of what was read
            under that name, in the order of the visits.
    """

    value: float
    parameters: dict[Key, Array]
    inputs: list[dict[str, list[Array]]] = field(default_factory=list)


def evaluate(
    typed: Typed,
    example: Any,
    lookup: Lookup,
    *,
    number: int | None = None,
    max_nodes: int = MAX_NODES,
    float_type: str | None = None,
) -> ReferenceResult:
    """The value of a typed expression on one example.

    Args:
        typed: the expression, as `infer` gives it (with the same `float_type`).
        example: a Python object.
        lookup: `lookup(owner, parameter) -> array`, the parameters' values.
        number: the example's place in its batch, for messages.
        max_nodes: when to call a recursion endless.
        float_type: the element type that all floats have, if `infer` was told one.

    Raises:
        InputError: the example does not fit; see `interpret`.

    >>> import arrows as ar
    >>> evaluate(ar.infer(ar.Map(ar.Scalar()) >> ar.Sum()), [1, 2, 3], lambda owner, parameter: None).value
    array(6., dtype=float32)
    """
    return ArraySemantics(lookup, float_type, record=False).outcome(typed, example, number, max_nodes)


def value_and_grad(
    typed: Typed,
    examples: list[Any],
    lookup: Lookup,
    *,
    loss: str | Mapping[str, float] | None = None,
    inputs: tuple[str, ...] | list[str] = (),
    max_nodes: int = MAX_NODES,
    float_type: str | None = None,
) -> ReferenceGradient:
    """The mean loss of a batch and its gradients, one example after the other.

    Args:
        typed: the expression.
        examples: Python objects.
        lookup: the parameters' values.
        loss: None: the expression's own result, a scalar; a name: the sum of that `Metric` within an example;
            a dict: the weighted sum of several.  A metric that is no scalar counts with its elements' sum.
        inputs: names of inputs (`Scalar(name=...)`, ...) whose gradients are wanted.
        max_nodes: when to call a recursion endless.
        float_type: the element type that all floats have, if `infer` was told one.

    Raises:
        InputError: an example does not fit.
        ValueError: there is no loss: the result is no floating scalar and `loss` is None.

    >>> import arrows as ar
    >>> area = ar.Record({"w": ar.Scalar(name="w"), "h": ar.Scalar()}) >> ar.Function(lambda w, h: w * h)
    >>> gradient = value_and_grad(ar.infer(area), [{"w": 2, "h": 3}], lambda o, p: None, inputs=["w"])
    >>> gradient.value, gradient.inputs
    (6.0, [{'w': [array(3., dtype=float32)]}])
    """
    if loss is None and not _is_float_scalar(typed.output):
        raise ValueError(f"the result is {typed.output}, no floating scalar; name a Metric: loss='...'")
    total = 0.0
    sums: dict[Key, Array] = {}
    types: dict[Key, np.dtype[Any]] = {}
    owners: dict[Key, Parameter] = {(owner, spec.name): spec for owner, spec in parameters(typed)}
    for key, spec in owners.items():
        array = lookup(key[0], spec)
        types[key] = array.dtype
        sums[key] = np.zeros(array.shape, np.float64)
    given: list[dict[str, list[Array]]] = []
    for number, example in enumerate(examples):
        arrays = ArraySemantics(lookup, float_type, record=True)
        value = arrays.run(typed, example, number, max_nodes)
        seeds = [(value, 1.0)] if loss is None else arrays.seeds(loss)
        total += _loss(seeds)
        share = 1.0 / len(examples)
        found = arrays.evaluation.backward(
            [(seed, np.full(seed.array.shape, weight * share, seed.dtype)) for seed, weight in seeds]
        )
        _add(sums, found)
        given.append(
            {
                name: [found.get(read, np.zeros_like(read.array)) for read in arrays.inputs.get(name, [])]
                for name in inputs
            }
        )
    grads = {key: _cast(g, types[key]) for key, g in sums.items()}
    return ReferenceGradient(total / max(len(examples), 1), grads, given if inputs else [])


@quiet
def _loss(seeds: list[tuple[Value, float]]) -> float:
    return sum(weight * float(seed.array.sum()) for seed, weight in seeds)


@quiet
def _cast(array: Array, dtype: np.dtype[Any]) -> Array:
    return array.astype(dtype)


@quiet
def _add(sums: dict[Key, Array], found: Mapping[Any, Array]) -> None:
    for key, total in sums.items():
        if key in found:
            sums[key] = total + found[key]


def parameters(typed: Typed) -> Iterator[tuple[Any, Parameter]]:
    """The parameters of an expression, each once, in the order in which the expression first uses them.

    Yields:
        The layer that owns it, and the parameter.

    >>> import arrows as ar
    >>> [spec.name for owner, spec in parameters(ar.infer(ar.Vector(3) >> ar.FC(2)))]
    ['weight', 'bias']
    """
    seen: set[Key] = set()
    for occurrence in typed.walk():
        if occurrence.trace is not None:
            for owner, spec, _ in occurrence.trace.parameters:
                if (owner, spec.name) not in seen:
                    seen.add((owner, spec.name))
                    yield owner, spec


# The generators below collect with loops (PERF401 wants comprehensions, and those cannot yield).


class ArraySemantics:
    """The algebra of the reference: a tensor is a wrapped array of one example."""

    def __init__(self, lookup: Lookup, float_type: str | None, record: bool) -> None:
        self.evaluation = Evaluation(lookup, record=record, float_type=float_type)
        self.metrics: dict[str, list[Value]] = {}
        self.labels: dict[str, list[Any]] = {}
        self.inputs: dict[str, list[Value]] = {}
        self.tapped: list[tuple[Tap, T.Type, Any]] = []

    def run(self, typed: Typed, example: Any, number: int | None, max_nodes: int) -> Any:
        return interpret(typed, example, self, number=number, max_nodes=max_nodes)

    def outcome(self, typed: Typed, example: Any, number: int | None, max_nodes: int) -> ReferenceResult:
        value = self.run(typed, example, number, max_nodes)
        return ReferenceResult(
            trampoline(shown(typed.output, value)),
            {name: [value.array for value in values] for name, values in self.metrics.items()},
            self.labels,
            {name: [value.array for value in values] for name, values in self.inputs.items()},
            [(tap, of, trampoline(shown(of, value))) for tap, of, value in self.tapped],
        )

    def seeds(self, loss: str | Mapping[str, float]) -> list[tuple[Value, float]]:
        """What the loss is made of: each value of a metric, and its weight."""
        weights = {loss: 1.0} if isinstance(loss, str) else loss
        return [(value, weight) for name, weight in weights.items() for value in self.metrics.get(name, ())]

    # The algebra

    def constant(self, typed: Typed) -> Any:
        form = typed.form
        assert isinstance(form, Constant)
        if form.trainable:
            with self.evaluation:
                value = form.parameter()
                assert isinstance(value, Value)
                return self._row(value)
        return trampoline(self._constant(typed.output, form.value))

    def _constant(self, output: T.Type, array: Array | None) -> Recursion[Any]:
        if isinstance(output, T.Tensor):
            filled = np.zeros(output.shape, output.dtype) if array is None else array.astype(output.dtype)
            return self.evaluation.value(filled, type=output)
        if isinstance(output, T.Tuple):
            items = []
            for item in output.items:
                items.append((yield self._constant(item, None)))
            return tuple(items)
        return [] if isinstance(output, T.Sequence) else None

    def read(self, typed: Typed, thing: Any) -> Any:
        assert isinstance(typed.output, T.Tensor)
        value = self.evaluation.value(convert(thing, typed.output), type=typed.output)
        if isinstance(typed.form, Read) and typed.form.name is not None:
            self.inputs.setdefault(typed.form.name, []).append(value)
        return value

    def apply(self, typed: Typed, value: Any) -> Any:
        form = typed.form
        assert isinstance(form, Apply)
        argument, _ = trampoline(self._argument(typed.input, value, 0))
        arguments = argument if isinstance(typed.input, T.Tuple) else (argument,)
        with self.evaluation:
            returned = form.function(*arguments)
            leaves, _ = collect(returned, self.evaluation, form.label)
        found = iter([self._row(leaf) for leaf in leaves])
        return trampoline(_rebuilt(typed.output, found, self.evaluation))

    def _argument(self, input: T.Type, value: Any, level: int) -> Recursion[Any]:
        """What the function gets for a value:

        rows of a sequence become one value; and the next free level.
        """
        if isinstance(input, T.Tensor):
            return value, level
        if isinstance(input, T.Tuple):
            items = []
            for type, item in zip(input.items, value, strict=True):
                argument, level = yield self._argument(type, item, level)
                items.append(argument)
            return tuple(items), level
        assert isinstance(input, T.Sequence)
        return (yield self._joined(input.element, value, level)), level + 1

    def _joined(self, element: T.Type, values: list[Any], level: int) -> Recursion[Any]:
        if isinstance(element, T.Tensor):
            return self.evaluation.join(values, level, element)
        assert isinstance(element, T.Tuple)
        items = []
        for i, item in enumerate(element.items):
            items.append((yield self._joined(item, [value[i] for value in values], level)))
        return tuple(items)

    def _row(self, value: Value) -> Value:
        """A value that depends on parameters alone is, from here on, the value of this node."""
        if value.rows != INVARIANT:
            return value
        (row,) = self.evaluation.split(self.evaluation.join([value], 0, value.type))
        return row

    def metric(self, typed: Typed, value: Any, label: Any) -> None:
        form = typed.form
        assert isinstance(form, Metric)
        self.metrics.setdefault(form.metric, []).append(value)
        self.labels.setdefault(form.metric, []).append(label)

    def tap(self, typed: Typed, value: Any) -> None:
        assert isinstance(typed.form, Tap)
        self.tapped.append((typed.form, typed.input, value))


def _rebuilt(output: T.Type, leaves: Iterator[Value], evaluation: Evaluation) -> Recursion[Any]:
    """What a function returned, from its tensor leaves; the rows of a sequence become a list."""
    if isinstance(output, T.Tensor):
        return next(leaves)
    if isinstance(output, T.Tuple):
        items = []
        for item in output.items:
            items.append((yield _rebuilt(item, leaves, evaluation)))
        return tuple(items)
    assert isinstance(output, T.Sequence)
    return (yield _elements(output.element, leaves, evaluation))


def _elements(element: T.Type, leaves: Iterator[Value], evaluation: Evaluation) -> Recursion[Any]:
    if isinstance(element, T.Tensor):
        return evaluation.split(next(leaves))
    assert isinstance(element, T.Tuple)
    columns = []
    for item in element.items:
        columns.append((yield _elements(item, leaves, evaluation)))
    return list(zip(*columns, strict=True))


def shown(output: T.Type, value: Any) -> Recursion[Any]:
    """A value of the walk as users see it: arrays without their wrapping, tuples with their keys."""
    if isinstance(output, T.Tensor):
        return value.array
    if isinstance(output, T.Tuple):
        items = []
        for type, item in zip(output.items, value, strict=True):
            items.append((yield shown(type, item)))
        return make_tuple(items, output.labels)
    if isinstance(output, T.Sequence):
        elements = []
        for item in value:
            elements.append((yield shown(output.element, item)))
        return elements
    if isinstance(value, Endless) and isinstance(output, T.Broadcast):
        return Endless((yield shown(output.element, value.element)))
    return value


def _is_float_scalar(output: T.Type) -> bool:
    return isinstance(output, T.Tensor) and output.shape == () and output.floating
