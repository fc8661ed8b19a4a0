"""The gradients that the engine's are measured against: example by example, by the reference's tape."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from arrows.arrays import HostArray, quiet
from arrows.engine.reference import MAX_NODES, ArraySemantics, interpret, parameters
from arrows.inference import Typed
from arrows.ops import Value
from arrows.ops.evaluate import Lookup

ParameterKey: TypeAlias = tuple[object, str]
"""A parameter: the layer that owns it, and its name there."""


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

    """
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
        arrays = ArraySemantics(typed, lookup, float_type, record=True, draw=draw)
        value = interpret(typed, example, arrays, number, max_nodes)
        terms = loss_terms(arrays, value, loss)
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


def loss_terms(
    arrays: ArraySemantics, value: Any, loss: str | Mapping[str, float] | None
) -> list[tuple[Value, float]]:
    """What the loss of an example is the weighted sum of: its value, or each value of a metric."""
    if loss is None:
        return [(value, 1.0)]
    weights = {loss: 1.0} if isinstance(loss, str) else loss
    return [(each, weight) for name, weight in weights.items() for each in arrays.metrics.get(name, ())]


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
