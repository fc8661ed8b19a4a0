"""Repeated rows, found and computed once: every place gets its row, and is summed to it once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrows.engine.device import Arena, Upload, get_device
from arrows.engine.running import distinct
from arrows.engine.running.distinct import find_distinct, plan_distinct
from arrows.engine.running.operation_code import DistinctLayout
from tests.engine.running.test_gathers import operation_rows

LAYOUT = DistinctLayout(operand=0, width=1, spread=(1,), summed=(2, 0))


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of narrow rows."""
    monkeypatch.setattr(distinct, "_WORTH", 0)


@pytest.mark.parametrize("name", ["cpu", "fake"])
@given(data=st.data())
def test_every_place_is_summed_to_its_row(name: str, data: st.DataObject) -> None:
    read = data.draw(st.lists(st.integers(0, 5), min_size=2, max_size=30))
    rounds = data.draw(st.integers(1, 4))
    rows = operation_rows(read, bounds=[0, len(read)])
    device = get_device(name)
    upload, arena = Upload(device), Arena(device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct, "_ROUNDS", rounds)
        planned = plan_distinct(LAYOUT, 0, rows, upload)
    assert planned is not None
    upload.send()
    numbers = planned.rows.ports[0].rows
    assert sorted(set(read)) == sorted(numbers.tolist())
    assert planned.count == len(numbers)

    kept = [None, device.to_device(np.zeros((len(read), 1)))]
    kept_early, spread = planned.bind_spread(device, arena, upload, kept)
    assert kept_early[0] is None and kept_early[1] is not None
    kept_early[1][...] = device.to_device(numbers[:, None].astype(float))
    spread()
    assert kept[1] is not None
    assert device.to_numpy(kept[1])[:, 0].tolist() == read

    values = np.arange(1.0, len(read) + 1)[:, None]
    saved = [device.to_device(values), None, device.to_device(10 * values)]
    sums, add_up = planned.bind_sums(device, arena, upload, saved)
    add_up()
    wanted = np.zeros((6, 1))
    np.add.at(wanted, read, values)
    assert (device.to_numpy(sums[1]) == wanted[numbers]).all()
    assert (device.to_numpy(sums[0]) == 10 * wanted[numbers]).all()


def test_few_or_narrow_rows_are_computed_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "_WORTH", 0.5)
    assert find_distinct(LAYOUT, operation_rows([0, 1, 2, 3, 0], bounds=[0, 5])) is None
    repeated = find_distinct(LAYOUT, operation_rows([7, 1, 1, 7, 1], bounds=[0, 5]))
    assert repeated is not None
    assert repeated.rows.tolist() == [1, 7]  # the row that most places read comes first
    assert repeated.row_of.tolist() == [1, 0, 0, 1, 0]
    assert (repeated.rounds.tolist(), repeated.ends, repeated.rest) == ([1, 0, 2, 3, 4], [2, 4, 5], None)
