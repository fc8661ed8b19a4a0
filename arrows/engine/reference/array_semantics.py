"""The reference: one example at a time, node by node, on the functions as they are written.

Tensors are arrays of one example, and a tape records what is done to them.

No lifting, no planner, no generated code, no batching: this is what a model *means*.  The engine is measured
against it in every property test, and `eval` runs it.  It is slow and meant to be plainly right.  Where the
fast reader or a batch has failed, an `Explainer` walks the example to say what is wrong with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from arrows.arrays import HostArray
from arrows.combinators import Apply, Constant, Read, SideOutput, Tap
from arrows.engine.reference.interpreter import MAX_NODES, Endless, Semantics, interpret
from arrows.engine.values import (
    Recursion,
    build,
    convert,
    each,
    iterators_in,
    make_tuple,
    recursive,
    trampoline,
)
from arrows.inference import Typed
from arrows.ops import (
    GOLDEN,
    INVARIANT,
    EagerEvaluation,
    Lookup,
    Parameter,
    Value,
    collect,
    finalise,
    in_own_context,
)
from arrows.typesys import types as T


class ArraySemantics(Semantics):
    """Tensors as arrays of one example, and what its walk leaves behind.

    Args:
        typed: the expression.
        lookup: gives the parameters' values.
        float_type: the element type that all floats have, if `infer` was told one.
        record: whether gradients will be wanted.
        draw: what random numbers depend on: the model's seed and step, and the example's id.

    Attributes:
        evaluation: what runs the functions; it has the tape.
        metrics: for each `Metric` that was visited, its values in the order of the visits.
        labels: the labels that came with them (None where there was none).
        inputs: for each named `Read`, what it read, in the order of the visits.
        tapped: for each visit of a `Tap`, the tap, the value's type, and the value.
    """

    def __init__(
        self,
        typed: Typed,
        lookup: Lookup,
        float_type: str | None,
        record: bool,
        draw: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        self._draw, self._drawing = draw, drawing_occurrences(typed)
        self._visits: Counter[int] = Counter()
        self.evaluation = EagerEvaluation(lookup, record=record, float_type=float_type)
        self.metrics: dict[str, list[Value]] = {}
        self.labels: dict[str, list[object]] = {}
        self.inputs: dict[str, list[Value]] = {}
        self.tapped: list[tuple[Tap, T.Type, Any]] = []

    @in_own_context
    def constant(self, typed: Typed) -> Any:
        form = typed.form
        assert isinstance(form, Constant)
        if form.trainable:
            with self.evaluation:
                value = form.parameter()
                assert isinstance(value, Value)
                return self._of_node(value)
        return build(typed.output, lambda type: self._filled(type, form.value), lambda element: [])

    def _filled(self, type: T.Tensor, array: HostArray | None) -> Value:
        filled = np.zeros(type.shape, type.dtype) if array is None else array.astype(type.dtype)
        return self.evaluation.value(filled)

    def read(self, typed: Typed, leaf: object) -> Value:
        assert isinstance(typed.output, T.Tensor)
        value = self.evaluation.value(convert(leaf, typed.output))
        form = typed.form
        if isinstance(form, Read) and form.name is not None and form.function is None:
            self.inputs.setdefault(form.name, []).append(value)
        return value

    @in_own_context
    def apply(self, typed: Typed, value: object) -> Any:
        form = typed.form
        assert isinstance(form, Apply)
        argument, _ = trampoline(self._argument(typed.input, value, 0))
        arguments = argument if isinstance(typed.input, T.Tuple) else (argument,)
        if typed.trace is not None and typed.trace.draws:
            self.evaluation.begin_draws(self._draw_key(typed))
        with self.evaluation:
            returned = form.of_example(*arguments)
            leaves, _ = collect(returned, self.evaluation, form.label)
        values = [self._of_node(leaf) for leaf in leaves]
        split = self.evaluation.split
        return assemble(typed.output, iter([split(x) if x.rows >= 0 else x for x in values]))

    def _draw_key(self, typed: Typed) -> int:
        """The key of this visit of an occurrence that draws."""
        seed, step, example = self._draw
        place = np.array([[example], [self._drawing[id(typed)]], [self._visits[id(typed)]]])
        self._visits[id(typed)] += 1
        return int(draw_keys(seed, step, *place)[0])

    def _argument(self, input: T.Type, value: Any, level: int) -> Recursion[tuple[Any, int]]:
        """What the function gets for a value, and the next free level; each sequence has a level, and its
        elements are the rows of one value."""
        if isinstance(input, T.Tensor):
            return value, level
        if isinstance(input, T.Tuple):
            items = []
            for type, item in zip(input.items, value, strict=True):
                argument, level = yield self._argument(type, item, level)
                items.append(argument)
            return tuple(items), level
        assert isinstance(input, T.Sequence)
        joined = yield self._joined(input.element, value, level)
        return joined, level + 1

    def _joined(self, element: T.Type, values: list[Any], level: int) -> Recursion[Any]:
        if isinstance(element, T.Tensor):
            return self.evaluation.join(values, level, element)
        assert isinstance(element, T.Tuple)
        columns = enumerate(element.items)
        joined = each(self._joined(item, [value[i] for value in values], level) for i, item in columns)
        return tuple((yield joined))

    def _of_node(self, value: Value) -> Value:
        """A value that depends on parameters alone becomes the value of this node."""
        if value.rows != INVARIANT:
            return value
        (row,) = self.evaluation.split(self.evaluation.join([value], 0, value.type))
        return row

    def collect(self, typed: Typed, value: Any) -> None:
        form = typed.form
        assert isinstance(form, SideOutput)
        if isinstance(form, Tap):
            self.tapped.append((form, typed.input, value))
            return
        value, label = value if isinstance(typed.input, T.Tuple) else (value, None)
        self.metrics.setdefault(form.key, []).append(value)
        self.labels.setdefault(form.key, []).append(label)


def assemble(output: T.Type, leaves: Iterator[Any]) -> Any:
    """What a function returned, from its tensor leaves; that of a sequence is the list of its elements.

    >>> pairs = T.Sequence(T.Tuple([T.Tensor(()), T.Tensor(())]))
    >>> assemble(T.Tuple([T.Tensor(()), pairs]), iter([0, [1, 2], [3, 4]]))
    (0, [(1, 3), (2, 4)])
    """

    def elements(element: T.Type) -> Recursion[list[Any]]:
        if isinstance(element, T.Tensor):
            return list(next(leaves))
        assert isinstance(element, T.Tuple)
        return list(zip(*(yield each(map(elements, element.items))), strict=True))

    return build(output, lambda _: next(leaves), elements)


@recursive
def unwrap(output: T.Type, value: Any, leaf: Callable[[Any], Any] = attrgetter("array")) -> Recursion[Any]:
    """A value of the walk as users see it: tuples with their keys, and `leaf(x)` for each tensor."""
    if isinstance(output, T.Tensor):
        return leaf(value)
    if isinstance(output, T.Tuple):
        parts = zip(output.items, value, strict=True)
        return make_tuple((yield each(unwrap.call(type, item, leaf) for type, item in parts)), output.labels)
    if isinstance(output, T.Sequence):
        return (yield each(unwrap.call(output.element, item, leaf) for item in value))
    if isinstance(value, Endless) and isinstance(output, T.Broadcast):
        return Endless((yield unwrap.call(output.element, value.element, leaf)))
    return value


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


@dataclass(slots=True)
class Explainer:
    """Says what is wrong with an example of a model.

    Attributes:
        typed: the model's expression.
        parameter: gives a layer's parameter, on the host.
        max_nodes: when to call a recursion endless.
        float_type: as in `arrows.compile`.
    """

    typed: Typed
    parameter: Callable[[object, Parameter], HostArray]
    max_nodes: int
    float_type: str | None

    def __call__(self, example: object, number: int) -> None:
        """Walks an example that was read before; returns if the walk finds nothing wrong.

        There is no walk over an example that is or holds an iterator, which is used up.

        Args:
            example: the Python object.
            number: what it is called in messages.

        Raises:
            InputError: what does not fit, and where.
        """
        if not iterators_in(example):
            arrays = ArraySemantics(self.typed, self.parameter, self.float_type, record=False)
            interpret(self.typed, example, arrays, number, self.max_nodes)


# Keys of random draws: the same numbers whoever computes them, the reference or a batch. A key is a hash of
# (seed, step, example id, number of the occurrence among those that draw, number of its visit within the
# example). The reference and lowering visit an example in one order, so they count alike.

_SALT = 0x8CB92BA72F3D8DD7
"""Keeps the keys of draws from those of dropout."""


def drawing_occurrences(root: Typed) -> Mapping[int, int]:
    """The numbers of the occurrences that draw, by their identity."""
    drawing = (typed for typed in root.walk() if typed.trace is not None and typed.trace.draws)
    return {id(typed): number for number, typed in enumerate(drawing)}


def draw_keys(seed: int, step: int, ids: HostArray, occurrences: HostArray, visits: HostArray) -> HostArray:
    """The keys of visits.

    Args:
        seed, step: of the model.
        ids: of the examples.
        occurrences: numbers of the occurrences that draw.
        visits: how often each was visited before in the example.

    Returns:
        Keys, uint64.

    >>> draw_keys(0, 0, *np.array([[0, 0], [0, 0], [0, 1]])).shape
    (2,)
    """
    return node_keys(seed + _SALT, step, ids, occurrences, visits)


def node_keys(seed: int, step: int, *numbers: HostArray) -> HostArray:
    """Hashes of a model's seed and step and of some numbers of each node (uint64), by steps of SplitMix64."""
    keys = np.full(len(numbers[0]), seed % 2**64, np.uint64)
    for words in (np.array([step % 2**64], np.uint64), *numbers):
        keys = finalise(np, keys + np.uint64(GOLDEN)) ^ words.astype(np.uint64)
    return finalise(np, keys + np.uint64(GOLDEN))
