"""Holds a model to the reference: values, metrics and gradients, by several schedules, on two devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import assume

import arrows as ar
from arrows.engine import reference
from arrows.engine.device import Device
from arrows.engine.planning import SCHEDULES
from arrows.engine.program import Program
from arrows.engine.reference.array_semantics import ReferenceResult
from arrows.engine.scheduling import merge
from arrows.engine.values import collate
from arrows.typesys import types as T
from tests.compare import close, dense, meets_kink
from tests.engine.scheduling.specification import verify
from tests.generate import Case
from tests.profile import NIGHTLY
from tests.reference_gradients import value_and_grad

EVERY = [(device, schedule) for device in ("cpu", "fake") for schedule in SCHEDULES]
BY_DAY = [(("cpu", "fake")[n % 2], name) for n, name in enumerate(SCHEDULES) if name != "none"]
SETTINGS = EVERY if NIGHTLY else BY_DAY
TOLERANCE = 1e-9

STEP = 5
"""Another step than the model's own, whose random numbers are others."""


def host_lookup(model: ar.Model) -> Any:
    return lambda owner, spec: ar.to_numpy(model.params.of(owner, spec))


def check(
    case: Case,
    order: list[int],
    float_type: str | None,
    tolerance: float,
    device: str | Device,
    schedule: str,
    *,
    kink: float | None = 1e-6,
) -> list[ReferenceResult]:
    """Holds a batch, which has the examples in this order, to the reference; gives what that says of each.

    Args:
        kink: how near to a kink of a function no number may come, in a test by hypothesis; None: anything.
    """
    model = ar.compile(
        case.block,
        loss=case.loss or None,
        float_type=float_type,
        device=device,
        schedule=schedule,
        seed=3,
    )
    lookup = host_lookup(model)
    examples = [case.examples[i] for i in order]

    def alone(step: int, ids: Sequence[int]) -> list[ReferenceResult]:
        return [
            reference.evaluate(
                model.typed, example, lookup, float_type=float_type, draw=(model.seed, step, id)
            )
            for id, example in zip(ids, examples, strict=True)
        ]

    def as_alone(batch: Any, outcomes: list[ReferenceResult], step: int | None = None) -> None:
        wanted, found = collate(model.typed.output, [o.value for o in outcomes]), model(batch, step=step)
        assert close(plain(found), plain(wanted), tolerance)
        assert fits(found, model.typed.output, True)
        assert all(fits(o.value, model.typed.output, False) for o in outcomes)
        check_metrics(model, outcomes, tolerance)
        check_taps(model, outcomes, tolerance)

    draws = [(model.seed, step, id) for step, ids in ((0, order), (STEP, range(len(order)))) for id in ids]
    if kink is not None:
        assume(not meets_kink(model.typed, examples * 2, lookup, float_type, kink, draws))
    outcomes = alone(0, order)
    batch = model.prepare(case.examples)[order]
    verify(model.plan, merge(model.plan, batch.wired))
    as_alone(batch, outcomes)
    as_alone(examples, alone(STEP, range(len(order))), STEP)
    if case.loss == "":
        return outcomes
    names = tuple(name for name in case.inputs if any(name in o.inputs for o in outcomes))
    value, grads = model.value_and_grad(batch, inputs=names)
    check_metrics(model, outcomes, tolerance)
    check_taps(model, outcomes, tolerance)
    wanted = value_and_grad(
        model.typed,
        examples,
        lookup,
        loss=case.loss,
        inputs=names,
        float_type=float_type,
        seed=model.seed,
        ids=order,
    )
    assert close(float(ar.to_numpy(value)), wanted.value, tolerance)
    for name, (owner, spec) in ((name, model.params.owner(name)) for name in model.params):
        if spec.has_gradient:
            assert close(dense(grads[name]), wanted.parameters[owner, spec.name], tolerance), name
    for name in names:
        given = ar.to_numpy(grads[name])
        for n in range(len(order)):
            assert close(list(given[n]), wanted.inputs[n][name], tolerance), name
    return outcomes


def check_taps(model: ar.Model, outcomes: list[Any], tolerance: float) -> None:
    """What was tapped, by example and visit."""
    types = {tap.key: of for o in outcomes for tap, of, _ in o.tapped}
    for name, found in model.taps.items():
        wanted = [[value for tap, _, value in o.tapped if tap.key == name] for o in outcomes]
        assert len(found) == len(outcomes)
        if isinstance(found, list):  # of Python objects, which are the very ones
            assert [list(map(id, one)) for one in found] == [list(map(id, one)) for one in wanted]
        elif name in types:
            assert close(plain(found), plain(collate(T.Sequence(types[name]), wanted)), tolerance)
        else:
            assert found.offsets[-1] == 0


def check_metrics(model: ar.Model, outcomes: list[Any], tolerance: float) -> None:
    for name, found in model.metrics.items():
        found = ar.to_numpy(found)
        assert len(found) == len(outcomes)
        for one, outcome in zip(found, outcomes, strict=True):
            assert close(list(one), outcome.metrics.get(name, []), tolerance)
    for name, labels in model.labels.items():  # the very objects
        wanted = [outcome.labels.get(name, []) for outcome in outcomes]
        assert [list(map(id, one)) for one in labels] == [list(map(id, one)) for one in wanted]


def fits(value: Any, type: T.Type, batched: bool) -> bool:
    """Whether a value, or the values of a batch, are what a type says: element types, shapes and labels."""
    match type:
        case T.Tensor():
            array = ar.to_numpy(value)
            return array.dtype.name == type.dtype and array.shape[batched:] == type.shape
        case T.Tuple():
            same = isinstance(value, tuple) and getattr(value, "labels", None) == type.labels
            parts = zip(value, type.items, strict=True)
            return same and all(fits(part, item, batched) for part, item in parts)
        case T.Sequence() if isinstance(value, ar.Ragged):
            return fits(value.values, type.element, True)
        case T.Sequence():
            return isinstance(value, list) and all(fits(x, type.element, False) for x in value)
        case _:
            return value is None


def agree(block: Any, examples: Sequence[Any], *, loss: str = "", inputs: Sequence[str] = ()) -> list[Any]:
    """Asserts that batched is one by one, in float64.

    Args:
        block: what to compile.
        examples: the batch; the empty batch and its reverse are tried too.
        loss: the metric to differentiate; empty: the scalar result; "-": nothing.
        inputs: named inputs whose gradients are compared as well.

    Returns:
        The reference's value of each example.
    """
    case = Case(block, list(examples), {"": None, "-": ""}.get(loss, loss), tuple(inputs))
    places = list(range(len(examples)))
    for device, schedule in SETTINGS:
        for order in ([], places[::-1], places):
            outcomes = check(case, order, "float64", TOLERANCE, device, schedule, kink=None)
    return [outcome.value for outcome in outcomes]


def agrees(model: ar.Model, examples: Sequence[Any], prepared: Any = None) -> None:
    """Asserts that value and gradients of a model are those of the reference.

    Args:
        model: in float64, with a loss.
        examples: the batch.
        prepared: the same examples, prepared, to run instead.
    """
    value, grads = model.value_and_grad(examples if prepared is None else prepared)
    wanted = value_and_grad(model.typed, examples, host_lookup(model), float_type="float64")
    assert close(float(ar.to_numpy(value)), wanted.value, TOLERANCE)
    for name in model.params:
        owner, spec = model.params.owner(name)
        assert close(dense(grads[name]), wanted.parameters[owner, spec.name], TOLERANCE), name


def programs(
    model: ar.Model, *, gradients: bool = True, inputs: tuple[str, ...] = ()
) -> dict[str, list[Program]]:
    """The programs of a model by the blocks that stand there: those for training, or for inference.

    Args:
        model: the model.
        gradients: whether the loss is differentiated.
        inputs: the inputs whose gradients are wanted.
    """
    by_name: dict[str, list[Program]] = {}
    executor = model.executors.get(inputs, training=gradients, gradients=gradients)
    for code in executor.codes.values():
        for name in code.operation.name.split(" >> "):
            by_name.setdefault(name, []).append(code.program)
    return by_name


def equation_names(program: Program, *regions: str) -> list[str]:
    """What the equations of a program compute; without ``regions``, of all of them."""
    return [equation.primitive.name for equation in program.equations(*regions)]


def plain(result: Any) -> Any:
    """A result as arrays, tuples and dicts of (values, offsets)."""
    if isinstance(result, ar.Ragged):
        return {"values": plain(result.values), "offsets": result.offsets}
    if isinstance(result, tuple):
        return [plain(item) for item in result]
    return None if result is None else ar.to_numpy(result)
