"""Plans of how gradients get from readers to rows, against adding them up one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrows.engine.device import Arena, Upload, get_device
from arrows.engine.running.scatters import RowPulls, RowSums, plan_pulls, plan_sums
from arrows.ops.arrays import HostArray

DEVICES = st.sampled_from(["cpu", "fake"])


def cuts(data: st.DataObject, stop: int) -> HostArray:
    """Bounds of a few steps, none of them empty."""
    inner = data.draw(st.sets(st.integers(1, max(stop - 1, 1)), max_size=4)) if stop > 1 else set()
    return np.array(sorted({0, *inner, stop}))


def add_sums(sums: RowSums, target: HostArray, gradients: HostArray, part: int, name: str) -> HostArray:
    """The target with the sums of one part, as a device adds them."""
    device = get_device(name)
    upload = Upload(device)
    sent = sums.send(upload)
    uploaded = upload.send()
    on_device = device.to_device(target.copy())
    sent.bind(uploaded).add(device, Arena(device), on_device, device.to_device(gradients), part)
    return device.to_numpy(on_device)


def pull(pulls: RowPulls, gradients: HostArray, scattered: HostArray, step: int, name: str) -> HostArray:
    """The gradients with what the rows of one step pull, as a device adds it."""
    device = get_device(name)
    upload = Upload(device)
    sent = pulls.send(upload)
    uploaded = upload.send()
    on_device = device.to_device(gradients.copy())
    sent.bind(device, Arena(device), uploaded, on_device, device.to_device(scattered))(step)
    return device.to_numpy(on_device)


@given(data=st.data(), name=DEVICES)
def test_sums_add_each_gradient_once(data: st.DataObject, name: str) -> None:
    parts = data.draw(st.integers(1, 3))
    count = data.draw(st.integers(0, 12))
    rows = np.array(data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count)), int)
    part = np.array(data.draw(st.lists(st.integers(0, parts - 1), min_size=count, max_size=count)), int)
    places = np.array(data.draw(st.permutations(range(count))), int)
    gradients = np.arange(1.0, 2 * count + 1).reshape(count, 2)
    sums = plan_sums(places, rows, part, parts)
    if sums is None:
        assert count == 0
        return
    assert sums.longest == max(np.bincount(part * 10 + rows))
    for p in range(parts):
        wanted = np.ones((6, 2))
        np.add.at(wanted, rows[part == p], gradients[places[part == p]])
        assert (add_sums(sums, np.ones((6, 2)), gradients, p, name) == wanted).all()


def test_rows_and_places_that_are_ranges_are_views() -> None:
    sums = plan_sums(np.array([3, 4, 9, 7]), np.array([1, 2, 1, 4]), np.array([0, 0, 1, 1]), 2)
    assert sums is not None
    assert (sums.longest, sums.ranges) == (1, [(1, 3), (-1, -1)])


@given(data=st.data(), name=DEVICES)
def test_rows_pull_every_gradient(data: st.DataObject, name: str) -> None:
    count = data.draw(st.integers(1, 12))
    bounds = cuts(data, count)
    # Where readers stand: in a row of their own order, or one after another.
    in_order = data.draw(st.booleans())
    places = np.arange(count) if in_order else np.array(data.draw(st.permutations(range(count))))
    has_gradient = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    zero = count + 4
    inverse = np.where(has_gradient, places, zero)
    rows = np.flatnonzero(has_gradient).tolist()
    again_rows = np.array(
        data.draw(st.lists(st.sampled_from(rows), max_size=4) if rows else st.just([])), int
    )
    again = count + np.arange(len(again_rows)), again_rows
    scattered = np.concatenate([np.arange(1.0, zero + 1), [0.0]])[:, None]
    pulls = plan_pulls(inverse, zero, bounds, again if len(again_rows) else None)
    if pulls is None:
        assert not has_gradient.any()
        return
    wanted = scattered[inverse].copy()
    np.add.at(wanted, again_rows, scattered[again[0]])
    total = np.zeros((count, 1))
    for step, (start, stop, _) in enumerate(pulls.spans):
        assert bounds[step] <= start <= stop <= bounds[step + 1] or start == stop
        before = total
        total = pull(pulls, before, scattered, step, name)
        others = np.delete(np.arange(count), np.arange(bounds[step], bounds[step + 1]))
        assert (total[others] == before[others]).all()
    assert (total == wanted).all()


@pytest.mark.parametrize(
    ("inverse", "bounds", "spans"),
    [
        # Of the first step's rows all but the last have a reader, in order; of the second's, one in between.
        ([4, 5, 9, 9, 6, 9], [0, 3, 6], [(0, 2, 4), (4, 5, 6)]),
        # A gap in between: one gather, zeros for the row without.
        ([4, 9, 5], [0, 3], [(0, 3, -1)]),
    ],
)
def test_a_range_of_places_is_a_view(
    inverse: list[int], bounds: list[int], spans: list[tuple[int, int, int]]
) -> None:
    pulls = plan_pulls(np.array(inverse), 9, np.array(bounds), None)
    assert pulls is not None
    assert pulls.spans == spans
