"""`Metric`, `Tap` and `Shared`: side outputs, and blocks that compute once for each object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.combinators import Metric, Tap
from arrows.inference.explain import refused
from arrows.inference.occurrences import Edge, Occurrence
from arrows.inference.reasons import name_of, no_object, problem
from arrows.inference.rules import Misfit
from arrows.typesys import types as T
from arrows.typesys.errors import Side
from arrows.typesys.terms import INPUT, VOID, Cause, Var, find, items_of, kind_of, notation
from arrows.typesys.unify import Rule

if TYPE_CHECKING:
    from arrows.inference.infer import Inference


def metric(inference: Inference, metric: Occurrence) -> Rule:
    """`Metric`: takes a tensor, or a pair of a tensor and a label."""
    inference.gives(metric, VOID)
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


def tap(inference: Inference, tap: Occurrence) -> None:
    inference.gives(tap, tap.input)


def shared(inference: Inference, shared: Occurrence) -> None:
    inference.takes_object(shared)
    value = Var(INPUT, cause=Cause(shared, reads=True))
    inference.enter(shared, shared.form.parts[0], value, None, "shared", shared.output)


_explain_label = no_object(
    "cannot record {owner}",
    "the second item labels the first, and must be a Python object, not {type}",
    "leave a label as it comes from the input: ar.GetItem('id'), without a Scalar after it",
)


def check_metric(inference: Inference, metric: Occurrence) -> None:
    """Refuses a metric whose input is no tensor, or whose type differs from an earlier one of its name."""
    assert isinstance(metric.form, Metric)
    t = inference.solver.ground(metric.input)
    tensor = t.children[0] if isinstance(t, T.Tuple) else t
    if not isinstance(tensor, T.Tensor):
        raise refused(metric, Misfit(f"the first item is {tensor}, which is not a tensor"))
    _check_same_type(inference, metric, f"metric {metric.form.metric}", tensor)


def check_tap(inference: Inference, tap: Occurrence) -> None:
    """Refuses a tap that cannot keep its input, or whose type differs from an earlier one of its name."""
    assert isinstance(tap.form, Tap)
    t = inference.solver.ground(tap.input)
    assert t is not None
    if T.holds(t, T.Broadcast):
        reason = f"{t} is endless, and a tap keeps every value that passes"
        raise refused(tap, Misfit(reason, "tap one element of it"))
    if T.holds(t, T.Input) and T.holds(t, T.Tensor):
        reason = f"{t} contains both tensors and Python objects, which are recorded separately"
        raise refused(tap, Misfit(reason, "tap the items one by one, each under a name of its own"))
    _check_same_type(inference, tap, f"tap {tap.form.tap}", t)


def _check_same_type(inference: Inference, occurrence: Occurrence, name: str, t: T.Type) -> None:
    first_type, first = inference.side_outputs.setdefault(name, (t, occurrence))
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
