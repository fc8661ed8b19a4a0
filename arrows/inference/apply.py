"""`Apply` and `Constant`: functions and layers, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from arrows.combinators import Apply, Block, Choice, Constant, Layer, Reduce, Reduction, without_zero
from arrows.inference.occurrences import Occurrence
from arrows.inference.reasons import ZEROS, problem, side_of
from arrows.inference.rules import Misfit
from arrows.ops import Parameter
from arrows.typesys import ALIKE, LAYER, Rule, Var, items_of, types as T

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def apply(inference: Inference, occurrence: Occurrence, form: Apply[Any, Any]) -> Rule:
    if isinstance(form, Layer):
        source, result = form.signature()
        if source is not None:
            inference.gives(occurrence, inference.floats(source), reads=True)
        if result is not None:
            inference.gives(occurrence, inference.floats(result))
        if (default := form.default_output()) is not None:
            inference.solver.run(_default(inference, occurrence, default), occurrence)
    return _traced(inference, occurrence, form)


def _default(inference: Inference, layer: Occurrence, type: T.Type) -> Rule:
    def decide() -> bool:
        inference.gives(layer, inference.floats(type))
        return True

    yield layer.output, decide, LAYER


def _traced(inference: Inference, occurrence: Occurrence, form: Apply[Any, Any]) -> Rule:
    """Functions and layers: traces them as soon as their input has no open part."""
    while isinstance(t := inference.solver.settled(occurrence.input), Var):
        alike = partial(_items_alike, inference, occurrence)
        yield (t, alike, ALIKE) if isinstance(form, Reduction) else t
    trouble = form.check(t) or no_tensor(t)
    if trouble is not None:
        raise Misfit(*((trouble,) if isinstance(trouble, str) else trouble))
    occurrence.trace = inference.traces.of(form, t)
    inference.gives(occurrence, occurrence.trace.output)


def _items_alike(inference: Inference, occurrence: Occurrence) -> bool:
    """A reduction of a tuple wants items of one type, so an item that is known says what the others are."""
    items = items_of(occurrence.input)
    known = [item for item in items if inference.solver.ground(item) is not None]
    unknown = [item for item in items if item.con is None]
    for item in unknown if known else []:
        inference.solver.unify(item, known[0])
    return bool(known and unknown)


def constant(inference: Inference, occurrence: Occurrence, form: Constant[Any]) -> None:
    if form.type is not None:
        inference.gives(occurrence, inference.floats(form.type))
    if form.trainable:
        occurrence.trace = inference.traces.of(form, T.Tuple(()))


_READ_IT = "read it first: ar.Scalar(), ar.Vector(n) or ar.Tensor(shape), an index by ar.Scalar('int32')"
_NO_TENSORS: dict[type[T.Type], tuple[str, str]] = {
    T.Input: ("a Python object", f"{_READ_IT}; a function of Python objects is ar.InputTransform(f)"),
    T.Void: ("nothing (Void)", ""),
    T.Broadcast: ("endless", ""),
}


def no_tensor(t: T.Type) -> tuple[str, str] | None:
    """Returns a reason and a hint if a function of tensors cannot take `t`, else None."""
    for x in T.parts_first(t):
        if (refusal := _NO_TENSORS.get(type(x))) is not None:
            where = "the input" if x is t else "a part of the input"
            return f"a function takes tensors, and {where} is {refusal[0]}", refusal[1]
    return None


def check_parameters(occurrences: Sequence[Occurrence]) -> None:
    """Refuses layers that stand on several types, if their parameters are not the same for all.

    Raises:
        ArrowTypeError: it names both places, and both descriptions of the parameter.
    """
    uses: dict[tuple[int, str], tuple[Parameter, Occurrence]] = {}
    traces: set[int] = set()
    for place in occurrences:
        if place.trace is None or id(place.trace) in traces:
            continue
        traces.add(id(place.trace))
        for owner, spec, _ in place.trace.parameters:
            first, before = uses.setdefault((id(owner), spec.name), (spec, place))
            differs = first.difference(spec)
            if differs is not None:
                layer = owner.label if isinstance(owner, Block) else type(owner).__name__
                at, there = [str(each.path) or "the root" for each in (before, place)]
                reason = (
                    "a layer may stand on several types where its parameters are the same for all; "
                    f"here parameter {spec.name!r} would be {differs[0]} at {at}, and {differs[1]} at {there}"
                )
                hint = f"make a second layer for the second place: another {type(owner).__name__}(...)"
                attempt = f"cannot use the layer {layer} on two types"
                raise problem(attempt, place, reason, hint, side_of(before), side_of(place))


def check_constant(inference: Inference, occurrence: Occurrence, form: Constant[Any]) -> None:
    """Refuses a default of zeros where the inferred type has no zero."""
    whole = occurrence.outer
    if form.type is not None or whole is None or isinstance(whole.form, Reduce):
        return  # objects have no zero, and a Reduce of none of them is refused where there is such an example
    t = inference.solver.ground(occurrence.output)
    assert t is not None
    if without_zero(t) is not None:
        reason = f"{ZEROS[0]}, and a Python object has no zero"
        none = "say what None becomes: ar.Optional(some, ar.InputTransform(lambda x: value))"
        hint = none if isinstance(whole.form, Choice) else ZEROS[1]
        raise problem(f"cannot use zeros of {t}", occurrence, reason, hint, side_of(whole))
