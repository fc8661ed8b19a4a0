"""The reference: one example at a time, node by node, on the functions as they are written.

No lifting, no planner, no generated code, no batching: this is what a model *means*.  The engine is measured
against it in every property test, and `eval` runs it.  It is slow and meant to be plainly right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from arrows.arrays import HostArray
from arrows.combinators import Tap
from arrows.engine.reference.array_semantics import ArraySemantics, unwrap
from arrows.engine.reference.interpreter import interpret
from arrows.engine.reference.walk import MAX_NODES
from arrows.inference import Typed
from arrows.ops import Parameter
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


def evaluate(
    typed: Typed,
    example: object,
    lookup: Lookup,
    *,
    max_nodes: int = MAX_NODES,
    float_type: str | None = None,
    draw: tuple[int, int, int] = (0, 0, 0),
) -> ReferenceResult:
    """The value of a typed expression, inferred with the same `float_type`, on one example.

    Random numbers depend on `draw`: the model's seed and step, and the example's id.

    Raises:
        InputError: the example does not fit; see `interpret`.

    >>> import arrows as ar
    >>> evaluate(ar.infer(ar.Map(ar.Scalar()) >> ar.Sum()), [1, 2, 3], lambda owner, parameter: None).value
    array(6., dtype=float32)
    """
    arrays = ArraySemantics(typed, lookup, float_type, record=False, draw=draw)
    value = interpret(typed, example, arrays, max_nodes=max_nodes)
    return ReferenceResult(
        value=unwrap(typed.output, value),
        metrics={name: [value.array for value in values] for name, values in arrays.metrics.items()},
        labels=arrays.labels,
        inputs={name: [value.array for value in values] for name, values in arrays.inputs.items()},
        tapped=[(tap, type, unwrap(type, tapped)) for tap, type, tapped in arrays.tapped],
    )


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
