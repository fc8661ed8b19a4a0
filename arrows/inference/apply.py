"""`Apply`, `Constant`, `Read` and `Transform`: functions and layers, constants, and readers of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows import ops
from arrows.combinators import Apply, Constant, Layer, NoDefault, Read, without_zero
from arrows.inference.occurrences import Occurrence
from arrows.inference.reasons import problem
from arrows.inference.rules import Misfit, TypeRule
from arrows.typesys import ArrowTypeError
from arrows.typesys import types as T
from arrows.typesys.errors import Side
from arrows.typesys.terms import ground
from arrows.typesys.unify import Solver

if TYPE_CHECKING:
    from arrows.inference.infer import Inference, Traces


def constrain_apply(inference: Inference, occurrence: Occurrence) -> None:
    form, solver = occurrence.form, inference.solver
    assert isinstance(form, Apply)
    if isinstance(form, Layer):
        # A layer has one input type in a model, since its parameters have one shape. So all places of the
        # layer share one type variable.
        first = inference.layers.setdefault(id(form), occurrence)
        if first is not occurrence:
            occurrence.first = first
            solver.unify(occurrence.input, first.input)
            solver.unify(occurrence.output, first.output)
            return
        inference.undecided_layers.append(occurrence)
        source, result = form.signature()
        if source is not None:
            solver.assign(occurrence.input, inference.floats(source), occurrence)
        if result is not None:
            solver.assign(occurrence.output, inference.floats(result), occurrence)
    solver.add(ApplyRule(occurrence, inference.float_type, inference.traces), occurrence.input)


def constrain_constant(inference: Inference, occurrence: Occurrence) -> None:
    form, traces = occurrence.form, inference.traces
    assert isinstance(form, Constant)
    if form.type is not None:
        inference.solver.assign(occurrence.output, inference.floats(form.type), occurrence)
    if form.trainable:
        key = (id(form), T.Tuple(()))
        if key not in traces:
            traces[key] = ops.trace(form.parameter, key[1], float_type=inference.float_type)
        occurrence.trace = traces[key]


def constrain_read(inference: Inference, occurrence: Occurrence) -> None:
    assert isinstance(occurrence.form, Read)
    inference.solver.assign(occurrence.input, T.Input(), occurrence)
    inference.solver.assign(occurrence.output, inference.floats(occurrence.form.type), occurrence)


def constrain_transform(inference: Inference, occurrence: Occurrence) -> None:
    inference.solver.assign(occurrence.input, T.Input(), occurrence)
    inference.solver.assign(occurrence.output, T.Input(), occurrence)


class ApplyRule(TypeRule):
    """Functions and layers: traces them as soon as their input is ground."""

    __slots__ = ("float_type", "traces")

    def __init__(self, occurrence: Occurrence, float_type: str | None, traces: Traces) -> None:
        super().__init__(occurrence)
        self.float_type = float_type
        self.traces = traces

    def run(self, solver: Solver) -> None:
        t = ground(self.occurrence.input)
        if self.done or t is None:
            return
        self.done = True
        form = self.occurrence.form
        assert isinstance(form, Apply)
        trouble = form.check(t) or no_tensor(t)
        if trouble is not None:
            raise Misfit(*((trouble,) if isinstance(trouble, str) else trouble))
        key = (id(form), t)
        trace = self.traces.get(key)
        if trace is None:
            trace = self.traces[key] = ops.trace(form.function, t, float_type=self.float_type)
        self.occurrence.trace = trace
        solver.assign(self.occurrence.output, trace.output, self.occurrence)


def no_tensor(t: T.Type) -> tuple[str, str] | None:
    """Returns a reason and a hint if a function of tensors cannot take `t`, else None."""
    todo = [(t, "it")]
    while todo:
        x, where = todo.pop()
        start = f"a function takes tensors, and {'the input' if x is t else where} is"
        if isinstance(x, T.Input):
            reader = "read it first: ar.Scalar(), ar.Vector(n) or ar.Tensor(shape)"
            return (
                f"{start} a Python object",
                f"{reader}; a function of Python objects is ar.InputTransform(f)",
            )
        if isinstance(x, T.Void):
            return f"{start} nothing (Void)", ""
        if isinstance(x, T.Broadcast):
            return f"{start} endless: {x}", ""
        if isinstance(x, T.Tuple):
            names = x.labels if x.labels is not None else range(len(x.items))
            items = [(item, f"item {name!r}") for name, item in zip(names, x.items, strict=True)]
            todo.extend(reversed(items))
        elif isinstance(x, T.Sequence):
            todo.append((x.element, "an element"))
    return None


def finish_apply(inference: Inference, occurrence: Occurrence) -> None:
    """Gives a layer that stands in several places the trace of its first occurrence."""
    if occurrence.first is not None:
        occurrence.trace = occurrence.first.trace


def check_constant(inference: Inference, occurrence: Occurrence) -> None:
    """Refuses a default of zeros where the inferred type has no zero."""
    form = occurrence.form
    assert isinstance(form, Constant)
    if form.type is not None or isinstance(form, NoDefault):
        return
    t = ground(occurrence.output)
    assert t is not None
    if without_zero(t) is not None:
        raise _no_default(occurrence, t)


def _no_default(occurrence: Occurrence, t: T.Type) -> ArrowTypeError:
    site = occurrence.form.site
    if occurrence.path.word == "start":
        return problem(
            "cannot start an RNN from zeros of its state",
            occurrence,
            "an RNN without a start begins with zeros, and a Python object has no zero",
            "say what it starts from: ar.RNN(cell, start)",
            Side("state", str(t), site),
        )
    return problem(
        f"cannot use zeros of {t} for None",
        occurrence,
        "an Optional gives zeros for None, and a Python object has no zero",
        "say what None becomes: ar.Optional(some, ar.InputTransform(lambda x: value))",
        Side("Optional", f"Input -> {t}", site),
    )
