"""`check_grads`: compares derivatives with finite differences.

For the tests of this package, and for anyone who registers a primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows.arrays import HostArray
from arrows.ops import ROW, EagerEvaluation, Parameter, Value, collect


class Elements:
    """An argument of `check_grads` that is a sequence: arrays with the elements along axis 0.

    Args:
        arrays: one, or several of equal length for a sequence of tuples.

    >>> len(Elements(np.zeros((4, 2))).arrays)
    1
    """

    def __init__(self, *arrays: npt.ArrayLike) -> None:
        self.arrays = tuple(np.asarray(array) for array in arrays)


def check_close(got: npt.ArrayLike, wanted: npt.ArrayLike, tolerance: float, what: str) -> None:
    """Checks that |got - wanted| <= tolerance * (1 + max|wanted|), and that the shapes are equal.

    Args:
        got: the array to check.
        wanted: the expected array.
        tolerance: as above; booleans must be equal.
        what: the name of the array in the message.

    Raises:
        AssertionError: they differ.

    >>> check_close(np.ones(2), np.ones(3), 1e-9, "sum")
    Traceback (most recent call last):
    ...
    AssertionError: sum: shape (2,), expected (3,)
    """
    result, expected = np.asarray(got), np.asarray(wanted)
    if result.shape != expected.shape:
        raise AssertionError(f"{what}: shape {result.shape}, expected {expected.shape}")
    if result.dtype == bool or not result.size:
        worst, scale = float((result != expected).any()), 0.0
    else:
        worst, scale = float(np.max(np.abs(result - expected))), float(np.max(np.abs(expected)))
    if not worst <= tolerance * (1 + scale):  # NaN is not close to anything
        raise AssertionError(f"{what}: off by {worst:.3g} (tolerance {tolerance}): {result} and {expected}")


def check_grads(
    function: Callable[..., Any],
    *arguments: object,
    tolerance: float = 1e-6,
    step: float = 1e-6,
    seed: int = 0,
) -> None:
    """Checks the gradients of a function on tensors against central finite differences, in float64.

    All floating inputs and all parameters of layers that the function calls are checked, in the direction of
    random cotangents.  The function should be smooth within `step` of the arguments.

    Args:
        function: takes tensors and tuples of them, as a Function does; layers may be called in it.
        arguments: arrays, `Elements` for sequences, and tuples of them.
        tolerance: the greatest `|a - b| / (1 + max|b|)` for a gradient a and its differences b.
        step: the step of the differences.
        seed: the seed of cotangents and parameters.

    Raises:
        AssertionError: a gradient is wrong.

    >>> from arrows import ops
    >>> check_grads(lambda x, w: ops.tanh(x @ w), np.ones(2), np.array([[0.1, 0.2], [0.3, 0.4]]))
    """
    generator = np.random.default_rng(seed)
    values: dict[tuple[object, str], HostArray] = {}
    inputs = [np.array(array, "float64" if array.dtype.kind == "f" else None) for array in _flat(arguments)]
    cotangents: list[HostArray] = []

    def lookup(owner: object, spec: Parameter) -> HostArray:
        key = (owner, spec.name)
        if key not in values:
            values[key] = np.array(spec.initializer(generator, spec.shape, "float64"))
        return values[key]

    def run(record: bool) -> tuple[EagerEvaluation, list[Value], list[Value]]:
        evaluation = EagerEvaluation(lookup, record=record, float_type="float64")
        wrapped: list[Value] = []
        with evaluation:
            returned = function(*_wrap(arguments, iter(inputs), evaluation, wrapped))
        return evaluation, wrapped, collect(returned, evaluation, "the function")[0]

    def objective() -> float:
        _, _, results = run(record=False)
        return sum(float(np.sum(r.array * c)) for r, c in zip(results, cotangents, strict=True))

    evaluation, wrapped, results = run(record=True)
    cotangents += [np.asarray(generator.standard_normal(result.array.shape)) for result in results]
    gradients = evaluation.backward(list(zip(results, cotangents, strict=True)))
    cases = [(f"input {i}", inputs[i], gradients.get(v)) for i, v in enumerate(wrapped)]
    cases += [(f"parameter {name}", values[owner, name], gradients[owner, name]) for owner, name in values]
    for name, array, gradient in cases:
        if array.dtype.kind == "f":
            wanted = _differences(objective, array, step)
            got = np.zeros_like(array) if gradient is None else gradient
            check_close(got, wanted, tolerance, f"gradient of {name}")


def _flat(item: Any) -> list[HostArray]:
    if isinstance(item, tuple):
        return [array for part in item for array in _flat(part)]
    return list(item.arrays) if isinstance(item, Elements) else [np.asarray(item)]


def _wrap(
    arguments: tuple[object, ...],
    inputs: Iterator[HostArray],
    evaluation: EagerEvaluation,
    wrapped: list[Value],
) -> tuple[object, ...]:
    """The arguments with recorded values in the place of arrays; the values are appended to `wrapped`."""
    sequences = 0

    def leaf(rows: int) -> Value:
        wrapped.append(evaluation.value(next(inputs), rows))
        return wrapped[-1]

    def wrap(item: object) -> object:
        nonlocal sequences
        if isinstance(item, Elements):
            values = tuple(leaf(sequences) for _ in item.arrays)
            sequences += 1
            return values if len(values) > 1 else values[0]
        return tuple(map(wrap, item)) if isinstance(item, tuple) else leaf(ROW)

    return tuple(map(wrap, arguments))


def _differences(objective: Callable[[], float], array: HostArray, step: float) -> HostArray:
    slopes = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        old = array[place]
        array[place] = old + step
        above = objective()
        array[place] = old - step
        slopes[place] = (above - objective()) / (2 * step)
        array[place] = old
    return slopes
