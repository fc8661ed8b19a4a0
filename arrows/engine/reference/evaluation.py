"""The reference: one example at a time, node by node, on the functions as they are written.

No lifting, no planner, no generated code, no batching: this is what a model *means*.  The engine is measured
against it in every property test, and `eval` runs it.  It is slow and meant to be plainly right.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from arrows.combinators import Tap
from arrows.engine.reference.array_semantics import ArraySemantics, unwrap
from arrows.engine.reference.walk import MAX_NODES
from arrows.engine.values import IteratorReplay
from arrows.inference import Typed
from arrows.ops import Parameter, Value
from arrows.ops.arrays import HostArray, quiet
from arrows.ops.evaluate import Lookup
from arrows.typesys import types as T

ParameterKey: TypeAlias = tuple[object, str]
"""A parameter: the layer that owns it, and its name there."""


@dataclass(frozen=True, eq=False, slots=True)
class ReferenceResult:
    """What the reference gives for one example.

    Attributes:
        value: the result: arrays (0-d for scalars), tuples (with keys where there are), lists, None, Python
            objects.
        metrics: for each `Metric` that was visited, its values in the order of the visits.
        labels: the labels that came with them (None where there was none).
        inputs: for each named `Read`, what it read, in the order of the visits.
        tapped: for each visit of a `Tap`, in order, the tap, the value's type, and the value.
    """

    value: Any
    metrics: dict[str, list[HostArray]]
    labels: dict[str, list[object]]
    inputs: dict[str, list[HostArray]]
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
    parameters: dict[ParameterKey, HostArray]
    inputs: list[dict[str, list[HostArray]]]


def evaluate(
    typed: Typed,
    example: object,
    lookup: Lookup,
    *,
    number: int | None = None,
    max_nodes: int = MAX_NODES,
    float_type: str | None = None,
    draw: tuple[int, int, int] = (0, 0, 0),
    replay: IteratorReplay | None = None,
) -> ReferenceResult:
    """The value of a typed expression, inferred with the same `float_type`, on one example.

    Random numbers depend on `draw`: the model's seed and step, and the example's id. `replay` is as in
    `interpret`.

    Raises:
        InputError: the example, which is the `number`-th of its batch, does not fit; see `interpret`.

    >>> import arrows as ar
    >>> evaluate(ar.infer(ar.Map(ar.Scalar()) >> ar.Sum()), [1, 2, 3], lambda owner, parameter: None).value
    array(6., dtype=float32)
    """
    arrays = ArraySemantics(lookup, float_type, record=False, draw=draw)
    value = arrays.run(typed, example, number, max_nodes, replay)
    return ReferenceResult(
        value=unwrap(typed.output, value),
        metrics={name: [value.array for value in values] for name, values in arrays.metrics.items()},
        labels=arrays.labels,
        inputs={name: [value.array for value in values] for name, values in arrays.inputs.items()},
        tapped=[(tap, type, unwrap(type, tapped)) for tap, type, tapped in arrays.tapped],
    )


def value_and_grad(
    typed: Typed,
    examples: Sequence[object],
    lookup: Lookup,
    *,
    loss: str | Mapping[str, float] | None = None,
    inputs: Sequence[str] = (),
    max_nodes: int = MAX_NODES,
    float_type: str | None = None,
    seed: int = 0,
    step: int = 0,
    ids: Sequence[int] | None = None,
) -> ReferenceGradient:
    """The mean loss of a batch and its gradients, one example after the other.

    The `loss` is the expression's own result, a scalar (None), the sum of a `Metric` within an example (its
    name), or the weighted sum of several metrics.  A metric that is no scalar counts with its elements' sum.
    `inputs` names the inputs (`Scalar(name=...)`, ...) whose gradients are wanted.  Random numbers depend on
    `seed` and `step`, those of the model, and on the examples' `ids`, by default their places.

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
    # Summed in float64 and rounded to the parameters' types once, at the end.
    sums: dict[ParameterKey, HostArray] = {}
    types: dict[ParameterKey, np.dtype[Any]] = {}
    for owner, spec in parameters(typed):
        array = lookup(owner, spec)
        types[owner, spec.name] = array.dtype
        sums[owner, spec.name] = np.zeros(array.shape, np.float64)
    input_gradients: list[dict[str, list[HostArray]]] = []
    for number, example in enumerate(examples):
        draw = seed, step, number if ids is None else ids[number]
        arrays = ArraySemantics(lookup, float_type, record=True, draw=draw)
        value = arrays.run(typed, example, number, max_nodes)
        terms = [(value, 1.0)] if loss is None else arrays.loss_terms(loss)
        total += _weighted_sum(terms)
        share = 1.0 / len(examples)
        seeds = [(term, np.full(term.array.shape, weight * share, term.dtype)) for term, weight in terms]
        gradients = arrays.evaluation.backward(seeds)
        _accumulate(sums, gradients)
        input_gradients.append(
            {
                name: [gradients.get(read, np.zeros_like(read.array)) for read in arrays.inputs.get(name, [])]
                for name in inputs
            }
        )
    return ReferenceGradient(
        total / max(len(examples), 1),
        {key: _cast(gradient, types[key]) for key, gradient in sums.items()},
        input_gradients if inputs else [],
    )


# Floating-point flags are off for the reference's own arithmetic alone: a user's function keeps them.


@quiet
def _weighted_sum(terms: list[tuple[Value, float]]) -> float:
    return sum(weight * float(term.array.sum()) for term, weight in terms)


@quiet
def _accumulate(sums: dict[ParameterKey, HostArray], gradients: Mapping[Hashable, HostArray]) -> None:
    for key, total in sums.items():
        if key in gradients:
            sums[key] = total + gradients[key]


@quiet
def _cast(array: HostArray, dtype: np.dtype[Any]) -> HostArray:
    return array.astype(dtype)


def parameters(typed: Typed) -> Iterator[tuple[Any, Parameter]]:
    """The parameters of an expression, each once, in the order in which the expression first uses them.

    Yields:
        The layer that owns it, and the parameter.

    >>> import arrows as ar
    >>> [spec.name for owner, spec in parameters(ar.infer(ar.Vector(3) >> ar.FC(2)))]
    ['weight', 'bias']
    """
    seen: set[ParameterKey] = set()
    for occurrence in typed.walk():
        if occurrence.trace is not None:
            for owner, spec, _ in occurrence.trace.parameters:
                if (owner, spec.name) not in seen:
                    seen.add((owner, spec.name))
                    yield owner, spec


def _is_float_scalar(output: T.Type) -> bool:
    return isinstance(output, T.Tensor) and output.shape == () and output.floating
