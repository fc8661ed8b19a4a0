"""Evaluation: computes a function on the arrays of one example at once, and keeps a tape for its gradients.

This defines what a Function means: kernels run as they are written, for one example, one after another.
Tests compare everything faster with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from arrows.arrays import HostArray, quiet
from arrows.ops.context import FunctionContext, Parameter
from arrows.ops.primitive import INVARIANT, ROW, Attributes, Primitive
from arrows.ops.segments import Segments
from arrows.ops.sums import sum_rows
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import ArrowValueError, Tensor, is_float

Lookup = Callable[[object, Parameter], HostArray]

Pull = Callable[..., Sequence[HostArray | None]]
"""`pull(*gradients of the results) -> gradients of the operands`, where there are any."""


@dataclass(eq=False, slots=True)
class Value(TensorLike):
    """A tensor of a function that is being computed: a wrapped array.

    Attributes:
        array: the numbers; a value of a sequence (`rows >= 0`) has the elements along axis 0.

    >>> evaluation = EagerEvaluation()
    >>> (evaluation.value(np.array([1.0, 2.0])) * 3).array.tolist()
    [3.0, 6.0]
    """

    context: EagerEvaluation = field(repr=False)
    array: HostArray
    type: Tensor
    rows: int
    segments: Segments | None = None


class EagerEvaluation(FunctionContext):
    """Computes functions on tensors of one example: `with evaluation: function(*values)`.

    Args:
        lookup: `lookup(owner, parameter) -> array`, the value of a layer's parameter.
        record: whether to keep a tape, which `backward` needs.
        float_type: the element type that every floating constant, cast and parameter gets; None leaves them.

    >>> evaluation = EagerEvaluation(record=True)
    >>> x = evaluation.value(np.array([1.0, 2.0]))
    >>> y = (x * x).sum()
    >>> evaluation.backward([(y, np.array(1.0))])[x].tolist()
    [2.0, 4.0]
    """

    def __init__(
        self, lookup: Lookup | None = None, record: bool = False, float_type: str | None = None
    ) -> None:
        super().__init__(float_type)
        self.record = record
        self._lookup = lookup
        # What was computed: its name, the results, the operands.
        self._tape: list[tuple[str, Sequence[Value], Sequence[Value], Pull]] = []
        self._parameters: dict[tuple[object, str], tuple[Value, bool]] = {}  # and whether it is trained
        self._key = 0

    def value(self, array: npt.ArrayLike, rows: int = ROW) -> Value:
        """Wraps the array of one row, or, with `rows >= 0`, of the elements of a sequence along axis 0."""
        array = np.asarray(array)
        type = Tensor(array.shape[1:] if rows >= 0 else array.shape, array.dtype.name)
        return Value(self, array, type, rows, segments=_one_segment(len(array)) if rows >= 0 else None)

    def constant(self, array: HostArray) -> Value:
        """Wraps a constant, at level INVARIANT."""
        array = array.astype(self.float_or(array.dtype.name), copy=False)
        return Value(self, array, Tensor(array.shape, array.dtype.name), INVARIANT)

    def parameter(self, owner: object, spec: Parameter) -> Value:
        """A layer's parameter, at level INVARIANT; the same value each time."""
        key = (owner, spec.name)
        if key not in self._parameters:
            assert self._lookup is not None, "an evaluation with layers knows their parameters"
            dtype = self.float_or(spec.dtype)
            array = self._lookup(owner, spec).astype(dtype, copy=False)
            value = Value(self, array, Tensor(array.shape, dtype), INVARIANT)
            self._parameters[key] = value, spec.trainable
        return self._parameters[key][0]

    def begin_draws(self, key: int) -> None:
        """Sets the key of the function that runs next, from which it draws random numbers."""
        self._key, self.draws = key, 0

    def draw_key(self) -> Value:
        """The key of random numbers, uint64."""
        return self.value(np.asarray(self._key, np.uint64))

    def join(self, values: Sequence[Value], rows: int, type: Tensor) -> Value:
        """Joins the elements of a sequence, each of this type, into one value at the level `rows` >= 0."""
        array = np.stack([v.array for v in values]) if values else np.zeros((0, *type.shape), type.dtype)
        result = Value(self, array, type, rows, segments=_one_segment(len(array)))
        if self.record:
            self._tape.append(("join", [result], tuple(values), lambda g: g))
        return result

    def split(self, value: Value) -> list[Value]:
        """Splits a sequence into its elements, each a value at the level ROW."""
        # Iterating a vector gives NumPy numbers, not arrays.
        results = [Value(self, np.asarray(row), value.type, ROW) for row in value.array]
        if self.record:
            self._tape.append(("split", results, [value], lambda *rows: [np.stack(rows)]))
        return results

    def apply(
        self,
        primitive: Primitive,
        operands: tuple[Operand, ...],
        attributes: Attributes,
        like: TensorLike | None = None,
    ) -> Value:
        """Computes one primitive."""
        values, type, rows = self.checked(primitive, operands, attributes, like)
        segments = next((v.segments for v in (*values, like) if isinstance(v, Value) and v.rows >= 0), None)
        used = attributes
        if segments is not None and not primitive.segmented:
            has_rows = tuple(value.rows >= 0 for value in values)
            used = primitive.lift(attributes, has_rows, tuple(value.type for value in values))
        extra = {"segments": segments} if primitive.segmented else {}
        with np.errstate(all="ignore"):  # as `quiet` does, whose frames stand in no error of a check
            array = np.asarray(primitive.kernel(np, **used)(*(value.array for value in values), **extra))
        if primitive.collapses and array.shape == (1, *type.shape):  # of the one sequence
            array = array.reshape(type.shape)
        shape = type.shape if segments is None or rows < 0 else (segments.total, *type.shape)
        if array.shape != shape or array.dtype.name != type.dtype:
            raise ArrowValueError(
                f"the kernel of {primitive.name} gave {array.dtype.name}{list(array.shape)}, "
                f"but its rule says {type.dtype}{list(shape)}"
            )
        result = Value(self, array, type, rows, segments=None if rows < 0 else segments)
        if self.record:
            pull = partial(self._gradients, primitive, values, attributes, result)
            self._tape.append((primitive.name, [result], values, pull))
        return result

    @quiet
    def backward(self, seeds: Iterable[tuple[Value, HostArray]]) -> dict[Hashable, HostArray]:
        """Gradients of sum(value * cotangent) over the seeds, by walking the tape from its end.

        Returns the gradient of each trainable parameter that was used, by `(owner, name)` (zeros where none
        arrives), and of each wrapped input that a gradient arrives at, by its `Value`.
        """
        gradients: dict[Value, HostArray] = {}
        for value, cotangent in seeds:
            _accumulate(gradients, value, np.asarray(cotangent, value.type.dtype))
        self.record = False  # derivatives are made of the same operations, which must not get onto the tape
        for _, results, operands, pull in reversed(self._tape):
            if not any(result in gradients for result in results):
                continue
            arrived = [
                _taken(gradients, x) if x in gradients else np.zeros(x.array.shape, x.dtype) for x in results
            ]
            if is_float(results[0].dtype):
                for operand, g in zip(operands, pull(*arrived), strict=True):
                    if g is not None:
                        _accumulate(gradients, operand, g)
        self.record = True
        parameters = {
            key: _taken(gradients, value) if value in gradients else np.zeros_like(value.array)
            for key, (value, trained) in self._parameters.items()
            if trained
        }
        inputs: dict[Hashable, HostArray] = {
            value: _taken(gradients, value) for value in [*gradients] if value.rows != INVARIANT
        }
        return inputs | parameters

    def _gradients(
        self,
        primitive: Primitive,
        operands: tuple[Value, ...],
        attributes: Attributes,
        result: Value,
        g: HostArray,
    ) -> list[HostArray | None]:
        """The gradients of the operands of a primitive, from that of its result."""
        wrapped = Value(self, g, result.type, result.rows, segments=result.segments)
        found = primitive.vjp(wrapped, result, *operands, **attributes)
        return [
            None
            if gradient is None or not is_float(operand.dtype)
            else self._fitted(primitive, gradient, operand)
            for gradient, operand in zip(found, operands, strict=True)
        ]

    def _fitted(self, primitive: Primitive, gradient: TensorLike, operand: Value) -> HostArray:
        if not isinstance(gradient, Value) or gradient.type != operand.type:
            raise ArrowValueError(
                f"the vjp of {primitive.name} gave {getattr(gradient, 'type', gradient)} "
                f"as the gradient of {operand.type}"
            )
        array = gradient.array
        if gradient.rows >= 0 and operand.rows == INVARIANT:
            array = np.asarray(sum_rows(array))
        return np.broadcast_to(array, operand.array.shape)


def _accumulate(gradients: dict[Value, HostArray], value: Value, g: HostArray) -> None:
    total = gradients.get(value)
    # A value may have 100,000 readers: in float64 their sum keeps its digits.
    gradients[value] = g if total is None else np.add(total, g, dtype=np.float64)


def _taken(gradients: dict[Value, HostArray], value: Value) -> HostArray:
    return np.asarray(gradients.pop(value)).astype(value.type.dtype, copy=False)


def _one_segment(total: int) -> Segments:
    return Segments.of(np, np.array([0, total]))
