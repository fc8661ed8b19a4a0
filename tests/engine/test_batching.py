"""Batched is one by one: values, metrics, gradients, for every schedule, in any order, on every device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import arrows as ar
from arrows.engine import reference
from arrows.engine.device import Device
from arrows.engine.planning import SCHEDULES
from arrows.engine.reference.evaluation import ReferenceResult
from arrows.engine.scheduling import merge
from arrows.engine.values import collate
from arrows.testing.fake import FakeKernelsDevice
from arrows.testing.host_kernels import host_compiler
from arrows.typesys import types as T
from tests.agree import plain
from tests.compare import close, dense, meets_kink
from tests.engine.scheduling.specification import verify
from tests.generate import PRODUCTIONS, RESULTS, Case, cases
from tests.profile import NIGHTLY, counted, draws
from tests.reference_gradients import value_and_grad

SETTINGS: list[tuple[str | Device, str]] = [
    (device, schedule) for device in ("cpu", "fake") for schedule in SCHEDULES
]

STEP = 5
"""Another step than the model's own, whose random numbers are others."""


def models(case: Case, float_type: str | None, device: str | Device, schedule: str) -> ar.Model:
    return ar.compile(
        case.block,
        loss=case.loss or None,
        float_type=float_type,
        device=device,
        schedule=schedule,
        seed=3,
    )


def host_lookup(model: ar.Model) -> Any:
    return lambda owner, spec: ar.to_numpy(model.params.of(owner, spec))


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


def check(
    case: Case,
    order: list[int],
    float_type: str | None,
    tolerance: float,
    device: str | Device,
    schedule: str,
    *,
    kink: float = 1e-6,
) -> None:
    model = models(case, float_type, device, schedule)
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
    assume(not meets_kink(model.typed, examples * 2, lookup, float_type, kink, draws))
    outcomes = alone(0, order)
    batch = model.prepare(case.examples)[order]
    verify(model.plan, merge(model.plan, batch.wired))
    as_alone(batch, outcomes)
    as_alone(examples, alone(STEP, range(len(order))), STEP)
    if case.loss == "":
        return
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


def check_taps(model: ar.Model, outcomes: list[Any], tolerance: float) -> None:
    """What was tapped, by example and visit."""
    types = {tap.tap: of for o in outcomes for tap, of, _ in o.tapped}
    for name, found in model.taps.items():
        wanted = [[value for tap, _, value in o.tapped if tap.tap == name] for o in outcomes]
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


def order_of(data: st.DataObject, case: Case) -> list[int]:
    """A batch made of the examples: in any order, with some left out and some several times."""
    places = range(len(case.examples))
    return data.draw(st.lists(st.sampled_from(places), max_size=6)) if case.examples else []


def compare(
    record: Any, name: str, sizes: tuple[int, int], settings: list[tuple[str | Device, str]], **options: Any
) -> None:
    """Draws so many cases (in `make test`, nightly) and checks each in one of the settings, in float64."""
    most = sizes[NIGHTLY]
    with counted(record, most * 9 // 10) as count:

        @draws(*sizes, name)
        @given(data=st.data())
        def pair(data: st.DataObject) -> None:
            device, schedule = data.draw(st.sampled_from(settings))
            case = data.draw(cases(**options))
            check(case, order_of(data, case), "float64", 1e-9, device, schedule)
            count.pairs += 1
            count.examples += len(case.examples)

        pair()


@pytest.mark.parametrize("production", PRODUCTIONS)
def test_batched_is_one_by_one_for_every_production(production: str, record_property: Any) -> None:
    compare(record_property, production, (1, 150), SETTINGS, production=production, depth=2)


@pytest.mark.parametrize("result", RESULTS)
def test_batched_is_one_by_one_for_every_result(result: str, record_property: Any) -> None:
    compare(record_property, result, (2, 200), SETTINGS, result=result)


@pytest.mark.parametrize(("device", "schedule"), SETTINGS)
def test_batched_is_one_by_one_in_float64(device: str, schedule: str, record_property: Any) -> None:
    compare(record_property, f"{device} {schedule}", (6, 1500), [(device, schedule)])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_batched_is_one_by_one_in_float32(schedule: str, record_property: Any) -> None:
    sizes = (5, 600)
    with counted(record_property, sizes[NIGHTLY] * 9 // 10) as count:

        @draws(*sizes, schedule)
        @given(data=st.data())
        def pair(data: st.DataObject) -> None:
            case = data.draw(cases())
            check(case, order_of(data, case), None, 1e-4, "cpu", schedule)
            count.pairs += 1
            count.examples += len(case.examples)

        pair()


@pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_batched_is_one_by_one_with_kernels(schedule: str, record_property: Any) -> None:
    compare(record_property, f"kernels {schedule}", (6, 500), [("fake-kernels", schedule)])


@pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
def test_batched_is_one_by_one_with_kernels_backwards(record_property: Any) -> None:
    """A GPU runs the items of a kernel in any order."""
    device = FakeKernelsDevice(backwards=True)
    compare(record_property, "kernels backwards", (8, 1000), [(device, "strata"), (device, "agenda")])


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@given(data=st.data())
def test_batched_is_one_by_one_on_cuda(data: st.DataObject, schedule: str) -> None:
    case = data.draw(cases())
    check(case, order_of(data, case), "float64", 1e-9, "cuda", schedule)
