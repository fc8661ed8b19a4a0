"""Batched is one by one: values, metrics, gradients, for every schedule, in any order, on every device."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from arrows.engine.device import Device
from arrows.engine.planning import SCHEDULES
from arrows.testing.fake import FakeKernelsDevice
from tests.agree import check
from tests.generate import PRODUCTIONS, RESULTS, Case, cases
from tests.marks import needs_compiler
from tests.profile import NIGHTLY, counted, draws

SETTINGS: list[tuple[str | Device, str]] = [
    (device, schedule) for device in ("cpu", "fake") for schedule in SCHEDULES
]


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
    compare(record_property, production, (2, 60), SETTINGS, production=production, depth=2)


@pytest.mark.parametrize("result", RESULTS)
def test_batched_is_one_by_one_for_every_result(result: str, record_property: Any) -> None:
    compare(record_property, result, (2, 60), SETTINGS, result=result)


@pytest.mark.parametrize(("device", "schedule"), SETTINGS)
def test_batched_is_one_by_one_in_float64(device: str, schedule: str, record_property: Any) -> None:
    compare(record_property, f"{device} {schedule}", (6, 400), [(device, schedule)])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_batched_is_one_by_one_in_float32(schedule: str, record_property: Any) -> None:
    sizes = (5, 200)
    with counted(record_property, sizes[NIGHTLY] * 9 // 10) as count:

        @draws(*sizes, schedule)
        @given(data=st.data())
        def pair(data: st.DataObject) -> None:
            case = data.draw(cases())
            check(case, order_of(data, case), None, 1e-4, "cpu", schedule)
            count.pairs += 1
            count.examples += len(case.examples)

        pair()


@needs_compiler
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_batched_is_one_by_one_with_kernels(schedule: str, record_property: Any) -> None:
    compare(record_property, f"kernels {schedule}", (6, 150), [("fake-kernels", schedule)])


@needs_compiler
def test_batched_is_one_by_one_with_kernels_backwards(record_property: Any) -> None:
    """A GPU runs the items of a kernel in any order."""
    device = FakeKernelsDevice(backwards=True)
    compare(record_property, "kernels backwards", (8, 200), [(device, "strata"), (device, "agenda")])


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@given(data=st.data())
def test_batched_is_one_by_one_on_cuda(data: st.DataObject, schedule: str) -> None:
    case = data.draw(cases())
    check(case, order_of(data, case), "float64", 1e-9, "cuda", schedule)
