"""`Metric`, `Tap` and `Shared`: side outputs, and blocks that compute once for each object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrows.combinators import AnyBlock, SideOutput
from arrows.inference.explain import refused
from arrows.inference.occurrences import Edge, Occurrence
from arrows.inference.reasons import name_of, no_object, problem
from arrows.inference.rules import Misfit
from arrows.typesys import INPUT, VOID, Cause, Rule, Side, Var, find, items_of, kind_of, notation, types as T

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def side_output(inference: Inference, occurrence: Occurrence, form: SideOutput[Any, Any]) -> Rule | None:
    if form.passes:
        inference.gives(occurrence, occurrence.input)
        return None
    inference.gives(occurrence, VOID)
    return _labelled(inference, occurrence)


def _labelled(inference: Inference, metric: Occurrence) -> Rule:
    """A `Metric` takes a tensor, or a pair of a tensor and a label."""
    yield metric.input
    v = find(metric.input)
    if isinstance(v.con, T.Tensor):
        return
    hint = "a metric takes a tensor, or the pair of a tensor and a Python object that labels it"
    items = items_of(v)
    if v.con is INPUT:
        hint = "read it first: ar.Scalar() >> ar.Metric(...)"
    if kind_of(v) == "sequence":
        hint = f"make one number of all elements first: f >> ar.Mean() >> ar.{name_of(metric)}"
    if len(items) != 2:
        raise Misfit(f"it gets {notation(v)}, which is not a tensor", hint)
    inference.reads_object(items[1], metric, Edge(metric, 0, _explain_label))


def shared(inference: Inference, shared: Occurrence, form: AnyBlock) -> None:
    inference.reads_object(shared.input, shared, shared.edge)
    value = Var(INPUT, cause=Cause(shared, reads=True))
    inference.enter(shared, form.parts[0], value, None, "shared", shared.output)


_explain_label = no_object(
    "cannot record {owner}",
    "the second item labels the first, and must be a Python object, not {type}",
    "leave a label as it comes from the input: ar.GetItem('id'), without a Scalar after it",
)


def check_side_output(inference: Inference, occurrence: Occurrence, form: SideOutput[Any, Any]) -> None:
    """Refuses an input that cannot be kept, or whose type differs from an earlier one under its key."""
    t = inference.solver.ground(occurrence.input)
    assert t is not None
    if not form.passes:
        t = t.children[0] if isinstance(t, T.Tuple) else t
        if not isinstance(t, T.Tensor):
            raise refused(occurrence, Misfit(f"the first item is {t}, which is not a tensor"))
    elif T.holds(t, T.Broadcast):
        reason = f"{t} is endless, and a tap keeps every value that passes"
        raise refused(occurrence, Misfit(reason, "tap one element of it"))
    elif T.holds(t, T.Input) and T.holds(t, T.Tensor):
        reason = f"{t} contains both tensors and Python objects, which are recorded separately"
        raise refused(occurrence, Misfit(reason, "tap the items one by one, each under a name of its own"))
    first_type, first = inference.side_outputs.setdefault((form.passes, form.key), (t, occurrence))
    if str(first_type) == str(t):  # the keys are the same too: values of both places are listed under them
        return
    raise problem(
        f"cannot record two types under {name_of(occurrence)}",
        occurrence,
        f"a {occurrence.form.kind.lower()} has one type in a model, and this one is {first_type} "
        f"at {first.path}",
        "give one of them another name",
        Side(name_of(first), str(first_type), first.form.site),
        Side(name_of(occurrence), str(t), occurrence.form.site),
    )
